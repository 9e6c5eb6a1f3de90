#include "results/posterior.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tree/saved_trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Log weights are compared with the best of the first batch, so that sums, also of squares, neither
 * overflow nor vanish; one that is larger by more than this would carry all the weight anyway. */
static const double LARGEST = 300;

static const double LEAST_DRAWS = 3; /* for a standard error */

int posterior_init(posterior *p, const taxa *names, int room, posterior_rows rows, bool has_lengths,
                   uint64_t seed)
{
    memset(p, 0, sizeof *p);
    const size_t n = (size_t)names->count, all = (size_t)room;
    p->room = room;
    p->rows = rows;
    p->has_lengths = has_lengths;
    p->seed = seed;
    p->reference = -INFINITY;
    p->sample_ess = NAN;
    int status = has_lengths ? posterior_set_columns(p, 1) : ART_OK;
    if (!status)
        status = tree_set_init(&p->trees, names);
    if (!status)
        status = split_table_init(&p->splits, names->count);
    p->decision = mem_zeros(all * (n - 3), sizeof *p->decision);
    p->length = mem_zeros(all * (2 * n - 3), sizeof *p->length);
    p->value = mem_zeros(3 * all, sizeof *p->value);
    if (!status && (!p->decision || !p->length || !p->value))
        status = ART_ERR_NOMEM;
    if (!status) {
        p->log_prior = p->value + all;
        p->log_q = p->value + 2 * all;
    }
    return status;
}

void posterior_free(posterior *p)
{
    tree_set_free(&p->trees);
    split_table_free(&p->splits);
    free(p->decision);
    free(p->length);
    free(p->value);
    free(p->parameter);
    block_parameters_free(&p->free);
    free(p->column);
    free(p->draw_value);
    free(p->part);
    free(p->column_name);
    free(p->column_share);
    free(p->reported);
    free(p->row_model);
    memset(p, 0, sizeof *p);
}

int posterior_set_columns(posterior *p, int n)
{
    free(p->column);
    free(p->draw_value);
    p->column = mem_zeros((size_t)n, sizeof *p->column);
    p->draw_value = mem_zeros((size_t)n, sizeof *p->draw_value);
    p->n_columns = n;
    return p->column && p->draw_value ? ART_OK : ART_ERR_NOMEM;
}

int posterior_set_parameters(posterior *p, const block_parameters *free)
{
    p->parameter = mem_zeros((size_t)p->room * (size_t)free->n_free + 1, sizeof *p->parameter);
    const int status = block_parameters_copy(&p->free, free);
    if (status || !p->parameter)
        return ART_ERR_NOMEM;
    return posterior_set_columns(p, 1 + block_parameters_columns(free));
}

int posterior_set_chains(posterior *p, int n_chains)
{
    const size_t parts = (size_t)n_chains * POSTERIOR_PARTS;
    p->n_chains = n_chains;
    p->part = mem_zeros(parts * (size_t)p->n_columns + 1, sizeof *p->part);
    return p->part ? ART_OK : ART_ERR_NOMEM;
}

int32_t posterior_chain_part(int chain, size_t i, size_t n)
{
    return chain * POSTERIOR_PARTS + (int32_t)(i * POSTERIOR_PARTS / n) + 1;
}

void posterior_column_name(char name[PARAMETER_NAME_SIZE], const posterior *p, int column)
{
    if (p->reported)
        memcpy(name, p->column_name[column], PARAMETER_NAME_SIZE);
    else if (column == 0)
        memcpy(name, "TL", sizeof "TL");
    else
        block_parameters_name(name, &p->free, column - 1);
}

double posterior_column_share(const posterior *p, int column)
{
    return p->reported ? p->column_share[column] : 1;
}

static double tree_length(const posterior *p, const double *length)
{
    const int edges = 2 * p->trees.taxa.count - 3;
    double sum = 0;
    for (int e = 0; e < edges; e++)
        sum += length[e];
    return sum;
}

double posterior_row_value(const posterior *p, int row, int column)
{
    const size_t edges = 2 * (size_t)p->trees.taxa.count - 3, at = (size_t)row;
    if (p->reported)
        return p->reported[at * (size_t)p->n_columns + (size_t)column];
    if (column == 0)
        return tree_length(p, p->length + at * edges);
    return block_parameters_value(&p->free, p->parameter + at * (size_t)p->free.n_free, column - 1);
}

double weighted_mean(const weighted_sums *s)
{
    return s->value / s->weight;
}

double weighted_draws(const weighted_sums *s)
{
    return s->weight * s->weight / s->weight2;
}

double weighted_mean_error(const weighted_sums *s)
{
    const double m = weighted_mean(s);
    if (weighted_draws(s) < LEAST_DRAWS)
        return NAN;
    return sqrt(fmax(s->square2 - 2 * m * s->value2 + m * m * s->weight2, 0)) / s->weight;
}

double weighted_deviation(const weighted_sums *s)
{
    const double m = weighted_mean(s);
    return sqrt(fmax(s->square / s->weight - m * m, 0));
}

/* Draw i of the batch. */
static void add_columns(posterior *p, const particles *batch, int i, double weight)
{
    const size_t edges = 2 * (size_t)batch->n_taxa - 3, columns = (size_t)p->n_columns;
    const int32_t part = p->n_chains ? batch->part[i] : 0;
    part_sums *of_part = part ? p->part + (size_t)(part - 1) * columns : NULL;
    double *value = p->draw_value;
    value[0] = tree_length(p, batch->length + (size_t)i * edges);
    if (p->free.n_free)
        block_parameters_values(value + 1, &p->free,
                                batch->parameter + (size_t)i * (size_t)p->free.n_free);
    for (size_t k = 0; k < columns; k++) {
        weighted_sums *s = &p->column[k];
        const double first = weight * value[k], second = weight * first;
        s->weight += weight;
        s->value += first;
        s->square += first * value[k];
        if (of_part) {
            of_part[k].weight += weight;
            of_part[k].value += first;
            continue;
        }
        s->weight2 += weight * weight;
        s->value2 += second;
        s->square2 += second * value[k];
    }
}

/* Draw i of the batch becomes row `to` of the sample. */
static void keep(posterior *p, const particles *batch, int i, size_t to)
{
    size_t n = (size_t)batch->n_taxa, from = (size_t)i;
    memcpy(p->decision + to * (n - 3), batch->decision + from * (n - 3),
           (n - 3) * sizeof *p->decision);
    memcpy(p->length + to * (2 * n - 3), batch->length + from * (2 * n - 3),
           (2 * n - 3) * sizeof *p->length);
    p->value[to] = batch->value[i];
    p->log_prior[to] = batch->log_prior[i];
    p->log_q[to] = batch->log_q[i] + batch->log_b[i];
    if (p->parameter) {
        const size_t n_free = (size_t)p->free.n_free;
        memcpy(p->parameter + to * n_free, batch->parameter + from * n_free,
               n_free * sizeof *p->parameter);
    }
}

/* Each row becomes this draw with the probability that its weight has among all so far. */
static void resample(posterior *p, rng *stream, const particles *batch, int i, double weight)
{
    const double chance = weight / (p->total += weight);
    double row = 0;
    p->count = p->room;
    for (;; row++) {
        if (chance < 1) /* rows that stay before the next that does not */
            row += floor(log(rng_uniform(stream)) / log1p(-chance));
        if (!(row < p->room))
            return;
        keep(p, batch, i, (size_t)row);
    }
}

/* The draw becomes the next row, if it is its turn. */
static void keep_evenly(posterior *p, const particles *batch, int i)
{
    const int64_t rows = p->room < p->expected ? p->room : p->expected;
    if (p->count < p->room && (p->seen + 1) * rows / p->expected > p->seen * rows / p->expected)
        keep(p, batch, i, (size_t)p->count++);
    p->seen++;
}

int posterior_add(posterior *p, const particles *batch)
{
    size_t n = (size_t)batch->n_taxa;
    if (!isfinite(p->reference))
        for (int i = 0; i < batch->k; i++)
            p->reference = fmax(p->reference, batch->log_weight[i]);
    int status = ART_OK;
    rng stream = rng_at(p->seed, RNG_RESAMPLE, (uint32_t)p->batches++, 0);
    for (int i = 0; i < batch->k && p->rows == ROWS_AS_DRAWN && p->count < p->room; i++)
        keep(p, batch, i, (size_t)p->count++);
    for (int i = 0; i < batch->k && !status; i++) {
        const int32_t *decision = batch->decision + (size_t)i * (n - 3);
        const double *length = batch->length + (size_t)i * (2 * n - 3);
        if (!isfinite(batch->log_weight[i]))
            continue;
        const double weight = exp(fmin(batch->log_weight[i] - p->reference, LARGEST));
        if (weight == 0)
            continue;
        status = tree_set_add(&p->trees, decision, weight);
        if (!status)
            status = split_table_add(&p->splits, decision, p->has_lengths ? length : NULL, weight);
        if (p->n_columns)
            add_columns(p, batch, i, weight);
        if (p->rows == ROWS_BY_WEIGHT)
            resample(p, &stream, batch, i, weight);
        else if (p->rows == ROWS_EVENLY)
            keep_evenly(p, batch, i);
    }
    return status;
}

int posterior_fields(posterior *p, saved_state *s)
{
    const int n_taxa = p->trees.taxa.count;
    const size_t room = (size_t)p->room;
    state_int_in(s, "posterior.count", &p->count, 0, p->room);
    state_i64_in(s, "posterior.batches", &p->batches, 0, UINT32_MAX);
    state_f64(s, "posterior.reference", &p->reference);
    state_f64(s, "posterior.total", &p->total);
    if (state_loaded(s) && !(p->total >= 0))
        state_refuse(s, "posterior.total is %g", p->total);
    state_trees(s, "posterior.decision", p->decision, room, n_taxa);
    state_f64_array(s, "posterior.length", p->length, room, 2 * (size_t)n_taxa - 3);
    state_f64_array(s, "posterior.value", p->value, room, 1);
    state_f64_array(s, "posterior.log_prior", p->log_prior, room, 1);
    state_f64_array(s, "posterior.log_q", p->log_q, room, 1);
    if (p->parameter)
        state_f64_array(s, "posterior.parameter", p->parameter, room, (size_t)p->free.n_free);
    if (p->n_columns)
        state_f64_array(s, "posterior.column", (double *)p->column, (size_t)p->n_columns,
                        sizeof *p->column / sizeof(double));
    if (p->n_chains)
        state_f64_array(s, "posterior.part", (double *)p->part,
                        (size_t)p->n_columns * POSTERIOR_PARTS * (size_t)p->n_chains,
                        sizeof *p->part / sizeof(double));
    tree_set_fields(&p->trees, s);
    return split_table_fields(&p->splits, s);
}

/* A row, for sorting. */
typedef struct row_key {
    const posterior *of;
    size_t row;
} row_key;

/* By the branch lengths: those of two draws are never the same. */
static int by_lengths(const void *a, const void *b)
{
    const row_key *x = a, *y = b;
    const size_t edges = 2 * (size_t)x->of->trees.taxa.count - 3;
    return memcmp(x->of->length + x->row * edges, y->of->length + y->row * edges,
                  edges * sizeof *x->of->length);
}

static int count_draws(posterior *p)
{
    const size_t rows = (size_t)p->count;
    double squares = 0;
    if (p->rows == ROWS_AS_DRAWN || !p->has_lengths || !rows)
        return ART_OK;
    row_key *key = mem_zeros(rows, sizeof *key);
    if (!key)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < rows; i++)
        key[i] = (row_key){p, i};
    qsort(key, rows, sizeof *key, by_lengths);
    for (size_t i = 0, first = 0; i < rows; i++)
        if (i + 1 == rows || by_lengths(&key[first], &key[i + 1])) {
            const double times = (double)(i + 1 - first);
            squares += times * times;
            first = i + 1;
        }
    p->sample_ess = (double)rows * (double)rows / squares;
    free(key);
    return ART_OK;
}

/* The sums of squares of a column over groups of so many parts each, and what they make of the
 * variance of the mean. */
static double group_sums(weighted_sums *out, const posterior *p, size_t column, int parts)
{
    const double mean = weighted_mean(&p->column[column]);
    int groups = 0;
    *out = (weighted_sums){0};
    for (int first = 0; first < p->n_chains * POSTERIOR_PARTS; first += parts) {
        part_sums sum = {0};
        for (int i = first; i < first + parts; i++) {
            const part_sums *one = &p->part[(size_t)i * (size_t)p->n_columns + column];
            sum.weight += one->weight;
            sum.value += one->value;
        }
        groups += sum.weight > 0;
        out->weight2 += sum.weight * sum.weight;
        out->value2 += sum.weight * sum.value;
        out->square2 += sum.value * sum.value;
    }
    const double correction = groups > 1 ? groups / (groups - 1.0) : 1;
    out->weight2 *= correction;
    out->value2 *= correction;
    out->square2 *= correction;
    return out->square2 - 2 * mean * out->value2 + mean * mean * out->weight2;
}

/* The states of chains depend on each other: for the errors of means, their parts count as draws,
 * or whole chains if these differ by more than their parts explain. */
static void add_parts(posterior *p)
{
    for (size_t k = 0; p->n_chains && k < (size_t)p->n_columns; k++) {
        weighted_sums parts, chains, *s = &p->column[k];
        const double by_parts = group_sums(&parts, p, k, 1);
        const double by_chains = group_sums(&chains, p, k, POSTERIOR_PARTS);
        const weighted_sums *larger = by_chains > by_parts ? &chains : &parts;
        s->weight2 += larger->weight2;
        s->value2 += larger->value2;
        s->square2 += larger->square2;
    }
    p->n_chains = 0;
}

int posterior_finish(posterior *p)
{
    add_parts(p);
    int status = tree_set_normalise(&p->trees);
    return status ? status : count_draws(p);
}
