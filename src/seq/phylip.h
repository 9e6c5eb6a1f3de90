/* phylip.h: the structure of a PHYLIP file.
 *
 *     ntax nsite
 *     name characters ...
 *
 * Sequences may be on one line each, wrapped over several lines (sequential), or in blocks of one
 * line per sequence (interleaved), with or without blank lines; the layout is detected. A file that
 * does not have one line per sequence is read both ways, and the way that agrees with the header is
 * used; if both agree, which does not happen in practice, the file is refused. */
#ifndef SEQ_PHYLIP_H
#define SEQ_PHYLIP_H

#include "seq/rows.h"

/* Adds all rows. Relaxed: the name ends at the first blank. Strict: it is the first ten bytes of
 * the line, blanks around it dropped. A file that fits only as strict PHYLIP is read so, with a
 * note, even if strict is false. */
int phylip_parse(rows *r, bool strict);

#endif
