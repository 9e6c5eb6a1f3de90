#include "results/posterior_average.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a column can be, in the order in which columns come. */
enum {
    TREE_LENGTH,
    KAPPA,
    RATES,
    FREQUENCIES = RATES + N_RATES,
    ALPHA = FREQUENCIES + 4,
    P_INVARIANT,
    N_VALUES
};

/* Names of exchange rates and frequencies are those of GTR (free_model_columns). */
typedef struct column_list {
    int count;
    int value[N_VALUES]; /* which of the above */
} column_list;

static bool has_kappa(const free_model *f)
{
    return f->fixed.kind == SUBST_K80 || f->fixed.kind == SUBST_HKY;
}

/* Everything that a row says of tree and model; NaN where the model has no such parameter. */
static void row_numbers(double number[N_VALUES], const posterior_part *part, int row)
{
    const posterior *p = part->posterior;
    const free_model *f = part->model;
    double sum = 0;
    subst_model m = f->fixed;
    if (f->n_free)
        free_model_at(&m, f, p->parameter + (size_t)row * (size_t)f->n_free);
    number[TREE_LENGTH] = posterior_row_value(p, row, 0);
    const bool is_equal = m.kind == SUBST_JC || m.kind == SUBST_F81;
    number[KAPPA] = has_kappa(f) || is_equal ? m.rate[RATE_AG] / m.rate[RATE_AC] : (double)NAN;
    for (int i = 0; i < N_RATES; i++)
        sum += m.rate[i];
    for (int i = 0; i < N_RATES; i++)
        number[RATES + i] = m.rate[i] / sum;
    for (int i = 0; i < 4; i++)
        number[FREQUENCIES + i] = m.frequency[i];
    number[ALPHA] = m.n_categories > 1 ? m.alpha : (double)NAN;
    number[P_INVARIANT] = m.p_invariant;
}

static void value_name(char name[PARAMETER_NAME_SIZE], int value)
{
    static const char *const NAME[N_VALUES] = {
        "TL",       "kappa", "r(A<->C)", "r(A<->G)", "r(A<->T)", "r(C<->G)", "r(C<->T)",
        "r(G<->T)", "pi(A)", "pi(C)",    "pi(G)",    "pi(T)",    "alpha",    "pinvar"};
    snprintf(name, PARAMETER_NAME_SIZE, "%s", NAME[value]);
}

/* Those that some model estimates. */
static column_list choose_columns(const posterior_part *part, int n)
{
    column_list c = {.count = 1, .value = {TREE_LENGTH}};
    bool is_in[N_VALUES] = {false};
    for (int i = 0; i < n; i++) {
        const free_model *f = part[i].model;
        is_in[KAPPA] |= f->rates_free && has_kappa(f);
        is_in[ALPHA] |= f->alpha_free;
        is_in[P_INVARIANT] |= f->p_invariant_free;
        for (int k = 0; k < N_RATES; k++)
            is_in[RATES + k] |= f->rates_free && !has_kappa(f);
        for (int k = 0; k < 4; k++)
            is_in[FREQUENCIES + k] |= f->frequencies_free;
    }
    for (int v = KAPPA; v < N_VALUES; v++)
        if (is_in[v])
            c.value[c.count++] = v;
    return c;
}

/* Adds the draws of a model, whose weights sum to `weight`. */
static void add_scaled(weighted_sums *to, const weighted_sums *from, double weight)
{
    const double scale = weight / from->weight, second = scale * scale;
    to->weight += weight;
    to->value += scale * from->value;
    to->square += scale * from->square;
    to->weight2 += second * from->weight2;
    to->value2 += second * from->value2;
    to->square2 += second * from->square2;
}

/* The rows of a model as draws: equal weights, and as many as they are worth. */
static weighted_sums sums_of_rows(const posterior_part *part, int value)
{
    const posterior *p = part->posterior;
    const double worth = p->sample_ess > 0 ? (double)p->count / p->sample_ess : 1;
    weighted_sums s = {0};
    for (int i = 0; i < p->count; i++) {
        double number[N_VALUES];
        row_numbers(number, part, i);
        const double v = number[value];
        s.weight += 1;
        s.value += v;
        s.square += v * v;
        s.weight2 += worth;
        s.value2 += worth * v;
        s.square2 += worth * v * v;
    }
    return s;
}

/* The number of a model's own column of that name, -1 if there is none. */
static int own_column(const posterior *p, const char *wanted)
{
    char name[PARAMETER_NAME_SIZE];
    for (int k = 0; k < p->n_columns; k++) {
        posterior_column_name(name, p, k);
        if (strcmp(name, wanted) == 0)
            return k;
    }
    return -1;
}

/* Column k of the average: its name, how many of the models have it, and its sums. */
static void set_column(posterior *out, int k, int value, const posterior_part *part, int n)
{
    double share = 0;
    bool is_whole = true;
    value_name(out->column_name[k], value);
    for (int i = 0; i < n; i++) {
        const posterior *p = part[i].posterior;
        double number[N_VALUES];
        if (!p->count || part[i].weight <= 0)
            continue;
        row_numbers(number, &part[i], 0);
        if (isnan(number[value])) {
            is_whole = false;
            continue;
        }
        const int own = own_column(p, out->column_name[k]);
        const weighted_sums rows = own < 0 ? sums_of_rows(&part[i], value) : p->column[own];
        add_scaled(&out->column[k], &rows, part[i].weight);
        share += part[i].weight;
    }
    out->column_share[k] = is_whole ? 1 : share;
}

static int average_trees(posterior *out, const posterior_part *part, int n)
{
    int status = ART_OK;
    for (int i = 0; i < n; i++) {
        const tree_set *t = &part[i].posterior->trees;
        for (size_t k = 0; k < t->count && !status; k++)
            status = tree_set_add(&out->trees, tree_set_decision(t, k),
                                  part[i].weight * tree_set_probability(t, k));
    }
    return status;
}

/* The variance of a frequency p: those of the models' frequencies, and that of the models'
 * probabilities, by which a frequency that differs among them varies. */
static double split_variance(const uint64_t *split, double p, const posterior_part *part, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const split_table *s = &part[i].posterior->splits;
        const int64_t at = split_table_find(s, split);
        const double own = at < 0 ? 0 : split_frequency(s, (size_t)at);
        const double error = at < 0 ? 0 : split_frequency_error(s, (size_t)at);
        const double doubt = isfinite(part[i].error) ? part[i].error * (own - p) : 0;
        sum += part[i].weight * part[i].weight * (error * error + doubt * doubt);
    }
    return sum;
}

static int average_splits(posterior *out, const posterior_part *part, int n)
{
    split_table *s = &out->splits;
    int status = ART_OK;
    for (int i = 0; i < n && !status; i++)
        status = split_table_merge(s, &part[i].posterior->splits, part[i].weight);
    for (size_t k = 0; k < s->count && !status; k++)
        s->common[k] = split_variance(split_table_bits(s, k), split_frequency(s, k), part, n);
    return status;
}

/* Row `to` of the average is this one of a model. */
static void copy_row(posterior *out, size_t to, const posterior_part *part, int from,
                     const column_list *c)
{
    const posterior *p = part->posterior;
    const size_t n = (size_t)out->trees.taxa.count, row = (size_t)from;
    double number[N_VALUES];
    memcpy(out->decision + to * (n - 3), p->decision + row * (n - 3),
           (n - 3) * sizeof *out->decision);
    memcpy(out->length + to * (2 * n - 3), p->length + row * (2 * n - 3),
           (2 * n - 3) * sizeof *out->length);
    out->value[to] = p->value[row];
    out->log_prior[to] = p->log_prior[row];
    out->log_q[to] = p->log_q[row];
    out->row_model[to] = part->number;
    row_numbers(number, part, from);
    for (int k = 0; k < c->count; k++)
        out->reported[to * (size_t)c->count + (size_t)k] = number[c->value[k]];
}

/* place [rows] becomes a random order of the rows. */
static void shuffle(size_t *place, size_t rows, uint64_t seed)
{
    rng stream = rng_at(seed, RNG_AVERAGE, 0, 0);
    for (size_t i = 0; i < rows; i++) {
        const size_t j = rng_below(&stream, (uint32_t)i + 1);
        place[i] = place[j];
        place[j] = i;
    }
}

/* Every model has the rows between its cumulative probabilities, taken evenly from its own. */
static int average_rows(posterior *out, const posterior_part *part, int n, const column_list *c)
{
    const size_t rows = (size_t)out->room;
    size_t *place = mem_zeros(rows, sizeof *place), next = 0;
    double before = 0;
    out->reported = mem_zeros(rows * (size_t)c->count, sizeof *out->reported);
    out->row_model = mem_zeros(rows, sizeof *out->row_model);
    if (!place || !out->reported || !out->row_model) {
        free(place);
        return ART_ERR_NOMEM;
    }
    shuffle(place, rows, out->seed);
    for (int i = 0; i < n; i++) {
        const size_t count = (size_t)part[i].posterior->count, first = next;
        before += part[i].weight;
        const double end = i + 1 == n ? (double)rows : floor(before * (double)rows + 0.5);
        const double own = end - (double)first;
        for (; count && (double)next < end; next++)
            copy_row(out, place[next], &part[i],
                     (int)(((double)(next - first) + 0.5) * (double)count / own), c);
    }
    out->count = (int)next;
    free(place);
    return ART_OK;
}

int posterior_average(posterior *out, const posterior_part *part, int n, int rows, uint64_t seed)
{
    const column_list c = choose_columns(part, n);
    double missing = 0;
    int status =
        posterior_init(out, &part[0].posterior->trees.taxa, rows, ROWS_BY_WEIGHT, true, seed);
    if (!status)
        status = average_trees(out, part, n);
    if (!status)
        status = average_splits(out, part, n);
    if (!status)
        status = average_rows(out, part, n, &c);
    if (!status)
        status = posterior_set_columns(out, c.count);
    out->column_name = mem_zeros((size_t)c.count, sizeof *out->column_name);
    out->column_share = mem_zeros((size_t)c.count, sizeof *out->column_share);
    if (!status && (!out->column_name || !out->column_share))
        status = ART_ERR_NOMEM;
    if (status)
        return status;
    for (int k = 0; k < c.count; k++)
        set_column(out, k, c.value[k], part, n);
    for (int i = 0; i < n; i++)
        missing += part[i].weight * (1 - part[i].posterior->trees.share);
    status = posterior_finish(out);
    out->trees.share = 1 - missing;
    return status;
}
