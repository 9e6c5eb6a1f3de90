#include "support/check.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 8, BIG = 100 };
#if defined(__SANITIZE_ADDRESS__)
enum { TREES = 100000 }; /* ten times slower there */
#else
enum { TREES = 1000000 };
#endif

static uint64_t double_factorial(int n)
{
    return n <= 1 ? 1 : (uint64_t)n * double_factorial(n - 2);
}

/* The next decisions in the order of an odometer; 0 after the last ones. */
static int next_decisions(int32_t *decision, int32_t n_taxa)
{
    for (int32_t i = n_taxa - 4; i >= 0; i--) {
        if (++decision[i] < topology_edges(i + 3))
            return 1;
        decision[i] = 0;
    }
    return 0;
}

/* below[node] becomes the set of taxa under it, one bit each. */
static void taxa_below(uint64_t *below, const topology *t)
{
    int32_t order[2 * SMALL];
    topology_postorder(order, t);
    for (int32_t i = 0; i < topology_edges(t->n_leaves); i++) {
        int32_t v = order[i];
        below[v] = v < t->n_taxa ? (uint64_t)1 << v : below[t->child[v][0]] | below[t->child[v][1]];
    }
}

/* The nontrivial splits of a small tree, sorted, as one number: what the tree is, without
 * any numbering. */
static uint64_t splits_of(const topology *t)
{
    uint64_t below[2 * SMALL], out = 0;
    int used[1 << SMALL] = {0};
    taxa_below(below, t);
    for (int32_t v = t->n_taxa; v < topology_nodes(t->n_taxa); v++)
        if (t->parent[v] != 0)
            used[below[v]] = 1;
    for (int i = 0; i < 1 << SMALL; i++)
        if (used[i])
            out = out << SMALL | (uint64_t)i;
    return out;
}

/* The same tree with inner nodes renumbered by a permutation and children swapped at random. */
static void scramble(topology *out, const topology *t, const int32_t *to, rng *r)
{
    for (int32_t v = 0; v < topology_nodes(t->n_taxa); v++) {
        out->parent[to[v]] = v ? to[t->parent[v]] : -1;
        if (v >= t->n_taxa) {
            int swap = (int)(rng_u32(r) & 1);
            out->child[to[v]][swap] = to[t->child[v][0]];
            out->child[to[v]][!swap] = to[t->child[v][1]];
        }
    }
    out->child[0][0] = to[t->child[0][0]];
    out->n_leaves = t->n_leaves;
}

static void shuffle_inner(int32_t *to, int32_t n_taxa, rng *r)
{
    for (int32_t v = 0; v < topology_nodes(n_taxa); v++) {
        int32_t other =
            v <= n_taxa ? v : n_taxa + (int32_t)rng_below(r, (uint32_t)(v - n_taxa + 1));
        to[v] = to[other];
        to[other] = v;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void bijection_by_enumeration(void **state)
{
    (void)state;
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int32_t n = 4; n <= SMALL; n++) {
        uint64_t expected = double_factorial(2 * n - 5), count = 0;
        uint64_t *seen = calloc(expected, sizeof *seen);
        topology t, mixed;
        check_status(topology_init(&t, n));
        check_status(topology_init(&mixed, n));
        int32_t decision[SMALL] = {0}, back[SMALL], scratch[6 * SMALL], to[2 * SMALL];
        do {
            assert_true(count < expected);
            topology_build(&t, decision);
            seen[count++] = splits_of(&t);
            topology_decisions(back, NULL, &t, scratch);
            assert_memory_equal(back, decision, (size_t)(n - 3) * sizeof *back);
            shuffle_inner(to, n, &r);
            scramble(&mixed, &t, to, &r);
            topology_decisions(back, NULL, &mixed, scratch);
            assert_memory_equal(back, decision, (size_t)(n - 3) * sizeof *back);
        } while (next_decisions(decision, n));
        assert_int_equal(count, expected);
        qsort(seen, count, sizeof *seen, by_value);
        for (uint64_t i = 1; i < count; i++)
            assert_true(seen[i - 1] < seen[i]);
        free(seen);
        topology_free(&t);
        topology_free(&mixed);
    }
}

/* Edge numbers of a tree numbered otherwise are those of the canonical tree: the same taxa
 * are below them. */
static void edges_keep_their_splits(void **state)
{
    (void)state;
    topology t, mixed;
    check_status(topology_init(&t, SMALL));
    check_status(topology_init(&mixed, SMALL));
    for (uint32_t i = 0; i < 2000; i++) {
        rng r = rng_at(2, RNG_TEST, 0, i);
        int32_t decision[SMALL], back[SMALL], scratch[6 * SMALL], edge_of[2 * SMALL], to[2 * SMALL];
        for (int32_t j = 0; j < SMALL - 3; j++)
            decision[j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
        topology_build(&t, decision);
        shuffle_inner(to, SMALL, &r);
        scramble(&mixed, &t, to, &r);
        topology_decisions(back, edge_of, &mixed, scratch);
        uint64_t below[2 * SMALL], below_mixed[2 * SMALL];
        taxa_below(below, &t);
        taxa_below(below_mixed, &mixed);
        assert_int_equal(edge_of[0], -1);
        for (int32_t v = 1; v < topology_nodes(SMALL); v++) {
            assert_int_equal(below_mixed[v], below[edge_node(edge_of[v], SMALL)]);
            assert_int_equal(node_edge(edge_node(edge_of[v], SMALL), SMALL), edge_of[v]);
        }
    }
    topology_free(&t);
    topology_free(&mixed);
}

/* Both ways, on trees that are numbered as canonical ones never are. */
static void a_million_random_trees(void **state)
{
    (void)state;
    topology t, mixed;
    check_status(topology_init(&t, BIG));
    check_status(topology_init(&mixed, BIG));
    int32_t to[2 * BIG];
    for (uint32_t i = 0; i < TREES; i++) {
        rng r = rng_at(3, RNG_TEST, 0, i);
        int32_t decision[BIG], back[BIG], scratch[6 * BIG];
        for (int32_t j = 0; j < BIG - 3; j++)
            decision[j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
        topology_build(&t, decision);
        if (i % 1024 == 0)
            shuffle_inner(to, BIG, &r);
        scramble(&mixed, &t, to, &r);
        topology_decisions(back, NULL, &mixed, scratch);
        if (memcmp(back, decision, (BIG - 3) * sizeof *back) != 0)
            fail_msg("tree %u does not come back", i);
    }
    topology_free(&t);
    topology_free(&mixed);
}

/* A tree that grows is, at every size, a tree whose order visits each attached node once,
 * children first. */
static void partial_trees_are_trees(void **state)
{
    (void)state;
    topology t;
    check_status(topology_init(&t, BIG));
    rng r = rng_at(4, RNG_TEST, 0, 0);
    for (int32_t n = 3; n <= BIG; n++) {
        int32_t order[2 * BIG], seen[2 * BIG] = {0};
        topology_postorder(order, &t);
        for (int32_t i = 0; i < topology_edges(n); i++) {
            int32_t v = order[i];
            assert_true((v > 0 && v < n) || (v >= BIG && v < BIG + n - 2));
            assert_int_equal(seen[v]++, 0);
            if (v >= BIG)
                assert_true(seen[t.child[v][0]] && seen[t.child[v][1]]);
            assert_true(t.child[t.parent[v]][0] == v || t.child[t.parent[v]][1] == v);
        }
        if (n < BIG)
            topology_attach(&t, (int32_t)rng_below(&r, (uint32_t)topology_edges(n)));
    }
    topology_free(&t);
    topology_free(&t);
}

static void sizes_out_of_range(void **state)
{
    (void)state;
    topology t;
    assert_int_equal(topology_init(&t, 2), ART_ERR_USAGE);
    topology_free(&t);
    assert_int_equal(topology_init(&t, -1), ART_ERR_USAGE);
    assert_int_equal(topology_init(&t, INT32_MAX), ART_ERR_LIMIT);
    topology_free(&t);
    check_status(topology_init(&t, 3));
    int32_t scratch[18], edge_of[4];
    topology_decisions(NULL, edge_of, &t, scratch); /* a tree of no decisions */
    assert_int_equal(edge_of[3], 2);
    topology_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bijection_by_enumeration), cmocka_unit_test(edges_keep_their_splits),
        cmocka_unit_test(a_million_random_trees),   cmocka_unit_test(partial_trees_are_trees),
        cmocka_unit_test(sizes_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
