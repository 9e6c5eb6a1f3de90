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

typedef struct spelling {
    const char *name;
    subst_kind kind;
    int unequal; /* needs base frequencies */
} spelling;

/* The first spelling of a kind is the one that is printed. */
static const spelling SPELLINGS[] = {
    {"JC", SUBST_JC, 0},      {"JC69", SUBST_JC, 0},     {"K80", SUBST_K80, 0},
    {"K2P", SUBST_K80, 0},    {"F81", SUBST_F81, 1},     {"HKY", SUBST_HKY, 1},
    {"HKY85", SUBST_HKY, 1},  {"TN93", SUBST_TN93, 1},   {"TN", SUBST_TN93, 1},
    {"TrN", SUBST_TN93, 1},   {"TNe", SUBST_TN93, 0},    {"TN93ef", SUBST_TN93, 0},
    {"TrNe", SUBST_TN93, 0},  {"TrNef", SUBST_TN93, 0},  {"SYM", SUBST_SYM, 0},
    {"GTR", SUBST_GTR, 1},    {"K81", SUBST_K81, 0},     {"K3P", SUBST_K81, 0},
    {"TPM1", SUBST_K81, 0},   {"K81u", SUBST_K81, 1},    {"K3Pu", SUBST_K81, 1},
    {"TPM1u", SUBST_K81, 1},  {"K81uf", SUBST_K81, 1},   {"TPM1uf", SUBST_K81, 1},
    {"TPM2", SUBST_TPM2, 0},  {"TPM2u", SUBST_TPM2, 1},  {"TPM2uf", SUBST_TPM2, 1},
    {"TPM3", SUBST_TPM3, 0},  {"TPM3u", SUBST_TPM3, 1},  {"TPM3uf", SUBST_TPM3, 1},
    {"TIM", SUBST_TIM, 1},    {"TIM1", SUBST_TIM, 1},    {"TIMe", SUBST_TIM, 0},
    {"TIM1e", SUBST_TIM, 0},  {"TIM1uf", SUBST_TIM, 1},  {"TIM2", SUBST_TIM2, 1},
    {"TIM2e", SUBST_TIM2, 0}, {"TIM2uf", SUBST_TIM2, 1}, {"TIM3", SUBST_TIM3, 1},
    {"TIM3e", SUBST_TIM3, 0}, {"TIM3uf", SUBST_TIM3, 1}, {"TVM", SUBST_TVM, 1},
    {"TVMe", SUBST_TVM, 0},   {"TVMef", SUBST_TVM, 0},
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
    int all_fixed; /* what is free is an error */
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
        return diag_error(r->d, ART_ERR_INPUT, place(r, open),
                          "'{' is not closed -- add '}', and quote the model in the shell, as in "
                          "'GTR{1,2,1,1,3,1}'");
    r->at++;
    return ART_OK;
}

static int read_part(reader *r, part *p)
{
    *p = (part){.word = r->at, .n_numbers = -1};
    const int is_asc = strncasecmp(r->at, "ASC", 3) == 0; /* +ASC_LEWIS of RAxML-NG */
    while (isalnum((unsigned char)*r->at) || (is_asc && *r->at == '_'))
        r->at++;
    p->length = (size_t)(r->at - p->word);
    int status = *r->at == '{' ? read_numbers(r, p) : ART_OK;
    if (status)
        return status;
    p->end = r->at;
    if (p->length == 0 || (*r->at != '+' && *r->at != '\0')) {
        char shown[64];
        if (*r->at == '.')
            return diag_error(r->d, ART_ERR_INPUT, place(r, r->at),
                              "a number outside of braces -- some shells remove them: quote the "
                              "model in the shell, as in 'HKY{2.5}'");
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

/* A part that has no numbers is free, if that may be. */
static int leave_free(reader *r, int *is_free, const part *p, const char *what, const char *example)
{
    char shown[64];
    *is_free = 1;
    return !r->all_fixed
               ? ART_OK
               : diag_error(r->d, ART_ERR_INPUT, place(r, p->end),
                            "%s does not give %s, and parameters are not estimated here -- write "
                            "numbers, as in %s",
                            show(shown, p->word, p->length), what, example);
}

static int missing(reader *r, const part *p, const char *what, const char *example)
{
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->end),
                      "%s needs %s -- write, for example, %s", show(shown, p->word, p->length),
                      what, example);
}

static int wrong_count(reader *r, const part *p, const char *expected)
{
    char shown[64];
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->word), "%s has %d %s -- give %s",
                      show(shown, p->word, p->length), p->n_numbers,
                      p->n_numbers == 1 ? "number" : "numbers", expected);
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

/* The rates of which kappa, or the transitions of TN93, are multiples. */
static int is_relative(subst_kind kind)
{
    return kind == SUBST_K80 || kind == SUBST_HKY || kind == SUBST_TN93;
}

/* The rates in braces, one per class, by the name of the first of the class: {AC,AG,CG,CT} */
static const char *rate_names(char out[32], subst_kind kind)
{
    static const char *const names[N_RATES] = {"AC", "AG", "AT", "CG", "CT", "GT"};
    const int *class = subst_rate_class(kind);
    int used = 0;
    for (int i = 0, next = 0; i < N_RATES; i++)
        if (class[i] == next) {
            used += snprintf(out + used, 32 - (size_t)used, "%c%s", next ? ',' : '{', names[i]);
            next++;
        }
    snprintf(out + used, 32 - (size_t)used, "}");
    return out;
}

static int free_rates(reader *r, model_text *t, const part *p)
{
    const subst_kind kind = t->model.kind;
    char names[32], what[64], example[64];
    snprintf(what, sizeof what, "the exchange rates %s", rate_names(names, kind));
    snprintf(example, sizeof example, "%.*s%s", (int)p->length, p->word, names);
    if (kind == SUBST_K80 || kind == SUBST_HKY)
        return leave_free(r, &t->rates_free, p, "the transition/transversion ratio kappa",
                          "HKY{2.5}");
    if (kind == SUBST_TN93)
        return leave_free(r, &t->rates_free, p, "the transition rates AG and CT", "TN93{2,3}");
    return leave_free(r, &t->rates_free, p, what, example);
}

/* One number per class of rates, or all but that of the class of GT, which is then 1. */
static int read_rates(reader *r, model_text *t, const part *p)
{
    char names[32];
    subst_model *m = &t->model;
    const int *class = subst_rate_class(m->kind), classes = subst_rate_classes(m->kind);
    const int reference = class[RATE_GT];
    for (int i = 0; i < N_RATES; i++)
        m->rate[i] = 1;
    if (classes == 1)
        return p->n_numbers < 0 ? ART_OK : wrong_count(r, p, "none");
    if (p->n_numbers < 0)
        return free_rates(r, t, p);
    for (int i = 0; i < p->n_numbers; i++) {
        int status = within(r, p, i, 0, 1e6);
        if (status)
            return status;
    }
    if (p->n_numbers != classes && p->n_numbers != classes - 1)
        return wrong_count(r, p,
                           m->kind == SUBST_TN93  ? "{AG,CT} or {transversion,AG,CT}"
                           : is_relative(m->kind) ? "{kappa} or {transversion,transition}"
                                                  : rate_names(names, m->kind));
    const int all = p->n_numbers == classes;
    const double base = all && is_relative(m->kind) ? p->number[reference] : 1;
    for (int i = 0; i < N_RATES; i++)
        if (all || class[i] != reference)
            m->rate[i] = p->number[class[i] - (!all && class[i] > reference)] / base;
    return ART_OK;
}

/* Whether the word is the name of a model with digits behind it, as when a shell has taken {1,2}
 * apart. */
static int has_digits_behind(const part *p)
{
    for (int i = 0; i < N_SPELLINGS; i++) {
        size_t n = strlen(SPELLINGS[i].name), k = n;
        if (p->length <= n || strncasecmp(p->word, SPELLINGS[i].name, n) != 0)
            continue;
        while (k < p->length && isdigit((unsigned char)p->word[k]))
            k++;
        if (k == p->length)
            return 1;
    }
    return 0;
}

/* Why the name of a model is not known. */
static int refuse_name(reader *r, const part *p)
{
    static const char *const PROTEIN[] = {"LG",    "WAG",   "JTT",   "DAYHOFF",  "DCMUT",
                                          "VT",    "MTREV", "MTMAM", "MTART",    "MTZOA",
                                          "MTMET", "CPREV", "RTREV", "BLOSUM62", "FLU",
                                          "HIVB",  "HIVW",  "PMB",   "STMTREV",  "Q"};
    char shown[64];
    show(shown, p->word, p->length);
    for (size_t i = 0; i < sizeof PROTEIN / sizeof *PROTEIN; i++)
        if (is_word(p, PROTEIN[i]))
            return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                              "%s is a model of proteins -- this program analyses nucleotides "
                              "only; give the DNA of the same genes and a model such as GTR+G4",
                              shown);
    if (is_word(p, "auto"))
        return diag_error(
            r->d, ART_ERR_INPUT, place(r, p->word),
            "auto stands for an average over 24 models: only inference takes it, with "
            "nothing added to it -- give one model, such as GTR+G4, or auto alone "
            "for inference");
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                      "model %s is not supported -- use JC, K80, F81, HKY, TN93, SYM, GTR or a "
                      "restricted GTR (K81, TPM2, TPM3, TIM, TIM2, TIM3, TVM)%s",
                      shown,
                      has_digits_behind(p) ? "; if it had braces, quote the model in the shell, as "
                                             "in 'GTR{1,2,1,1,3,1}'"
                                           : "");
}

static int read_name(reader *r, model_text *t, int *unequal)
{
    part p;
    int status = read_part(r, &p);
    if (status)
        return status;
    for (int i = 0; i < N_SPELLINGS; i++)
        if (is_word(&p, SPELLINGS[i].name)) {
            t->model.kind = SPELLINGS[i].kind;
            *unequal = SPELLINGS[i].unequal;
            return read_rates(r, t, &p);
        }
    return refuse_name(r, &p);
}

static int count_frequencies(reader *r, subst_model *m, const part *p)
{
    if (!r->alignment)
        return missing(r, p, "an alignment to count bases in, which there is not here, or numbers",
                       "+F{0.3,0.2,0.2,0.3}");
    int absent, status = subst_frequencies(m->frequency, &absent, r->alignment);
    if (status)
        return diag_error(r->d, status, place(r, p->word),
                          "base %c does not occur in the alignment, so its empirical frequency "
                          "would be 0 -- give the frequencies as +F{A,C,G,T}",
                          "ACGT"[absent]);
    return ART_OK;
}

static int read_frequencies(reader *r, model_text *t, const part *p)
{
    subst_model *m = &t->model;
    int user = is_word(p, "FU");
    if (is_word(p, "FO"))
        return p->n_numbers < 0 ? leave_free(r, &t->frequencies_free, p, "the base frequencies",
                                             "+F{0.3,0.2,0.2,0.3}")
                                : wrong_count(r, p, "none, or write +F{A,C,G,T} to fix them");
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

static int read_invariant(reader *r, model_text *t, const part *p)
{
    const char *what = "the proportion of invariant sites";
    if (p->n_numbers < 0)
        return is_word(p, "IU") ? missing(r, p, what, "+IU{0.2}")
                                : leave_free(r, &t->p_invariant_free, p, what, "+I{0.2}");
    if (p->n_numbers != 1 || is_word(p, "IO"))
        return wrong_count(r, p, is_word(p, "IO") ? "none, or write +I{p} to fix it" : "{p}");
    t->model.p_invariant = p->number[0];
    return p->number[0] == 0 ? ART_OK : within(r, p, 0, 0, 1);
}

/* G, or G with a number of categories, or these with m behind: -1 if it is not that. */
static int gamma_categories(const part *p)
{
    size_t length = p->length;
    if (length > 1 && tolower((unsigned char)p->word[length - 1]) == 'm')
        length--;
    if (toupper((unsigned char)p->word[0]) != 'G' || length > 4)
        return -1;
    int n = 0;
    for (size_t i = 1; i < length; i++) {
        if (!isdigit((unsigned char)p->word[i]))
            return -1;
        n = 10 * n + (p->word[i] - '0');
    }
    return length == 1 ? 4 : n;
}

static int read_gamma(reader *r, model_text *t, const part *p)
{
    char shown[64];
    int n = gamma_categories(p);
    if (n < 1 || n > SUBST_CATEGORIES)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                          "%d rate categories -- the number must be between 1 and %d", n,
                          SUBST_CATEGORIES);
    t->model.n_categories = n;
    if (p->n_numbers < 0 && n == 1)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p->word),
                          "with one rate category all sites have the same rate, whatever alpha is: "
                          "there is nothing to estimate -- leave %s out, or use +G4",
                          show(shown, p->word, p->length));
    if (p->n_numbers < 0)
        return leave_free(r, &t->alpha_free, p, "the shape alpha", "+G4{0.5}");
    if (p->n_numbers != 1)
        return wrong_count(r, p, "{alpha}");
    t->model.alpha = p->number[0];
    return p->number[0] == ALPHA_MIN || p->number[0] == ALPHA_MAX
               ? ART_OK
               : within(r, p, 0, ALPHA_MIN, ALPHA_MAX);
}

/* Why a part after a '+' is not taken, and what to do instead. */
static int refuse_modifier(reader *r, const part *p)
{
    char shown[64];
    const char first = (char)toupper((unsigned char)p->word[0]);
    const char last = (char)toupper((unsigned char)p->word[p->length - 1]);
    const char *advice = "use +F, +FO, +FQ, +I and +G4";
    if (p->length >= 3 && strncasecmp(p->word, "ASC", 3) == 0)
        advice = "it corrects for constant sites that were left out of the alignment; leave it out "
                 "and give the whole alignment";
    else if (first == 'R' && (p->length == 1 || isdigit((unsigned char)p->word[1])))
        advice = "it has a free rate and weight for every category; use +G4, or +I+G4";
    else if (first == 'G' && last == 'A')
        advice = "it has the medians of the rate categories; use +G4, which has their means";
    else if (is_word(p, "IC"))
        advice = "it counts constant sites, which are not all invariant; use +I or +I{p}";
    return diag_error(r->d, ART_ERR_INPUT, place(r, p->word), "%s is not supported -- %s",
                      show(shown, p->word, p->length), advice);
}

enum { SEEN_F = 1, SEEN_I = 2, SEEN_G = 4 };

/* One part after a '+'; sets its bit in *seen. */
static int read_modifier(reader *r, model_text *t, int *seen)
{
    char shown[64];
    part p;
    int status = read_part(r, &p);
    if (status)
        return status;
    int kind = is_word(&p, "F") || is_word(&p, "FC") || is_word(&p, "FU") || is_word(&p, "FQ") ||
                       is_word(&p, "FE") || is_word(&p, "FO")
                   ? SEEN_F
               : is_word(&p, "I") || is_word(&p, "IU") || is_word(&p, "IO") ? SEEN_I
               : gamma_categories(&p) >= 0                                  ? SEEN_G
                                                                            : 0;
    if (!kind)
        return refuse_modifier(r, &p);
    if (*seen & kind)
        return diag_error(r->d, ART_ERR_INPUT, place(r, p.word),
                          "%s repeats an earlier part of the model -- give it only once",
                          show(shown, p.word, p.length));
    *seen |= kind;
    return kind == SEEN_F   ? read_frequencies(r, t, &p)
           : kind == SEEN_I ? read_invariant(r, t, &p)
                            : read_gamma(r, t, &p);
}

static int parse(model_text *t, const char *text, const alignment *a, int all_fixed, diag *d)
{
    memset(t, 0, sizeof *t);
    reader r = {.text = text, .at = text, .alignment = a, .all_fixed = all_fixed, .d = d};
    diag_quote(r.quoted, sizeof r.quoted, text, strlen(text));
    t->model.n_categories = 1;
    for (int i = 0; i < 4; i++)
        t->model.frequency[i] = 0.25;
    int unequal = 0, seen = 0;
    int status = read_name(&r, t, &unequal);
    while (!status && *r.at == '+') {
        r.at++;
        status = read_modifier(&r, t, &seen);
    }
    if (status)
        return status;
    if (unequal && !(seen & SEEN_F)) {
        t->frequencies_free = 1;
        if (all_fixed)
            return diag_error(d, ART_ERR_INPUT, place(&r, r.at),
                              "the base frequencies are missing, and parameters are not estimated "
                              "here -- add +F{A,C,G,T}, +F (empirical, from the alignment) or +FQ "
                              "(equal)");
    }
    return ART_OK;
}

int model_text_parse(model_text *t, const char *text, const alignment *a, diag *d)
{
    return parse(t, text, a, 0, d);
}

int model_string_parse(subst_model *m, const char *text, const alignment *a, diag *d)
{
    model_text t;
    int status = parse(&t, text, a, 1, d);
    *m = t.model;
    if (status == ART_OK)
        subst_model_finish(m);
    return status;
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

/* One number per class of rates; where they are relative to that of GT, without it. */
static size_t print_rates(char *out, const char *name, const subst_model *m)
{
    double number[N_RATES];
    int n = 0;
    const int *class = subst_rate_class(m->kind), classes = subst_rate_classes(m->kind);
    for (int i = 0, next = 0; i < N_RATES && classes > 1; i++)
        if (class[i] == next) {
            next++;
            if (class[i] != class[RATE_GT] || !is_relative(m->kind))
                number[n++] = m->rate[i];
        }
    return print_list(out, 0, name, number, n);
}

char *model_text_print(char out[MODEL_STRING_SIZE], const model_text *t)
{
    const subst_model *m = &t->model;
    const spelling *name = SPELLINGS;
    while (name->kind != m->kind)
        name++;
    size_t used =
        t->rates_free ? print_list(out, 0, name->name, NULL, 0) : print_rates(out, name->name, m);
    int equal = 1;
    for (int i = 0; i < 4; i++)
        equal &= m->frequency[i] == 0.25;
    if (t->frequencies_free)
        used = print_list(out, used, "+FO", NULL, 0);
    else if (!equal)
        used = print_list(out, used, "+F", m->frequency, 4);
    else if (name->unequal)
        used = print_list(out, used, "+FQ", NULL, 0);
    if (t->p_invariant_free || m->p_invariant > 0)
        used = print_list(out, used, "+I", &m->p_invariant, t->p_invariant_free ? 0 : 1);
    if (t->alpha_free || m->alpha > 0) {
        char head[8];
        snprintf(head, sizeof head, "+G%d", m->n_categories);
        print_list(out, used, head, &m->alpha, t->alpha_free ? 0 : 1);
    }
    return out;
}

char *model_string_print(char out[MODEL_STRING_SIZE], const subst_model *m)
{
    const model_text t = {.model = *m};
    return model_text_print(out, &t);
}
