/* hash.h: a 64-bit hash of bytes, for tables in memory. Not for files (it follows the byte order of
 * the machine) and not secure against an adversary. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A bijection of 64-bit numbers in which every input bit affects every output bit. */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

static inline uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *byte = data;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size, word;
    for (; size >= sizeof word; size -= sizeof word, byte += sizeof word) {
        memcpy(&word, byte, sizeof word);
        hash = hash_mix(hash ^ word);
    }
    word = 0;
    memcpy(&word, byte, size);
    return hash_mix(hash ^ word);
}

#endif
