#include "seq/encode.h"

#include "artreeformer.h"
#include "base/utf8.h"
#include "seq/alignment.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <string.h>

enum { SEEN_KINDS = 5 };
static const uint16_t SEEN[SEEN_KINDS] = {SYMBOL_T, SYMBOL_U, SYMBOL_DOT, SYMBOL_BANG,
                                          SYMBOL_MATCH};

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

static void encode_piece(rows *r, const piece *p, uint8_t *state, sightings *s)
{
    row *x = &r->row[p->row];
    for (const char *at = p->start; at < p->end; at++) {
        uint16_t symbol = r->symbol[(unsigned char)*at];
        if (symbol == SYMBOL_BLANK)
            continue;
        if (symbol == SYMBOL_BAD || (symbol & SYMBOL_MATCH && p->row == 0))
            note_bad(x, at);
        if (symbol & ~(SYMBOL_STATE | s->seen))
            note_sighting(s, symbol & (uint16_t)~SYMBOL_STATE, at);
        state[x->done++] = symbol & SYMBOL_STATE;
    }
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
        return ROWS_SET_HINT;
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
        return "remove the position numbers";
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
                   "the alignment looks like protein: sequence %s has %s -- this program reads "
                   "nucleotides; translate it back, or use the DNA",
                   shown, letters);
    else
        diag_error(r->d, ART_ERR_INPUT, place,
                   "sequence %s looks like protein (it has %s), but others do not -- this program "
                   "reads nucleotides only",
                   shown, letters);
}

static int report_characters(const rows *r)
{
    size_t proteins = 0, bad = 0;
    for (size_t i = 0; i < r->count; i++) {
        proteins += looks_like_protein(&r->row[i]);
        bad += r->row[i].bad > 0;
    }
    for (size_t i = 0; i < r->count; i++) {
        const row *x = &r->row[i];
        if (looks_like_protein(x)) {
            report_protein(r, x, proteins);
            if (proteins == r->count)
                break;
        } else if (x->bad > 0) {
            report_bad(r, x);
        }
    }
    return bad ? ART_ERR_INPUT : ART_OK;
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
