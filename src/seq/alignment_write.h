/* alignment_write.h: alignments as text. */
#ifndef SEQ_ALIGNMENT_WRITE_H
#define SEQ_ALIGNMENT_WRITE_H

#include "base/buffer.h"
#include "seq/alignment.h"

/* Adds the alignment to out: FASTA, PHYLIP (relaxed, a line per sequence) or NEXUS (a DATA block).
 * Reading it again gives the same alignment; FASTA with blanks in names then needs full_names, and
 * gives a warning. Names are never changed: ART_ERR_UNSUPPORTED for one that the format cannot hold
 * (blanks in PHYLIP), with the name in d; ART_ERR_NOMEM. */
int alignment_write(buffer *out, const alignment *a, alignment_format format, diag *d);

#endif
