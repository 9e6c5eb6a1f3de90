/* site_patterns.h: the columns of an alignment as used by a likelihood or a parsimony score: rows
 * in the order of the taxa of the trees, one treatment of gaps, equal columns merged. */
#ifndef LIK_SITE_PATTERNS_H
#define LIK_SITE_PATTERNS_H

#include "seq/alignment.h"

#include <stdbool.h>

typedef struct site_patterns {
    int n_taxa;
    size_t count;
    uint8_t *state;   /* [n_taxa][count] */
    uint32_t *weight; /* [count] */
} site_patterns;

/* taxon[i] is the row of the alignment that becomes row i; NULL keeps the order. A gap is a
 * separate state (STATE_GAP) or, if gap_is_state is false, any base (STATE_ANY). Columns without
 * any known state carry no information about trees and are left out, so count may be 0. The
 * patterns are in the order of their first column. O(n_taxa * n_patterns). */
int site_patterns_build(site_patterns *out, const alignment *a, const int *taxon,
                        bool gap_is_state);
void site_patterns_free(site_patterns *p); /* safe on a zeroed one */

#endif
