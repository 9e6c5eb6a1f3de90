#include "seq/encode.h"

#include "artreeformer.h"
#include "base/utf8.h"
#include "seq/alignment.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <string.h>

enum { SEEN_KINDS = 6 };
static const uint16_t SEEN[SEEN_KINDS] = {SYMBOL_T,    SYMBOL_U,     SYMBOL_DOT,
                                          SYMBOL_BANG, SYMBOL_MATCH, SYMBOL_SET};

/* Which of the marks occurred, and where first. */
typedef struct sightings {
    uint16_t seen;
    const char *at[SEEN_KINDS];
} sightings;

static void note_sighting(sightings *s, uint16_t marks, const char *at)
{
    for (int k = 0; k < SEEN_KINDS; k++)
        if (marks & SEEN[k] & ~s->seen)
            s->at[k] = at;
    s->seen |= marks;
}

static void note_bad(row *x, const char *at)
{
    if (x->bad++ == 0) {
        x->bad_at = at;
        x->bad_site = x->done + 1;
    }
    char c = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
    if (c && strchr("EFIJLPQZ", c)) {
        x->protein |= 1u << (c - 'A');
        x->protein_count++;
    }
}

/* The state of the set of bases from its '{' or '(' at `at` to behind its end: any of them. With a
 * gap or an unknown base in it, nothing is known. */
static uint8_t encode_set(const rows *r, row *x, const char *at, const char *behind)
{
    uint8_t state = 0;
    for (const char *p = at + 1; p < behind - 1; p++) {
        uint16_t symbol = r->symbol[(unsigned char)*p];
        if (symbol == SYMBOL_BLANK || *p == ',')
            continue;
        if (symbol == SYMBOL_BAD || symbol & SYMBOL_MATCH)
            note_bad(x, p);
        state |= symbol & SYMBOL_STATE;
    }
    if (state == 0)
        note_bad(x, at);
    return state & STATE_GAP ? STATE_ANY : state;
}

static void encode_piece(rows *r, const piece *p, uint8_t *state, sightings *s)
{
    row *x = &r->row[p->row];
    for (const char *at = p->start, *next; at < p->end; at = next) {
        uint16_t symbol = r->symbol[(unsigned char)*at];
        next = at + 1;
        if (symbol == SYMBOL_BLANK)
            continue;
        if (symbol == SYMBOL_BAD && (next = rows_next(r, at)) > at + 1)
            symbol = encode_set(r, x, at, next) | SYMBOL_SET;
        else if (symbol == SYMBOL_BAD || (symbol & SYMBOL_MATCH && p->row == 0))
            note_bad(x, at);
        if (symbol & ~(SYMBOL_STATE | s->seen))
            note_sighting(s, symbol & (uint16_t)~SYMBOL_STATE, at);
        state[x->done++] = symbol & SYMBOL_STATE;
    }
}

bool rows_first_invalid(rows *r, const char **at, size_t *number, size_t *site)
{
    *at = NULL;
    for (size_t k = 0; k < r->n_pieces && !*at; k++) {
        const piece *p = &r->piece[k];
        for (const char *c = p->start; c < p->end && !*at; c = rows_next(r, c)) {
            uint16_t symbol = r->symbol[(unsigned char)*c];
            if (symbol == SYMBOL_BLANK)
                continue;
            *site = ++r->row[p->row].done;
            *number = p->row;
            if (symbol == SYMBOL_BAD && rows_next(r, c) == c + 1)
                *at = c;
        }
    }
    for (size_t i = 0; i < r->count; i++)
        r->row[i].done = 0;
    return *at != NULL;
}

/* Counts the digits of every row, and the characters that are neither gaps nor unknown. */
static void count_digits(rows *r)
{
    for (size_t k = 0; k < r->n_pieces; k++)
        for (const char *at = r->piece[k].start; at < r->piece[k].end; at++) {
            row *x = &r->row[r->piece[k].row];
            uint16_t symbol = r->symbol[(unsigned char)*at];
            int state = symbol & SYMBOL_STATE;
            x->digits += symbol == SYMBOL_BAD && *at >= '0' && *at <= '9';
            x->known += symbol != SYMBOL_BLANK && state != STATE_ANY && state != STATE_GAP;
        }
}

/* Digits are not now and then between bases, as numbers of positions are, but are the data. */
static bool looks_like_digits(const row *x)
{
    return x->digits > 0 && 2 * x->digits >= x->known;
}

/* The digit belongs to a number with blanks on both sides. */
static bool is_position_number(const rows *r, const char *at)
{
    const char *first = at, *last = at;
    while (first > r->in->text && first[-1] >= '0' && first[-1] <= '9')
        first--;
    while (last[1] >= '0' && last[1] <= '9')
        last++;
    return (first == r->in->text || strchr(" \t\n", first[-1])) && strchr(" \t\n", last[1]);
}

static bool looks_like_protein(const row *x)
{
    bool several = (x->protein & (x->protein - 1)) != 0;
    return several && 20 * x->protein_count >= x->length;
}

/* How to put a bad character right. */
static const char *hint_for(const rows *r, const char *at)
{
    if (r->symbol[(unsigned char)*at] & SYMBOL_MATCH)
        return "the match character stands for the base in the first sequence, so it cannot occur "
               "there";
    switch (*at) {
    case '{':
    case '}':
    case '(':
    case ')':
        return rows_set_hint(r);
    case '*':
        return "a stop codon is not a nucleotide; write N for an unknown base";
    case '.':
        return "declare MATCHCHAR=. in FORMAT if it means the base of the first sequence";
    case '>':
        return "a header must begin at the start of a line";
    case ';':
        return "remove it; a comment must begin at the start of a line";
    default:
        break;
    }
    if (*at >= '0' && *at <= '9')
        return is_position_number(r, at)
                   ? "remove the position numbers"
                   : "digits are not nucleotides; remove the sites that hold morphological or "
                     "binary characters";
    return "use A C G T U, the IUPAC codes, N or ? for unknown, - for a gap";
}

static void report_bad(const rows *r, const row *x)
{
    char shown[96], what[24], more[48] = "";
    const char *end = r->in->text + r->in->length;
    size_t n = utf8_length(x->bad_at, (size_t)(end - x->bad_at));
    if (x->bad > 1)
        snprintf(more, sizeof more, " (and %zu more in it)", x->bad - 1);
    diag_error(r->d, ART_ERR_INPUT, input_place(r->in, x->bad_at),
               "invalid character %s in sequence %s at site %zu%s -- %s",
               diag_quote(what, sizeof what, x->bad_at, n ? n : 1),
               diag_quote(shown, sizeof shown, x->name, strlen(x->name)), x->bad_site, more,
               hint_for(r, x->bad_at));
}

static void report_protein(const rows *r, const row *x, size_t how_many)
{
    char shown[96], letters[64];
    size_t used = 0;
    for (int i = 0; i < 26; i++)
        if (x->protein >> i & 1)
            used += (size_t)snprintf(letters + used, sizeof letters - used, "%s%c",
                                     used ? ", " : "", 'A' + i);
    diag_quote(shown, sizeof shown, x->name, strlen(x->name));
    diag_place place = input_place(r->in, x->bad_at);
    if (how_many == r->count)
        diag_error(r->d, ART_ERR_INPUT, place,
                   "%s looks like protein: sequence %s has %s, first %c at site %zu -- this "
                   "program analyses nucleotides only; give the DNA of the same genes",
                   r->about, shown, letters, *x->bad_at, x->bad_site);
    else
        diag_error(r->d, ART_ERR_INPUT, place,
                   "sequence %s looks like protein (it has %s, first %c at site %zu), but others "
                   "do not -- this program analyses nucleotides only; remove or replace it",
                   shown, letters, *x->bad_at, x->bad_site);
}

/* Morphological or binary characters, said once. */
static void report_digits(const rows *r, size_t how_many)
{
    char shown[96], digit[24];
    const row *x = r->row;
    while (!looks_like_digits(x))
        x++;
    const size_t others = r->count - how_many;
    diag_error(r->d, ART_ERR_INPUT, input_place(r->in, x->bad_at),
               "%s has morphological, binary or other discrete characters, not nucleotides: the "
               "first is %s at site %zu of sequence %s%s -- this program analyses nucleotides "
               "only; leave these characters out, or use a program with a model for them",
               r->about, diag_quote(digit, sizeof digit, x->bad_at, 1), x->bad_site,
               diag_quote(shown, sizeof shown, x->name, strlen(x->name)),
               others ? ", and other sequences have bases" : "");
}

static int report_characters(rows *r)
{
    size_t proteins = 0, bad = 0, digits = 0;
    for (size_t i = 0; i < r->count; i++)
        bad += r->row[i].bad > 0;
    if (bad == 0)
        return ART_OK;
    count_digits(r);
    for (size_t i = 0; i < r->count; i++) {
        proteins += looks_like_protein(&r->row[i]);
        digits += looks_like_digits(&r->row[i]);
    }
    if (digits)
        report_digits(r, digits);
    for (size_t i = 0; i < r->count && !digits; i++) {
        const row *x = &r->row[i];
        if (looks_like_protein(x)) {
            report_protein(r, x, proteins);
            if (proteins == r->count)
                break;
        } else if (x->bad > 0) {
            report_bad(r, x);
        }
    }
    return ART_ERR_INPUT;
}

static void report_sightings(const rows *r, const sightings *s)
{
    if (s->seen & SYMBOL_T && s->seen & SYMBOL_U)
        diag_note(r->d, input_place(r->in, s->at[1]),
                  "both T and U occur; they are treated as the same base");
    if (s->seen & SYMBOL_DOT)
        diag_note(r->d, input_place(r->in, s->at[2]),
                  "'.' occurs; it is read as an unknown base, like '?'");
    if (s->seen & SYMBOL_BANG)
        diag_note(r->d, input_place(r->in, s->at[3]),
                  "'!' (a frame shift) occurs; it is read as a gap");
    if (s->seen & SYMBOL_SET)
        diag_note(r->d, input_place(r->in, s->at[5]),
                  "sets of bases such as {CG} or (CG) occur; each is read as an ambiguous base");
}

int rows_encode(rows *r, uint8_t *state, size_t length)
{
    sightings s = {0};
    for (size_t k = 0; k < r->n_pieces; k++)
        encode_piece(r, &r->piece[k], state + r->piece[k].row * length, &s);
    int status = report_characters(r);
    if (status != ART_OK)
        return status;
    if (s.seen & SYMBOL_MATCH)
        for (size_t i = 1; i < r->count; i++)
            for (size_t j = 0; j < length; j++)
                if (state[i * length + j] == 0)
                    state[i * length + j] = state[j];
    report_sightings(r, &s);
    return ART_OK;
}
