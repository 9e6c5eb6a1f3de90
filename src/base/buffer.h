/* buffer.h: a growing text in memory.
 *
 *     buffer b;
 *     buffer_init(&b);
 *     buffer_text(&b, "length ");
 *     buffer_double(&b, 0.1, 0);
 *     if (buffer_status(&b)) ...        some memory could not be allocated
 *     puts(b.text);
 *     buffer_free(&b);
 *
 * Functions that add text report no errors: after the first failure further text is dropped, and
 * buffer_status reports the failure at the end. The text always ends with a NUL. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct buffer {
    char *text; /* [length + 1]; owned; never NULL: "" until something is added */
    size_t length;
    size_t room; /* 0 while the text is not allocated */
    bool failed;
} buffer;

void buffer_init(buffer *b);
void buffer_free(buffer *b); /* safe on a zeroed or freed one; leaves it initialised */

/* Empties the buffer; keeps its memory and the record of a failure. */
void buffer_clear(buffer *b);

void buffer_add(buffer *b, const char *bytes, size_t n);
void buffer_text(buffer *b, const char *text);
void buffer_char(buffer *b, char c);
void buffer_printf(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number with '.' as decimal point in every locale, with the given number of significant digits,
 * or if that is 0 with the fewest digits (at least 15) that read back as the same double. */
void buffer_double(buffer *b, double value, int digits);

/* The same with a fixed number of decimals. */
void buffer_fixed(buffer *b, double value, int decimals);

/* ART_OK, or ART_ERR_NOMEM if something could not be added. */
int buffer_status(const buffer *b);

#endif
