/* mem.h: allocation of arrays with the size computed safely.
 *
 * All return NULL when memory is short or count * size does not fit in size_t. Everything is freed
 * with free(), also the result of mem_aligned. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* count * size bytes, all zero. A count of 0 gives a valid pointer. */
void *mem_zeros(size_t count, size_t size);

/* Grows (or shrinks) an array; the old block stays valid on failure. */
void *mem_resize(void *block, size_t count, size_t size);

/* Makes room for one more element: returns the array itself if count < *room, otherwise the array
 * grown to twice the room. The old block stays valid on failure. */
void *mem_grow(void *block, size_t *room, size_t count, size_t size);

/* count * size bytes, all zero, aligned to 64 bytes (a cache line, an AVX-512 vector). */
void *mem_aligned(size_t count, size_t size);

/* A copy of the first n bytes of text, followed by a NUL. */
char *mem_text(const char *text, size_t n);

#endif
