#include "support/check.h"

#include "base/rng.h"
#include "tree/rearrange.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 12, NODES = 2 * MOST };

/* decision [N-3] of a random tree. */
static void random_tree(int32_t *decision, int32_t n_taxa, rng *r)
{
    for (int32_t i = 0; i < n_taxa - 3; i++)
        decision[i] = (int32_t)rng_below(r, (uint32_t)topology_edges(i + 3));
}

/* The set of taxa below each node, one bit each. */
static void taxa_below(uint32_t *below, const topology *t)
{
    int32_t order[NODES];
    topology_postorder(order, t);
    for (int32_t i = 0; i < topology_edges(t->n_taxa); i++) {
        int32_t v = order[i];
        below[v] = v < t->n_taxa ? (uint32_t)1 << v : below[t->child[v][0]] | below[t->child[v][1]];
        assert_true(t->child[t->parent[v]][0] == v || t->child[t->parent[v]][1] == v);
    }
}

/* Distances between all pairs of taxa. */
static void distances(double d[MOST][MOST], const topology *t, const double *length)
{
    uint32_t below[NODES];
    taxa_below(below, t);
    memset(d, 0, sizeof(double[MOST][MOST]));
    for (int32_t v = 1; v < topology_nodes(t->n_taxa); v++)
        for (int32_t i = 0; i < t->n_taxa; i++)
            for (int32_t j = 0; j < t->n_taxa; j++)
                if ((below[v] >> i & 1) != (below[v] >> j & 1))
                    d[i][j] += length[v];
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, MOST * sizeof(int32_t));
}

/* How many different rows. */
static int distinct(int32_t (*rows)[MOST], int count)
{
    int different = count > 0;
    qsort(rows, (size_t)count, sizeof *rows, compare);
    for (int i = 1; i < count; i++)
        different += compare(rows[i - 1], rows[i]) != 0;
    return different;
}

static void interchanges(void **state)
{
    (void)state;
    for (int32_t n = 4; n <= MOST; n++) {
        topology t;
        check_status(topology_init(&t, n));
        rng r = rng_at(1, RNG_TEST, 0, (uint32_t)n);
        for (int trial = 0; trial < 20; trial++) {
            int32_t rows[2 * MOST][MOST] = {{0}}, decision[MOST] = {0}, scratch[6 * MOST];
            int count = 0;
            random_tree(decision, n, &r);
            topology_build(&t, decision);
            uint32_t below[NODES], after[NODES];
            taxa_below(below, &t);
            for (int32_t v = 0; v < topology_nodes(n); v++)
                for (int which = 0; topology_has_nni(&t, v) && which < 2; which++) {
                    topology_nni(&t, v, which);
                    taxa_below(after, &t);
                    int changed = 0; /* only the split across the branch itself */
                    for (int32_t u = 1; u < topology_nodes(n); u++)
                        changed += below[u] != after[u];
                    assert_int_equal(changed, 1);
                    assert_true(below[v] != after[v]);
                    topology_decisions(rows[count++], NULL, &t, scratch);
                    assert_memory_not_equal(rows[count - 1], decision, sizeof decision);
                    topology_nni(&t, v, which);
                }
            topology_decisions(rows[count], NULL, &t, scratch);
            assert_memory_equal(rows[count], decision, sizeof decision);
            assert_int_equal(count, 2 * (n - 3));
            assert_int_equal(distinct(rows, count), count);
        }
        topology_free(&t);
    }
}

/* All neighbours, as many as there are; within each side of the cut nothing changes: distances
 * between taxa on the same side stay, and so does the length of the tree. */
static void subtree_moves(void **state)
{
    (void)state;
    enum { ROWS = 4 * MOST * MOST };
    static int32_t rows[ROWS][MOST];
    for (int32_t n = 4; n <= MOST; n++) {
        topology t;
        check_status(topology_init(&t, n));
        rng r = rng_at(2, RNG_TEST, 0, (uint32_t)n);
        for (int trial = 0; trial < 5; trial++) {
            int32_t decision[MOST] = {0}, scratch[6 * MOST];
            int count = 0;
            double length[NODES], moved[NODES], before[MOST][MOST], after[MOST][MOST];
            uint32_t below[NODES];
            memset(rows, 0, sizeof rows);
            random_tree(decision, n, &r);
            for (int32_t v = 0; v < topology_nodes(n); v++)
                length[v] = rng_uniform(&r);
            topology_build(&t, decision);
            taxa_below(below, &t);
            distances(before, &t, length);
            for (int32_t v = 0; v < topology_nodes(n); v++)
                for (int32_t w = 0; w < topology_nodes(n); w++) {
                    if (!topology_has_spr(&t, v, w))
                        continue;
                    memcpy(moved, length, sizeof moved);
                    topology_spr(&t, moved, v, w);
                    distances(after, &t, moved);
                    double sum = 0;
                    for (int32_t u = 1; u < topology_nodes(n); u++)
                        sum += moved[u] - length[u];
                    check_near(sum, 0, 1e-12); /* rounding of sums of 21 */
                    for (int32_t i = 0; i < n; i++)
                        for (int32_t j = 0; j < n; j++)
                            if ((below[v] >> i & 1) == (below[v] >> j & 1))
                                check_near(after[i][j], before[i][j], 1e-12);
                    topology_decisions(rows[count++], NULL, &t, scratch);
                    assert_memory_not_equal(rows[count - 1], decision, sizeof decision);
                    topology_build(&t, decision);
                }
            assert_int_equal(distinct(rows, count), 2 * (n - 3) * (2 * n - 7));
        }
        topology_free(&t);
    }
}

/* Distances between taxa are those of the old tree, under the new names. */
static void new_names(void **state)
{
    (void)state;
    for (int32_t n = 3; n <= MOST; n++) {
        topology t, other;
        check_status(topology_init(&t, n));
        check_status(topology_init(&other, n));
        rng r = rng_at(3, RNG_TEST, 0, (uint32_t)n);
        for (int trial = 0; trial < 50; trial++) {
            int32_t decision[MOST] = {0}, taxon[MOST];
            double length[NODES], before[MOST][MOST], after[MOST][MOST];
            random_tree(decision, n, &r);
            for (int32_t i = 0; i < n; i++) {
                int32_t j = (int32_t)rng_below(&r, (uint32_t)i + 1);
                taxon[i] = taxon[j];
                taxon[j] = i;
            }
            for (int32_t v = 0; v < topology_nodes(n); v++)
                length[v] = 1; /* branches in between, whichever way they hang */
            topology_build(&t, decision);
            topology_relabel(&other, &t, taxon);
            assert_int_equal(other.parent[0], -1);
            distances(before, &t, length);
            distances(after, &other, length);
            for (int32_t i = 0; i < n; i++)
                for (int32_t j = 0; j < n; j++)
                    check_near(after[taxon[i]][taxon[j]], before[i][j], 0);
        }
        topology_free(&t);
        topology_free(&other);
    }
}

/* The tour comes along every directed branch once before it is back, in trees of any numbering. */
static void the_tour_is_whole(void **state)
{
    (void)state;
    for (int32_t n = 4; n <= MOST; n++) {
        topology t;
        check_status(topology_init(&t, n));
        rng r = rng_at(5, RNG_TEST, 0, (uint32_t)n);
        for (int trial = 0; trial < 20; trial++) {
            int32_t decision[MOST] = {0};
            random_tree(decision, n, &r);
            topology_build(&t, decision);
            for (int32_t u = n; u < topology_nodes(n); u++)
                if (topology_has_nni(&t, u) && rng_uniform(&r) < 0.5)
                    topology_nni(&t, u, 1);
            int seen[NODES][2] = {{0}}, up = 0, length = 0;
            int32_t v = 1;
            do {
                const int32_t from = up ? t.parent[v] : v; /* where it is now: it goes on there */
                assert_int_equal(seen[v][up]++, 0);
                topology_tour_next(&t, &v, &up);
                assert_int_equal(up ? v : t.parent[v], from);
                length++;
            } while (v != 1 || up != 0);
            assert_int_equal(length, 2 * (2 * n - 3));
        }
        topology_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interchanges),
        cmocka_unit_test(subtree_moves),
        cmocka_unit_test(new_names),
        cmocka_unit_test(the_tour_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
