/* encode.h: from characters to states, and what is to be said about the characters. */
#ifndef SEQ_ENCODE_H
#define SEQ_ENCODE_H

#include "seq/rows.h"

/* Writes the states [count][length]. Characters that mean nothing are errors, one for each
 * row; sequences that look like protein are said to. */
int rows_encode(rows *r, uint8_t *state, size_t length);

#endif
