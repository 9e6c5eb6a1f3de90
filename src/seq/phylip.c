#include "seq/phylip.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/number.h"
#include "seq/lines.h"
#include "seq/symbols.h"

#include <stdlib.h>
#include <string.h>

enum { STRICT_NAME = 10 };

typedef struct phylip {
    rows *r;
    bool strict;            /* names are the first ten columns */
    bool strict_asked;      /* and that was asked for */
    size_t n_taxa, n_sites; /* what the header says */
    const char *header;
    const char *body; /* behind the header line */
    size_t n_lines;   /* lines of the body that are not blank */
} phylip;

/* What to do about a length that the header does not have. Strict PHYLIP is tried in any case, so
 * that it is no way out. */
static const char *hint(const phylip *f)
{
    return f->strict_asked
               ? "correct the header or the sequence, or do not read the file as strict "
                 "PHYLIP"
               : "correct the header or the sequence (names end at the first blank; as "
                 "strict PHYLIP, with names of ten columns, the file does not fit "
                 "either)";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A number of the header, which is never trusted with an allocation. */
static int header_number(const phylip *f, size_t *out, line word, const char *what)
{
    int64_t value = 0;
    char shown[64];
    int status = number_int(&value, word.start, line_width(word));
    diag_quote(shown, sizeof shown, word.start, line_width(word));
    diag_place place = input_place(f->r->in, word.start);
    if (status == ART_ERR_INPUT)
        return diag_error(f->r->d, ART_ERR_INPUT, place,
                          "%s instead of the number of %s -- the first line of a PHYLIP file must "
                          "contain the number of sequences and the number of sites",
                          shown, what);
    if (status != ART_OK || value < 1 || value > UINT32_MAX - 1)
        return diag_error(f->r->d, ART_ERR_INPUT, place,
                          "the number of %s, %s, is out of range -- it must be from 1 to %u", what,
                          shown, UINT32_MAX - 1);
    *out = (size_t)value;
    return ART_OK;
}

static int parse_header(phylip *f)
{
    const char *p = f->r->in->text;
    line l = {p, p};
    if (!line_next(&p, &l))
        return ART_ERR_INPUT; /* the caller has seen that the text is not blank */
    f->body = p;
    line taxa = line_word(l, l.start), sites = line_word(l, taxa.end);
    f->header = taxa.start;
    int status = header_number(f, &f->n_taxa, taxa, "sequences");
    if (status == ART_OK)
        status = header_number(f, &f->n_sites, sites, "sites");
    line rest = line_word(l, sites.end);
    if (status != ART_OK || line_width(rest) == 0)
        return status;
    char shown[64];
    diag_quote(shown, sizeof shown, rest.start, (size_t)(l.end - rest.start));
    for (const char *c = rest.start; c < l.end; c++)
        if (!is_blank(*c) && !((*c | 32) >= 'a' && (*c | 32) <= 'z'))
            return diag_error(f->r->d, ART_ERR_INPUT, input_place(f->r->in, c),
                              "%s after the two numbers of the header -- remove it", shown);
    diag_note(f->r->d, input_place(f->r->in, rest.start),
              "the options %s in the header are ignored: the file itself shows its layout", shown);
    return ART_OK;
}

static bool is_header(line l)
{
    int64_t number;
    line a = line_word(l, l.start), b = line_word(l, a.end), c = line_word(l, b.end);
    return line_width(c) == 0 && number_int(&number, a.start, line_width(a)) == ART_OK &&
           number_int(&number, b.start, line_width(b)) == ART_OK;
}

/* Counts the lines, and refuses a second data set. */
static int survey(phylip *f)
{
    const char *p = f->body;
    line l;
    for (f->n_lines = 0; line_next(&p, &l); f->n_lines++)
        if (is_header(l))
            return diag_error(
                f->r->d, ART_ERR_INPUT, input_place(f->r->in, l.start),
                "a second data set begins here -- put each data set into a separate file");
    if (f->n_lines < f->n_taxa)
        return diag_error(f->r->d, ART_ERR_INPUT, input_place(f->r->in, f->header),
                          "the header says %zu %s, but there %s only %zu -- correct the header or "
                          "complete the file",
                          f->n_taxa, format_noun(f->n_taxa, "sequence", "sequences"),
                          format_noun(f->n_lines, "is", "are"), f->n_lines);
    return ART_OK;
}

/* The name at the beginning of a line, and what is behind it. */
static line split_name(const phylip *f, line l, line *rest)
{
    line name = line_word(l, l.start);
    if (f->strict) {
        name.end = line_width(l) > STRICT_NAME ? l.start + STRICT_NAME : l.end;
        if (name.start > name.end)
            name.start = name.end;
        while (name.end > name.start && is_blank(name.end[-1]))
            name.end--;
        *rest = (line){line_width(l) > STRICT_NAME ? l.start + STRICT_NAME : l.end, l.end};
    } else {
        *rest = (line){name.end, l.end};
    }
    return name;
}

static int add_named(const phylip *f, line l)
{
    line rest, name = split_name(f, l, &rest);
    int status = rows_add(f->r, name.start, line_width(name), name.start, NULL);
    return status == ART_OK ? rows_piece(f->r, f->r->count - 1, rest.start, rest.end) : status;
}

static int too_many(const phylip *f, const char *at)
{
    return diag_error(f->r->d, ART_ERR_INPUT, input_place(f->r->in, at),
                      "the header says %zu %s of %zu %s, but more follows -- correct the header or "
                      "remove what follows",
                      f->n_taxa, format_noun(f->n_taxa, "sequence", "sequences"), f->n_sites,
                      format_noun(f->n_sites, "site", "sites"));
}

/* Each sequence continues until it has its number of characters. */
static int read_sequential(const phylip *f)
{
    const char *p = f->body;
    line l;
    while (f->r->count < f->n_taxa) {
        if (!line_next(&p, &l))
            return diag_error(f->r->d, ART_ERR_INPUT, input_place(f->r->in, f->header),
                              "the header says %zu %s, but there %s %zu -- %s", f->n_taxa,
                              format_noun(f->n_taxa, "sequence", "sequences"),
                              format_noun(f->r->count, "is", "are"), f->r->count, hint(f));
        int status = add_named(f, l);
        const row *x = status == ART_OK ? &f->r->row[f->r->count - 1] : NULL;
        while (status == ART_OK && x->length < f->n_sites && line_next(&p, &l))
            status = rows_piece(f->r, f->r->count - 1, l.start, l.end);
        if (status != ART_OK)
            return status;
        if (x->length != f->n_sites)
            return rows_expect(f->r, f->n_sites, "the header says", hint(f));
    }
    return line_next(&p, &l) ? too_many(f, l.start) : ART_OK;
}

/* Does every line of the block begin with the name of its row? */
static bool names_repeated(const phylip *f, const line *block)
{
    for (size_t i = 0; i < f->n_taxa; i++) {
        line rest, name = split_name(f, block[i], &rest);
        const char *known = f->r->row[i].name;
        if (line_width(rest) == 0 || strlen(known) != line_width(name) ||
            memcmp(known, name.start, line_width(name)) != 0)
            return false;
    }
    return true;
}

static int add_block(const phylip *f, line *block)
{
    int status = ART_OK;
    if (f->r->count == 0) {
        for (size_t i = 0; i < f->n_taxa && status == ART_OK; i++)
            status = add_named(f, block[i]);
        return status;
    }
    bool named = names_repeated(f, block);
    for (size_t i = 0; i < f->n_taxa && status == ART_OK; i++) {
        if (named)
            split_name(f, block[i], &block[i]);
        status = rows_piece(f->r, i, block[i].start, block[i].end);
    }
    return status;
}

/* Blocks of one line per sequence; one block is the usual file with a line per sequence. */
static int read_interleaved(const phylip *f)
{
    if (f->n_lines % f->n_taxa != 0)
        return diag_error(f->r->d, ART_ERR_INPUT, input_place(f->r->in, f->header),
                          "%zu %s cannot be divided into blocks of %zu %s -- %s", f->n_lines,
                          format_noun(f->n_lines, "line", "lines"), f->n_taxa,
                          format_noun(f->n_taxa, "sequence", "sequences"), hint(f));
    line *block = mem_zeros(f->n_taxa, sizeof *block);
    if (!block)
        return ART_ERR_NOMEM;
    const char *p = f->body;
    int status = ART_OK;
    for (size_t done = 0; done < f->n_lines && status == ART_OK; done += f->n_taxa) {
        for (size_t i = 0; i < f->n_taxa; i++)
            line_next(&p, &block[i]);
        status = add_block(f, block);
    }
    free(block);
    return status == ART_OK ? rows_expect(f->r, f->n_sites, "the header says", hint(f)) : status;
}

static bool all_characters_valid(const rows *r)
{
    for (size_t k = 0; k < r->n_pieces; k++)
        for (const char *p = r->piece[k].start; p < r->piece[k].end; p++)
            if (r->symbol[(unsigned char)*p] == SYMBOL_BAD)
                return false;
    return true;
}

typedef int layout(const phylip *f);

/* How well the text fits a layout: 0 not at all, 1 in structure, 2 in its characters too. */
static int fit(const phylip *f, layout *read, int *fits)
{
    diag *d = f->r->d;
    f->r->d = NULL;
    rows_clear(f->r);
    int status = read(f);
    *fits = status == ART_OK ? 1 + all_characters_valid(f->r) : 0;
    f->r->d = d;
    return status == ART_ERR_NOMEM ? status : ART_OK;
}

/* Has each line of the first block a name and something behind it? */
static bool looks_interleaved(const phylip *f)
{
    const char *p = f->body;
    line l, rest;
    for (size_t i = 0; i < f->n_taxa && line_next(&p, &l); i++) {
        split_name(f, l, &rest);
        if (line_width(rest) == 0)
            return false;
    }
    return f->n_lines % f->n_taxa == 0;
}

/* A layout, and how well the text fits it. */
typedef struct choice {
    layout *read;
    int fits;
    bool ambiguous; /* another fits as well */
} choice;

/* Of two layouts, the one that the text has; where it has neither, the one to complain in. */
static int choose(const phylip *f, choice *c)
{
    int sequential, interleaved;
    *c = (choice){.read = read_interleaved};
    int status = fit(f, read_interleaved, &interleaved);
    c->fits = interleaved;
    if (status != ART_OK || f->n_lines == f->n_taxa)
        return status;
    if ((status = fit(f, read_sequential, &sequential)) != ART_OK)
        return status;
    bool rows_complete = f->r->count == f->n_taxa;
    if (sequential > interleaved ||
        (sequential == interleaved && (rows_complete || !looks_interleaved(f))))
        c->read = read_sequential;
    c->fits = sequential > interleaved ? sequential : interleaved;
    c->ambiguous = sequential == 2 && interleaved == 2;
    return ART_OK;
}

int phylip_parse(rows *r, bool strict)
{
    phylip f = {.r = r, .strict = strict, .strict_asked = strict};
    choice c, other;
    int status = parse_header(&f);
    if (status == ART_OK)
        status = survey(&f);
    if (status == ART_OK)
        status = choose(&f, &c);
    if (status == ART_OK && c.fits < 2 && !strict) { /* perhaps it is strict */
        f.strict = true;
        status = choose(&f, &other);
        f.strict = status == ART_OK && other.fits > c.fits;
        if (f.strict)
            c = other;
    }
    if (status == ART_OK && c.ambiguous)
        status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, f.header),
                            "the layout is ambiguous, sequential or interleaved -- write each "
                            "sequence on one line");
    if (status == ART_OK && f.strict && !strict)
        diag_note(r->d, input_place(r->in, f.header),
                  "read as strict PHYLIP: names are the first ten columns");
    rows_clear(r);
    return status == ART_OK ? c.read(&f) : status;
}
