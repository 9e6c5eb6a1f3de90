/* nexus_data.h: the structure of the DATA or CHARACTERS block of a NEXUS file.
 *
 * A TAXA block, if present, must agree with the matrix: of several, the one that the block links to
 * (LINK TAXA = title), or any. Other blocks are skipped with a note;
 * commands for other programs are never executed. Of FORMAT everything is understood that leaves a
 * row of characters per taxon: MISSING, GAP, MATCHCHAR, EQUATE, INTERLEAVE, NOLABELS; types of data
 * that are not nucleotides are refused, with the first character that shows it. Sets of bases, {CG}
 * or (CG), are ambiguous bases. */
#ifndef SEQ_NEXUS_DATA_H
#define SEQ_NEXUS_DATA_H

#include "seq/rows.h"

/* Adds all rows and sets the symbols that FORMAT declares. */
int nexus_data_parse(rows *r);

#endif
