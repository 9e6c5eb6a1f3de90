/* fasta.h: the structure of a FASTA file: `>name comment`, then lines of sequence. */
#ifndef SEQ_FASTA_H
#define SEQ_FASTA_H

#include "seq/rows.h"

/* Adds all records to r. The name is the first word of the header, or all of it. Lines that
 * begin with ';' (comments of old files) are skipped with a note. */
int fasta_parse(rows *r, bool full_names);

#endif
