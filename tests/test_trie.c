#include "support/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "density/artreeformer/trie.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 9, K = 400 };

static void random_tree(int32_t *decision, uint32_t index)
{
    rng r = rng_at(1, RNG_TEST, 0, index);
    for (int n = 3; n < N; n++) /* few of the edges, so that trees share */
        decision[n - 3] = (int32_t)rng_below(&r, 3);
}

/* Logits that belong to an entry: they depend on its decisions only. */
static void logits_of(real *logit, const trie *t, int32_t entry)
{
    uint32_t key = 1;
    for (int32_t i = entry; i != TRIE_ROOT; i = t->entry[i].parent)
        key = key * 31 + (uint32_t)t->entry[i].decision + 1;
    rng r = rng_at(2, RNG_TEST, (uint32_t)t->entry[entry].leaves, key);
    for (int i = 0; i < topology_edges(t->entry[entry].leaves); i++)
        logit[i] = (real)rng_normal(&r);
}

static trie full_trie(void)
{
    trie t;
    real logit[2 * N];
    trie_init(&t, N, 0);
    check_status(trie_reserve(&t, K * trie_tree_entries(N) + 1, K * trie_tree_edges(N) + 3));
    trie_clear(&t);
    for (uint32_t i = 0; i < K; i++) {
        int32_t decision[N - 3];
        random_tree(decision, i);
        trie_insert(&t, decision);
    }
    for (size_t i = 0; i < t.n_entries; i++) {
        logits_of(logit, &t, (int32_t)i);
        trie_set(&t, (int32_t)i, logit);
    }
    return t;
}

/* Every link, every tree and every distribution is what the decisions say. */
static void check_whole(trie *t)
{
    topology tree, grown;
    int32_t path[N], decision[N];
    real logit[2 * N];
    size_t edges = 0;
    check_status(topology_init(&tree, N));
    check_status(topology_init(&grown, N));
    for (size_t i = 0; i < t->n_entries; i++) {
        const trie_entry *e = &t->entry[i];
        const size_t count = (size_t)topology_edges(e->leaves);
        assert_true(e->first == edges && e->mark == TRIE_NONE && e->slot == TRIE_NONE);
        edges += count;
        int depth = e->leaves - 3;
        for (int32_t j = (int32_t)i; j != TRIE_ROOT; j = t->entry[j].parent) {
            decision[--depth] = t->entry[j].decision;
            assert_true(t->entry[j].parent < j);
            assert_int_equal(trie_child(t, t->entry[j].parent, decision[depth]), j);
        }
        assert_int_equal(depth, 0);
        topology_reset(&grown);
        for (int n = 3; n < e->leaves; n++)
            topology_attach(&grown, decision[n - 3]);
        trie_tree(&tree, t, (int32_t)i, path);
        assert_int_equal(tree.n_leaves, e->leaves);
        for (int n = 1; n < e->leaves; n++) /* the rest of the arrays means nothing */
            assert_int_equal(tree.parent[n], grown.parent[n]);
        logits_of(logit, t, (int32_t)i);
        assert_memory_equal(t->logit + e->first, logit, count * sizeof *logit);
        for (size_t j = 0; j < count; j++) {
            const int32_t child = t->child[e->first + j];
            assert_true(child == TRIE_NONE || t->entry[child].parent == (int32_t)i);
        }
    }
    assert_true(edges == t->n_edges);
    topology_free(&tree);
    topology_free(&grown);
}

static void entries_are_distinct_prefixes(void **state)
{
    (void)state;
    trie t = full_trie();
    check_whole(&t);
    /* inserting again adds nothing */
    const size_t entries = t.n_entries;
    for (uint32_t i = 0; i < K; i++) {
        int32_t decision[N - 3];
        random_tree(decision, i);
        trie_insert(&t, decision);
    }
    assert_true(t.n_entries == entries);
    assert_true(entries <= 1 + 3 + 9 + 27 + 81 + 243);
    trie_free(&t);
}

static void distributions(void **state)
{
    (void)state;
    trie t = full_trie();
    for (size_t i = 0; i < t.n_entries; i += 7) {
        const int32_t entry = (int32_t)i;
        const int edges = topology_edges(t.entry[i].leaves);
        double sum = 0;
        for (int e = 0; e < edges; e++) {
            const double p = exp(trie_log_prob(&t, entry, e));
            assert_int_equal(trie_choose(&t, entry, sum + 0.001 * p), e); /* the first number.. */
            assert_int_equal(trie_choose(&t, entry, sum + 0.999 * p), e); /* ..and the last */
            sum += p;
        }
        check_near(sum, 1, 1e-14 * edges);
    }
    trie_free(&t);
}

/* Probabilities that vanish are never chosen, not even by the last uniform number. */
static void impossible_edges(void **state)
{
    (void)state;
    trie t;
    const real logit[3] = {-2000, 1, -2000};
    trie_init(&t, 4, 0);
    check_status(trie_reserve(&t, 1, 3));
    trie_clear(&t);
    assert_false(trie_is_set(&t, TRIE_ROOT));
    trie_set(&t, TRIE_ROOT, logit);
    assert_true(trie_is_set(&t, TRIE_ROOT));
    assert_int_equal(trie_choose(&t, TRIE_ROOT, 1e-300), 1);
    assert_int_equal(trie_choose(&t, TRIE_ROOT, 1 - 0x1p-53), 1);
    assert_int_equal(trie_choose(&t, TRIE_ROOT, 1), 1);
    check_near(trie_log_prob(&t, TRIE_ROOT, 1), 0, 0);
    check_near(trie_log_prob(&t, TRIE_ROOT, 2), -2001, 0);
    trie_free(&t);
}

/* Evicting keeps what was asked most, whole, within the bounds. */
static void eviction(void **state)
{
    (void)state;
    for (size_t part = 2; part <= 64; part *= 2) {
        trie t = full_trie();
        for (size_t i = 0; i < t.n_entries; i++) /* as many hits as trees go through */
            t.entry[i].hits = 0;
        for (uint32_t i = 0; i < K; i++) {
            int32_t decision[N - 3], at = TRIE_ROOT;
            random_tree(decision, i);
            for (int n = 3; n < N; n++) {
                (void)trie_log_prob(&t, at, decision[n - 3]);
                at = trie_child(&t, at, decision[n - 3]);
            }
        }
        const size_t entries = t.n_entries / part, edges = t.n_edges / part;
        trie_evict(&t, entries, edges);
        assert_true(t.n_entries >= 1 && t.n_entries <= entries && t.n_edges <= edges);
        check_whole(&t);
        assert_int_equal(t.entry[TRIE_ROOT].hits, K / 2);
        trie_free(&t);
    }
    trie t = full_trie();
    trie_evict(&t, 0, 0); /* not even the root fits: begins anew */
    assert_true(t.n_entries == 1 && !trie_is_set(&t, TRIE_ROOT));
    trie_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_distinct_prefixes),
        cmocka_unit_test(distributions),
        cmocka_unit_test(impossible_edges),
        cmocka_unit_test(eviction),
    };
    return cmocka_run_group_tests_name("trie", tests, NULL, NULL);
}
