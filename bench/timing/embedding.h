/* embedding.h: the node embeddings of many random trees, and what the network does with
 * them before it looks at edges (node features, attention): the part of the work that differs
 * between the ways to the embedding.
 *
 *     status = embedding_bench_open(&b, leaves, 128, hidden, heads, seed, threads);
 *     status = embedding_bench_method(&b, EMBEDDING_ITERATED);
 *     embedding_bench_embed(&b);
 *     embedding_bench_pass(&b);
 *     embedding_bench_close(&b); */
#ifndef TIMING_EMBEDDING_H
#define TIMING_EMBEDDING_H

#include "base/pool.h"
#include "density/artreeformer/nodes.h"

typedef struct embedding_bench {
    pool *threads; /* borrowed */
    params weights;
    panels panels;
    tile tile;
    nodes_scratch *scratch; /* [threads] */
    int32_t *decision;      /* [trees][leaves - 3] */
    int n_trees;
} embedding_bench;

/* Random trees with so many leaves, to which one more is to be attached; random weights. *b is
 * always safe to close. */
int embedding_bench_open(embedding_bench *b, int leaves, int trees, int hidden, int heads,
                         uint64_t seed, pool *threads);
void embedding_bench_close(embedding_bench *b);

int embedding_bench_method(embedding_bench *b, embedding_method method);

/* The first layer's values at all nodes of all trees, by the method chosen. */
void embedding_bench_embed(embedding_bench *b);

/* Node features and attention of all trees, after embed. */
void embedding_bench_pass(embedding_bench *b);

#endif
