#include "support/check.h"
#include "support/problem.h"
#include "support/shared_data.h"

#include "artreeformer.h"
#include "base/key_table.h"
#include "pars/fitch_tree.h"
#include "pars/parsimony.h"

#include <stdlib.h>
#include <string.h>

/* A problem with its bits and a tree on them. */
typedef struct subject {
    problem p;
    parsimony_gap gap;
    int64_t constant;
    site_bits bits;
    fitch_tree tree;
} subject;

static void subject_open(subject *s, int n_taxa, size_t n_patterns, parsimony_gap gap, int trees)
{
    site_patterns sites;
    s->p = problem_random(n_taxa, n_patterns, trees, (uint32_t)(41 + n_taxa));
    s->gap = gap;
    check_status(site_patterns_build(&sites, &s->p.alignment, NULL, gap == GAP_FIFTH));
    s->constant = site_bits_set_constant_aside(&sites);
    check_status(site_bits_init(&s->bits, &sites, gap == GAP_FIFTH ? 5 : 4, SIZE_MAX));
    site_patterns_free(&sites);
    check_status(fitch_tree_init(&s->tree, &s->bits));
}

static void subject_close(subject *s)
{
    fitch_tree_free(&s->tree);
    site_bits_free(&s->bits);
    problem_free(&s->p);
}

/* The score of a tree by definition, without what all trees cost. */
static int64_t plain_score(const subject *s, const int32_t *decision)
{
    int64_t score;
    check_status(parsimony_ref(&score, &s->p.alignment, NULL, s->gap, decision));
    return score - s->constant;
}

/* ---- kernels ---- */

static void kernels_follow_fitch_s_rule(void **state)
{
    (void)state;
    enum { MOST = 24 };
    uint64_t a[5 * MOST], b[5 * MOST], out[5 * MOST];
    int64_t power[MOST];
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int level = CPU_GENERIC; level <= (int)cpu_best(); level++)
        for (int planes = 4; planes <= 5; planes++)
            for (int n = SITE_WORDS; n <= MOST; n += SITE_WORDS) {
                for (int i = 0; i < planes * n; i++) {
                    a[i] = (uint64_t)rng_u32(&r) << 32 | rng_u32(&r);
                    b[i] = (uint64_t)rng_u32(&r) << 32 | rng_u32(&r);
                    a[i] &= (uint64_t)rng_u32(&r) << 32 | rng_u32(&r); /* sets with little in */
                    b[i] &= (uint64_t)rng_u32(&r) << 32 | rng_u32(&r); /* common */
                }
                int64_t cost = 0;
                for (int i = 0; i < n; i++)
                    power[i] = (int64_t)1 << i;
                const fitch_kernels *k = fitch_kernels_of((cpu_level)level);
                k->merge(out, a, b, planes, n);
                for (int column = 0; column < 64 * n; column++) {
                    int x = 0, y = 0, z = 0;
                    for (int s = 0; s < planes; s++) {
                        const int at = s * n + column / 64;
                        x |= (int)(a[at] >> column % 64 & 1) << s;
                        y |= (int)(b[at] >> column % 64 & 1) << s;
                        z |= (int)(out[at] >> column % 64 & 1) << s;
                    }
                    assert_int_equal(z, x & y ? x & y : x | y);
                    cost += x & y ? 0 : power[column / 64];
                }
                assert_int_equal(k->join(a, b, power, INT64_MAX, planes, n), cost);
                assert_int_equal(k->join(a, b, power, cost, planes, n), cost);
                assert_true(k->join(a, b, power, cost - 1, planes, n) >= cost);
                assert_true(k->join(a, b, power, 0, planes, n) > 0);
            }
}

/* ---- scores ---- */

static const int SIZES[] = {3, 4, 5, 6, 9, 14, 40};

static void scores_are_fitch_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (int gap = GAP_FIFTH; gap <= GAP_MISSING; gap++) {
            subject s;
            subject_open(&s, SIZES[i], 77, (parsimony_gap)gap, 10);
            int32_t decision[40];
            const size_t bytes = (size_t)(SIZES[i] - 3) * sizeof *decision;
            for (int k = 0; k < 10; k++) {
                const int32_t *own = s.p.decision + k * (SIZES[i] - 3);
                fitch_tree_set(&s.tree, own);
                assert_int_equal(s.tree.score, plain_score(&s, own));
                fitch_tree_decisions(&s.tree, decision);
                assert_memory_equal(decision, own, bytes);
                rng r = rng_at(2, RNG_TEST, 0, (uint32_t)k);
                fitch_tree_grow(&s.tree, &r);
                fitch_tree_decisions(&s.tree, decision);
                assert_int_equal(s.tree.score, plain_score(&s, decision));
            }
            subject_close(&s);
        }
}

static void golden_scores(void **state)
{
    (void)state;
    json_t *root = shared_golden("parsimony.json"), *item;
    shared_data set = {0};
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        shared_data_open(&set, json_string_value(json_object_get(item, "data")));
        shared_data_tree(&set, json_string_value(json_object_get(item, "tree")));
        for (int gap = GAP_FIFTH; gap <= GAP_MISSING; gap++) {
            site_patterns sites;
            site_bits bits;
            fitch_tree t;
            check_status(site_patterns_build(&sites, &set.alignment, set.taxon, gap == GAP_FIFTH));
            const int64_t constant = site_bits_set_constant_aside(&sites);
            check_status(site_bits_init(&bits, &sites, gap == GAP_FIFTH ? 5 : 4, SIZE_MAX));
            check_status(fitch_tree_init(&t, &bits));
            fitch_tree_set(&t, set.trees.tree.decision);
            assert_int_equal(
                t.score + constant,
                json_integer_value(json_object_get(item, gap == GAP_FIFTH ? "fifth" : "missing")));
            fitch_tree_free(&t);
            site_bits_free(&bits);
            site_patterns_free(&sites);
        }
    }
    assert_true(i >= 20);
    shared_data_free(&set);
    json_decref(root);
}

/* ---- neighbours ---- */

typedef struct census {
    const subject *s;
    key_table trees;
    int64_t least;
} census;

static int count(void *context, const int32_t *decision, int64_t score)
{
    census *c = context;
    size_t number;
    assert_true(decisions_are_trees(decision, 1, c->s->tree.n_taxa));
    assert_int_equal(score, plain_score(c->s, decision));
    c->least = score < c->least ? score : c->least;
    return key_table_add(&c->trees, decision, &number);
}

/* The neighbours of the tree as it is, each with its score checked; the tree is unchanged. */
static census census_of(subject *s, fitch_moves moves)
{
    int32_t before[64], after[64];
    const size_t bytes = (size_t)(s->tree.n_taxa - 3) * sizeof *before;
    census c = {.s = s, .least = INT64_MAX};
    key_table_init(&c.trees, bytes);
    fitch_tree_decisions(&s->tree, before);
    check_status(fitch_tree_neighbours(&s->tree, moves, INT64_MAX / 2, count, &c));
    fitch_tree_decisions(&s->tree, after);
    assert_memory_equal(before, after, bytes);
    assert_int_equal(s->tree.score, plain_score(s, after));
    assert_int_equal(key_table_find(&c.trees, before), KEY_NONE);
    return c;
}

/* Every neighbour's score is exact, and there are as many as there must be: 2(N-3)(2N-7) by moving
 * subtrees (Allen and Steel 2001); bisection has all of these. A limit leaves out just the others.
 */
static void neighbours_and_their_scores(void **state)
{
    (void)state;
    static const int sizes[] = {4, 5, 6, 7, 9, 12};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; k < 4; k++) {
            const int n = sizes[i];
            subject s;
            subject_open(&s, n, 50, k % 2 ? GAP_FIFTH : GAP_MISSING, 4);
            if (k == 0)
                caterpillar(s.p.decision, n);
            if (k == 1)
                balanced(s.p.decision + (n - 3), n);
            fitch_tree_set(&s.tree, s.p.decision + k * (n - 3));
            census few = census_of(&s, FITCH_SPR), many = census_of(&s, FITCH_TBR);
            assert_int_equal(few.trees.count, 2 * (n - 3) * (2 * n - 7));
            for (size_t j = 0; j < few.trees.count; j++)
                assert_true(key_table_find(&many.trees, key_table_at(&few.trees, j)) != KEY_NONE);
            assert_true(n < 7 || many.trees.count > few.trees.count);
            census good = {.s = &s, .least = INT64_MAX};
            key_table_init(&good.trees, few.trees.size);
            const int64_t limit = s.tree.score;
            check_status(fitch_tree_neighbours(&s.tree, FITCH_TBR, limit, count, &good));
            size_t expected = 0;
            for (size_t j = 0; j < many.trees.count; j++)
                expected += plain_score(&s, key_table_at(&many.trees, j)) <= limit;
            assert_int_equal(good.trees.count, expected);
            key_table_free(&good.trees);
            key_table_free(&few.trees);
            key_table_free(&many.trees);
            subject_close(&s);
        }
}

static void climbs_end_where_no_neighbour_is_better(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        subject s;
        subject_open(&s, 14, 60, GAP_FIFTH, 6);
        fitch_tree_set(&s.tree, s.p.decision + k * 11);
        const int64_t before = s.tree.score;
        rng r = rng_at(3, RNG_TEST, 0, (uint32_t)k);
        const fitch_moves moves = k % 2 ? FITCH_TBR : FITCH_SPR;
        const int64_t after = fitch_tree_climb(&s.tree, moves, &r, NULL);
        assert_true(after < before); /* random trees are far from the best */
        census c = census_of(&s, moves);
        assert_true(c.least >= after);
        key_table_free(&c.trees);
        subject_close(&s);
    }
    subject s;
    interrupt stop;
    subject_open(&s, 14, 60, GAP_FIFTH, 1);
    fitch_tree_set(&s.tree, s.p.decision);
    const int64_t before = s.tree.score;
    interrupt_init(&stop);
    interrupt_ask(&stop);
    rng r = rng_at(3, RNG_TEST, 0, 0);
    assert_int_equal(fitch_tree_climb(&s.tree, FITCH_SPR, &r, &stop), before);
    subject_close(&s);
}

static void columns_can_be_dropped(void **state)
{
    (void)state;
    subject s;
    subject_open(&s, 12, 200, GAP_FIFTH, 1);
    rng r = rng_at(4, RNG_TEST, 0, 0);
    fitch_tree_set(&s.tree, s.p.decision);
    const int64_t whole = s.tree.score;
    fitch_tree_drop(&s.tree, 0.5, &r);
    fitch_tree_set(&s.tree, s.p.decision);
    assert_true(s.tree.score > whole / 4 && s.tree.score < 3 * whole / 4);
    fitch_tree_drop(&s.tree, 1, &r);
    fitch_tree_set(&s.tree, s.p.decision);
    assert_int_equal(s.tree.score, 0);
    fitch_tree_drop(&s.tree, 0, NULL);
    fitch_tree_set(&s.tree, s.p.decision);
    assert_int_equal(s.tree.score, whole);
    subject_close(&s);
}

/* ---- lengths ---- */

/* length[v] += the greatest change on the branch above v over all assignments of states to inner
 * nodes that need the least changes. */
static void add_greatest_lengths(int64_t *length, const subject *s, const topology *t, size_t k)
{
    enum { N = 6, INNER = N - 2 };
    const alignment *a = &s->p.alignment;
    const int states = s->gap == GAP_FIFTH ? 5 : 4;
    int set[2 * N], least = 2 * N, seen[2 * N] = {0};
    for (int i = 0; i < N; i++) {
        set[i] = a->state[(size_t)i * a->n_patterns + k];
        if (set[i] & STATE_GAP && s->gap == GAP_MISSING)
            set[i] = STATE_ANY;
    }
    int all = 1;
    for (int i = 0; i < INNER; i++)
        all *= states;
    for (int pass = 0; pass < 2; pass++)
        for (int code = 0; code < all; code++) {
            int changes = 0, changed[2 * N] = {0};
            for (int i = 0, rest = code; i < INNER; i++, rest /= states)
                set[N + i] = 1 << rest % states;
            for (int v = 1; v < topology_nodes(N); v++) { /* a taxon takes what suits it */
                changed[v] = !(set[v] & set[t->parent[v]]);
                changes += changed[v];
            }
            least = changes < least ? changes : least;
            for (int v = N; pass == 1 && changes == least && v < topology_nodes(N); v++)
                seen[v] |= changed[v];
        }
    for (int v = N; v < topology_nodes(N); v++)
        length[v] += seen[v] * (int64_t)a->weight[k];
}

/* Against all reconstructions, one by one. The branch next to taxon 0 is that of the taxon. */
static void lengths_are_the_greatest(void **state)
{
    (void)state;
    enum { N = 6, PATTERNS = 40, TREES = 6 };
    for (int gap = GAP_FIFTH; gap <= GAP_MISSING; gap++) {
        subject s;
        subject_open(&s, N, PATTERNS, (parsimony_gap)gap, TREES);
        site_patterns sites;
        site_bits all;
        fitch_tree t;
        check_status(site_patterns_build(&sites, &s.p.alignment, NULL, gap == GAP_FIFTH));
        check_status(site_bits_init(&all, &sites, gap == GAP_FIFTH ? 5 : 4, SIZE_MAX));
        check_status(fitch_tree_init(&t, &all));
        int some = 0;
        for (int i = 0; i < TREES; i++) {
            int64_t length[2 * N], expected[2 * N] = {0};
            fitch_tree_set(&t, s.p.decision + i * (N - 3));
            fitch_tree_lengths(&t, length);
            for (size_t k = 0; k < PATTERNS; k++)
                add_greatest_lengths(expected, &s, &t.tree, k);
            for (int v = N; v < topology_nodes(N); v++)
                if (t.tree.parent[v] != 0) {
                    assert_int_equal(length[v], expected[v]);
                    some += length[v] > 0;
                }
        }
        assert_true(some > 0);
        fitch_tree_free(&t);
        site_bits_free(&all);
        site_patterns_free(&sites);
        subject_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_follow_fitch_s_rule),
        cmocka_unit_test(scores_are_fitch_scores),
        cmocka_unit_test(golden_scores),
        cmocka_unit_test(neighbours_and_their_scores),
        cmocka_unit_test(climbs_end_where_no_neighbour_is_better),
        cmocka_unit_test(columns_can_be_dropped),
        cmocka_unit_test(lengths_are_the_greatest),
    };
    return cmocka_run_group_tests_name("fitch_tree", tests, NULL, NULL);
}
