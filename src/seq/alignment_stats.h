/* alignment_stats.h: descriptive statistics of an alignment. */
#ifndef SEQ_ALIGNMENT_STATS_H
#define SEQ_ALIGNMENT_STATS_H

#include "seq/alignment.h"

typedef struct alignment_stats {
    size_t constant_sites;    /* some base is compatible with every sequence; gaps and unknown bases
                                 are compatible with all */
    size_t informative_sites; /* at least two bases, each in at least two sequences; ambiguous
                                 states do not count */
    size_t empty_sites;       /* no base at all; they are constant too */
    int empty_sequences;      /* no base at all */
    int identical_sequences;  /* identical, state by state, to an earlier one; empty sequences are
                                 not counted */
    int *same_as; /* [n_taxa] the first sequence that is equal to it (itself if it is the first); -1
                     if it is empty */
    double *gap_share; /* [n_taxa] fraction of the sites that are gaps or unknown */
} alignment_stats;

/* ART_OK or ART_ERR_NOMEM. Linear in the matrix of patterns. */
int alignment_stats_compute(alignment_stats *s, const alignment *a);

void alignment_stats_free(alignment_stats *s); /* safe on a zeroed one */

#endif
