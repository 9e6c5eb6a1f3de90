/* blocks.h: the formats that write an alignment in blocks, with the name at the beginning of every
 * line: Clustal, MSF (of GCG) and Stockholm (of Pfam). A file with one block has a line per
 * sequence. Lines of annotation (conservation, positions, #=GC) are skipped. '.' and '~' are gaps.
 */
#ifndef SEQ_BLOCKS_H
#define SEQ_BLOCKS_H

#include "seq/rows.h"

/* Does the text begin as such a file does? */
bool is_clustal(const char *text);
bool is_msf(const char *text);
bool is_stockholm(const char *text);

/* Each adds all rows. */
int clustal_parse(rows *r);
int msf_parse(rows *r);
int stockholm_parse(rows *r);

#endif
