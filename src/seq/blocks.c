#include "seq/blocks.h"

#include "artreeformer.h"
#include "base/number.h"
#include "io/taxon_name.h"
#include "seq/lines.h"
#include "seq/symbols.h"

#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"

typedef struct blocks {
    rows *r;
    size_t next; /* the row of the next line, in blocks after the first */
    bool later;  /* the first block is over */
} blocks;

static bool is_name(line name, const row *x)
{
    return taxon_name_same(name.start, line_width(name), x->name, strlen(x->name));
}

/* A line of a block. Every block has the names of the first, in their order; so the first name,
 * when it comes again, begins the next block. */
static int add_line(blocks *b, line name, const char *start, const char *end)
{
    rows *r = b->r;
    char expected[96], found[96];
    size_t number = r->count;
    if (r->count && !b->later && is_name(name, &r->row[0])) {
        b->later = true;
        b->next = 0;
    }
    if (!b->later) {
        int status = rows_add(r, name.start, line_width(name), name.start, NULL);
        if (status != ART_OK)
            return status;
    } else {
        number = b->next++ % r->count;
        const char *known = r->row[number].name;
        if (!is_name(name, &r->row[number]))
            return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, name.start),
                              "expected the name %s, as in the first block, found %s -- every "
                              "block must have the same names in the same order, each once",
                              diag_quote(expected, sizeof expected, known, strlen(known)),
                              diag_quote(found, sizeof found, name.start, line_width(name)));
    }
    return rows_piece(r, number, start, end);
}

/* ------------------------------------------------------------------------------ Clustal */

bool is_clustal(const char *text)
{
    static const char *const programs[] = {"CLUSTAL",  "CLUSTALW", "CLUSTALX", "MUSCLE",
                                           "PROBCONS", "MSAPROBS", "KALIGN"};
    line l = {text, text + strcspn(text, "\n")}, word = line_word(l, l.start);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (line_is(word, programs[i]))
            return true;
    return false;
}

/* `name sequence`, perhaps with the number of characters so far. */
static int clustal_line(blocks *b, line l)
{
    const line name = line_word(l, l.start), sequence = line_word(l, name.end);
    const line number = line_word(l, sequence.end), more = line_word(l, number.end);
    char shown[64];
    if (line_width(more) || !line_has_only(number, DIGITS))
        return diag_error(
            b->r->d, ART_ERR_INPUT, input_place(b->r->in, number.start),
            "%s after a name and its sequence -- a line of a Clustal file is a name, a "
            "piece of sequence and perhaps a number; names have no blanks",
            diag_quote(shown, sizeof shown, number.start, line_width(number)));
    return add_line(b, name, sequence.start, sequence.end);
}

int clustal_parse(rows *r)
{
    blocks b = {.r = r};
    const char *p = r->in->text;
    line l;
    int status = ART_OK;
    symbols_dots_are_gaps(r->symbol);
    line_next(&p, &l); /* the first line says which program wrote the file */
    while (status == ART_OK && line_next(&p, &l))
        if (!line_has_only(l, " \t*:.")) /* conservation */
            status = clustal_line(&b, l);
    return status;
}

/* ------------------------------------------------------------------------------ MSF */

/* The line `MSF: 510  Type: N  Check: 1234 ..`, which ends the free text at the beginning. */
static bool is_msf_line(line l)
{
    for (line word = line_word(l, l.start); line_width(word); word = line_word(l, word.end))
        if (line_is(word, "MSF:"))
            return line_width(l) > 2 && memcmp(l.end - 2, "..", 2) == 0;
    return false;
}

bool is_msf(const char *text)
{
    enum { FREE_LINES = 100 };
    line l;
    for (int i = 0; i < FREE_LINES && line_next(&text, &l); i++)
        if (is_msf_line(l))
            return true;
    return false;
}

/* The word behind a key such as "Len:"; an empty one if the key is not in the line. */
static line value_of(line l, const char *key)
{
    line word = line_word(l, l.start);
    while (line_width(word) && !line_is(word, key))
        word = line_word(l, word.end);
    return line_word(l, word.end);
}

/* ` Name: x  Len: 510  Check: 1234  Weight: 1.00` for every row, to the line `//`. */
static int msf_names(rows *r, const char **p, size_t *sites)
{
    line l;
    while (line_next(p, &l)) {
        const line first = line_word(l, l.start);
        if (line_is(first, "//"))
            return ART_OK;
        int64_t length = 0;
        line value = value_of(l, "MSF:");
        if (is_msf_line(l) && number_int(&length, value.start, line_width(value)) == ART_OK &&
            length > 0)
            *sites = (size_t)length;
        if (!line_is(first, "Name:"))
            continue;
        value = line_word(l, first.end);
        int status = rows_add(r, value.start, line_width(value), value.start, NULL);
        if (status != ART_OK)
            return status;
    }
    return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                      "the MSF file has no line // before its sequences -- complete the file");
}

int msf_parse(rows *r)
{
    const char *p = r->in->text;
    line l;
    char shown[96];
    size_t sites = 0;
    symbols_dots_are_gaps(r->symbol);
    int status = msf_names(r, &p, &sites);
    const size_t listed = r->count;
    while (status == ART_OK && line_next(&p, &l)) {
        size_t number = 0;
        const line name = line_word(l, l.start);
        if (line_has_only(l, " \t" DIGITS)) /* positions */
            continue;
        status = rows_add(r, name.start, line_width(name), name.start, &number);
        if (status == ART_OK && number >= listed)
            status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, name.start),
                                "%s is not among the names at the beginning of the MSF file -- add "
                                "a line 'Name: ...' for it, or correct it",
                                diag_quote(shown, sizeof shown, name.start, line_width(name)));
        if (status == ART_OK)
            status = rows_piece(r, number, name.end, l.end);
    }
    if (status == ART_OK && sites)
        status = rows_expect(r, sites, "the header says", "correct the header or the sequence");
    return status;
}

/* ------------------------------------------------------------------------------ Stockholm */

bool is_stockholm(const char *text)
{
    line l = {text, text + strcspn(text, "\n")}, hash = line_word(l, l.start);
    return line_is(hash, "#") && line_is(line_word(l, hash.end), "STOCKHOLM");
}

int stockholm_parse(rows *r)
{
    blocks b = {.r = r};
    const char *p = r->in->text;
    line l;
    bool ended = false;
    int status = ART_OK;
    symbols_dots_are_gaps(r->symbol);
    while (status == ART_OK && line_next(&p, &l)) {
        const line name = line_word(l, l.start);
        if (ended)
            return diag_error(
                r->d, ART_ERR_INPUT, input_place(r->in, l.start),
                "a second alignment begins here -- put each alignment into a separate file");
        if (line_is(name, "//"))
            ended = true;
        else if (*name.start != '#')
            status = add_line(&b, name, name.end, l.end);
    }
    if (status == ART_OK && !ended)
        diag_warning(r->d, input_file(r->in),
                     "there is no line // at the end -- the file may be incomplete");
    return status;
}
