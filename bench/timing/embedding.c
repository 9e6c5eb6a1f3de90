#include "timing/embedding.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "density/artreeformer/network.h"

#include <stdlib.h>
#include <string.h>

/* Uniform over all topologies. */
static void draw_trees(int32_t *decision, int leaves, int trees, uint64_t seed)
{
    for (int i = 0; i < trees; i++) {
        rng r = rng_at(seed, RNG_BENCH, 0, (uint32_t)i);
        for (int n = 3; n < leaves; n++)
            *decision++ = (int32_t)rng_below(&r, (uint32_t)topology_edges(n));
    }
}

int embedding_bench_open(embedding_bench *b, int leaves, int trees, int hidden, int heads,
                         uint64_t seed, pool *threads)
{
    const int n_taxa = leaves + 1;
    const size_t count = (size_t)trees, edges = (size_t)topology_edges(leaves);
    const size_t workers = (size_t)pool_threads(threads);
    memset(b, 0, sizeof *b);
    b->threads = threads;
    b->n_trees = trees;
    tile_init(&b->tile, hidden, heads);
    int status = network_params(&b->weights, n_taxa, hidden);
    if (!status) {
        network_initialise(&b->weights, seed);
        status = panels_init(&b->panels, &b->weights, n_taxa, hidden, heads, cpu_best());
    }
    if (!status)
        status = tile_reserve(&b->tile, count, count * edges);
    if (status)
        return status;
    panels_refresh(&b->panels, threads);
    b->decision = mem_zeros(count * (size_t)n_taxa, sizeof *b->decision);
    b->scratch = mem_zeros(workers, sizeof *b->scratch);
    if (!b->decision || !b->scratch)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < workers && !status; i++)
        status = nodes_scratch_init(&b->scratch[i], &b->panels, 1, edges);
    draw_trees(b->decision, leaves, trees, seed);
    for (int i = 0; i < trees; i++)
        tile_place(&b->tile, leaves);
    return status;
}

void embedding_bench_close(embedding_bench *b)
{
    for (int i = 0; b->scratch && i < pool_threads(b->threads); i++)
        nodes_scratch_free(&b->scratch[i]);
    free(b->scratch);
    free(b->decision);
    tile_free(&b->tile);
    panels_free(&b->panels);
    params_free(&b->weights);
    memset(b, 0, sizeof *b);
}

int embedding_bench_method(embedding_bench *b, embedding_method method)
{
    int status = ART_OK;
    b->panels.method = method;
    for (int i = 0; i < pool_threads(b->threads) && !status; i++)
        status = nodes_scratch_method(&b->scratch[i], &b->panels);
    return status;
}

static void embed_tree(void *context, int tree, int worker)
{
    embedding_bench *b = context;
    nodes_scratch *s = &b->scratch[worker];
    const int steps = b->tile.leaves[tree] - 3;
    const int32_t *decision = b->decision + (ptrdiff_t)tree * steps;
    topology_reset(&s->tree);
    for (int i = 0; i < steps; i++)
        topology_attach(&s->tree, decision[i]);
    nodes_embed(&b->tile, tree, &b->panels, s);
}

void embedding_bench_embed(embedding_bench *b)
{
    pool_run(b->threads, b->n_trees, embed_tree, b);
}

static void pass_tree(void *context, int tree, int worker)
{
    embedding_bench *b = context;
    nodes_forward(&b->tile, tree, 1, &b->panels, &b->scratch[worker]);
}

void embedding_bench_pass(embedding_bench *b)
{
    pool_run(b->threads, b->n_trees, pass_tree, b);
}
