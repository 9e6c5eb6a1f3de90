/* patterns.h: the distinct columns of a matrix of states, with their counts. */
#ifndef SEQ_PATTERNS_H
#define SEQ_PATTERNS_H

#include "seq/alignment.h"

/* a->state is [n_taxa][n_sites] and becomes [n_taxa][n_patterns], in the same block; weight and
 * site_pattern are allocated. Patterns are numbered in the order of their first sites.
 * ART_OK or ART_ERR_NOMEM. Linear in the matrix. */
int patterns_compress(alignment *a);

#endif
