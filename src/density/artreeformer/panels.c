#include "density/artreeformer/panels.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/artreeformer/network.h"

#include <stdlib.h>
#include <string.h>

int panels_init(panels *w, const params *p, int n_taxa, int d, int heads, cpu_level level)
{
    memset(w, 0, sizeof *w);
    *w = (panels){.n_taxa = n_taxa, .d = d, .heads = heads, .steps = n_taxa - 3, .params = p};
    w->dense = dense_kernels_at(level);
    w->layers = layer_kernels_at(level);
    w->embed = embedding_kernels_at(level);
    w->method = EMBEDDING_PROJECTED;
    w->tolerance = 1e-9;
    int status = attention_init(&w->attention, d, heads, w->steps, level);
    if (!status)
        status = time_embedding_init(&w->time, d, 3, w->steps);
    if (status)
        return status;
    const size_t square = dense_size(d, d), wide = dense_size(d, 2 * d),
                 tall = dense_size(2 * d, d);
    const size_t read3 = dense_size(2 * d, 2 * d), leaf = (size_t)n_taxa * (size_t)d;
    const size_t moment = (size_t)w->steps * 2 * (size_t)d;
    w->block = mem_aligned(2 * (square + wide + tall + read3) + leaf + moment, sizeof *w->block);
    if (!w->block)
        return ART_ERR_NOMEM;
    w->mlp2 = w->block;
    w->mlp2_back = w->mlp2 + square;
    w->edge = w->mlp2_back + square;
    w->edge_back = w->edge + wide;
    w->graph = w->edge_back + tall;
    w->graph_back = w->graph + wide;
    w->read3 = w->graph_back + tall;
    w->read3_back = w->read3 + read3;
    w->leaf = w->read3_back + read3;
    w->moment = w->leaf + leaf;
    return ART_OK;
}

void panels_free(panels *w)
{
    attention_free(&w->attention);
    time_embedding_free(&w->time);
    free(w->block);
    memset(w, 0, sizeof *w);
}

static const real *value(const panels *w, int index)
{
    return params_value(w->params, index);
}

static void refresh_steps(panels *w)
{
    const int d = w->d;
    time_embedding_forward(&w->time, value(w, TIME0_WEIGHT), value(w, TIME0_BIAS),
                           value(w, TIME2_WEIGHT), value(w, TIME2_BIAS));
    linear_forward(w->moment, w->time.out, value(w, READ0_WEIGHT), value(w, READ0_BIAS), w->steps,
                   2 * d, 2 * d);
}

static void refresh_attention(panels *w)
{
    attention_refresh(&w->attention, value(w, MHA_IN_WEIGHT), value(w, MHA_IN_BIAS),
                      value(w, MHA_OUT_WEIGHT), value(w, MHA_OUT_BIAS));
}

static void refresh_nodes(panels *w)
{
    const int d = w->d, n_taxa = w->n_taxa;
    const real *mlp0 = value(w, MLP0_WEIGHT), *bias = value(w, MLP0_BIAS);
    for (ptrdiff_t i = 0; i < n_taxa; i++)
        for (ptrdiff_t j = 0; j < d; j++)
            w->leaf[i * d + j] = mlp0[j * n_taxa + i] + bias[j];
    w->dense->pack(w->mlp2, value(w, MLP2_WEIGHT), d, 1, value(w, MLP2_BIAS), d, d);
    w->dense->pack(w->mlp2_back, value(w, MLP2_WEIGHT), 1, d, NULL, d, d);
}

static void refresh_readout(panels *w)
{
    const int d = w->d;
    const real *read0 = value(w, READ0_WEIGHT), *read3 = value(w, READ3_WEIGHT);
    w->dense->pack(w->graph, read0, 2 * d, 1, NULL, d, 2 * d);
    w->dense->pack(w->graph_back, read0, 1, 2 * d, NULL, 2 * d, d);
    w->dense->pack(w->edge, read0 + d, 2 * d, 1, NULL, d, 2 * d);
    w->dense->pack(w->edge_back, read0 + d, 1, 2 * d, NULL, 2 * d, d);
    w->dense->pack(w->read3, read3, 2 * d, 1, value(w, READ3_BIAS), 2 * d, 2 * d);
    w->dense->pack(w->read3_back, read3, 1, 2 * d, NULL, 2 * d, 2 * d);
}

/* Two tasks, so that only one of them calls the BLAS. */
static void refresh_part(void *context, int task, int worker)
{
    (void)worker;
    if (task == 0) {
        refresh_steps(context);
        refresh_attention(context);
    } else {
        refresh_readout(context);
        refresh_nodes(context);
    }
}

void panels_refresh(panels *w, pool *threads)
{
    pool_run(threads, 2, refresh_part, w);
}
