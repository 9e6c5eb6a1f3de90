/* What a gradient leaves out does not matter. */
#include "support/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "density/artreeformer/artreeformer_model.h"
#include "density/artreeformer/engine.h"
#include "density/artreeformer/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, D = 32, HEADS = 4, K = 10, STEPS = N - 3, EDGES = (N - 3) * (N - 1) };

typedef struct batch {
    int32_t decision[K * STEPS], entry[K * STEPS];
    size_t offset[K * STEPS + 1], count;
    double coefficient[K], weight[K * EDGES];
} batch;

/* All entries of a trie, and the coefficients through their edges. */
static void collect(batch *b, const trie *t)
{
    memset(b->weight, 0, sizeof b->weight);
    b->count = t->n_entries;
    for (size_t i = 0; i < t->n_entries; i++) {
        b->entry[i] = (int32_t)i;
        b->offset[i] = t->entry[i].first;
    }
    b->offset[b->count] = t->n_edges;
    for (int i = 0; i < K; i++) {
        int32_t at = TRIE_ROOT;
        for (int n = 3; n < N; n++) {
            const int32_t edge = b->decision[i * STEPS + n - 3];
            b->weight[t->entry[at].first + (size_t)edge] += b->coefficient[i];
            at = trie_child(t, at, edge);
        }
    }
}

static void what_is_left_out_does_not_matter(void **state)
{
    (void)state;
    static batch b;
    double log_q[K], mass = 0;
    topology_model *m;
    engine e;
    check_status(artreeformer_create(&m, N, D, HEADS, NULL));
    m->ops->initialise(m, 1);
    for (int i = 0; i < 2 * D; i++) /* as sharp as a model that has learned */
        params_value(&m->params, READ6_WEIGHT)[i] *= 100;
    m->ops->changed(m);
    check_status(m->ops->sample(m, b.decision, log_q, K, 1, RNG_TEST, 0, 0));
    for (int i = 0; i < K; i++) {
        b.coefficient[i] = 0.2 * i - 0.7;
        mass += fabs(b.coefficient[i]);
    }
    check_status(engine_init(&e, &m->params, N, D, HEADS, NULL));
    check_status(trie_reserve(&e.trie, K * STEPS + 1, K * EDGES + 3));
    trie_clear(&e.trie);
    for (int i = 0; i < K; i++)
        trie_insert(&e.trie, b.decision + i * STEPS);
    collect(&b, &e.trie);
    check_status(engine_reserve(&e, b.count));
    check_status(engine_reserve_gradient(&e));
    panels_refresh(&e.panels, NULL);

    real *all = params_block(&m->params), *some = m->params.grad;
    assert_non_null(all);
    params_clear_grad(&m->params);
    engine_gradient(&e, &m->params, b.entry, b.offset, b.weight, b.count, 0);
    memcpy(all, some, m->params.total * sizeof *all);
    params_clear_grad(&m->params);
    engine_gradient(&e, &m->params, b.entry, b.offset, b.weight, b.count, mass);
    assert_memory_not_equal(all, some, m->params.total * sizeof *all); /* something was left out */
    for (int t = 0; t < m->params.count; t++) {
        const param *p = &m->params.entry[t];
        double difference = 0, norm = 0;
        for (size_t i = p->offset; i < p->offset + p->size; i++) {
            difference += pow((double)all[i] - (double)some[i], 2);
            norm += pow((double)all[i], 2);
        }
        /* a millionth of the mass, and the rounding of sums in another order */
        if (t != READ6_BIAS) /* zero but for rounding */
            assert_true(sqrt(difference) <= 1e-5 * sqrt(norm));
    }
    free(all);
    engine_free(&e);
    m->ops->free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_out_does_not_matter)};
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
