/* mem.h: allocation of arrays with the size computed safely.
 *
 * All return NULL when memory is short or count * size does not fit in size_t.
 * Free with free(), except mem_aligned, which is freed with free() too (aligned_alloc). */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* count * size bytes, all zero. A count of 0 gives a valid pointer. */
void *mem_zeros(size_t count, size_t size);

/* Grows (or shrinks) an array; the old block stays valid on failure. */
void *mem_resize(void *block, size_t count, size_t size);

/* Room for one more element: the array itself while count < *room, else it is grown to twice
 * the room. The old block stays valid on failure. */
void *mem_grow(void *block, size_t *room, size_t count, size_t size);

/* count * size bytes, all zero, aligned to 64 bytes (a cache line, an AVX-512 vector). */
void *mem_aligned(size_t count, size_t size);

/* A copy of the first n bytes of text, with a NUL behind. */
char *mem_text(const char *text, size_t n);

#endif
