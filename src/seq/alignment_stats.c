#include "seq/alignment_stats.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What the sequences have shown of one pattern so far. */
typedef struct summary {
    uint8_t common; /* bases that fit all */
    uint8_t once;   /* bases that occur, unambiguously */
    uint8_t twice;  /* bases that occur more than once */
    uint8_t data;   /* something else than gaps and unknowns */
} summary;

static bool is_unknown(uint8_t state)
{
    return state == STATE_ANY || state == STATE_GAP;
}

static void add_sequence(summary *pattern, const uint8_t *state, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        summary *p = &pattern[j];
        uint8_t set = is_unknown(state[j]) ? STATE_ANY : state[j];
        uint8_t base = set & (set - 1) ? 0 : set;
        p->common &= set;
        p->twice |= p->once & base;
        p->once |= base;
        p->data |= set != STATE_ANY;
    }
}

static void count_sites(alignment_stats *s, const summary *pattern, const alignment *a)
{
    for (size_t j = 0; j < a->n_patterns; j++) {
        const summary *p = &pattern[j];
        if (p->common)
            s->constant_sites += a->weight[j];
        if (p->twice & (p->twice - 1))
            s->informative_sites += a->weight[j];
        if (!p->data)
            s->empty_sites += a->weight[j];
    }
}

static bool is_sequence(const void *items, uint32_t i, const void *state)
{
    const alignment *a = items;
    return memcmp(a->state + i * a->n_patterns, state, a->n_patterns) == 0;
}

/* Sets gap_share[i] and same_as[i]. */
static int look_at_sequence(alignment_stats *s, hash_index *seen, const alignment *a, uint32_t i)
{
    const uint8_t *state = a->state + i * a->n_patterns;
    size_t unknown = 0;
    for (size_t j = 0; j < a->n_patterns; j++)
        unknown += is_unknown(state[j]) ? a->weight[j] : 0;
    s->gap_share[i] = (double)unknown / (double)a->n_sites;
    if (unknown == a->n_sites) {
        s->same_as[i] = -1;
        s->empty_sequences++;
        return ART_OK;
    }
    uint32_t first;
    int status =
        hash_index_intern(seen, &first, i, hash_bytes(state, a->n_patterns), is_sequence, a, state);
    s->same_as[i] = (int)first;
    s->identical_sequences += first != i;
    return status;
}

int alignment_stats_compute(alignment_stats *s, const alignment *a)
{
    memset(s, 0, sizeof *s);
    s->same_as = mem_zeros((size_t)a->n_taxa, sizeof *s->same_as);
    s->gap_share = mem_zeros((size_t)a->n_taxa, sizeof *s->gap_share);
    summary *pattern = mem_zeros(a->n_patterns, sizeof *pattern);
    hash_index seen = {0};
    int status = s->same_as && s->gap_share && pattern ? ART_OK : ART_ERR_NOMEM;
    if (status == ART_OK)
        for (size_t j = 0; j < a->n_patterns; j++)
            pattern[j].common = STATE_ANY;
    for (int i = 0; i < a->n_taxa && status == ART_OK; i++) {
        add_sequence(pattern, a->state + (size_t)i * a->n_patterns, a->n_patterns);
        status = look_at_sequence(s, &seen, a, (uint32_t)i);
    }
    if (status == ART_OK)
        count_sites(s, pattern, a);
    else
        alignment_stats_free(s);
    hash_index_free(&seen);
    free(pattern);
    return status;
}

void alignment_stats_free(alignment_stats *s)
{
    free(s->same_as);
    free(s->gap_share);
    memset(s, 0, sizeof *s);
}
