/* alignment_stats.h: what an alignment is like. */
#ifndef SEQ_ALIGNMENT_STATS_H
#define SEQ_ALIGNMENT_STATS_H

#include "seq/alignment.h"

typedef struct alignment_stats {
    size_t constant_sites;    /* some base fits every sequence; gaps and unknowns fit all */
    size_t informative_sites; /* at least two bases, each in at least two sequences; ambiguous
                                 states do not count */
    size_t empty_sites;       /* no base at all; they are constant too */
    int empty_sequences;      /* no base at all */
    int identical_sequences;  /* equal, state by state, to an earlier one; empty ones not counted */
    int *same_as;             /* [n_taxa] the first sequence that is equal to it (itself where it is
                                 the first); -1 where it is empty */
    double *gap_share;        /* [n_taxa] share of the sites that are gap or unknown */
} alignment_stats;

/* ART_OK or ART_ERR_NOMEM. Linear in the patterns' matrix. */
int alignment_stats_compute(alignment_stats *s, const alignment *a);

void alignment_stats_free(alignment_stats *s); /* safe on a zeroed one */

#endif
