#include "seq/patterns.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/hash_set.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { BAND = 64 }; /* columns transposed at a time: a cache line of every row */

/* The different columns so far, each of n bytes, behind each other. The last one may be a
 * candidate that is not counted yet. */
typedef struct columns {
    size_t n;
    uint8_t *state;
    size_t count, room;
} columns;

static bool same_column(const void *items, uint32_t a, uint32_t b)
{
    const columns *c = items;
    return memcmp(c->state + a * c->n, c->state + b * c->n, c->n) == 0;
}

static void transpose(uint8_t *band, const alignment *a, size_t site, size_t width)
{
    size_t n = (size_t)a->n_taxa;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            band[j * n + i] = a->state[i * a->n_sites + site + j];
}

/* The number of the pattern with this column, HASH_SET_NOMEM when memory is short. */
static uint32_t pattern_of(columns *c, hash_set *s, const uint8_t *column)
{
    uint8_t *grown = mem_grow(c->state, &c->room, c->count, c->n);
    if (!grown)
        return HASH_SET_NOMEM;
    c->state = grown;
    memcpy(c->state + c->count * c->n, column, c->n);
    uint32_t pattern = hash_set_intern(s, (uint32_t)c->count, hash_bytes(column, c->n));
    if (pattern == c->count)
        c->count++;
    return pattern;
}

/* Fills site_pattern and n_patterns. */
static int number_patterns(alignment *a)
{
    columns c = {.n = (size_t)a->n_taxa};
    hash_set s;
    hash_set_init(&s, same_column, &c);
    uint8_t *band = mem_zeros(BAND, c.n);
    uint32_t pattern = band ? 0 : HASH_SET_NOMEM;
    for (size_t site = 0; site < a->n_sites && pattern != HASH_SET_NOMEM; site += BAND) {
        size_t width = a->n_sites - site < BAND ? a->n_sites - site : BAND;
        transpose(band, a, site, width);
        for (size_t j = 0; j < width && pattern != HASH_SET_NOMEM; j++)
            a->site_pattern[site + j] = pattern = pattern_of(&c, &s, band + j * c.n);
    }
    a->n_patterns = c.count;
    hash_set_free(&s);
    free(c.state);
    free(band);
    return pattern == HASH_SET_NOMEM ? ART_ERR_NOMEM : ART_OK;
}

/* Keeps the first column of every pattern. Rows only move towards the beginning. */
static void pack_rows(alignment *a)
{
    for (size_t i = 0; i < (size_t)a->n_taxa; i++) {
        const uint8_t *from = a->state + i * a->n_sites;
        uint8_t *to = a->state + i * a->n_patterns;
        size_t known = 0;
        for (size_t site = 0; site < a->n_sites; site++)
            if (a->site_pattern[site] == known)
                to[known++] = from[site];
    }
    uint8_t *fitted = mem_resize(a->state, (size_t)a->n_taxa * a->n_patterns, 1);
    if (fitted)
        a->state = fitted;
}

int patterns_compress(alignment *a)
{
    a->site_pattern = mem_zeros(a->n_sites, sizeof *a->site_pattern);
    int status = a->site_pattern ? number_patterns(a) : ART_ERR_NOMEM;
    if (status != ART_OK)
        return status;
    a->weight = mem_zeros(a->n_patterns, sizeof *a->weight);
    if (!a->weight)
        return ART_ERR_NOMEM;
    for (size_t site = 0; site < a->n_sites; site++)
        a->weight[a->site_pattern[site]]++;
    pack_rows(a);
    return ART_OK;
}
