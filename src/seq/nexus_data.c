#include "seq/nexus_data.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/nexus_link.h"
#include "seq/alignment.h"
#include "seq/encode.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    rows *r;
    nexus n;
    rows *labels;          /* [n_blocks] TAXLABELS of each TAXA block, as rows without sequences */
    nexus_token *title;    /* [n_blocks] of the TAXA blocks; END for one without a title */
    size_t n_blocks;       /* TAXA blocks so far */
    size_t linked;         /* the one that the matrix is of; n_blocks: any of them */
    bool in_taxa;          /* a TAXA block is being read */
    nexus_token link;      /* its title behind LINK; END where there was none */
    const char *matrix;    /* the DATA or CHARACTERS block; NULL before it */
    nexus_token block;     /* its name */
    nexus_token type;      /* DATATYPE; END where it was not said */
    const char *holds;     /* what a DATATYPE that is refused means; NULL where it is not refused */
    const char *instead;   /* and what to do */
    size_t n_taxa;         /* NTAX, 0 while it is not known */
    size_t n_sites;        /* NCHAR */
    const char *n_taxa_at; /* where NTAX was said */
    bool interleave, no_labels;
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

/* The types of data that are refused, and what to do instead. */
static const struct {
    const char *type, *holds, *instead;
} REFUSED[] = {
    {"protein", "protein sequences", "give the DNA of the same genes"},
    {"aminoacid", "protein sequences", "give the DNA of the same genes"},
    {"standard", "morphological or other discrete characters",
     "use a program with a model for them, or write DATATYPE=DNA if these are nucleotides"},
    {"restriction", "binary characters", "use a program with a model for them"},
    {"binary", "binary characters", "use a program with a model for them"},
    {"continuous", "continuous characters", "use a program with a model for them"},
    {"codon", "codons", "write them as nucleotides, with DATATYPE=DNA"},
    {"mixed", "data of several types",
     "put the sites with nucleotides into a file of their own, with DATATYPE=DNA"},
    {NULL, "data of a type that is not known here", "write DATATYPE=DNA if these are nucleotides"},
};

/* A type that is not of nucleotides is remembered, and refused when the matrix has shown what is in
 * it. */
static int parse_datatype(reader *x, const nexus_token *key)
{
    int status = need_value(x, key, &x->type);
    if (status != ART_OK || nexus_is(&x->type, "dna") || nexus_is(&x->type, "rna") ||
        nexus_is(&x->type, "nucleotide"))
        return status;
    size_t i = 0;
    while (REFUSED[i].type && !nexus_is(&x->type, REFUSED[i].type))
        i++;
    x->holds = REFUSED[i].holds;
    x->instead = REFUSED[i].instead;
    nexus_token t;
    if ((status = nexus_peek(&x->n, &t)) != ART_OK || !nexus_is_mark(&t, '('))
        return status;
    do { /* mixed(Standard:1-166,DNA:167-3246) */
        if ((status = nexus_next(&x->n, &t)) != ART_OK)
            return status;
        if (t.kind == NEXUS_END || nexus_is_mark(&t, ';'))
            return nexus_unexpected(&x->n, &t, "')' after the types of data", "add it");
    } while (!nexus_is_mark(&t, ')'));
    x->type.length = (size_t)(t.start + 1 - x->type.start);
    return ART_OK;
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
    nexus_token equate;       /* its string; END where there is none */
} declared;

/* A choice that has only one value here: TRANSPOSE=NO, ITEMS=STATES. */
static int only_value(reader *x, const nexus_token *key, const char *value, const char *fix)
{
    nexus_token t;
    bool found;
    int status = optional_value(x, &found, &t);
    if (status != ART_OK || (found && nexus_is(&t, value)))
        return status;
    char shown[64];
    return diag_error(
        x->n.d, ART_ERR_INPUT, nexus_place(&x->n, key), "%s in FORMAT is not supported -- %s",
        diag_quote(shown, sizeof shown, key->start,
                   (size_t)((found ? t.start + t.length : key->start + key->length) - key->start)),
        fix);
}

/* LABELS, LABELS=LEFT, LABELS=NO. */
static int parse_label_choice(reader *x, const nexus_token *key)
{
    nexus_token t;
    bool found;
    int status = optional_value(x, &found, &t);
    if (status != ART_OK)
        return status;
    x->no_labels = found && nexus_is(&t, "no");
    if (!found || x->no_labels || nexus_is(&t, "yes") || nexus_is(&t, "left"))
        return ART_OK;
    if (nexus_is(&t, "right"))
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, key),
                          "LABELS=RIGHT in FORMAT is not supported -- write each name before its "
                          "sequence");
    return nexus_unexpected(&x->n, &t, "left, right, yes or no", "correct FORMAT");
}

/* One item of FORMAT. */
static int parse_format_item(reader *x, const nexus_token *t, declared *s)
{
    nexus_token value;
    bool answer = false;
    if (nexus_is(t, "datatype"))
        return parse_datatype(x, t);
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
    if (nexus_is(t, "equate"))
        return need_value(x, t, &s->equate);
    if (nexus_is(t, "respectcase"))
        return check_yes_or_no(x, &answer);
    if (nexus_is(t, "labels"))
        return parse_label_choice(x, t);
    if (nexus_is(t, "nolabels")) {
        x->no_labels = true;
        return ART_OK;
    }
    if (nexus_is(t, "transpose"))
        return only_value(x, t, "no", "write one row for each taxon");
    if (nexus_is(t, "tokens"))
        return only_value(x, t, "no", "write each state as one character");
    if (nexus_is(t, "items"))
        return only_value(x, t, "states", "write states only");
    if (nexus_is(t, "statesformat"))
        return only_value(x, t, "statespresent", "write the states themselves");
    if (nexus_is(t, "notokens") || nexus_is(t, "notranspose"))
        return ART_OK;
    return not_part_of(x, t, "FORMAT");
}

static int wrong_equate(const reader *x, const char *at, const char *end)
{
    char shown[48];
    size_t n = strcspn(at, " \t\n\"");
    return diag_error(
        x->n.d, ART_ERR_INPUT, input_place(x->n.in, at),
        "%s in EQUATE -- write symbol=base or symbol={bases}, such as \"x=A y={CG}\"; "
        "the symbol must not be a base itself",
        diag_quote(shown, sizeof shown, at, n < (size_t)(end - at) ? n : (size_t)(end - at)));
}

/* The state of `A` or `{AG}`; moves *at behind it. 0 if it is neither. */
static uint8_t equated_state(const reader *x, const char **at, const char *end)
{
    const char close = **at == '{' ? '}' : **at == '(' ? ')' : '\0';
    int state = 0;
    *at += close != '\0';
    do {
        uint16_t symbol = *at < end ? x->r->symbol[(unsigned char)**at] : SYMBOL_BAD;
        if (symbol == SYMBOL_BAD || symbol == SYMBOL_BLANK || symbol & SYMBOL_MATCH)
            return 0;
        state |= symbol & SYMBOL_STATE;
        ++*at;
    } while (close && (*at >= end || **at != close));
    *at += close != '\0';
    if (state != STATE_GAP && state & STATE_GAP)
        state = STATE_ANY;
    return (uint8_t)state;
}

/* EQUATE="x=A y={CG}": further symbols. Their case counts. */
static int set_equates(reader *x, const nexus_token *list)
{
    const char *at = list->start, *end = at + list->length;
    for (;;) {
        while (at < end && strchr(" \t\n,", *at))
            at++;
        if (at == end)
            return ART_OK;
        const char *item = at;
        const unsigned char key = (unsigned char)*at++;
        while (at < end && *at == ' ')
            at++;
        if (at >= end || *at++ != '=' || key <= ' ' || key >= 0x7F || strchr("[](){};='\"", key))
            return wrong_equate(x, item, end);
        while (at < end && *at == ' ')
            at++;
        const uint8_t state = at < end ? equated_state(x, &at, end) : 0;
        const bool is_base = strchr("ACGTUacgtu", key) != NULL;
        if (state == 0 || (is_base && state != (x->r->symbol[key] & SYMBOL_STATE)))
            return wrong_equate(x, item, end);
        if (!is_base)
            x->r->symbol[key] = state;
    }
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
    return s.equate.kind != NEXUS_END && !x->holds ? set_equates(x, &s.equate) : ART_OK;
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
        while (left > 0 && *p && *p != ';' && *p != '[' && !(x->interleave && *p == '\n')) {
            left -= x->r->symbol[(unsigned char)*p] != SYMBOL_BLANK;
            p = rows_next(x->r, p);
        }
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
                      "sequence %s has more than the %zu %s that NCHAR says -- %s",
                      diag_quote(shown, sizeof shown, y->name, strlen(y->name)), x->n_sites,
                      format_noun(x->n_sites, "character", "characters"),
                      set ? rows_set_hint(x->r)
                          : "correct NCHAR or the sequence, or add INTERLEAVE to FORMAT");
}

/* The `END;` of the block where the ';' of the matrix should be. */
static bool is_block_end(const reader *x, const nexus_token *t)
{
    nexus_token behind;
    return (nexus_is(t, "end") || nexus_is(t, "endblock")) &&
           nexus_peek(&x->n, &behind) == ART_OK && nexus_is_mark(&behind, ';');
}

/* Whether the name of a row is among the TAXLABELS of the linked TAXA block, or of any. */
static int find_label(const reader *x, const row *y, bool *found)
{
    int status = ART_OK;
    *found = false;
    for (size_t i = 0; i < x->n_blocks && !*found && status == ART_OK; i++) {
        const size_t count = x->labels[i].count;
        size_t number;
        if (x->linked < x->n_blocks && i != x->linked)
            continue;
        status = rows_add(&x->labels[i], y->name, strlen(y->name), y->at, &number);
        *found = number < count;
    }
    return status;
}

static int check_matrix(reader *x)
{
    char shown[96], title[64];
    if (x->n_taxa && x->r->count != x->n_taxa)
        return diag_error(
            x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n_taxa_at),
            "NTAX is %zu, but the matrix has %zu %s -- correct NTAX or complete the matrix",
            x->n_taxa, x->r->count, format_noun(x->r->count, "row", "rows"));
    int status = rows_expect(x->r, x->n_sites, "NCHAR says",
                             "correct NCHAR or the sequence; an interleaved matrix needs "
                             "INTERLEAVE in FORMAT");
    if (status == ART_OK && x->linked < x->n_blocks && x->link.kind != NEXUS_END &&
        x->labels[x->linked].count != x->r->count)
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, &x->link),
                          "the linked TAXA block has %zu TAXLABELS, but the matrix has %zu %s -- "
                          "link to the block that lists the taxa of the matrix, or complete one "
                          "of them",
                          x->labels[x->linked].count, x->r->count,
                          format_noun(x->r->count, "row", "rows"));
    bool is_listed = false;
    for (size_t i = 0; i < x->n_blocks; i++)
        is_listed |= x->labels[i].count > 0;
    for (size_t i = 0; is_listed && i < x->r->count && status == ART_OK; i++) {
        const row *y = &x->r->row[i];
        bool found;
        status = find_label(x, y, &found);
        if (status == ART_OK && !found)
            status =
                diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, y->at),
                           "%s is not among the TAXLABELS%s%s -- make the names equal",
                           diag_quote(shown, sizeof shown, y->name, strlen(y->name)),
                           x->link.kind == NEXUS_END ? "" : " of the linked TAXA block ",
                           x->link.kind == NEXUS_END
                               ? ""
                               : diag_quote(title, sizeof title, x->link.start, x->link.length));
    }
    return status;
}

/* One row, or one line of it, with its name in front. */
static int parse_named_row(reader *x, const nexus_token *t)
{
    size_t number = x->r->count;
    int status = add_name(x, x->r, t, x->interleave ? &number : NULL);
    if (status == ART_OK)
        status = parse_sequence(x, number);
    return status == ART_OK ? check_row_end(x, number) : status;
}

static int read_named_rows(reader *x)
{
    nexus_token t;
    int status;
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';')) {
        if (t.kind == NEXUS_END || is_block_end(x, &t))
            return nexus_unexpected(&x->n, &t, "';' at the end of MATRIX",
                                    "end the matrix with a semicolon");
        if ((status = parse_named_row(x, &t)) != ART_OK)
            return status;
    }
    return status;
}

/* Moves to the next character that is not blank and not in a comment. */
static int skip_blanks(reader *x)
{
    int status = ART_OK;
    while (status == ART_OK && *x->n.at && strchr(" \t\n[", *x->n.at))
        if (*x->n.at == '[')
            status = nexus_skip_comment(&x->n);
        else
            x->n.at++;
    return status;
}

/* NOLABELS: the rows have the names of TAXLABELS, in their order. */
static int read_unnamed_rows(reader *x)
{
    const rows *names = x->linked < x->n_blocks ? &x->labels[x->linked]
                        : x->n_blocks == 1      ? &x->labels[0]
                                                : NULL;
    int status = ART_OK;
    if (!names || names->count == 0)
        return diag_error(
            x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n.at),
            x->n_blocks > 1
                ? "the rows have no names (NOLABELS), and of several TAXA blocks none is linked "
                  "-- add LINK TAXA = title; before the matrix"
                : "the rows have no names (NOLABELS), and there is no list of TAXLABELS "
                  "before the matrix -- add a TAXA block, or names and LABELS");
    for (size_t i = 0; i < names->count && status == ART_OK; i++)
        status =
            rows_add(x->r, names->row[i].name, strlen(names->row[i].name), names->row[i].at, NULL);
    for (size_t line = 0; status == ART_OK; line++) {
        if ((status = skip_blanks(x)) != ART_OK)
            return status;
        const char *at = x->n.at;
        if (*at == ';' || *at == '\0')
            break;
        if (!x->interleave && line >= names->count)
            return diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, at),
                              "the matrix goes on behind the last of %zu TAXLABELS -- correct "
                              "TAXLABELS, NCHAR or the matrix",
                              names->count);
        status = parse_sequence(x, line % names->count);
        if (status == ART_OK)
            status = check_row_end(x, line % names->count);
    }
    nexus_token t;
    if (status == ART_OK && (status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';'))
        status = nexus_unexpected(&x->n, &t, "';' at the end of MATRIX",
                                  "end the matrix with a semicolon");
    return status;
}

static int read_rows(reader *x)
{
    return x->no_labels ? read_unnamed_rows(x) : read_named_rows(x);
}

/* The matrix holds something else than nucleotides: says what, and shows the first character that
 * proves it. The matrix is read for that only, whatever else is wrong with it. */
static int refuse_type(reader *x)
{
    diag *d = x->n.d;
    const char *at = NULL;
    size_t number = 0, site = 0;
    char type[96], block[24], what[24], name[96], example[256] = "";
    x->n.d = x->r->d = NULL;
    int status = read_rows(x);
    x->n.d = x->r->d = d;
    if (status == ART_ERR_NOMEM)
        return status;
    if (rows_first_invalid(x->r, &at, &number, &site)) {
        const diag_place place = input_place(x->n.in, at);
        const char *of = x->r->row[number].name;
        snprintf(example, sizeof example,
                 "; the first that is no nucleotide is %s at site %zu of sequence %s (line %zu, "
                 "column %zu)",
                 diag_quote(what, sizeof what, at, 1), site,
                 diag_quote(name, sizeof name, of, strlen(of)), place.line, place.column);
    }
    return diag_error(
        d, ART_ERR_INPUT, nexus_place(&x->n, &x->type),
        "block %s has DATATYPE %s: %s%s -- this program analyses nucleotides only; %s",
        diag_quote(block, sizeof block, x->block.start, x->block.length),
        diag_quote(type, sizeof type, x->type.start, x->type.length), x->holds, example,
        x->instead);
}

static int parse_matrix(reader *x)
{
    char block[24];
    if (x->n_sites == 0)
        return diag_error(
            x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n.at),
            "MATRIX comes before NCHAR is known -- add DIMENSIONS NTAX=... NCHAR=...; before it");
    if (x->holds)
        return refuse_type(x);
    diag_quote(block, sizeof block, x->block.start, x->block.length);
    snprintf(x->r->about, sizeof x->r->about, "block %s%s", block,
             x->type.kind == NEXUS_END ? " (no DATATYPE, which means STANDARD)" : "");
    int status = read_rows(x);
    return status == ART_OK ? check_matrix(x) : status;
}

/* The next list of TAXLABELS, as yet without names and without a title. */
static int add_taxa_block(reader *x)
{
    rows *labels = mem_resize(x->labels, x->n_blocks + 1, sizeof *labels);
    if (!labels)
        return ART_ERR_NOMEM;
    x->labels = labels;
    int status = nexus_add_title(&x->title, x->n_blocks);
    if (status == ART_OK)
        rows_init(&labels[x->n_blocks++], x->r->in, x->r->d);
    return status;
}

static int parse_labels(reader *x)
{
    nexus_token t;
    int status;
    if (!x->in_taxa) { /* DIMENSIONS NEWTAXA in a block of data */
        if ((status = add_taxa_block(x)) != ART_OK)
            return status;
        x->linked = x->n_blocks - 1;
    }
    rows *labels = &x->labels[x->n_blocks - 1];
    while ((status = nexus_next(&x->n, &t)) == ART_OK && !nexus_is_mark(&t, ';')) {
        if (is_block_end(x, &t))
            return nexus_unexpected(&x->n, &t, "';' at the end of TAXLABELS",
                                    "end it with a semicolon");
        if ((status = add_name(x, labels, &t, NULL)) != ART_OK)
            return status;
    }
    if (status == ART_OK && x->n_taxa && labels->count != x->n_taxa)
        status = diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->n_taxa_at),
                            "NTAX is %zu, but there %s %zu TAXLABELS -- correct one of them",
                            x->n_taxa, format_noun(labels->count, "is", "are"), labels->count);
    return status;
}

/* LINK TAXA = title; in a block of data. */
static int parse_link(reader *x)
{
    int status = nexus_read_link(&x->n, &x->link);
    if (status == ART_OK)
        status = nexus_find_linked(&x->linked, &x->n, &x->link, x->title, x->n_blocks);
    if (x->linked == x->n_blocks)
        x->link = (nexus_token){.kind = NEXUS_END};
    return status;
}

/* FORMAT and MATRIX, once, in a DATA or CHARACTERS block. */
static int parse_data_command(reader *x, const nexus_token *t)
{
    char shown[64];
    diag_quote(shown, sizeof shown, t->start, t->length);
    if (x->in_taxa)
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
    static const char *const passed[] = {"title",      "link",        "blockid",         "id",
                                         "charlabels", "statelabels", "charstatelabels", "options"};
    char shown[64];
    if (nexus_is(t, "dimensions"))
        return parse_dimensions(x);
    if (nexus_is(t, "taxlabels"))
        return parse_labels(x);
    if (nexus_is(t, "format") || nexus_is(t, "matrix"))
        return parse_data_command(x, t);
    if (nexus_is(t, "title") && x->in_taxa)
        return nexus_read_title(&x->n, &x->title[x->n_blocks - 1]);
    if (nexus_is(t, "link") && !x->in_taxa)
        return parse_link(x);
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
        if (nexus_is_mark(&t, ';') || nexus_skip_hash_line(&x->n, &t))
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
        return diag_error(x->n.d, ART_ERR_INPUT, nexus_place(&x->n, name),
                          "a second DATA or CHARACTERS block, after the one on line %zu -- several "
                          "blocks (partitions) are not supported; keep the one to be analysed",
                          input_place(x->n.in, x->matrix).line);
    x->matrix = name->from;
    x->block = *name;
    x->linked = x->n_blocks;
    if (x->n_blocks > 1)
        x->n_taxa = 0; /* LINK may say of which of them the matrix is */
    int status = parse_block(x);
    if (status == ART_OK && x->r->count == 0)
        status = diag_error(x->n.d, ART_ERR_INPUT, input_place(x->n.in, x->matrix),
                            "the block has no MATRIX -- add it; make sure that the command before "
                            "it ends with a semicolon (;)");
    return status;
}

static int parse_taxa(reader *x)
{
    x->n_taxa = 0;
    int status = add_taxa_block(x);
    x->in_taxa = true;
    if (status == ART_OK)
        status = parse_block(x);
    x->in_taxa = false;
    return status;
}

/* Says that a block is skipped, and why. */
static void note_skipped(const reader *x, const nexus_token *name)
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
    else if (nexus_is(name, "sets"))
        diag_note(x->n.d, nexus_place(&x->n, name),
                  "block %s is ignored: sets and partitions of sites are not used, all sites have "
                  "one model",
                  shown);
    else
        diag_note(x->n.d, nexus_place(&x->n, name), "block %s is not used and is ignored", shown);
}

/* What is wrong in a block that is skipped does not matter, unless it may hide the matrix. */
static int pass_over(reader *x, const nexus_token *name)
{
    char shown[64];
    const nexus start = x->n;
    x->n.d = NULL;
    int status = nexus_skip_block(&x->n);
    x->n.d = start.d;
    if (status == ART_ERR_INPUT && !x->matrix) {
        x->n = start;
        return nexus_skip_block(&x->n);
    }
    if (status == ART_OK)
        note_skipped(x, name);
    if (status != ART_ERR_INPUT)
        return status;
    diag_note(x->n.d, nexus_place(&x->n, name),
              "block %s is not closed by END;, so everything behind its beginning is ignored",
              diag_quote(shown, sizeof shown, name->start, name->length));
    x->n.at = x->n.in->text + x->n.in->length;
    return ART_OK;
}

static int parse_blocks(reader *x)
{
    nexus_token t;
    int status = nexus_next(&x->n, &t);
    if (status == ART_OK && !nexus_is(&t, "#NEXUS"))
        return nexus_unexpected(&x->n, &t, "#NEXUS", "a NEXUS file must begin with it");
    while (status == ART_OK && (status = nexus_next(&x->n, &t)) == ART_OK && t.kind != NEXUS_END) {
        if (nexus_is_mark(&t, ';') || nexus_skip_hash_line(&x->n, &t))
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
            status = parse_taxa(x);
        else
            status = pass_over(x, &name);
    }
    return status;
}

int nexus_data_parse(rows *r)
{
    reader x = {.r = r};
    r->sets = true;
    nexus_init(&x.n, r->in, NEXUS_PUNCTUATION, r->d);
    r->symbol['.'] = SYMBOL_BAD; /* it would be the match character, and must be declared */
    int status = parse_blocks(&x);
    if (status == ART_OK && !x.matrix)
        status = diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                            "no DATA or CHARACTERS block -- this program reads one of them");
    for (size_t i = 0; i < x.n_blocks; i++)
        rows_free(&x.labels[i]);
    free(x.labels);
    free(x.title);
    free(x.name);
    return status;
}
