/* alignment_fuzz.h: what the targets for alignments have in common. */
#ifndef FUZZ_ALIGNMENT_H
#define FUZZ_ALIGNMENT_H

#include "seq/alignment.h"

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes; if that works, writes the alignment in every format that can hold it, reads
 * it again, and aborts unless it is the same. Aborts too if a refusal comes without an error
 * that says how to put it right. */
void alignment_fuzz(const uint8_t *data, size_t size, const alignment_options *options);

#endif
