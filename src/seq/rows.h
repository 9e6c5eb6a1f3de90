/* rows.h: the result of the readers of alignments: the names, and where in the text the characters
 * of each sequence are.
 *
 * A reader only determines the structure of its file. It calls rows_add for a name and rows_piece
 * for every stretch of text that belongs to a row; the stretches are not copied. The steps common
 * to all formats follow: rows_check checks names and lengths, and encode.h turns the characters
 * into states. All return ART_OK, ART_ERR_INPUT with a message in d, or ART_ERR_NOMEM without. */
#ifndef SEQ_ROWS_H
#define SEQ_ROWS_H

#include "base/hash_index.h"
#include "io/input.h"

#include <stdbool.h>
#include <stdint.h>

enum { ROWS_MAX_NAME = 1 << 16 }; /* bytes */

typedef struct row {
    char *name;     /* owned */
    const char *at; /* where the name is in the text */
    size_t length;  /* characters of the sequence, blanks not counted */
    size_t done;    /* states written so far */
    size_t bad;     /* number of invalid characters, and the first of them: */
    const char *bad_at;
    size_t bad_site;
    uint32_t protein; /* letters that occur only in proteins, one bit each */
    size_t protein_count;
    size_t digits, known; /* digits, and characters that are not gaps or unknown; counted where
                             something is invalid */
} row;

typedef struct piece {
    uint32_t row;
    const char *start, *end;
} piece;

typedef struct rows {
    const input *in; /* borrowed */
    diag *d;         /* borrowed; may be NULL */
    row *row;        /* [count] */
    size_t count, room;
    piece *piece; /* [n_pieces], in the order of the text */
    size_t n_pieces, piece_room;
    hash_index names;
    uint16_t symbol[256]; /* symbols.h; a reader may change it */
    bool sets;            /* {CG} or (CG) is one character; a reader may set it */
    char about[96];       /* what holds the rows, for messages: "the alignment" */
} rows;

void rows_init(rows *r, const input *in, diag *d);
void rows_free(rows *r); /* safe on a zeroed or freed one */

/* Forgets all rows and pieces. */
void rows_clear(rows *r);

/* Adds a row and takes a copy of the name (n bytes at name; `at` is its place in the text). A
 * control character ends the name, with a warning. ART_ERR_INPUT if it is empty, too long, or not
 * UTF-8. A duplicate name, by the rule of io/taxon_name.h, is an error if again is NULL; otherwise
 * no row is added and *again is the number of the row with this name (for a new name, of the new
 * row). */
int rows_add(rows *r, const char *name, size_t n, const char *at, size_t *again);

/* The next piece of a row. */
int rows_piece(rows *r, size_t number, const char *start, const char *end);

/* Behind the character at `at`, which is one byte, or a whole set where sets are allowed and it is
 * closed on its line. A bracket that the table of symbols gives a meaning opens no set. */
const char *rows_next(const rows *r, const char *at);

/* The first set of bases, {AC} or (AC), in a row that its format does not have, or that is not
 * closed; NULL if there is none. O(text). And what to do about it. */
const char *rows_find_set(const rows *r, size_t number);
const char *rows_set_hint(const rows *r);

/* Every row must have this many characters: one error for each row that does not, or one
 * for all where they agree, with the hint, or
 * with the hint about sets of bases if the row has one. */
int rows_expect(const rows *r, size_t length, const char *said_by, const char *hint);

/* At least three rows, none empty, all of one length; a warning for names that differ only in case.
 * Sets *length to the number of sites. */
int rows_check(const rows *r, size_t *length);

#endif
