#include "artreeformer.h"
#include "base/mem.h"
#include "io/tensor_parts.h"
#include "train/checkpoint.h"
#include "collapsed/sampler_state.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 14, TREE = 4 + LOG_MEAN_NUMBERS /* numbers for a tree that has draws */ };

static const char COUNTS[] = "sampler.counts";

static void list_parts(tensor_part out[PARTS], tree_sampler *s, size_t trees)
{
    const tree_table *t = &s->c->table;
    particles *b = &s->batch;
    const size_t k = (size_t)b->k, network = SAMPLER_REPEATS * (size_t)s->k_network;
    const tensor_part list[PARTS] = {
        {COUNTS, TENSOR_I64, 1, SAMPLER_COUNTS, s->saved_counts},
        {"sampler.levels", TENSOR_F64, 1, SAMPLER_LEVELS, s->saved_levels},
        {"sampler.weights", TENSOR_F64, (size_t)s->passes + 1, k, s->saved_weights},
        {"sampler.trees", TENSOR_F64, trees, TREE, s->saved_trees},
        {"sampler.drawn", TENSOR_I32, network, t->n_decisions, s->drawn},
        {"sampler.log_q", TENSOR_F64, network, 1, s->log_q},
        {"sampler.outside", TENSOR_I32, network, 1, s->outside_draw},
        {"sampler.guess", TENSOR_F64, 1, t->n_edges, s->guess},
        {"batch.decision", TENSOR_I32, k, t->n_decisions, b->decision},
        {"batch.length", TENSOR_F64, k, t->n_edges, b->length},
        {"batch.log_q", TENSOR_F64, k, 1, b->log_q},
        {"batch.log_b", TENSOR_F64, k, 1, b->log_b},
        {"batch.value", TENSOR_F64, k, 1, b->value},
        {"batch.log_prior", TENSOR_F64, k, 1, b->log_prior},
    };
    memcpy(out, list, sizeof list);
}

/* No infinity in a file. */
static double to_file(double log_weight)
{
    return fmax(log_weight, -DBL_MAX);
}

static double from_file(double log_weight)
{
    return log_weight > -DBL_MAX ? log_weight : -HUGE_VAL;
}

/* New memory for the arrays that are made for a checkpoint. */
static int make_room(tree_sampler *s, size_t trees)
{
    const size_t weights = ((size_t)s->passes + 1) * (size_t)s->batch.k;
    free(s->saved_weights);
    free(s->saved_trees);
    s->saved_weights = mem_zeros(weights, sizeof *s->saved_weights);
    s->saved_trees = mem_zeros(trees * TREE, sizeof *s->saved_trees);
    return s->saved_weights && s->saved_trees ? ART_OK : ART_ERR_NOMEM;
}

/* A row for each tree of the table that has draws. */
static void fill_trees(tree_sampler *s)
{
    double *row = s->saved_trees;
    for (size_t i = 0; i < s->c->table.count; i++) {
        const tree_estimate *e = &s->estimate[i];
        if (e->draws.count == 0)
            continue;
        row[0] = (double)i;
        row[1] = s->log_p[i];
        row[2] = isnan(e->full) ? DBL_MAX : e->full;
        row[3] = e->laplace;
        log_mean_store(row + 4, &e->draws);
        row += TREE;
    }
}

int tree_sampler_save(tree_sampler *s, safetensors *to)
{
    const size_t k = (size_t)s->batch.k, before = (size_t)s->passes * k;
    const int64_t counts[SAMPLER_COUNTS] = {s->passes,    s->stage, s->next,
                                            s->n_outside, s->kept,  s->failed};
    tensor_part list[PARTS];
    size_t trees = 0;
    for (size_t i = 0; i < s->c->table.count; i++)
        trees += s->estimate[i].draws.count > 0;
    int status = make_room(s, trees);
    if (status)
        return status;
    memcpy(s->saved_counts, counts, sizeof counts);
    s->saved_levels[0] = s->log_sum;
    log_mean_store(s->saved_levels + 1, &s->mean);
    log_mean_store(s->saved_levels + 1 + LOG_MEAN_NUMBERS, &s->outside);
    for (size_t i = 0; i < before + k; i++)
        s->saved_weights[i] = to_file(i < before ? s->weight[i] : s->batch.log_weight[i - before]);
    fill_trees(s);
    list_parts(list, s, trees);
    status = tensor_parts_save(to, list, PARTS);
    return status ? status : posterior_save(&s->posterior, to);
}

bool tree_sampler_is_saved(const safetensors *from)
{
    return safetensors_find(from, COUNTS) != NULL;
}

static int damaged(const char *file, diag *d)
{
    return tensor_parts_error(d, file, "draws that do not fit together");
}

/* Whether the counts lead nowhere that does not exist. */
static bool counts_are_right(const tree_sampler *s)
{
    const int64_t *n = s->saved_counts;
    const int64_t network = SAMPLER_REPEATS * s->k_network, table = SAMPLER_REPEATS * s->k_table;
    const int64_t stage = n[1], next = n[2], outside = n[3], kept = n[4];
    const int64_t most[] = {network, outside, table, kept}; /* of next, by stage */
    if (n[0] != s->passes || stage < SAMPLER_DRAW || stage > SAMPLER_OUTSIDE || outside < 0 ||
        outside > network || kept < 0 || kept > outside || next < 0 || next > most[stage] ||
        (stage == SAMPLER_SCREEN && kept > next))
        return false;
    for (int64_t i = 0; i < outside; i++)
        if (s->outside_draw[i] < 0 || s->outside_draw[i] >= network)
            return false;
    return true;
}

static int load_numbers(tree_sampler *s, const char *file, diag *d)
{
    const int64_t *n = s->saved_counts;
    const double *m = s->saved_levels;
    if (!counts_are_right(s) || !log_mean_restore(&s->mean, m + 1) ||
        !log_mean_restore(&s->outside, m + 1 + LOG_MEAN_NUMBERS))
        return damaged(file, d);
    s->stage = (sampler_stage)n[1];
    s->next = (int)n[2];
    s->n_outside = (int)n[3];
    s->kept = (int)n[4];
    s->failed = n[5];
    s->log_sum = m[0];
    return ART_OK;
}

static int load_trees(tree_sampler *s, size_t n, const char *file, diag *d)
{
    const tree_table *t = &s->c->table;
    for (size_t i = 0; i < t->count; i++)
        tree_sampler_forget(s, i);
    for (size_t i = 0; i < n; i++) {
        const double *row = s->saved_trees + i * TREE;
        log_mean draws;
        if (!(row[0] >= 0 && row[0] < (double)t->count) || !log_mean_restore(&draws, row + 4))
            return damaged(file, d);
        tree_estimate *e = &s->estimate[(size_t)row[0]];
        s->log_p[(size_t)row[0]] = row[1];
        e->full = row[2] < DBL_MAX ? row[2] : (double)NAN;
        e->laplace = row[3];
        e->draws = draws;
    }
    return ART_OK;
}

int tree_sampler_load(tree_sampler *s, safetensors *from, const char *file, diag *d)
{
    const size_t passes = tensor_rows(from, "sampler.weights");
    const size_t trees = tensor_rows(from, "sampler.trees");
    const size_t k = (size_t)s->batch.k;
    tensor_part list[PARTS];
    if (passes < 1 || passes > INT32_MAX / k || trees > s->c->table.count)
        return damaged(file, d);
    s->passes = (int)passes - 1;
    int status = make_room(s, trees);
    if (!status)
        status = tree_sampler_room(s, s->passes + 1);
    list_parts(list, s, trees);
    if (!status)
        status = tensor_parts_load(list, PARTS, from, file, d);
    if (!status)
        status = load_numbers(s, file, d);
    if (!status)
        status = load_trees(s, trees, file, d);
    const int n_taxa = s->c->table.n_taxa;
    if (!status)
        status = checkpoint_trees(s->batch.decision, k, n_taxa, file, d);
    if (!status)
        status =
            checkpoint_trees(s->drawn, (size_t)(SAMPLER_REPEATS * s->k_network), n_taxa, file, d);
    if (!status)
        status = posterior_load(&s->posterior, from, file, d);
    if (status)
        return status;
    for (size_t i = 0; i < passes * k; i++)
        s->weight[i] = from_file(s->saved_weights[i]);
    memcpy(s->batch.log_weight, s->weight + (passes - 1) * k, k * sizeof *s->weight);
    tree_sampler_pick(s);
    return ART_OK;
}
