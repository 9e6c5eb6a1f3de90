/* alignment.h: nucleotide alignments, as site patterns with counts.
 *
 *     alignment a;
 *     diag d;
 *     diag_init(&d);
 *     int status = alignment_read(&a, path, NULL, &d);
 *     ...                                    print d; use a if status is ART_OK
 *     alignment_free(&a);
 *     diag_free(&d);
 *
 * A state is a set of bases, one bit each; a gap has its own bit. So '?' and 'N' are the four bases
 * (STATE_ANY), a gap is STATE_GAP, and each treatment of gaps is just a mask: the likelihood treats
 * STATE_GAP as STATE_ANY, parsimony does so or keeps it as a fifth state. Patterns are columns that
 * are equal in these states, in the order in which they first occur.
 *
 * Sites are the columns of the file, all of them and in its order, so that site numbers are those
 * of the user. Columns without a single base (only gaps and unknown bases) are included: they
 * contribute nothing to a likelihood or a parsimony score; a note reports how many there are. */
#ifndef SEQ_ALIGNMENT_H
#define SEQ_ALIGNMENT_H

#include "io/input.h"

#include <stdbool.h>
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

typedef enum alignment_format {
    ALIGNMENT_UNKNOWN,
    ALIGNMENT_FASTA,
    ALIGNMENT_PHYLIP,
    ALIGNMENT_NEXUS, /* the formats that alignment_write knows end here */
    ALIGNMENT_CLUSTAL,
    ALIGNMENT_MSF,
    ALIGNMENT_STOCKHOLM,
} alignment_format;

typedef struct alignment {
    int n_taxa;
    size_t n_sites;
    size_t n_patterns;
    char **name;             /* [n_taxa], in the order of the file, never changed */
    uint8_t *state;          /* [n_taxa][n_patterns] */
    uint32_t *weight;        /* [n_patterns] number of sites with the pattern */
    uint32_t *site_pattern;  /* [n_sites] pattern of each site */
    alignment_format format; /* of the file it came from */
} alignment;

/* All zero (or a NULL pointer) is the default. */
typedef struct alignment_options {
    bool phylip_strict;  /* PHYLIP: the name is in the first ten columns and may contain blanks */
    bool full_names;     /* FASTA: the name is the whole header line, not its first word */
    input_limits limits; /* of the file */
    size_t memory;       /* bytes that the alignment may need; 0: the machine's memory */
} alignment_options;

/* Reads FASTA, PHYLIP, NEXUS, Clustal, MSF or Stockholm, gzipped or not, from a file or standard
 * input ("-"); the format is detected from the content. Returns 0, or ART_ERR_INPUT, _LIMIT, _IO,
 * _NOMEM, with the reasons in d; notes and warnings go there too. *a is always set and safe to
 * free; on success it has at least 3 taxa and 1 site. Time is linear in the size of the file; peak
 * memory is about three times its size. */
int alignment_read(alignment *a, const char *path, const alignment_options *options, diag *d);

/* The same for a file that has already been read. */
int alignment_parse(alignment *a, const input *in, const alignment_options *options, diag *d);

/* An alignment of simulated sequences: state [n_taxa][n_sites] and the names are copied. */
int alignment_from_states(alignment *a, char *const *name, const uint8_t *state, int n_taxa,
                          size_t n_sites);

void alignment_free(alignment *a); /* safe on a zeroed or half-built one */

/* "FASTA", "PHYLIP", "NEXUS", "Clustal", ... */
const char *alignment_format_name(alignment_format format);

#endif
