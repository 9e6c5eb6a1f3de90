#include "subst/prior_string.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/number.h"
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_NUMBERS = N_RATES };

typedef enum distribution { BETA, DIRICHLET, EXPONENTIAL, UNIFORM } distribution;

static const char *const DISTRIBUTIONS[] = {"beta", "dirichlet", "exponential", "uniform"};

typedef enum parameter { KAPPA, RATES, FREQUENCIES, ALPHA, P_INVARIANT } parameter;

typedef struct prior_row {
    const char *name;
    parameter parameter;
    distribution kind;
    int n; /* numbers */
    size_t offset;
    const char *example;
    const char *has; /* what a model must have for it to be free */
} prior_row;

static const prior_row ROWS[] = {
    {"kappa", KAPPA, BETA, 2, offsetof(model_priors, kappa), "kappa=beta(1,1)", "K80 or HKY"},
    {"rates", RATES, DIRICHLET, N_RATES, offsetof(model_priors, rates),
     "rates=dirichlet(1,1,1,1,1,1)", "TN93, SYM, GTR or another model with rates"},
    {"frequencies", FREQUENCIES, DIRICHLET, 4, offsetof(model_priors, frequencies),
     "frequencies=dirichlet(1,1,1,1)", "+FO"},
    {"alpha", ALPHA, EXPONENTIAL, 1, offsetof(model_priors, alpha_rate), "alpha=exponential(1)",
     "+G4"},
    {"pinvar", P_INVARIANT, UNIFORM, 2, offsetof(model_priors, p_invariant), "pinvar=uniform(0,1)",
     "+I"},
};
enum { N_ROWS = sizeof ROWS / sizeof ROWS[0] };

typedef struct reader {
    const char *text;
    const char *at;
    diag *d;
    char quoted[256]; /* the text, as it may be shown */
} reader;

static diag_place place(const reader *r, const char *at)
{
    return (diag_place){r->quoted, 1, (size_t)(at - r->text) + 1};
}

static const char *show(char out[64], const char *text, size_t length)
{
    return diag_quote(out, 64, text, length);
}

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static int unexpected(reader *r, const char *example)
{
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                      "unexpected %s -- write, for example, %s",
                      *r->at ? show(shown, r->at, 1) : "end", example);
}

/* A word and what comes before the next part. */
static size_t read_word(reader *r, const char **word)
{
    skip_blanks(r);
    *word = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    const size_t length = (size_t)(r->at - *word);
    skip_blanks(r);
    return length;
}

static int is_word(const char *word, size_t length, const char *expected)
{
    return strlen(expected) == length && strncasecmp(word, expected, length) == 0;
}

static int unknown_name(reader *r, const char *word, size_t length)
{
    char shown[64], written[64];
    suggestion nearest = {0};
    snprintf(written, sizeof written, "%.*s", (int)(length < 63 ? length : 63), word);
    for (int i = 0; i < N_ROWS; i++)
        suggest(&nearest, written, ROWS[i].name);
    return diag_error(
        r->d, ART_ERR_INPUT, place(r, word),
        "%s is not a parameter with a prior -- use kappa, rates, frequencies, alpha or "
        "pinvar%s%s%s",
        show(shown, word, length), nearest.word[0] ? "; did you mean " : "", nearest.word,
        nearest.word[0] ? "?" : "");
}

static int read_kind(reader *r, const prior_row *row)
{
    char shown[64];
    const char *word, *expected = DISTRIBUTIONS[row->kind];
    const size_t length = read_word(r, &word);
    if (length == 0)
        return unexpected(r, row->example);
    if (is_word(word, length, "fixed"))
        return diag_error(r->d, ART_ERR_INPUT, place(r, word),
                          "%s has no prior if it is fixed -- write its numbers in the model, as in "
                          "HKY{2.5} or +G4{0.5}",
                          row->name);
    if (!is_word(word, length, expected) &&
        !(row->kind == EXPONENTIAL && is_word(word, length, "exp")))
        return diag_error(r->d, ART_ERR_INPUT, place(r, word),
                          "the prior of %s cannot be %s -- it is of the form %s", row->name,
                          show(shown, word, length), row->example);
    return ART_OK;
}

/* Numbers in parentheses; *n is how many. */
static int read_numbers(reader *r, double *number, int *n, const prior_row *row)
{
    char shown[64];
    if (*r->at != '(')
        return unexpected(r, row->example);
    *n = 0;
    do {
        r->at++;
        skip_blanks(r);
        const size_t width = strcspn(r->at, ",() \t\r\n");
        const double low = row->kind == UNIFORM ? 0 : 1e-3, high = row->kind == UNIFORM ? 1 : 1e6;
        if (*n == row->n)
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "more than %d number%s -- write, for example, %s", row->n,
                              row->n > 1 ? "s" : "", row->example);
        if (width == 0)
            return unexpected(r, row->example);
        if (number_double(&number[*n], r->at, width))
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "%s is not a number -- write numbers like 10 or 0.1",
                              show(shown, r->at, width));
        if (!(number[*n] >= low && number[*n] <= high))
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "%g is out of range -- it must be between %g and %g", number[*n], low,
                              high);
        r->at += width;
        skip_blanks(r);
        (*n)++;
    } while (*r->at == ',');
    if (*r->at != ')')
        return unexpected(r, row->example);
    r->at++;
    skip_blanks(r);
    return ART_OK;
}

static int read_distribution(reader *r, model_priors *p, const prior_row *row)
{
    double number[MOST_NUMBERS];
    int n = 0, status = read_kind(r, row);
    const char *open = r->at;
    if (!status)
        status = read_numbers(r, number, &n, row);
    if (status)
        return status;
    if (row->kind == DIRICHLET && n == 1)
        for (; n < row->n; n++)
            number[n] = number[0];
    if (n < row->n)
        return diag_error(r->d, ART_ERR_INPUT, place(r, open),
                          "%d of %d numbers -- write, for example, %s", n, row->n, row->example);
    if (row->kind == UNIFORM && !(number[0] < number[1]))
        return diag_error(r->d, ART_ERR_INPUT, place(r, open),
                          "the range from %g to %g is empty -- give the lower end first", number[0],
                          number[1]);
    memcpy((char *)p + row->offset, number, (size_t)row->n * sizeof *number);
    return ART_OK;
}

/* name=distribution(numbers) */
static int read_prior(reader *r, model_priors *p, unsigned *given)
{
    char shown[64];
    const char *word;
    const size_t length = read_word(r, &word);
    if (length == 0)
        return unexpected(r, "alpha=exponential(1)");
    int i = 0;
    while (i < N_ROWS && !is_word(word, length, ROWS[i].name))
        i++;
    if (i == N_ROWS)
        return unknown_name(r, word, length);
    if (*given >> i & 1)
        return diag_error(r->d, ART_ERR_INPUT, place(r, word), "%s has two priors -- give only one",
                          show(shown, word, length));
    *given |= 1U << i;
    if (*r->at != '=')
        return unexpected(r, ROWS[i].example);
    r->at++;
    return read_distribution(r, p, &ROWS[i]);
}

int prior_string_parse(model_priors *p, unsigned *given, const char *text, diag *d)
{
    reader r = {.text = text, .at = text, .d = d};
    diag_quote(r.quoted, sizeof r.quoted, text, strlen(text));
    *given = 0;
    for (;;) {
        const int status = read_prior(&r, p, given);
        if (status || !*r.at)
            return status;
        if (*r.at != ',' && *r.at != ';')
            return unexpected(&r, "alpha=exponential(1),kappa=beta(1,1)");
        r.at++;
    }
}

static int is_free(const free_model *f, parameter p)
{
    const int has_kappa = f->fixed.kind == SUBST_K80 || f->fixed.kind == SUBST_HKY;
    switch (p) {
    case KAPPA:
        return f->rates_free && has_kappa;
    case RATES:
        return f->rates_free && !has_kappa;
    case FREQUENCIES:
        return f->frequencies_free;
    case ALPHA:
        return f->alpha_free;
    case P_INVARIANT:
        return f->p_invariant_free;
    }
    return 0;
}

int prior_string_match(const free_model *f, unsigned given, diag *d)
{
    char text[MODEL_STRING_SIZE];
    for (int i = 0; i < N_ROWS; i++)
        if (given >> i & 1 && !is_free(f, ROWS[i].parameter))
            return diag_error(d, ART_ERR_INPUT, (diag_place){0},
                              "%s has a prior, but the model %s does not estimate it -- leave the "
                              "prior out, or use a model with %s without numbers",
                              ROWS[i].name, free_model_print(text, f), ROWS[i].has);
    return ART_OK;
}

const char *prior_string_name(unsigned bit)
{
    for (int i = 0; i < N_ROWS; i++)
        if (bit >> i & 1)
            return ROWS[i].name;
    return "";
}

/* The first of the models that estimates the parameter of a row; NULL if none does. */
static const free_model *estimated_by(const free_model *model, int n, const prior_row *row)
{
    for (int k = 0; k < n; k++)
        if (is_free(&model[k], row->parameter))
            return &model[k];
    return NULL;
}

static void print_row(char out[PRIOR_TEXT_SIZE], const model_priors *p, const prior_row *row)
{
    char text[FORMAT_SIZE];
    double number[MOST_NUMBERS];
    memcpy(number, (const char *)p + row->offset, (size_t)row->n * sizeof *number);
    int used = snprintf(out, PRIOR_TEXT_SIZE, "%s", DISTRIBUTIONS[row->kind]);
    for (int k = 0; k < row->n; k++)
        used += snprintf(out + used, PRIOR_TEXT_SIZE - (size_t)used, "%c%s", k ? ',' : '(',
                         format_real(text, sizeof text, number[k]));
    snprintf(out + used, PRIOR_TEXT_SIZE - (size_t)used, ")");
}

int prior_string_print(const char **name, char out[PRIOR_TEXT_SIZE], const free_model *model, int n,
                       int i)
{
    for (int k = 0; k < N_ROWS; k++) {
        const free_model *f = estimated_by(model, n, &ROWS[k]);
        if (!f || i-- > 0)
            continue;
        *name = ROWS[k].name;
        print_row(out, &f->prior, &ROWS[k]);
        return 1;
    }
    return 0;
}

int free_model_read(free_model *f, const char *text, const char *priors, const alignment *a,
                    diag *d)
{
    model_priors p = model_priors_default();
    unsigned given = 0;
    int status = priors ? prior_string_parse(&p, &given, priors, d) : ART_OK;
    if (!status)
        status = free_model_parse(f, text, a, &p, d);
    return status ? status : prior_string_match(f, given, d);
}
