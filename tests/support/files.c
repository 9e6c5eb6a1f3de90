#include "support/files.h"

#include "support/check.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

const char *scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/artreeformer-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        fail_msg("cannot make %s", folder);
    return folder;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void scratch_remove(void)
{
    if (folder[0])
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
}

int scratch_setup(void **state)
{
    (void)state;
    return chdir(scratch_make());
}

int scratch_teardown(void **state)
{
    (void)state;
    int status = chdir(ART_SOURCE_DIR);
    scratch_remove();
    return status;
}

const char *scratch_path(const char *name)
{
    static char path[16][4096];
    static unsigned turn;
    char *out = path[turn++ % 16];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

const char *scratch_write_bytes(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        fail_msg("cannot write %s", path);
    return path;
}

const char *scratch_write(const char *name, const char *text)
{
    return scratch_write_bytes(name, text, strlen(text));
}

char *file_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t used = 0, room = 0;
    do {
        room = room ? 2 * room : 4096;
        text = realloc(text, room);
        assert_non_null(text);
        used += fread(text + used, 1, room - 1 - used, f);
    } while (used == room - 1);
    text[used] = '\0';
    fclose(f);
    return text;
}

int scratch_count(void)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    int count = -2; /* . and .. */
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}
