/* encode.h: from characters to states, with messages about invalid or unusual characters. */
#ifndef SEQ_ENCODE_H
#define SEQ_ENCODE_H

#include "seq/rows.h"

/* Writes the states [count][length]. Invalid characters are errors, one per row; sequences that
 * look like protein are reported. */
int rows_encode(rows *r, uint8_t *state, size_t length);

#endif
