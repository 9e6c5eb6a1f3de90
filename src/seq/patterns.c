#include "seq/patterns.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { BAND = 64 }; /* columns transposed at a time: a cache line of every row */

/* The different columns so far, each of n bytes, behind each other. */
typedef struct columns {
    size_t n;
    uint8_t *state;
    size_t count, room;
    hash_index index;
} columns;

static bool is_column(const void *items, uint32_t item, const void *column)
{
    const columns *c = items;
    return memcmp(c->state + item * c->n, column, c->n) == 0;
}

static void transpose(uint8_t *band, const alignment *a, size_t site, size_t width)
{
    size_t n = (size_t)a->n_taxa;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            band[j * n + i] = a->state[i * a->n_sites + site + j];
}

/* The number of the pattern with this column. */
static int pattern_of(uint32_t *pattern, columns *c, const uint8_t *column)
{
    uint8_t *grown = mem_grow(c->state, &c->room, c->count, c->n);
    if (!grown)
        return ART_ERR_NOMEM;
    c->state = grown;
    int status = hash_index_intern(&c->index, pattern, (uint32_t)c->count, hash_bytes(column, c->n),
                                   is_column, c, column);
    if (!status && *pattern == c->count)
        memcpy(c->state + c->count++ * c->n, column, c->n);
    return status;
}

/* Fills site_pattern and n_patterns. */
static int number_patterns(alignment *a)
{
    columns c = {.n = (size_t)a->n_taxa};
    uint8_t *band = mem_zeros(BAND, c.n);
    int status = band ? ART_OK : ART_ERR_NOMEM;
    for (size_t site = 0; site < a->n_sites && !status; site += BAND) {
        size_t width = a->n_sites - site < BAND ? a->n_sites - site : BAND;
        transpose(band, a, site, width);
        for (size_t j = 0; j < width && !status; j++)
            status = pattern_of(&a->site_pattern[site + j], &c, band + j * c.n);
    }
    a->n_patterns = c.count;
    hash_index_free(&c.index);
    free(c.state);
    free(band);
    return status;
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
