#include "density/artree/artree_weights.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The layout of gradients. */
static int add_sheet(artree_weights *w)
{
    const size_t d = (size_t)w->d, n = (size_t)w->n_taxa, padded = (size_t)dense_round(w->d);
    const size_t steps = w->steps > 0 ? (size_t)w->steps : 1;
    int status = ART_OK;
    for (int t = 0; t < ARTREE_COUNT && !status; t++) {
        const param *e = &w->params->entry[t];
        if (t == ARTREE_CONV0_WEIGHT)
            status = params_add(&w->sheet, e->name, n, 2 * d);
        else if (t == ARTREE_CONV1_WEIGHT)
            status = params_add(&w->sheet, e->name, 2 * d, padded);
        else
            status = params_add(&w->sheet, e->name, e->shape[0], e->rank == 2 ? padded : 0);
    }
    if (!status)
        status = params_add(&w->sheet, "pool moment", steps, d);
    if (!status)
        status = params_add(&w->sheet, "edge moment", steps, d);
    return status;
}

int artree_weights_init(artree_weights *w, const params *p, int n_taxa, int d)
{
    static const int WEIGHT[ARTREE_LAYERS] = {ARTREE_CONV1_WEIGHT,     ARTREE_GRU_IN_WEIGHT,
                                              ARTREE_GRU_STATE_WEIGHT, ARTREE_POOL0_WEIGHT,
                                              ARTREE_POOL3_WEIGHT,     ARTREE_EDGE0_WEIGHT};
    static const int WIDTHS[ARTREE_LAYERS] = {2, 3, 3, 1, 1, 1};
    const cpu_level level = cpu_best();
    const size_t width = (size_t)d, leaf = (size_t)n_taxa * 2 * width;
    memset(w, 0, sizeof *w);
    *w = (artree_weights){.n_taxa = n_taxa, .d = d, .steps = n_taxa - 3, .params = p};
    w->dense = dense_kernels_at(level);
    w->layers = layer_kernels_at(level);
    w->gru = gru_kernels_at(level);
    w->embed = embedding_kernels_at(level);
    int status = time_embedding_init(&w->time, d / 2, 3, w->steps);
    if (!status)
        status = add_sheet(w);
    const size_t moment = (size_t)w->steps * width;
    w->block = status ? NULL : mem_aligned(leaf + 2 * width * width + 4 * moment, sizeof(real));
    if (!status && !w->block)
        status = ART_ERR_NOMEM;
    if (status)
        return status;
    w->leaf = w->block;
    w->pair_weight = w->leaf + leaf;
    w->pool_moment = w->pair_weight + 2 * width * width;
    w->edge_moment = w->pool_moment + moment;
    w->scratch = w->edge_moment + moment;
    for (int i = 0; i < ARTREE_LAYERS; i++) {
        artree_linear *l = &w->layer[i];
        l->weight = WEIGHT[i];
        l->out = WIDTHS[i] * d;
        l->forward = mem_aligned(dense_size(d, l->out), sizeof(real));
        l->backward = mem_aligned(dense_size(l->out, d), sizeof(real));
        if (!l->forward || !l->backward)
            return ART_ERR_NOMEM;
    }
    return ART_OK;
}

void artree_weights_free(artree_weights *w)
{
    for (int i = 0; i < ARTREE_LAYERS; i++) {
        free(w->layer[i].forward);
        free(w->layer[i].backward);
    }
    time_embedding_free(&w->time);
    params_free(&w->sheet);
    free(w->block);
    memset(w, 0, sizeof *w);
}

static bool has_bias(int layer)
{
    return layer == ARTREE_IN || layer == ARTREE_STATE || layer == ARTREE_POOL3;
}

void artree_weights_refresh(artree_weights *w)
{
    const int d = w->d;
    edge_conv_fold_leaves(w->leaf, artree_value(w, ARTREE_CONV0_WEIGHT), w->n_taxa, d);
    edge_conv_fold_layer(w->pair_weight, artree_value(w, ARTREE_CONV1_WEIGHT), d, d);
    for (int i = 0; i < ARTREE_LAYERS; i++) {
        const artree_linear *l = &w->layer[i];
        const real *weight = i == ARTREE_PAIR ? w->pair_weight : artree_value(w, l->weight);
        w->dense->pack(l->forward, weight, d, 1,
                       has_bias(i) ? artree_value(w, l->weight + 1) : NULL, d, l->out);
        w->dense->pack(l->backward, weight, 1, d, NULL, l->out, d);
    }
    time_embedding_forward(
        &w->time, artree_value(w, ARTREE_CLOCK0_WEIGHT), artree_value(w, ARTREE_CLOCK0_BIAS),
        artree_value(w, ARTREE_CLOCK2_WEIGHT), artree_value(w, ARTREE_CLOCK2_BIAS));
    linear_forward(w->pool_moment, w->time.out, artree_value(w, ARTREE_POOL0_WEIGHT),
                   artree_value(w, ARTREE_POOL0_BIAS), w->steps, d, d);
    linear_forward(w->edge_moment, w->time.out, artree_value(w, ARTREE_EDGE0_WEIGHT),
                   artree_value(w, ARTREE_EDGE0_BIAS), w->steps, d, d);
}

/* From the moments to their layers and to the time embedding. */
static void finish_moments(params *p, artree_weights *w, real *sheet)
{
    const int d = w->d;
    const size_t moment = (size_t)w->steps * (size_t)d;
    real *dtime = w->scratch, *more = dtime + moment;
    linear_backward(dtime, params_grad(p, ARTREE_POOL0_WEIGHT), params_grad(p, ARTREE_POOL0_BIAS),
                    artree_sum(w, sheet, ARTREE_POOL_MOMENT), w->time.out,
                    artree_value(w, ARTREE_POOL0_WEIGHT), w->steps, d, d);
    linear_backward(more, params_grad(p, ARTREE_EDGE0_WEIGHT), params_grad(p, ARTREE_EDGE0_BIAS),
                    artree_sum(w, sheet, ARTREE_EDGE_MOMENT), w->time.out,
                    artree_value(w, ARTREE_EDGE0_WEIGHT), w->steps, d, d);
    w->layers->sum_rows(dtime, more, 1, (int)moment);
    time_embedding_backward(
        params_grad(p, ARTREE_CLOCK0_WEIGHT), params_grad(p, ARTREE_CLOCK0_BIAS),
        params_grad(p, ARTREE_CLOCK2_WEIGHT), params_grad(p, ARTREE_CLOCK2_BIAS), dtime, &w->time,
        artree_value(w, ARTREE_CLOCK0_WEIGHT), artree_value(w, ARTREE_CLOCK2_WEIGHT));
}

void artree_weights_finish(params *p, artree_weights *w, real *sheet)
{
    const int d = w->d;
    for (int t = 0; t < ARTREE_CLOCK0_WEIGHT; t++) {
        const param *e = &p->entry[t];
        const real *from = artree_sum(w, sheet, t);
        if (t == ARTREE_CONV0_WEIGHT || t == ARTREE_CONV1_WEIGHT)
            continue;
        for (size_t r = 0; r < e->shape[0]; r++, from += w->sheet.entry[t].shape[1])
            for (size_t c = 0; c < e->shape[1]; c++)
                params_grad(p, t)[r * e->shape[1] + c] += from[c];
    }
    edge_conv_unfold_leaves(params_grad(p, ARTREE_CONV0_WEIGHT),
                            artree_sum(w, sheet, ARTREE_CONV0_WEIGHT), 2 * d, w->n_taxa, d);
    edge_conv_unfold_layer(params_grad(p, ARTREE_CONV1_WEIGHT),
                           artree_sum(w, sheet, ARTREE_CONV1_WEIGHT), dense_round(d), d, d);
    finish_moments(p, w, sheet);
}
