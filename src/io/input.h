/* input.h: a user's file, read completely into memory as text.
 *
 * Reading cleans the text once, so that parsers stay simple: gzip is unpacked (recognised by its
 * content, never by the file's name), a UTF-8 byte order mark is dropped, every line end (LF, CR
 * LF, CR, or a mixture) becomes one '\n', and files with NUL bytes or UTF-16 are refused (NUL
 * bytes in the comments of a NEXUS file, which old programs left there, become blanks). The text
 * has no NUL inside and ends with one, so a parser can walk a `const char *` until it reaches the
 * NUL; it asks for line and column only when it has a message:
 *
 *     input in;
 *     int status = input_read(&in, path, NULL, d);
 *     for (const char *p = in.text; *p; p++)
 *         if (is_bad(*p))
 *             status = diag_error(d, ART_ERR_INPUT, input_place(&in, p), "... -- ...");
 *     input_free(&in);
 *
 * Time is linear in the file, memory is the unpacked text and a small index of its lines. */
#ifndef IO_INPUT_H
#define IO_INPUT_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct input_line {
    size_t line;  /* number of the line, from 0 */
    size_t start; /* offset of its first byte */
} input_line;

typedef struct input {
    char *name; /* for messages: the path, or "<stdin>"; owned */
    char *text; /* [length + 1]; owned */
    size_t length;
    input_line *index; /* the line at the start of every INPUT_BLOCK bytes; owned */
} input;

/* Limits on the size of a file; 0 means the default. */
typedef struct input_limits {
    size_t bytes; /* of text: half of the machine's memory */
    size_t ratio; /* of text to compressed bytes, once there are INPUT_RATIO_FROM bytes: 500 */
} input_limits;

enum { INPUT_BLOCK = 1 << 12, INPUT_RATIO_FROM = 1 << 26 };

/* Reads a file, a pipe, or standard input for the path "-". limits may be NULL. Fails with
 * ART_ERR_INPUT for errors that the user can correct (no such file, damaged gzip, NUL),
 * ART_ERR_LIMIT, ART_ERR_IO or ART_ERR_NOMEM; the reason is in d. *in is always set, and safe to
 * free. An empty file is read as an empty text: the parser decides whether that is an error. */
int input_read(input *in, const char *path, const input_limits *limits, diag *d);

/* The same for bytes in memory (which are copied); name is for messages. */
int input_from_memory(input *in, const char *name, const void *data, size_t size,
                      const input_limits *limits, diag *d);

void input_free(input *in); /* safe on a zeroed one */

/* Line and column of a place in the text (its end included). Scans at most INPUT_BLOCK bytes. */
diag_place input_place(const input *in, const char *at);

/* The file as a whole, for messages that do not refer to a line. */
diag_place input_file(const input *in);

#endif
