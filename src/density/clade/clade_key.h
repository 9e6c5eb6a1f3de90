/* clade_key.h: a set of taxa as 128 bits: the exclusive or of a random number for each of its taxa,
 * fixed once and for all. Parts and complements are one operation, for any number of taxa. Two
 * different sets are equal with probability 2^-128 (clade_density.h). */
#ifndef DENSITY_CLADE_CLADE_KEY_H
#define DENSITY_CLADE_CLADE_KEY_H

#include <stdint.h>

typedef struct clade_key {
    uint64_t word[2];
} clade_key;

/* The number that stands for a taxon. */
clade_key clade_key_of_taxon(int32_t taxon);

static inline clade_key key_xor(clade_key a, clade_key b)
{
    return (clade_key){{a.word[0] ^ b.word[0], a.word[1] ^ b.word[1]}};
}

#endif
