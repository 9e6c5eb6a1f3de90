/* site_bits.h: site patterns as bits, one column for each, 64 columns to a word.
 *
 * A pattern that occurs w times takes one column for every bit of w, among the columns of that
 * power of two, so that changes are counted by counting bits. The columns of one power begin with a
 * new word. Words can be divided into chunks, each with all taxa, that fit into a cache.
 *
 *     site_bits b;
 *     status = site_bits_init(&c, &sites, n_planes, chunk_words);
 *     site_bits_tip(&c, chunk, taxon)           [n_planes][c.chunk] the states of a taxon
 *     c.power[chunk * c.chunk + word]         what a change in a column of the word costs
 *     site_bits_free(&c); */
#ifndef PARS_SITE_BITS_H
#define PARS_SITE_BITS_H

#include "lik/site_patterns.h"

#include <stddef.h>
#include <stdint.h>

enum { SITE_WORDS = 8 }; /* the number of words of a chunk is a multiple: the widest vector */

typedef struct site_bits {
    int n_taxa;
    int n_planes; /* states: 4, or 5 with gaps */
    size_t n_chunks;
    int chunk;      /* words in each */
    uint64_t *tip;  /* [n_chunks][N][n_planes][chunk]; owned */
    int64_t *power; /* [n_chunks][chunk] what a change in the word costs; 0 for padding; owned */
} site_bits;

/* Patterns of weight 0 are left out. chunk_words: the most words of a chunk. What is needed of the
 * patterns is copied. *c is always safe to free. */
int site_bits_init(site_bits *c, const site_patterns *sites, int n_planes, size_t chunk_words);
void site_bits_free(site_bits *c); /* safe on a zeroed or freed one */

static inline const uint64_t *site_bits_tip(const site_bits *c, size_t chunk, int32_t taxon)
{
    return c->tip +
           (chunk * (size_t)c->n_taxa + (size_t)taxon) * (size_t)c->n_planes * (size_t)c->chunk;
}

/* Sets the weights of patterns that cost the same on every tree to 0 and returns what they cost. */
int64_t site_bits_set_constant_aside(site_patterns *sites);

#endif
