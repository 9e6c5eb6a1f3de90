/* output.h: files that are written completely or not at all, and logs.
 *
 *     output o;
 *     int status = output_open(&o, "run.contree", d);
 *     if (status == ART_OK) {
 *         output_printf(&o, "%s;\n", newick);
 *         status = output_close(&o, d);
 *     }
 *
 * output_open writes to a temporary file in the same folder; output_close flushes it to disk,
 * renames it to its name and flushes the folder. Until then the old file, if any, is untouched. A
 * symbolic link is followed; what is not a regular file (a terminal, a pipe, /dev/full) is written
 * directly. Functions that write report no errors: after the first failure further text is dropped,
 * and output_close reports the failure with the name of the file. */
#ifndef IO_OUTPUT_H
#define IO_OUTPUT_H

#include "base/buffer.h"
#include "base/diag.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output {
    char *path;      /* for messages: the name as the caller gave it; owned; NULL when closed */
    char *target;    /* the actual target, with links followed; owned; NULL if written directly */
    char *temporary; /* owned; NULL if written directly */
    char *buffer;
    size_t used;
    size_t room;
    int64_t length; /* bytes written to the file so far, including the previous contents of a log */
    int descriptor;
    int borrowed; /* the descriptor belongs to the caller (standard output) */
    int error;    /* errno of the first failure, 0 if none */
} output;

/* A file that appears, complete, when output_close succeeds. */
int output_open(output *o, const char *path, diag *d);

/* A log: lines are appended to the existing contents; output_flush passes them to the system. If
 * keep is not negative, the file is first truncated to that many bytes (a shorter file is an
 * error). output_close flushes it to disk. */
int output_append(output *o, const char *path, int64_t keep, diag *d);

/* An open descriptor that must not be closed, for example standard output. */
int output_descriptor(output *o, int descriptor, const char *name, diag *d);

void output_printf(output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_vprintf(output *o, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void output_write(output *o, const void *bytes, size_t n);
void output_text(output *o, const char *text);

/* A text as one field of a tab-separated table: tab, line end and backslash as \t \n \r \\. */
void output_field(output *o, const char *text);

/* Passes the buffer to the system. ART_ERR_IO if this or an earlier write failed. */
int output_flush(output *o);

/* The same, and waits until the data are on disk, so that statements about the file elsewhere
 * remain true after a power failure. Does nothing on a zeroed or closed output. */
int output_sync(output *o);

/* Finishes the file and frees everything; does nothing on a zeroed or closed output. On failure the
 * old file is untouched, the temporary one is gone, the message is in d, and the status is
 * ART_ERR_IO (or ART_ERR_NOMEM). */
int output_close(output *o, diag *d);

/* Writes a file with the given bytes, completely or not at all: open, write and close in one
 * call. */
int output_whole(const char *path, const void *bytes, size_t n, diag *d);

/* The same for <prefix><suffix> and a text; ART_ERR_NOMEM if some of the text is missing. */
int output_result(const char *prefix, const char *suffix, const buffer *text, diag *d);

/* Removes the temporary files of <prefix>.* left behind by processes that were killed. */
void output_sweep(const char *prefix);

#endif
