/* input.h: a user's file, whole, as text in memory.
 *
 * Reading cleans the text once, so that parsers stay simple: gzip is unpacked (recognised by
 * its content, never by the file's name), a UTF-8 byte order mark is dropped, every line end
 * (LF, CR LF, CR, or a mixture) becomes one '\n', and a NUL byte or UTF-16 is refused. What is
 * left has no NUL inside and one behind: a parser is a `const char *` that walks until it
 * sees the NUL, and asks for line and column only when it has something to say:
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

/* What a file may grow to; 0 means the default. */
typedef struct input_limits {
    size_t bytes; /* of text: half of the machine's memory */
    size_t ratio; /* of text to compressed bytes, once there are INPUT_RATIO_FROM bytes: 500 */
} input_limits;

enum { INPUT_BLOCK = 1 << 12, INPUT_RATIO_FROM = 1 << 26 };

/* Reads a file, a pipe, or standard input for the path "-". limits may be NULL.
 * Fails with ART_ERR_INPUT for what the user can put right (no such file, damaged gzip, NUL),
 * ART_ERR_LIMIT, ART_ERR_IO or ART_ERR_NOMEM; the reason is in d. *in is always set, and safe
 * to free. An empty file is read as an empty text: whether that is an error is the parser's
 * to say. */
int input_read(input *in, const char *path, const input_limits *limits, diag *d);

/* The same for bytes in memory (which are copied); name is for messages. */
int input_from_memory(input *in, const char *name, const void *data, size_t size,
                      const input_limits *limits, diag *d);

void input_free(input *in); /* safe on a zeroed one */

/* Line and column of a place in the text (its end included). Costs at most INPUT_BLOCK bytes
 * of scanning, wherever the place is. */
diag_place input_place(const input *in, const char *at);

/* The file as a whole, for messages that belong to no line. */
diag_place input_file(const input *in);

#endif
