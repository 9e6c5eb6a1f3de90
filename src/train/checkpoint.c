#include "train/checkpoint.h"

#include "artreeformer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PATH = 4096, SUM_TEXT = 16 };

static const char *const SUFFIX[] = {".ckp.safetensors", ".ckp.prev.safetensors"};
static const char CHECKSUM[] = "checksum";

/* Goes up whenever fields are added, removed or renamed, or mean something else. */
static const char FORMAT[] = "checkpoint_format", FORMAT_NOW[] = "12";

static int path_of(char path[PATH], const char *prefix, int which, diag *d)
{
    if (snprintf(path, PATH, "%s%s", prefix, SUFFIX[which]) < PATH)
        return ART_OK;
    return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                      "the path prefix is too long -- shorten it");
}

static uLong add_bytes(uLong sum, const void *bytes, size_t n)
{
    return n ? crc32_z(sum, bytes, n) : sum; /* NULL would begin anew */
}

static uLong add_text(uLong sum, const char *text)
{
    return add_bytes(sum, text, strlen(text) + 1);
}

/* CRC-32 of every name, type, shape, number and string but the checksum itself. */
static void checksum(char text[SUM_TEXT], const safetensors *s)
{
    uLong sum = crc32(0, NULL, 0);
    for (size_t i = 0; i < s->text_count; i++)
        if (strcmp(s->text[i].key, CHECKSUM) != 0) {
            sum = add_text(sum, s->text[i].key);
            sum = add_text(sum, s->text[i].value);
        }
    for (size_t i = 0; i < s->count; i++) {
        const tensor *t = &s->tensor[i];
        sum = add_text(sum, t->name);
        sum = add_text(sum, tensor_dtype_name(t->dtype));
        sum = add_bytes(sum, t->shape, (size_t)t->rank * sizeof t->shape[0]);
        sum = add_bytes(sum, t->data, t->count * tensor_width(t->dtype));
    }
    snprintf(text, SUM_TEXT, "crc32:%08lx", sum & 0xffffffffUL);
}

/* Lets the previous name stand for the present file too. Where the file system has no hard
 * links the file is moved; then the previous one is the checkpoint until the new one is there. */
static int keep_previous(const char *present, const char *previous, diag *d)
{
    if (unlink(previous) != 0 && errno != ENOENT)
        return diag_error(d, ART_ERR_IO, (diag_place){.file = previous}, "cannot be replaced: %s",
                          strerror(errno));
    if (link(present, previous) == 0 || rename(present, previous) == 0)
        return ART_OK;
    return diag_error(d, ART_ERR_IO, (diag_place){.file = previous}, "cannot be written: %s",
                      strerror(errno));
}

/* Sets the metadata that read_one looks at. */
static int seal(saved_state *s)
{
    char sum[SUM_TEXT];
    int status = s->status ? s->status : safetensors_set(&s->tensors, FORMAT, FORMAT_NOW);
    if (status)
        return status;
    checksum(sum, &s->tensors);
    return safetensors_set(&s->tensors, CHECKSUM, sum);
}

int checkpoint_write_file(saved_state *s, const char *path, diag *d)
{
    int status = seal(s);
    return status ? status : saved_state_write(s, path, d);
}

int checkpoint_write(saved_state *s, const char *prefix, bool is_damaged, diag *d)
{
    char present[PATH], previous[PATH];
    int status = path_of(present, prefix, 0, d);
    if (!status)
        status = path_of(previous, prefix, 1, d);
    if (!status)
        status = seal(s);
    if (!status && !is_damaged && access(present, F_OK) == 0)
        status = keep_previous(present, previous, d);
    return status ? status : saved_state_write(s, present, d);
}

bool checkpoint_exists(const char *prefix)
{
    char path[PATH];
    for (int which = 0; which < 2; which++)
        if (path_of(path, prefix, which, NULL) == ART_OK && access(path, F_OK) == 0)
            return true;
    return false;
}

/* Reads one file and compares its format and checksum. */
static int read_one(safetensors *s, const char *path, diag *d)
{
    int status = safetensors_read(s, path, d);
    if (status)
        return status;
    char sum[SUM_TEXT];
    const char *format = safetensors_get(s, FORMAT), *said = safetensors_get(s, CHECKSUM);
    const bool is_known = format && strcmp(format, FORMAT_NOW) == 0;
    checksum(sum, s);
    if (is_known && said && strcmp(said, sum) == 0)
        return ART_OK;
    safetensors_free(s);
    return diag_error(d, ART_ERR_INPUT, (diag_place){.file = path}, "%s",
                      is_known ? "the checkpoint is damaged: its checksum does not match"
                               : "the checkpoint was written by another version of the program");
}

int checkpoint_read_file(saved_state *s, const char *path, diag *d)
{
    safetensors tensors = {0};
    *s = (saved_state){0};
    int status = read_one(&tensors, path, d);
    return status ? status : saved_state_from(s, &tensors, path, d);
}

/* Neither of the two files could be read. */
static int no_checkpoint(int status, const char *path, const diag *trouble, diag *d)
{
    diag_error(d, status, (diag_place){.file = path},
               "no checkpoint is intact (%s; %s) -- start the run again",
               trouble->count ? trouble->message[0].text : "out of memory",
               trouble->count > 1 ? trouble->message[1].text : "out of memory");
    diag_advise(d, ADVICE_START_AGAIN);
    return status;
}

int checkpoint_read(saved_state *s, bool *is_previous, const char *prefix, diag *d)
{
    char path[2][PATH];
    safetensors tensors = {0};
    diag trouble;
    *s = (saved_state){0};
    diag_init(&trouble);
    int status = path_of(path[0], prefix, 0, d);
    if (!status)
        status = path_of(path[1], prefix, 1, d);
    if (status)
        return status;
    status = read_one(&tensors, path[0], &trouble);
    *is_previous = status != ART_OK;
    if (status)
        status = read_one(&tensors, path[1], &trouble);
    if (status)
        no_checkpoint(status, path[0], &trouble, d);
    else if (*is_previous)
        diag_warning(d, (diag_place){.file = path[0]},
                     "missing or damaged (%s) -- resuming from the previous checkpoint, %s",
                     trouble.count ? trouble.message[0].text : "out of memory", path[1]);
    diag_free(&trouble);
    return status ? status : saved_state_from(s, &tensors, path[*is_previous], d);
}

int checkpoint_remove(const char *prefix, diag *d)
{
    for (int which = 0; which < 2; which++) {
        char path[PATH];
        int status = path_of(path, prefix, which, d);
        if (status)
            return status;
        if (unlink(path) != 0 && errno != ENOENT)
            return diag_error(d, ART_ERR_IO, (diag_place){.file = path}, "cannot be removed: %s",
                              strerror(errno));
    }
    return ART_OK;
}
