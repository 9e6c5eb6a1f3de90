/* symbols.h: the meaning of the characters of a sequence.
 *
 * A table gives every byte its state (the bits of alignment.h) or one of these marks. */
#ifndef SEQ_SYMBOLS_H
#define SEQ_SYMBOLS_H

#include <stdint.h>

enum {
    SYMBOL_STATE = 31, /* mask of the state */
    SYMBOL_BAD = 32,   /* cannot be in a sequence */
    SYMBOL_BLANK = 64, /* skipped */
    /* states that need a message */
    SYMBOL_T = 128,
    SYMBOL_U = 256,
    SYMBOL_DOT = 512,
    SYMBOL_BANG = 1024,
    SYMBOL_MATCH = 2048, /* the state of the first sequence at this site */
    SYMBOL_SET = 4096,   /* a set of bases, where a reader allows them; not in tables */
};

/* A C G T, U = T, the IUPAC codes, N X O ? ~ for any base, '-' and '!' for a gap, '.' for any base;
 * upper or lower case. Space, tab and line end are blank, all other characters are invalid. */
void symbols_init(uint16_t symbol[256]);

/* '.' and '~' are gaps, as in the formats of GCG, Pfam and Clustal. */
void symbols_dots_are_gaps(uint16_t symbol[256]);

/* Changes the meaning of a character, in upper and lower case; does nothing for a NUL. */
void symbols_set(uint16_t symbol[256], char c, int meaning);

/* The character of a state: a base, an IUPAC code, 'N' or '-'. */
char symbol_of_state(uint8_t state);

#endif
