#include "subst/branch_prior_string.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_NUMBERS = 4 };

static const char EXAMPLES[] = "write exponential(10) or gammadir(1,0.1,1,1)";

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

static void skip_blanks(reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* What was found where something else was expected. */
static int unexpected(reader *r)
{
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, r->at), "unexpected %s -- %s",
                      *r->at ? diag_quote(shown, sizeof shown, r->at, 1) : "end", EXAMPLES);
}

static int read_number(reader *r, double *number, const char **at)
{
    char shown[64];
    skip_blanks(r);
    const size_t width = strcspn(r->at, ",() \t\r\n");
    *at = r->at;
    if (width == 0)
        return unexpected(r);
    if (number_double(number, r->at, width))
        return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                          "%s is not a number -- write numbers like 10 or 0.1",
                          diag_quote(shown, sizeof shown, r->at, width));
    if (!(*number > 0 && *number <= 1e6))
        return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                          "%g is out of range -- it must be above 0 and at most 1e6", *number);
    r->at += width;
    skip_blanks(r);
    return ART_OK;
}

/* `count` numbers in parentheses. */
static int read_numbers(reader *r, double *number, const char **at, int count, const char *what)
{
    skip_blanks(r);
    if (*r->at != '(')
        return unexpected(r);
    const char *open = r->at;
    int n = 0;
    do {
        r->at++;
        if (n == count)
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "more than %d number%s -- give %s", count, count > 1 ? "s" : "",
                              what);
        const int status = read_number(r, &number[n], &at[n]);
        if (status)
            return status;
        n++;
    } while (*r->at == ',');
    if (*r->at != ')')
        return unexpected(r);
    if (n < count)
        return diag_error(r->d, ART_ERR_INPUT, place(r, open), "%d of %d numbers -- give %s", n,
                          count, what);
    r->at++;
    skip_blanks(r);
    return *r->at ? unexpected(r) : ART_OK;
}

static int read_exponential(reader *r, branch_prior *prior)
{
    double rate;
    const char *at;
    const int status = read_numbers(r, &rate, &at, 1, "the rate, as in exponential(10)");
    if (!status)
        *prior = branch_prior_exponential(rate);
    return status;
}

/* branch_prior_is_valid, number by number. */
static int read_gamma_dirichlet(reader *r, branch_prior *prior)
{
    double p[MOST_NUMBERS];
    const char *at[MOST_NUMBERS];
    int status = read_numbers(r, p, at, MOST_NUMBERS,
                              "shape and rate of the tree length, the Dirichlet parameter of "
                              "external branches and the ratio of internal to external ones, as in "
                              "gammadir(1,0.1,1,1)");
    if (status)
        return status;
    *prior = branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3]);
    if (branch_prior_is_valid(*prior))
        return ART_OK;
    if (p[0] < 0.1)
        return diag_error(r->d, ART_ERR_INPUT, place(r, at[0]),
                          "the shape %g of the tree length is too small -- it must be at least 0.1",
                          p[0]);
    return diag_error(r->d, ART_ERR_INPUT, place(r, p[2] > 1.0 / 3 ? at[3] : at[2]),
                      "the Dirichlet parameters %g of external and %g of internal branches must be "
                      "above 1/3 -- with smaller ones most branches have no length that is most "
                      "probable, and lengths cannot be integrated out",
                      p[2], p[2] * p[3]);
}

int branch_prior_parse(branch_prior *prior, const char *text, diag *d)
{
    static const char PREFIX[] = "unconstrained:";
    reader r = {.text = text, .at = text, .d = d};
    diag_quote(r.quoted, sizeof r.quoted, text, strlen(text));
    skip_blanks(&r);
    if (strncasecmp(r.at, PREFIX, strlen(PREFIX)) == 0)
        r.at += strlen(PREFIX);
    skip_blanks(&r);
    const char *word = r.at;
    while (isalnum((unsigned char)*r.at))
        r.at++;
    const size_t length = (size_t)(r.at - word);
    if ((length == 11 && strncasecmp(word, "exponential", 11) == 0) ||
        (length == 3 && strncasecmp(word, "exp", 3) == 0))
        return read_exponential(&r, prior);
    if (length == 8 && strncasecmp(word, "gammadir", 8) == 0)
        return read_gamma_dirichlet(&r, prior);
    if (length == 0)
        return unexpected(&r);
    char shown[64];
    return diag_error(d, ART_ERR_INPUT, place(&r, word),
                      "prior %s of branch lengths is not supported -- %s",
                      diag_quote(shown, sizeof shown, word, length), EXAMPLES);
}

char *branch_prior_print(char out[BRANCH_PRIOR_STRING_SIZE], branch_prior prior)
{
    char number[MOST_NUMBERS][FORMAT_SIZE];
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        snprintf(out, BRANCH_PRIOR_STRING_SIZE, "exponential(%s)",
                 format_real(number[0], FORMAT_SIZE, prior.rate));
        break;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        snprintf(out, BRANCH_PRIOR_STRING_SIZE, "gammadir(%s,%s,%s,%s)",
                 format_real(number[0], FORMAT_SIZE, prior.shape),
                 format_real(number[1], FORMAT_SIZE, prior.rate),
                 format_real(number[2], FORMAT_SIZE, prior.alpha),
                 format_real(number[3], FORMAT_SIZE, prior.ratio));
        break;
    }
    return out;
}
