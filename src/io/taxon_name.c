#include "io/taxon_name.h"

#include "base/hash.h"

static char fold(char c)
{
    return c == '_' ? ' ' : c;
}

bool taxon_name_same(const char *a, size_t n, const char *b, size_t m)
{
    if (n != m)
        return false;
    for (size_t i = 0; i < n; i++)
        if (fold(a[i]) != fold(b[i]))
            return false;
    return true;
}

uint64_t taxon_name_hash(const char *name, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)fold(name[i])) * 0x100000001b3u;
    return hash_mix(hash);
}
