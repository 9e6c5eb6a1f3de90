/* buffer.h: a text that grows in memory.
 *
 *     buffer b;
 *     buffer_init(&b);
 *     buffer_text(&b, "length ");
 *     buffer_double(&b, 0.1, 0);
 *     if (buffer_status(&b)) ...        memory ran short at some point
 *     puts(b.text);
 *     buffer_free(&b);
 *
 * Adding never fails in the middle: the first failure is remembered, what follows is dropped,
 * and buffer_status tells at the end. The text always has a NUL behind. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct buffer {
    char *text; /* [length + 1]; owned; never NULL: "" until something was added */
    size_t length;
    size_t room; /* 0 while the text is not allocated */
    bool failed;
} buffer;

void buffer_init(buffer *b);
void buffer_free(buffer *b); /* safe on a zeroed or freed one; leaves it initialised */

/* Empty again, the memory and a failure kept. */
void buffer_clear(buffer *b);

void buffer_add(buffer *b, const char *bytes, size_t n);
void buffer_text(buffer *b, const char *text);
void buffer_char(buffer *b, char c);
void buffer_printf(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number with '.' as decimal point in every locale: with so many significant digits, or
 * with 0 the fewest digits (at least 15) that read back as the same double. */
void buffer_double(buffer *b, double value, int digits);

/* The same with so many decimals behind the point. */
void buffer_fixed(buffer *b, double value, int decimals);

/* ART_OK, or ART_ERR_NOMEM if something could not be added. */
int buffer_status(const buffer *b);

#endif
