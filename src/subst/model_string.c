#include "subst/model_string.h"

#include "artreeformer.h"
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NUMBERS = 6 };

/* Shapes outside are indistinguishable from their limits and waste the categories. */
static const double MIN_ALPHA = 1e-3, MAX_ALPHA = 1e3;

typedef struct spelling {
    const char *name;
    subst_kind kind;
    int unequal; /* needs base frequencies */
} spelling;

/* The first spelling of a kind is the one that is printed. */
static const spelling SPELLINGS[] = {
    {"JC", SUBST_JC, 0},     {"JC69", SUBST_JC, 0},   {"K80", SUBST_K80, 0},
    {"K2P", SUBST_K80, 0},   {"F81", SUBST_F81, 1},   {"HKY", SUBST_HKY, 1},
    {"HKY85", SUBST_HKY, 1}, {"TN93", SUBST_TN93, 1}, {"TN", SUBST_TN93, 1},
    {"TrN", SUBST_TN93, 1},  {"TNe", SUBST_TN93, 0},  {"TN93ef", SUBST_TN93, 0},
    {"SYM", SUBST_SYM, 0},   {"GTR", SUBST_GTR, 1},
};
enum { N_SPELLINGS = sizeof SPELLINGS / sizeof SPELLINGS[0] };

/* A word and the numbers in braces that follow it. */
typedef struct part {
    const char *word;
    size_t length;
    int n_numbers; /* -1 without braces */
    double number[MAX_NUMBERS];
    const char *number_at[MAX_NUMBERS];
    const char *end; /* the character after it */
} part;

typedef struct reader {
    const char *text;
    const char *at;
    const alignment *alignment;
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

/* Numbers in braces; r->at is on the '{'. */
static int read_numbers(reader *r, part *p)
{
    char shown[64];
    const char *open = r->at;
    p->n_numbers = 0;
    do {
        r->at++;
        size_t width = strcspn(r->at, ",/{}");
        if (p->n_numbers == MAX_NUMBERS)
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "more than %d numbers in braces -- no model has that many parameters",
                              MAX_NUMBERS);
        if (number_double(&p->number[p->n_numbers], r->at, width))
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "%s is not a number -- write numbers like 2.5 or 1e-3",
                              show(shown, r->at, width));
        p->number_at[p->n_numbers++] = r->at;
        r->at += width;
    } while (*r->at == ',' || *r->at == '/');
    if (*r->at != '}')
        return diag_error(r->d, ART_ERR_INPUT, place(r, open), "'{' is not closed -- add '}'");
    r->at++;
    return ART_OK;
}

static int read_part(reader *r, part *p)
{
    *p = (part){.word = r->at, .n_numbers = -1};
    while (isalnum((unsigned char)*r->at))
        r->at++;
    p->length = (size_t)(r->at - p->word);
    int status = *r->at == '{' ? read_numbers(r, p) : ART_OK;
    if (status)
        return status;
    p->end = r->at;
    if (p->length == 0 || (*r->at != '+' && *r->at != '\0')) {
        char shown[64];
        return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                          "unexpected %s -- write a model like HKY{2.5}+F{0.3,0.2,0.2,0.3}+G4{0.5}",
                          *r->at ? show(shown, r->at, 1) : "end");
    }
    return ART_OK;
}

static int is_word(const part *p, const char *word)
{
    return strlen(word) == p->length && strncasecmp(p->word, word, p->length) == 0;
}

static int missing(reader *r, const part *p, const char *what, const char *example)
{
    char shown[64];
    return diag_error(
        r->d, ART_ERR_INPUT, place(r, p->end),
        "%s of %s is not given -- parameters are not estimated; write, for example, %s", what,
        show(shown, p->word, p->length), example);
}

static int wrong_count(reader *r, const part *p, const char *expected)
{
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->word), "%s has %d numbers, expected %s",
                      show(shown, p->word, p->length), p->n_numbers, expected);
}

/* Checks number i of a part against an interval that includes neither end. */
static int within(reader *r, const part *p, int i, double low, double high)
{
    if (p->number[i] > low && p->number[i] < high)
        return ART_OK;
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->number_at[i]),
                      "%g is out of range -- it must be above %g and below %g", p->number[i], low,
                      high);
}

/* Exchange rates of K80, HKY, TN93: transversions are `base`, or 1 when it is not given. */
static int read_transitions(reader *r, subst_model *m, const part *p, int n_transitions)
{
    if (p->n_numbers < 0)
        return n_transitions == 1
                   ? missing(r, p, "the transition/transversion ratio kappa", "HKY{2.5}")
                   : missing(r, p, "the transition rates AG and CT", "TN93{2,3}");
    if (p->n_numbers != n_transitions && p->n_numbers != n_transitions + 1)
        return wrong_count(r, p,
                           n_transitions == 1 ? "{kappa} or {transversion,transition}"
                                              : "{AG,CT} or {transversion,AG,CT}");
    int first = p->n_numbers - n_transitions;
    double base = first ? p->number[0] : 1;
    m->rate[RATE_AG] = p->number[first] / base;
    m->rate[RATE_CT] = p->number[p->n_numbers - 1] / base;
    return ART_OK;
}

static int read_rates(reader *r, subst_model *m, const part *p)
{
    for (int i = 0; i < N_RATES; i++)
        m->rate[i] = 1;
    for (int i = 0; i < p->n_numbers; i++) {
        int status = within(r, p, i, 0, 1e6);
        if (status)
            return status;
    }
    switch (m->kind) {
    case SUBST_JC:
    case SUBST_F81:
        return p->n_numbers < 0 ? ART_OK : wrong_count(r, p, "none");
    case SUBST_K80:
    case SUBST_HKY:
        return read_transitions(r, m, p, 1);
    case SUBST_TN93:
        return read_transitions(r, m, p, 2);
    case SUBST_SYM:
    case SUBST_GTR:
        break;
    }
    if (p->n_numbers < 0)
        return missing(r, p, "the exchange rates AC, AG, AT, CG, CT, GT", "GTR{1,2,1,1,3,1}");
    if (p->n_numbers != N_RATES && p->n_numbers != N_RATES - 1)
        return wrong_count(r, p, "{AC,AG,AT,CG,CT,GT}");
    memcpy(m->rate, p->number, (size_t)p->n_numbers * sizeof *p->number);
    return ART_OK;
}

static int read_name(reader *r, subst_model *m, int *unequal)
{
    part p;
    int status = read_part(r, &p);
    if (status)
        return status;
    for (int i = 0; i < N_SPELLINGS; i++)
        if (is_word(&p, SPELLINGS[i].name)) {
            m->kind = SPELLINGS[i].kind;
            *unequal = SPELLINGS[i].unequal;
            return read_rates(r, m, &p);
        }
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, p.word),
                      "model %s is not supported -- use JC, K80, F81, HKY, TN93, SYM or GTR",
                      show(shown, p.word, p.length));
}

static int count_frequencies(reader *r, subst_model *m, const part *p)
{
    if (!r->alignment)
        return missing(r, p, "the alignment or the base frequencies", "+F{0.3,0.2,0.2,0.3}");
    int absent, status = subst_frequencies(m->frequency, &absent, r->alignment);
    if (status)
        return diag_error(r->d, status, place(r, p->word),
                          "base %c does not occur in the alignment, so its empirical frequency "
                          "would be 0 -- give the frequencies as +F{A,C,G,T}",
                          "ACGT"[absent]);
    return ART_OK;
}

static int read_frequencies(reader *r, subst_model *m, const part *p)
{
    int user = is_word(p, "FU");
    if (is_word(p, "FQ") || is_word(p, "FE")) {
        for (int i = 0; i < 4; i++)
            m->frequency[i] = 0.25;
        return p->n_numbers < 0 ? ART_OK : wrong_count(r, p, "none");
    }
    if (p->n_numbers < 0 && !user)
        return count_frequencies(r, m, p);
    if (p->n_numbers < 0)
        return missing(r, p, "the list of frequencies", "+FU{0.3,0.2,0.2,0.3}");
    if (p->n_numbers != 4 || is_word(p, "FC"))
        return wrong_count(r, p, is_word(p, "FC") ? "none" : "{A,C,G,T}");
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        int status = within(r, p, i, 0, 1);
        if (status)
            return status;
        sum += p->number[i];
    }
    if (fabs(sum - 1) > 1e-3)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                          "base frequencies sum to %.9g -- they must sum to 1", sum);
    /* A sum of 1 up to rounding is left as it is: what was printed reads back unchanged. */
    for (int i = 0; i < 4; i++)
        m->frequency[i] = fabs(sum - 1) < 1e-15 ? p->number[i] : p->number[i] / sum;
    return ART_OK;
}

static int read_invariant(reader *r, subst_model *m, const part *p)
{
    if (p->n_numbers < 0)
        return missing(r, p, "the proportion of invariant sites", "+I{0.2}");
    if (p->n_numbers != 1)
        return wrong_count(r, p, "{p}");
    m->p_invariant = p->number[0];
    return p->number[0] == 0 ? ART_OK : within(r, p, 0, 0, 1);
}

/* G, or G with a number of categories: -1 if it is not that. */
static int gamma_categories(const part *p)
{
    if (toupper((unsigned char)p->word[0]) != 'G' || p->length > 4)
        return -1;
    int n = 0;
    for (size_t i = 1; i < p->length; i++) {
        if (!isdigit((unsigned char)p->word[i]))
            return -1;
        n = 10 * n + (p->word[i] - '0');
    }
    return p->length == 1 ? 4 : n;
}

static int read_gamma(reader *r, subst_model *m, const part *p)
{
    int n = gamma_categories(p);
    if (n < 1 || n > SUBST_CATEGORIES)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                          "%d rate categories -- the number must be between 1 and %d", n,
                          SUBST_CATEGORIES);
    if (p->n_numbers < 0)
        return missing(r, p, "the shape alpha", "+G4{0.5}");
    if (p->n_numbers != 1)
        return wrong_count(r, p, "{alpha}");
    m->n_categories = n;
    m->alpha = p->number[0];
    return p->number[0] == MIN_ALPHA || p->number[0] == MAX_ALPHA
               ? ART_OK
               : within(r, p, 0, MIN_ALPHA, MAX_ALPHA);
}

enum { SEEN_F = 1, SEEN_I = 2, SEEN_G = 4 };

/* One part after a '+'; sets its bit in *seen. */
static int read_modifier(reader *r, subst_model *m, int *seen)
{
    char shown[64];
    part p;
    int status = read_part(r, &p);
    if (status)
        return status;
    int kind = is_word(&p, "F") || is_word(&p, "FC") || is_word(&p, "FU") || is_word(&p, "FQ") ||
                       is_word(&p, "FE")
                   ? SEEN_F
               : is_word(&p, "I") || is_word(&p, "IU") ? SEEN_I
               : gamma_categories(&p) >= 0             ? SEEN_G
                                                       : 0;
    if (!kind)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p.word),
                          "%s is not supported -- use +F, +FQ, +I{p} and +G4{alpha}",
                          show(shown, p.word, p.length));
    if (*seen & kind)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p.word),
                          "%s repeats an earlier part of the model -- give it only once",
                          show(shown, p.word, p.length));
    *seen |= kind;
    return kind == SEEN_F   ? read_frequencies(r, m, &p)
           : kind == SEEN_I ? read_invariant(r, m, &p)
                            : read_gamma(r, m, &p);
}

int model_string_parse(subst_model *m, const char *text, const alignment *a, diag *d)
{
    memset(m, 0, sizeof *m);
    reader r = {.text = text, .at = text, .alignment = a, .d = d};
    diag_quote(r.quoted, sizeof r.quoted, text, strlen(text));
    m->n_categories = 1;
    for (int i = 0; i < 4; i++)
        m->frequency[i] = 0.25;
    int unequal = 0, seen = 0;
    int status = read_name(&r, m, &unequal);
    while (!status && *r.at == '+') {
        r.at++;
        status = read_modifier(&r, m, &seen);
    }
    if (status)
        return status;
    if (unequal && !(seen & SEEN_F))
        return diag_error(d, ART_ERR_INPUT, place(&r, r.at),
                          "the base frequencies are missing -- add +F{A,C,G,T}, +F (empirical, "
                          "from the alignment) or +FQ (equal)");
    subst_model_finish(m);
    return ART_OK;
}

/* Appends separator and number, in the fewest digits that read back the same. */
static size_t print_number(char *out, size_t used, char separator, double number)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return used + (size_t)snprintf(out + used, MODEL_STRING_SIZE - used, "%c%s", separator, text);
}

static size_t print_list(char *out, size_t used, const char *head, const double *number, int n)
{
    used += (size_t)snprintf(out + used, MODEL_STRING_SIZE - used, "%s", head);
    for (int i = 0; i < n; i++)
        used = print_number(out, used, i ? ',' : '{', number[i]);
    return used + (size_t)snprintf(out + used, MODEL_STRING_SIZE - used, "%s", n ? "}" : "");
}

char *model_string_print(char out[MODEL_STRING_SIZE], const subst_model *m)
{
    const spelling *name = SPELLINGS;
    while (name->kind != m->kind)
        name++;
    const double tn93[] = {m->rate[RATE_AG], m->rate[RATE_CT]};
    int transitions = m->kind == SUBST_TN93                          ? 2
                      : m->kind == SUBST_K80 || m->kind == SUBST_HKY ? 1
                                                                     : 0;
    int all = m->kind == SUBST_SYM || m->kind == SUBST_GTR;
    size_t used = print_list(out, 0, name->name, all ? m->rate : tn93, all ? N_RATES : transitions);
    int equal = 1;
    for (int i = 0; i < 4; i++)
        equal &= m->frequency[i] == 0.25;
    if (!equal)
        used = print_list(out, used, "+F", m->frequency, 4);
    else if (name->unequal)
        used = print_list(out, used, "+FQ", NULL, 0);
    if (m->p_invariant > 0)
        used = print_list(out, used, "+I", &m->p_invariant, 1);
    if (m->alpha > 0) {
        char head[8];
        snprintf(head, sizeof head, "+G%d", m->n_categories);
        print_list(out, used, head, &m->alpha, 1);
    }
    return out;
}
