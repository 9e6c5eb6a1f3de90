/* encode.h: from characters to states, with messages about invalid or unusual characters. */
#ifndef SEQ_ENCODE_H
#define SEQ_ENCODE_H

#include "seq/rows.h"

/* The first character, in the order of the text, that cannot be a nucleotide: where it is, in which
 * row and at which site, from 1. False if there is none. */
bool rows_first_invalid(rows *r, const char **at, size_t *number, size_t *site);

/* Writes the states [count][length]. Invalid characters are errors, one per row; rows of protein
 * or of morphological characters are reported as such. */
int rows_encode(rows *r, uint8_t *state, size_t length);

#endif
