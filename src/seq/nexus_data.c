#include "seq/nexus_data.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "base/number.h"
#include "seq/alignment.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    rows *r;
    nexus n;
    rows labels;           /* TAXLABELS, as rows without sequences */
    const char *matrix;    /* the DATA or CHARACTERS block; NULL before it */
    size_t n_taxa;         /* NTAX, 0 while it is not known */
    size_t n_sites;        /* NCHAR */
    const char *n_taxa_at; /* where NTAX was said */
    bool interleave;
    char *name; /* room for a name without its quotes; NULL when there was none yet */
    size_t name_room;
} reader;

/* Reads the ';' that must come now. */
static int expect_end(reader *x, const char *command)
{
    nexus_token t;
    char what[64];
    int status = nexus_next(&x->n, &t);
    if (status == ART_OK && !nexus_is_mark(&t, ';')) {
        snprintf(what, sizeof what, "';' at the end of %s", command);
        status = nexus_unexpected(&x->n, &t, what, "end the command with a semicolon");
    }
    return status;
}

/* A word that does not belong to a command: most often the ';' before it was forgotten. */
static int not_part_of(reader *x, const nexus_token *t, const char *command)
{
    char shown[64];
    if (t->kind == NEXUS_END)
        return nexus_unexpected(&x->n, t, "';' at the end of the command",
                                "end it with a semicolon");
    return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
                      "%s is not recognized in %s -- make sure that the command before it ends "
                      "with a semicolon (;)",
                      diag_quote(shown, sizeof shown, t->start, t->length), command);
}

/* Is there a '='? Then it is read, and the value behind it. */
static int optional_value(reader *x, bool *found, nexus_token *value)
{
    int status = nexus_peek(&x->n, value);
    *found = status == ART_OK && nexus_is_mark(value, '=');
    if (!*found)
        return status;
    if ((status = nexus_next(&x->n, value)) == ART_OK)
        status = nexus_next(&x->n, value);
    return status;
}

static int need_value(reader *x, const nexus_token *key, nexus_token *value)
{
    bool found;
    char what[64];
    int status = optional_value(x, &found, value);
    if (status != ART_OK)
        return status;
    if (!found || value->kind == NEXUS_END || value->kind == NEXUS_MARK) {
        snprintf(what, sizeof what, "'=' and a value after %.*s",
                 (int)(key->length < 20 ? key->length : 20), key->start);
        return nexus_unexpected(&x->n, value, what, "write it as in NTAX=4");
    }
    return ART_OK;
}

static int number_value(reader *x, const nexus_token *key, size_t *out)
{
    nexus_token t;
    int64_t value = 0;
    int status = need_value(x, key, &t);
    if (status != ART_OK)
        return status;
    if (number_int(&value, t.start, t.length) != ART_OK || value < 1 || value > UINT32_MAX - 1)
        return nexus_unexpected(&x->n, &t, "a number from 1 to 4294967294", "correct it");
    *out = (size_t)value;
    return ART_OK;
}

static int parse_dimensions(reader *x)
{
    nexus_token t;
    int status;
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';')) {
        if (nexus_is(&t, "newtaxa"))
            continue;
        if (nexus_is(&t, "ntax")) {
            size_t n = 0, known = x->n_taxa;
            if ((status = number_value(x, &t, &n)) != ART_OK)
                return status;
            if (known && known != n)
                return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, &t),
                                  "NTAX is %zu here but was %zu on line %zu -- correct one of them",
                                  n, known, input_place(x->n.in, x->n_taxa_at).line);
            x->n_taxa = n;
            x->n_taxa_at = t.from;
        } else if (nexus_is(&t, "nchar")) {
            if ((status = number_value(x, &t, &x->n_sites)) != ART_OK)
                return status;
        } else {
            return not_part_of(x, &t, "DIMENSIONS");
        }
    }
    return status;
}

/* A single character, as in GAP=-. */
static int symbol_value(reader *x, const nexus_token *key, char *symbol)
{
    nexus_token t;
    int status = need_value(x, key, &t);
    if (status != ART_OK)
        return status;
    char c = t.start[0];
    if (t.length != 1 || c <= ' ' || c == 0x7F || strchr("ACGTUacgtu;[]", c))
        return nexus_unexpected(&x->n, &t, "one character that is not a base and not one of ; [ ]",
                                "correct FORMAT");
    *symbol = c;
    return ART_OK;
}

static int check_datatype(reader *x, const nexus_token *key)
{
    nexus_token t;
    char shown[64];
    int status = need_value(x, key, &t);
    if (status != ART_OK || nexus_is(&t, "dna") || nexus_is(&t, "rna") ||
        nexus_is(&t, "nucleotide"))
        return status;
    return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, &t),
                      "DATATYPE %s is not supported -- this program reads DNA, RNA and NUCLEOTIDE",
                      diag_quote(shown, sizeof shown, t.start, t.length));
}

static int check_yes_or_no(reader *x, bool *answer)
{
    nexus_token t;
    bool found;
    int status = optional_value(x, &found, &t);
    if (status != ART_OK)
        return status;
    *answer = !found || nexus_is(&t, "yes");
    if (found && !*answer && !nexus_is(&t, "no"))
        return nexus_unexpected(&x->n, &t, "yes or no", "correct FORMAT");
    return ART_OK;
}

typedef struct declared {
    char missing, gap, match; /* 0 where FORMAT does not say */
} declared;

/* One item of FORMAT. */
static int parse_format_item(reader *x, const nexus_token *t, declared *s)
{
    nexus_token value;
    bool answer = false;
    static const char *const refused[] = {"equate", "nolabels", "transpose",
                                          "tokens", "items",    "statesformat"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (nexus_is(t, refused[i]))
            return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
                              "%s in FORMAT is not supported -- write the matrix without it",
                              refused[i]);
    if (nexus_is(t, "datatype"))
        return check_datatype(x, t);
    if (nexus_is(t, "missing"))
        return symbol_value(x, t, &s->missing);
    if (nexus_is(t, "gap"))
        return symbol_value(x, t, &s->gap);
    if (nexus_is(t, "matchchar"))
        return symbol_value(x, t, &s->match);
    if (nexus_is(t, "interleave"))
        return check_yes_or_no(x, &x->interleave);
    if (nexus_is(t, "symbols"))
        return need_value(x, t, &value);
    if (nexus_is(t, "respectcase") || nexus_is(t, "labels"))
        return check_yes_or_no(x, &answer);
    return not_part_of(x, t, "FORMAT");
}

static int parse_format(reader *x)
{
    nexus_token t;
    declared s = {0};
    int status;
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';'))
        if ((status = parse_format_item(x, &t, &s)) != ART_OK)
            return status;
    if (status != ART_OK)
        return status;
    if (s.match && (s.match == s.gap || s.match == s.missing))
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, &t),
                          "MATCHCHAR is also GAP or MISSING -- use different characters");
    symbols_set(x->r->symbol, s.gap, STATE_GAP);
    symbols_set(x->r->symbol, s.missing, STATE_ANY);
    symbols_set(x->r->symbol, s.match, SYMBOL_MATCH);
    return ART_OK;
}

/* The token as a name, to be used before the next one is asked for; NULL when memory is short. */
static const char *name_of(reader *x, const nexus_token *t, size_t *length)
{
    if (t->length + 1 > x->name_room) {
        char *grown = mem_resize(x->name, t->length + 1, 1);
        if (!grown)
            return NULL;
        x->name = grown;
        x->name_room = t->length + 1;
    }
    *length = nexus_unquote(x->name, t);
    return x->name;
}

static int add_name(reader *x, rows *to, const nexus_token *t, size_t *again)
{
    size_t n;
    if (!nexus_is_name(t))
        return nexus_unexpected(&x->n, t, "the name of a taxon",
                                "put names with punctuation in single quotes");
    const char *name = name_of(x, t, &n);
    if (!name)
        return ART_ERR_NOMEM;
    if (memchr(name, '\n', n))
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
                          "a quoted name extends past the end of the line -- close the quote");
    return rows_add(to, name, n, t->from, again);
}

/* The characters of one row from n.at on: up to NCHAR of them, or in an interleaved matrix to
 * the end of the line. Comments split the row into pieces. */
static int parse_sequence(reader *x, size_t number)
{
    const row *y = &x->r->row[number];
    for (;;) {
        const char *start = x->n.at, *p = start;
        size_t left = x->interleave ? SIZE_MAX : x->n_sites - y->length;
        for (; left > 0 && *p && *p != ';' && *p != '[' && !(x->interleave && *p == '\n'); p++)
            left -= x->r->symbol[(unsigned char)*p] != SYMBOL_BLANK;
        int status = rows_piece(x->r, number, start, p);
        x->n.at = p;
        if (status != ART_OK || *p != '[' || left == 0)
            return status;
        if ((status = nexus_skip_comment(&x->n)) != ART_OK)
            return status;
    }
}

/* In a matrix that is not interleaved a row ends with its last character: right behind it
 * nothing may follow. */
static int check_row_end(reader *x, size_t number)
{
    const row *y = &x->r->row[number];
    char shown[96];
    if (x->interleave || y->length < x->n_sites || strchr(" \t\n;[", *x->n.at))
        return ART_OK;
    const char *set = rows_find_set(x->r, number);
    return diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, set ? set : x->n.at),
                      "sequence %s has more than the %zu characters that NCHAR says -- %s",
                      diag_quote(shown, sizeof shown, y->name, strlen(y->name)), x->n_sites,
                      set ? ROWS_SET_HINT
                          : "correct NCHAR or the sequence, or add INTERLEAVE to FORMAT");
}

/* The `END;` of the block where the ';' of the matrix should be. */
static bool is_block_end(const reader *x, const nexus_token *t)
{
    nexus_token behind;
    return (nexus_is(t, "end") || nexus_is(t, "endblock")) &&
           nexus_peek(&x->n, &behind) == ART_OK && nexus_is_mark(&behind, ';');
}

static int check_matrix(reader *x)
{
    char shown[96];
    if (x->n_taxa && x->r->count != x->n_taxa)
        return diag_error(
            x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n_taxa_at),
            "NTAX is %zu, but the matrix has %zu rows -- correct NTAX or complete the "
            "matrix",
            x->n_taxa, x->r->count);
    int status = rows_expect(x->r, x->n_sites, "NCHAR says",
                             "correct NCHAR or the sequence; an interleaved matrix needs "
                             "INTERLEAVE in FORMAT",
                             ADVICE_NONE);
    size_t labels = x->labels.count;
    for (size_t i = 0; labels && i < x->r->count && status == ART_OK; i++) {
        const row *y = &x->r->row[i];
        size_t found;
        status = rows_add(&x->labels, y->name, strlen(y->name), y->at, &found);
        if (status == ART_OK && found >= labels)
            status = diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, y->at),
                                "%s is not among the TAXLABELS -- make the names equal",
                                diag_quote(shown, sizeof shown, y->name, strlen(y->name)));
    }
    return status;
}

static int parse_matrix(reader *x)
{
    nexus_token t;
    int status;
    if (x->n_sites == 0)
        return diag_error(
            x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n.at),
            "MATRIX comes before NCHAR is known -- add DIMENSIONS NTAX=... NCHAR=...; before it");
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';')) {
        if (t.kind == NEXUS_END || is_block_end(x, &t))
            return nexus_unexpected(&x->n, &t, "';' at the end of MATRIX",
                                    "end the matrix with a semicolon");
        size_t number = x->r->count;
        status = add_name(x, x->r, &t, x->interleave ? &number : NULL);
        if (status == ART_OK)
            status = parse_sequence(x, number);
        if (status == ART_OK)
            status = check_row_end(x, number);
        if (status != ART_OK)
            return status;
    }
    return status == ART_OK ? check_matrix(x) : status;
}

static int parse_labels(reader *x)
{
    nexus_token t;
    int status;
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';')) {
        if (is_block_end(x, &t))
            return nexus_unexpected(&x->n, &t, "';' at the end of TAXLABELS",
                                    "end it with a semicolon");
        if ((status = add_name(x, &x->labels, &t, NULL)) != ART_OK)
            return status;
    }
    if (status == ART_OK && x->n_taxa && x->labels.count != x->n_taxa)
        status = diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n_taxa_at),
                            "NTAX is %zu, but there are %zu TAXLABELS -- correct one of them",
                            x->n_taxa, x->labels.count);
    return status;
}

/* FORMAT and MATRIX, once, in a DATA or CHARACTERS block. */
static int parse_data_command(reader *x, const nexus_token *t)
{
    char shown[64];
    diag_quote(shown, sizeof shown, t->start, t->length);
    if (!x->matrix)
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
                          "%s in a TAXA block -- it belongs in a DATA or CHARACTERS block", shown);
    if (x->r->count)
        return diag_error(
            x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
            "%s after the matrix, perhaps for a second one -- keep one FORMAT and then one MATRIX",
            shown);
    return nexus_is(t, "format") ? parse_format(x) : parse_matrix(x);
}

/* One command of a TAXA, DATA or CHARACTERS block. */
static int parse_command(reader *x, const nexus_token *t)
{
    static const char *const passed[] = {"title",           "link",   "charlabels", "statelabels",
                                         "charstatelabels", "options"};
    char shown[64];
    if (nexus_is(t, "dimensions"))
        return parse_dimensions(x);
    if (nexus_is(t, "taxlabels"))
        return parse_labels(x);
    if (nexus_is(t, "format") || nexus_is(t, "matrix"))
        return parse_data_command(x, t);
    diag_quote(shown, sizeof shown, t->start, t->length);
    if (nexus_is(t, "begin"))
        return nexus_unexpected(&x->n, t, "END; at the end of the block",
                                "add it before this line");
    if (nexus_is(t, "eliminate"))
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, t),
                          "the command %s is not supported -- remove the sites from the matrix",
                          shown);
    bool known = false;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        known |= nexus_is(t, passed[i]);
    if (!known)
        diag_note(x->n.d, nexus_place(&x->n, t), "the unknown command %s is ignored", shown);
    return nexus_skip_command(&x->n);
}

static int parse_block(reader *x)
{
    nexus_token t;
    int status;
    while ((status = nexus_next(&x->n, &t)) == ART_OK) {
        if (nexus_is_mark(&t, ';'))
            continue;
        if (nexus_is(&t, "end") || nexus_is(&t, "endblock"))
            return expect_end(x, "END");
        if (t.kind == NEXUS_END)
            return nexus_unexpected(&x->n, &t, "END; at the end of the block", "complete the file");
        if ((status = parse_command(x, &t)) != ART_OK)
            break;
    }
    return status;
}

/* The DATA or CHARACTERS block: there must be one, with a matrix. */
static int parse_data(reader *x, const nexus_token *name)
{
    if (x->matrix)
        return diag_error(
            x->n.d, ART_ERR_INPUT, nexus_place(&x->n, name),
            "a second DATA or CHARACTERS block, after the one on line %zu -- keep one "
            "of them",
            input_place(x->n.in, x->matrix).line);
    x->matrix = name->from;
    int status = parse_block(x);
    if (status == ART_OK && x->r->count == 0)
        status = diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->matrix),
                            "the block has no MATRIX -- add it; make sure that the command before "
                            "it ends with a semicolon (;)");
    return status;
}

static int pass_over(reader *x, const nexus_token *name)
{
    static const char *const programs[] = {"mrbayes", "paup",  "beast", "garli",
                                           "hyphy",   "raxml", "iqtree"};
    char shown[64];
    diag_quote(shown, sizeof shown, name->start, name->length);
    bool commands = false;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        commands |= nexus_is(name, programs[i]);
    if (commands)
        diag_note(x->n.d, nexus_place(&x->n, name),
                  "block %s has commands for another program; they are not executed", shown);
    else
        diag_note(x->n.d, nexus_place(&x->n, name), "block %s is not used and is ignored", shown);
    return nexus_skip_block(&x->n);
}

static int parse_blocks(reader *x)
{
    nexus_token t;
    int status = nexus_next(&x->n, &t);
    if (status == ART_OK && !nexus_is(&t, "#NEXUS"))
        return nexus_unexpected(&x->n, &t, "#NEXUS", "a NEXUS file must begin with it");
    while (status == ART_OK && (status = nexus_next(&x->n, &t)) == ART_OK && t.kind != NEXUS_END) {
        if (nexus_is_mark(&t, ';'))
            continue;
        if (!nexus_is(&t, "begin")) {
            char shown[64];
            diag_note(x->n.d, nexus_place(&x->n, &t),
                      "the command %s outside of a block is not executed",
                      diag_quote(shown, sizeof shown, t.start, t.length));
            status = nexus_skip_command(&x->n);
            continue;
        }
        nexus_token name;
        if ((status = nexus_next(&x->n, &name)) != ART_OK ||
            (status = expect_end(x, "BEGIN")) != ART_OK)
            break;
        if (nexus_is(&name, "data") || nexus_is(&name, "characters"))
            status = parse_data(x, &name);
        else if (nexus_is(&name, "taxa"))
            status = parse_block(x);
        else
            status = pass_over(x, &name);
    }
    return status;
}

int nexus_data_parse(rows *r)
{
    reader x = {.r = r};
    nexus_init(&x.n, r->in, NEXUS_PUNCTUATION, r->d);
    rows_init(&x.labels, r->in, r->d);
    r->symbol['.'] = SYMBOL_BAD; /* it would be the match character, and must be declared */
    int status = parse_blocks(&x);
    if (status == ART_OK && !x.matrix)
        status = diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                            "no DATA or CHARACTERS block -- this program reads one of them");
    rows_free(&x.labels);
    free(x.name);
    return status;
}
