#include "results/posterior.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/tensor_parts.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Log weights are compared with the best of the first batch, so that sums, also of squares, neither
 * overflow nor vanish; one that is larger by more than this would carry all the weight anyway. */
static const double LARGEST = 300;

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
    int status = tree_set_init(&p->trees, names);
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
    memset(p, 0, sizeof *p);
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
        if (p->rows == ROWS_BY_WEIGHT)
            resample(p, &stream, batch, i, weight);
    }
    return status;
}

/* What a checkpoint holds of it, beside trees and splits. */
enum { PARTS = 5 };

static void list_parts(tensor_part out[PARTS], posterior *p)
{
    const size_t n = (size_t)p->trees.taxa.count, room = (size_t)p->room;
    const tensor_part list[PARTS] = {
        {"posterior.counts", TENSOR_I64, 1, 3, p->saved_counts},
        {"posterior.levels", TENSOR_F64, 1, 2, p->saved_levels},
        {"posterior.decision", TENSOR_I32, room, n - 3, p->decision},
        {"posterior.length", TENSOR_F64, room, 2 * n - 3, p->length},
        {"posterior.values", TENSOR_F64, 3, room, p->value}, /* log_prior and log_q behind it */
    };
    memcpy(out, list, sizeof list);
}

int posterior_save(posterior *p, safetensors *s)
{
    tensor_part list[PARTS];
    p->saved_counts[0] = p->count;
    p->saved_counts[1] = p->batches;
    p->saved_counts[2] = isfinite(p->reference); /* no infinity in a file */
    p->saved_levels[0] = p->saved_counts[2] ? p->reference : 0;
    p->saved_levels[1] = p->total;
    list_parts(list, p);
    int status = tensor_parts_save(s, list, PARTS);
    if (!status)
        status = tree_set_save(&p->trees, s);
    return status ? status : split_table_save(&p->splits, s);
}

int posterior_load(posterior *p, safetensors *s, const char *file, diag *d)
{
    const int n_taxa = p->trees.taxa.count;
    tensor_part list[PARTS];
    list_parts(list, p);
    int status = tensor_parts_load(list, PARTS, s, file, d);
    if (!status)
        status = tree_set_load(&p->trees, s, file, d);
    if (!status)
        status = split_table_load(&p->splits, s, file, d);
    if (!status)
        status = checkpoint_trees(p->decision, (size_t)p->room, n_taxa, file, d);
    if (status)
        return status;
    if (p->saved_counts[0] < 0 || p->saved_counts[0] > p->room || p->saved_counts[1] < 0 ||
        p->saved_counts[1] > UINT32_MAX || p->saved_levels[1] < 0)
        return tensor_parts_error(d, file, "a sample that cannot be");
    p->count = (int)p->saved_counts[0];
    p->batches = p->saved_counts[1];
    p->reference = p->saved_counts[2] ? p->saved_levels[0] : -HUGE_VAL;
    p->total = p->saved_levels[1];
    return ART_OK;
}

int posterior_finish(posterior *p)
{
    return tree_set_normalise(&p->trees);
}
