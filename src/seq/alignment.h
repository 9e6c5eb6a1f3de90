/* alignment.h: nucleotide alignments, as site patterns with counts.
 *
 * A state is a set of bases, one bit each; a gap has its own bit. So '?' and 'N' are the four
 * bases (STATE_ANY), a gap is STATE_GAP, and every reading of gaps is a mask away:
 * likelihood treats STATE_GAP as STATE_ANY, parsimony does so or keeps it as a fifth state.
 * Patterns are columns that are equal in these states. */
#ifndef SEQ_ALIGNMENT_H
#define SEQ_ALIGNMENT_H

#include "base/diag.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STATE_A = 1,
    STATE_C = 2,
    STATE_G = 4,
    STATE_T = 8,
    STATE_ANY = 15,
    STATE_GAP = 16,
};

typedef struct alignment {
    int n_taxa;
    size_t n_sites;
    size_t n_patterns;
    char **name;            /* [n_taxa], in the order of the file, never changed */
    uint8_t *state;         /* [n_taxa][n_patterns] */
    uint32_t *weight;       /* [n_patterns] how many sites show the pattern */
    uint32_t *site_pattern; /* [n_sites] pattern of each site */
} alignment;

void alignment_free(alignment *a); /* safe on a zeroed or half-built one */

#endif
