/* utf8.h: is this text UTF-8? */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Bytes of the valid UTF-8 sequence at the start of text (1..4, at most n), or 0. n > 0. */
size_t utf8_length(const char *text, size_t n);

/* Offset of the first byte that is not valid UTF-8, or n when all of it is. */
size_t utf8_invalid(const char *text, size_t n);

#endif
