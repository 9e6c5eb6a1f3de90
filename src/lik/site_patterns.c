#include "lik/site_patterns.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "seq/patterns.h"

#include <stdlib.h>
#include <string.h>

static uint8_t reading(uint8_t state, bool gap_is_state)
{
    return state & STATE_GAP && !gap_is_state ? STATE_ANY : state;
}

/* Numbers of the patterns in which something is known, into column; returns how many. */
static size_t known_columns(size_t *column, const alignment *a, bool gap_is_state)
{
    size_t n = a->n_patterns, count = 0;
    for (size_t k = 0; k < n; k++)
        column[k] = 0;
    for (size_t i = 0; i < (size_t)a->n_taxa; i++)
        for (size_t k = 0; k < n; k++)
            column[k] |= reading(a->state[i * n + k], gap_is_state) != STATE_ANY;
    for (size_t k = 0; k < n; k++)
        if (column[k])
            column[count++] = k;
    return count;
}

int site_patterns_build(site_patterns *out, const alignment *a, const int *taxon, bool gap_is_state)
{
    memset(out, 0, sizeof *out);
    int status = ART_ERR_NOMEM;
    alignment merged = {.n_taxa = a->n_taxa};
    size_t *column = mem_zeros(a->n_patterns, sizeof *column);
    if (!column)
        goto out;
    size_t n = known_columns(column, a, gap_is_state);
    merged.n_sites = n;
    merged.state = mem_zeros((size_t)a->n_taxa, n);
    if (!merged.state)
        goto out;
    for (size_t i = 0; i < (size_t)a->n_taxa; i++) {
        const uint8_t *row = a->state + (taxon ? (size_t)taxon[i] : i) * a->n_patterns;
        for (size_t k = 0; k < n; k++)
            merged.state[i * n + k] = reading(row[column[k]], gap_is_state);
    }
    status = patterns_compress(&merged);
    if (status)
        goto out;
    /* The columns were patterns already: a column counts as often as it occurs. */
    memset(merged.weight, 0, merged.n_patterns * sizeof *merged.weight);
    for (size_t k = 0; k < n; k++)
        merged.weight[merged.site_pattern[k]] += a->weight[column[k]];
    *out = (site_patterns){a->n_taxa, merged.n_patterns, merged.state, merged.weight};
    merged.state = NULL;
    merged.weight = NULL;
out:
    alignment_free(&merged);
    free(column);
    return status;
}

void site_patterns_free(site_patterns *p)
{
    free(p->state);
    free(p->weight);
    memset(p, 0, sizeof *p);
}
