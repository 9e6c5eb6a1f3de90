/* phylip.h: the structure of a PHYLIP file.
 *
 *     ntax nsite
 *     name characters ...
 *
 * Sequences may be on one line each, wrapped over several lines (sequential), or in blocks of
 * one line per sequence (interleaved), with or without blank lines; no option says which. A
 * file that is no single line per sequence is read both ways, and the way that fits the header
 * is taken; that both fit does not happen in practice, and is refused. */
#ifndef SEQ_PHYLIP_H
#define SEQ_PHYLIP_H

#include "seq/rows.h"

/* Adds all rows. Relaxed: the name ends at the first blank. Strict: it is the first ten
 * bytes of the line, blanks around it dropped. */
int phylip_parse(rows *r, bool strict);

#endif
