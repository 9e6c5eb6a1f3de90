/* nexus_data.h: the structure of the DATA or CHARACTERS block of a NEXUS file.
 *
 * A TAXA block, where there is one, must agree with the matrix. Other blocks are passed over
 * with a note; commands for other programs are never run. */
#ifndef SEQ_NEXUS_DATA_H
#define SEQ_NEXUS_DATA_H

#include "seq/rows.h"

/* Adds all rows and sets the symbols that FORMAT declares (MISSING, GAP, MATCHCHAR). */
int nexus_data_parse(rows *r);

#endif
