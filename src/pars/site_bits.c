#include "pars/site_bits.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_POWER = 32 }; /* bits of a weight */

/* The cost of a pattern if it is the same on every tree, otherwise -1. With every state but at
 * most one in a single taxon, each of those taxa needs one change of its own. Ambiguous states
 * count as depending on the tree, except those that match every state. */
static int constant_cost(const site_patterns *p, size_t pattern)
{
    int count[5] = {0}, gaps = 0, distinct = 0, common = 0;
    for (int i = 0; i < p->n_taxa; i++)
        gaps |= p->state[(size_t)i * p->count + pattern] & STATE_GAP;
    for (int i = 0; i < p->n_taxa; i++) {
        int state = p->state[(size_t)i * p->count + pattern];
        if ((state & STATE_ANY) == STATE_ANY && !gaps)
            continue;
        if (state & (state - 1))
            return -1;
        for (int s = 0; s < 5; s++)
            count[s] += state >> s & 1;
    }
    for (int s = 0; s < 5; s++) {
        distinct += count[s] > 0;
        common += count[s] > 1;
    }
    return common > 1 ? -1 : distinct > 0 ? distinct - 1 : 0;
}

int64_t site_bits_set_constant_aside(site_patterns *sites)
{
    int64_t constant = 0;
    for (size_t k = 0; k < sites->count; k++) {
        int cost = constant_cost(sites, k);
        if (cost < 0)
            continue;
        constant += (int64_t)cost * sites->weight[k];
        sites->weight[k] = 0;
    }
    return constant;
}

/* Assigns a column to every bit of every weight. The columns of one power of two follow each other
 * from the beginning of a word; first[k] is the first column of power k, first[MAX_POWER] the
 * end. */
static void plan_columns(size_t first[MAX_POWER + 1], const site_patterns *p)
{
    size_t count[MAX_POWER] = {0};
    for (size_t k = 0; k < p->count; k++)
        for (int bit = 0; bit < MAX_POWER; bit++)
            count[bit] += p->weight[k] >> bit & 1;
    first[0] = 0;
    for (int bit = 0; bit < MAX_POWER; bit++)
        first[bit + 1] = first[bit] + (count[bit] + 63) / 64 * 64;
}

/* Sets the bits of the leaves. Words without any pattern keep power 0. */
static void fill_columns(site_bits *c, const site_patterns *sites, size_t first[MAX_POWER + 1])
{
    size_t chunk = (size_t)c->chunk, planes = (size_t)c->n_planes, taxa = (size_t)c->n_taxa;
    for (int bit = 0; bit < MAX_POWER; bit++)
        for (size_t word = first[bit] / 64; word < first[bit + 1] / 64; word++)
            c->power[word] = (int64_t)1 << bit;
    for (size_t k = 0; k < sites->count; k++)
        for (int bit = 0; bit < MAX_POWER; bit++) {
            if (!(sites->weight[k] >> bit & 1))
                continue;
            size_t column = first[bit]++, word = column / 64;
            uint64_t *tips = c->tip + word / chunk * taxa * planes * chunk + word % chunk;
            for (size_t i = 0; i < taxa; i++)
                for (size_t s = 0; s < planes; s++)
                    if (sites->state[i * sites->count + k] >> s & 1)
                        tips[(i * planes + s) * chunk] |= (uint64_t)1 << column % 64;
        }
    /* The remaining columns of the last word agree in all taxa: no change. */
    for (int bit = 0; bit < MAX_POWER; bit++)
        for (size_t column = first[bit]; column % 64; column++) {
            size_t word = column / 64;
            uint64_t *tips = c->tip + word / chunk * taxa * planes * chunk + word % chunk;
            for (size_t i = 0; i < taxa; i++)
                tips[i * planes * chunk] |= (uint64_t)1 << column % 64;
        }
}

int site_bits_init(site_bits *c, const site_patterns *sites, int n_planes, size_t chunk_words)
{
    size_t first[MAX_POWER + 1];
    memset(c, 0, sizeof *c);
    plan_columns(first, sites);
    size_t words = first[MAX_POWER] / 64;
    size_t chunk = chunk_words / SITE_WORDS * SITE_WORDS;
    size_t needed = (words + SITE_WORDS - 1) / SITE_WORDS * SITE_WORDS;
    chunk = chunk < SITE_WORDS ? SITE_WORDS : chunk;
    chunk = chunk > needed ? needed : chunk;
    c->n_taxa = sites->n_taxa;
    c->n_planes = n_planes;
    c->n_chunks = chunk ? (words + chunk - 1) / chunk : 0;
    c->chunk = (int)chunk;
    c->tip =
        mem_aligned(c->n_chunks * chunk * (size_t)n_planes * (size_t)c->n_taxa, sizeof *c->tip);
    c->power = mem_zeros(c->n_chunks * chunk, sizeof *c->power);
    if (!c->tip || !c->power)
        return ART_ERR_NOMEM;
    fill_columns(c, sites, first);
    return ART_OK;
}

void site_bits_free(site_bits *c)
{
    free(c->tip);
    free(c->power);
    memset(c, 0, sizeof *c);
}
