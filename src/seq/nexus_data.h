/* nexus_data.h: the structure of the DATA or CHARACTERS block of a NEXUS file.
 *
 * A TAXA block, if present, must agree with the matrix. Other blocks are skipped with a note;
 * commands for other programs are never executed. */
#ifndef SEQ_NEXUS_DATA_H
#define SEQ_NEXUS_DATA_H

#include "seq/rows.h"

/* Adds all rows and sets the symbols that FORMAT declares (MISSING, GAP, MATCHCHAR). */
int nexus_data_parse(rows *r);

#endif
