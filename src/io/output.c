#include "io/output.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, ATTEMPTS = 1000 };

static void set_error(output *o, int error)
{
    if (!o->error)
        o->error = error ? error : EIO;
}

static void release(output *o)
{
    if (o->descriptor >= 0 && !o->borrowed && close(o->descriptor) != 0)
        set_error(o, errno);
    o->descriptor = -1;
    free(o->path);
    free(o->target);
    free(o->temporary);
    free(o->buffer);
    o->path = o->target = o->temporary = o->buffer = NULL;
    o->used = o->room = 0;
}

static int status_of(const output *o)
{
    return o->error == 0 ? ART_OK : o->error == ENOMEM ? ART_ERR_NOMEM : ART_ERR_IO;
}

static int fail(output *o, const char *path, diag *d)
{
    const int status = status_of(o);
    diag_error(d, status, (diag_place){.file = path}, "cannot write: %s", strerror(o->error));
    release(o);
    return status;
}

static int start(output *o, const char *path)
{
    memset(o, 0, sizeof *o);
    o->descriptor = -1;
    o->path = mem_text(path, strlen(path));
    o->buffer = mem_resize(NULL, BUFFER, 1);
    if (!o->path || !o->buffer) {
        set_error(o, ENOMEM);
        return 0;
    }
    o->room = BUFFER;
    return 1;
}

/* Opens a new file beside the target, with the permissions a new file gets. */
static int open_temporary(output *o)
{
    size_t size = strlen(o->target) + 48;
    o->temporary = mem_resize(NULL, size, 1);
    if (!o->temporary)
        return ENOMEM;
    for (int i = 0; i < ATTEMPTS; i++) {
        snprintf(o->temporary, size, "%s.%ld.%d.tmp", o->target, (long)getpid(), i);
        o->descriptor = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (o->descriptor >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    free(o->temporary); /* not ours: must not be unlinked */
    o->temporary = NULL;
    return error;
}

int output_open(output *o, const char *path, diag *d)
{
    struct stat info;
    if (!start(o, path))
        return fail(o, path, d);
    int exists = stat(path, &info) == 0;
    if (!*path) {
        set_error(o, ENOENT);
    } else if (exists && S_ISDIR(info.st_mode)) {
        set_error(o, EISDIR);
    } else if (exists && !S_ISREG(info.st_mode)) {
        o->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (o->descriptor < 0)
            set_error(o, errno);
    } else if (exists && access(path, W_OK) != 0) {
        set_error(o, errno); /* renaming would get around a write protection */
    } else {
        o->target = exists ? realpath(path, NULL) : mem_text(path, strlen(path));
        int error = o->target ? open_temporary(o) : ENOMEM;
        if (error)
            set_error(o, error);
    }
    return o->error ? fail(o, path, d) : ART_OK;
}

int output_append(output *o, const char *path, int64_t keep, diag *d)
{
    if (!start(o, path))
        return fail(o, path, d);
    const int create = keep > 0 ? 0 : O_CREAT; /* no empty file where there was a longer one */
    o->descriptor = open(path, O_WRONLY | create | O_APPEND | O_CLOEXEC, 0666);
    struct stat info;
    if (o->descriptor < 0 && errno == ENOENT && !create) {
        diag_error(d, ART_ERR_IO, (diag_place){.file = path},
                   "is missing -- restore it, or start the run again");
        diag_advise(d, ADVICE_START_AGAIN);
        release(o);
        return ART_ERR_IO;
    }
    if (o->descriptor < 0 || fstat(o->descriptor, &info) != 0) {
        set_error(o, errno);
        return fail(o, path, d);
    }
    if (S_ISREG(info.st_mode)) {
        o->length = info.st_size;
        if (keep > o->length) {
            diag_error(
                d, ART_ERR_IO, (diag_place){.file = path},
                "has %lld bytes, but the run wrote %lld -- restore it, or start the run again",
                (long long)o->length, (long long)keep);
            diag_advise(d, ADVICE_START_AGAIN);
            release(o);
            return ART_ERR_IO;
        }
        if (keep >= 0) {
            if (ftruncate(o->descriptor, keep) != 0)
                set_error(o, errno);
            o->length = keep;
        }
    }
    return o->error ? fail(o, path, d) : ART_OK;
}

int output_descriptor(output *o, int descriptor, const char *name, diag *d)
{
    if (!start(o, name))
        return fail(o, name, d);
    o->descriptor = descriptor;
    o->borrowed = 1;
    return ART_OK;
}

/* All n bytes to the file, or the error is set. */
static void put(output *o, const char *bytes, size_t n)
{
    while (n > 0 && !o->error) {
        ssize_t done = write(o->descriptor, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            set_error(o, done < 0 ? errno : EIO);
            return;
        }
        bytes += done;
        n -= (size_t)done;
        o->length += done;
    }
}

static void drain(output *o)
{
    put(o, o->buffer, o->used);
    o->used = 0;
}

void output_write(output *o, const void *bytes, size_t n)
{
    if (o->error || n == 0)
        return;
    if (n > o->room - o->used)
        drain(o);
    if (n > o->room) {
        put(o, bytes, n);
        return;
    }
    memcpy(o->buffer + o->used, bytes, n);
    o->used += n;
}

void output_text(output *o, const char *text)
{
    output_write(o, text, strlen(text));
}

void output_field(output *o, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text, "\t\n\r\\");
        output_write(o, text, plain);
        text += plain;
        if (*text) {
            const char escaped[2] = {'\\', *text == '\t'   ? 't'
                                           : *text == '\n' ? 'n'
                                           : *text == '\r' ? 'r'
                                                           : '\\'};
            output_write(o, escaped, 2);
            text++;
        }
    }
}

void output_vprintf(output *o, const char *format, va_list args)
{
    if (o->error)
        return;
    va_list again;
    va_copy(again, args);
    size_t left = o->room - o->used;
    int length = vsnprintf(o->buffer + o->used, left, format, args);
    if (length >= 0 && (size_t)length < left) {
        o->used += (size_t)length;
    } else if (length >= 0) {
        char *text = mem_resize(NULL, (size_t)length + 1, 1);
        if (text && vsnprintf(text, (size_t)length + 1, format, again) == length)
            output_write(o, text, (size_t)length);
        else
            set_error(o, text ? EIO : ENOMEM);
        free(text);
    } else {
        set_error(o, errno);
    }
    va_end(again);
}

void output_printf(output *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    output_vprintf(o, format, args);
    va_end(args);
}

int output_flush(output *o)
{
    drain(o);
    return status_of(o);
}

static void flush_to_disk(output *o)
{
    /* EINVAL, ENOTSUP: a pipe, a terminal, a device, which have no disk behind them. */
    if (!o->error && fsync(o->descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        set_error(o, errno);
}

int output_sync(output *o)
{
    drain(o);
    if (o->path)
        flush_to_disk(o);
    return status_of(o);
}

/* Makes the rename itself durable. */
static void flush_folder(output *o)
{
    char *slash = strrchr(o->target, '/');
    if (slash)
        slash[slash == o->target] = '\0'; /* keep the root's own slash */
    int folder = open(slash ? o->target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return; /* a folder one may write to but not read: the file is there all the same */
    if (fsync(folder) != 0 && errno != EINVAL && errno != ENOTSUP)
        set_error(o, errno);
    close(folder);
}

int output_close(output *o, diag *d)
{
    if (!o->path)
        return ART_OK;
    drain(o);
    if (!o->borrowed) {
        flush_to_disk(o);
        if (close(o->descriptor) != 0)
            set_error(o, errno);
        o->descriptor = -1;
    }
    if (o->temporary) {
        if (!o->error && rename(o->temporary, o->target) != 0)
            set_error(o, errno);
        if (o->error)
            unlink(o->temporary);
        else
            flush_folder(o);
    }
    if (o->error) {
        char *path = o->path;
        o->path = NULL;
        int status = fail(o, path, d);
        free(path);
        return status;
    }
    release(o);
    return ART_OK;
}

/* Is this <base>.*.<pid>.<number>.tmp, of a process that is gone? One of this process's number is
 * of an earlier one: sweeping comes before writing. */
static int is_left_over(const char *name, const char *base)
{
    const size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || name[n] != '.')
        return 0;
    const char *end = strrchr(name + n, '.'), *at = end;
    if (strcmp(end, ".tmp") != 0)
        return 0;
    for (int part = 0; part < 2; part++) {
        const char *digit = at;
        while (digit > name + n && isdigit((unsigned char)digit[-1]))
            digit--;
        if (digit == at || digit == name + n || digit[-1] != '.')
            return 0;
        at = digit - 1;
    }
    const long process = strtol(at + 1, NULL, 10);
    return process == getpid() || (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH);
}

void output_sweep(const char *prefix)
{
    const char *slash = strrchr(prefix, '/');
    char *path = slash ? mem_text(prefix, (size_t)(slash - prefix) + 1) : NULL;
    DIR *folder = slash && !path ? NULL : opendir(path ? path : ".");
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_left_over(entry->d_name, slash ? slash + 1 : prefix))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    free(path);
}

int output_whole(const char *path, const void *bytes, size_t n, diag *d)
{
    output o;
    int status = output_open(&o, path, d);
    if (status != ART_OK)
        return status;
    output_write(&o, bytes, n);
    return output_close(&o, d);
}

int output_result(const char *prefix, const char *suffix, const buffer *text, diag *d)
{
    char *path = NULL;
    int status = buffer_status(text);
    if (status == ART_OK && asprintf(&path, "%s%s", prefix, suffix) < 0)
        return ART_ERR_NOMEM;
    if (status == ART_OK)
        status = output_whole(path, text->text, text->length, d);
    free(path);
    return status;
}
