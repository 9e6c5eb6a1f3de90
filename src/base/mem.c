#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *mem_zeros(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

void *mem_resize(void *block, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    size_t bytes = count * size;
    return realloc(block, bytes ? bytes : 1);
}

void *mem_grow(void *block, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return block;
    if (*room > SIZE_MAX / 2)
        return NULL;
    size_t more = *room ? 2 * *room : 16;
    void *grown = mem_resize(block, more, size);
    if (grown)
        *room = more;
    return grown;
}

void *mem_aligned(size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - 64) / size)
        return NULL;
    size_t bytes = (count * size + 63) / 64 * 64;
    if (bytes == 0)
        bytes = 64;
    void *block = aligned_alloc(64, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

char *mem_text(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}
