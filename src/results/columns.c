#include "results/columns.h"

#include "artreeformer.h"
#include "base/format.h"
#include "io/input.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, QUOTED = 64 }; /* columns that are asked for; bytes of a quotation */

typedef struct reader {
    columns *out;
    const input *in;
    const char *wanted[MOST + 1]; /* the names, then the label's or NULL */
    bool found[MOST + 1];
    suggestion nearest[MOST + 1];
    size_t room, label_room;
    diag *d;
} reader;

static int n_wanted(const reader *r)
{
    return r->out->count + (r->out->label != NULL);
}

/* What versions of MrBayes call the same column. */
static const char *const TWINS[][2] = {{"LnL", "lnLike"}, {"LnPr", "lnPrior"}};

static bool is_same(const char *a, const char *b)
{
    bool same = strcmp(a, b) == 0;
    for (size_t i = 0; i < sizeof TWINS / sizeof TWINS[0]; i++)
        for (int k = 0; k < 2; k++)
            same |= strcmp(a, TWINS[i][k]) == 0 && strcmp(b, TWINS[i][!k]) == 0;
    return same;
}

/* A name that the table has: which of the wanted ones it is, or -1. */
static int recognise(reader *r, const char *name)
{
    for (int i = 0; i < n_wanted(r); i++) {
        if (is_same(r->wanted[i], name)) {
            r->found[i] = true;
            return i;
        }
        suggest(&r->nearest[i], r->wanted[i], name);
    }
    return -1;
}

/* An empty row behind the others. */
static int add_row(reader *r)
{
    columns *c = r->out;
    double *value = mem_grow(c->value, &r->room, c->rows, (size_t)c->count * sizeof *value);
    if (!value)
        return ART_ERR_NOMEM;
    c->value = value;
    if (c->label) {
        char **label = mem_grow(c->label, &r->label_room, c->rows, sizeof *label);
        if (!label)
            return ART_ERR_NOMEM;
        c->label = label;
    }
    for (int i = 0; i < c->count; i++)
        c->value[c->rows * (size_t)c->count + (size_t)i] = NAN;
    if (c->label)
        c->label[c->rows] = NULL;
    c->rows++;
    return ART_OK;
}

static int set_label(reader *r, const char *text, size_t n)
{
    char **label = &r->out->label[r->out->rows - 1];
    free(*label);
    *label = mem_text(text, n);
    return *label ? ART_OK : ART_ERR_NOMEM;
}

static double *cell(const reader *r, int column)
{
    const columns *c = r->out;
    return &c->value[(c->rows - 1) * (size_t)c->count + (size_t)column];
}

static int not_a_number(reader *r, int column, const char *at, const char *text, size_t n)
{
    char quoted[QUOTED];
    return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, at),
                      "%s in column '%s' is not a number", diag_quote(quoted, QUOTED, text, n),
                      r->wanted[column]);
}

/* Tab-separated */

static int set_text(reader *r, int column, const char *text, size_t n)
{
    if (column < 0 || n == 0 || (n == 1 && *text == '-'))
        return ART_OK;
    if (column == r->out->count)
        return set_label(r, text, n);
    return number_double(cell(r, column), text, n) ? not_a_number(r, column, text, text, n)
                                                   : ART_OK;
}

/* Calls use for every field of a line. */
static int each_field(reader *r, const char *line, size_t length, int *column,
                      int (*use)(reader *, int *, const char *, size_t))
{
    int status = ART_OK;
    const char *end = line + length;
    for (const char *p = line; p <= end && !status; p++) {
        const size_t n = strcspn(p, "\t\n");
        status = use(r, column++, p, n);
        p += n;
    }
    return status;
}

static size_t n_fields(const char *line, size_t length)
{
    size_t n = 1;
    for (size_t i = 0; i < length; i++)
        n += line[i] == '\t';
    return n;
}

static int use_name(reader *r, int *column, const char *text, size_t n)
{
    char *name = mem_text(text, n);
    if (!name)
        return ART_ERR_NOMEM;
    *column = recognise(r, name);
    free(name);
    return ART_OK;
}

static int use_value(reader *r, int *column, const char *text, size_t n)
{
    return set_text(r, *column, text, n);
}

static int read_tabs(reader *r)
{
    const char *line = r->in->text;
    while (*line == '[' || *line == '#') { /* MrBayes and BEAST say something first */
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    size_t length = strcspn(line, "\n");
    const size_t fields = n_fields(line, length);
    int *column = mem_zeros(fields, sizeof *column);
    int status = column ? each_field(r, line, length, column, use_name) : ART_ERR_NOMEM;
    for (line += length; *line && !status; line += length) {
        line++;
        length = strcspn(line, "\n");
        if (length == 0)
            continue;
        if (n_fields(line, length) != fields)
            status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, line),
                                "%zu %s, but the line of names has %zu -- they are separated "
                                "by single tabs",
                                n_fields(line, length),
                                format_noun(n_fields(line, length), "field", "fields"), fields);
        if (!status)
            status = add_row(r);
        if (!status)
            status = each_field(r, line, length, column, use_value);
    }
    free(column);
    return status;
}

/* JSON lines */

static int use_member(reader *r, const char *line, const char *key, const json_t *value)
{
    const int column = recognise(r, key);
    if (column < 0 || json_is_null(value))
        return ART_OK;
    if (column < r->out->count && json_is_number(value)) {
        *cell(r, column) = json_number_value(value);
        return ART_OK;
    }
    const char *text = json_is_string(value) ? json_string_value(value) : "this";
    return column == r->out->count ? set_label(r, text, strlen(text))
                                   : not_a_number(r, column, line, text, strlen(text));
}

static int read_json(reader *r)
{
    int status = ART_OK;
    size_t length;
    for (const char *line = r->in->text; *line && !status; line += length + (line[length] != 0)) {
        length = strcspn(line, "\n");
        if (length == 0)
            continue;
        json_error_t error;
        json_t *object = json_loadb(line, length, 0, &error);
        const char *key;
        json_t *value;
        if (!json_is_object(object))
            status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, line),
                                "not a JSON object -- every line must be one");
        else
            status = add_row(r);
        json_object_foreach(object, key, value)
        {
            if (!status)
                status = use_member(r, line, key, value);
        }
        json_decref(object);
    }
    return status;
}

/* Columns that were asked for twice. */
static void copy_twins(reader *r)
{
    const columns *c = r->out;
    for (int i = 0; i < c->count; i++)
        for (int j = i + 1; j < c->count; j++) {
            if (strcmp(r->wanted[i], r->wanted[j]) != 0)
                continue;
            r->found[j] = r->found[i];
            for (double *row = c->value; row < c->value + c->rows * (size_t)c->count;
                 row += c->count)
                row[j] = row[i];
        }
}

static int check_found(reader *r)
{
    int status = ART_OK;
    for (int i = 0; i < n_wanted(r); i++)
        if (!r->found[i] && r->nearest[i].word[0])
            status = diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                                "no column '%s' -- did you mean '%s'?", r->wanted[i],
                                r->nearest[i].word);
        else if (!r->found[i])
            status =
                diag_error(r->d, ART_ERR_INPUT, input_file(r->in), "no column '%s'", r->wanted[i]);
    return status;
}

int columns_read(columns *c, const char *path, const char *const *name, int count,
                 const char *label, diag *d)
{
    *c = (columns){.count = count};
    input in = {0};
    reader r = {.out = c, .in = &in, .d = d};
    if (count < 1 || count > MOST)
        return ART_ERR_USAGE;
    for (int i = 0; i < count; i++)
        r.wanted[i] = name[i];
    r.wanted[count] = label;
    if (label && !(c->label = mem_zeros(1, sizeof *c->label)))
        return ART_ERR_NOMEM;
    int status = input_read(&in, path, NULL, d);
    if (!status)
        status = in.text[strspn(in.text, " \n")] == '{' ? read_json(&r) : read_tabs(&r);
    copy_twins(&r);
    if (!status)
        status = check_found(&r);
    input_free(&in);
    return status;
}

void columns_free(columns *c)
{
    for (size_t i = 0; c->label && i < c->rows; i++)
        free(c->label[i]);
    free(c->label);
    free(c->value);
    *c = (columns){0};
}
