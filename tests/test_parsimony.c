#include "support/check.h"
#include "support/memory.h"
#include "support/shared_data.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "pars/parsimony.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

/* The least number of changes by dynamic programming over costs (Sankoff), for any sets. */
static int64_t least_changes(const problem *p, const int32_t *decision, parsimony_gap gap)
{
    const alignment *a = &p->alignment;
    int n_taxa = a->n_taxa;
    int64_t score = 0, (*cost)[5] = malloc((size_t)topology_nodes(n_taxa) * sizeof *cost);
    int32_t *order = malloc((size_t)p->n_edges * sizeof *order);
    topology t;
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, decision);
    topology_postorder(order, &t);
    for (size_t k = 0; k < a->n_patterns; k++) {
        for (int v = 0; v < n_taxa; v++) {
            int set = a->state[(size_t)v * a->n_patterns + k];
            if (gap == GAP_MISSING && set & STATE_GAP)
                set = STATE_ANY | STATE_GAP;
            for (int s = 0; s < 5; s++)
                cost[v][s] = set >> s & 1 ? 0 : n_taxa;
        }
        for (int i = 0; i <= p->n_edges; i++) {
            int v = i < p->n_edges ? order[i] : 0;
            if (v < n_taxa && i < p->n_edges)
                continue;
            int64_t total[5] = {0};
            for (int c = 0; c < (v == 0 ? 1 : 2); c++)
                for (int s = 0; s < 5; s++) {
                    int64_t least = n_taxa;
                    for (int j = 0; j < 5; j++) {
                        int64_t x = cost[t.child[v][c]][j] + (j != s);
                        least = x < least ? x : least;
                    }
                    total[s] += least;
                }
            for (int s = 0; s < 5; s++)
                cost[v][s] = total[s] + (v == 0 ? cost[0][s] : 0);
        }
        int64_t least = cost[0][0];
        for (int s = 1; s < 5; s++)
            least = cost[0][s] < least ? cost[0][s] : least;
        score += least * a->weight[k];
    }
    topology_free(&t);
    free(cost);
    free(order);
    return score;
}

static void batch(int64_t *score, const problem *p, parsimony_gap gap, int threads, cpu_level level)
{
    pool *team = NULL;
    parsimony *fast;
    if (threads > 1)
        check_status(pool_create(&team, threads));
    check_status(parsimony_create(&fast, &p->alignment, NULL, gap, team));
    parsimony_use(fast, level);
    parsimony_batch(fast, score, p->decision, p->n_trees);
    parsimony_free(fast);
    pool_free(team);
}

static void scores_are_the_least_number_of_changes(void **state)
{
    (void)state;
    enum { TREES = 3 };
    static const int sizes[] = {3, 4, 5, 9, 40};
    static const size_t patterns[] = {1, 2, 63, 64, 65, 200, 700};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (size_t s = 0; s < sizeof patterns / sizeof patterns[0]; s++)
            for (int gap = GAP_FIFTH; gap <= GAP_MISSING; gap++) {
                problem p = problem_random(sizes[t], patterns[s], TREES, 1);
                int64_t score[TREES], plain;
                if (s % 2) /* weights with several bits, up to the largest */
                    for (size_t k = 0; k < patterns[s]; k++)
                        p.alignment.weight[k] = (uint32_t)(0x9e3779b9u * (k + 1)) >> k % 32;
                for (int level = CPU_GENERIC; level <= (int)cpu_best(); level++) {
                    batch(score, &p, (parsimony_gap)gap, 1, (cpu_level)level);
                    for (int i = 0; i < TREES; i++) {
                        const int32_t *decision = p.decision + i * (sizes[t] - 3);
                        int64_t expected = least_changes(&p, decision, (parsimony_gap)gap);
                        assert_int_equal(score[i], expected);
                        check_status(parsimony_ref(&plain, &p.alignment, NULL, (parsimony_gap)gap,
                                                   decision));
                        assert_int_equal(plain, expected);
                    }
                }
                problem_free(&p);
            }
}

/* What is left out of the columns because it costs the same on every tree: singletons, constant
 * columns, unknowns; all kinds at once in columns of three letters. */
static void every_column_of_five_taxa(void **state)
{
    (void)state;
    static const uint8_t letters[] = {STATE_A, STATE_C, STATE_GAP, STATE_ANY, STATE_A | STATE_C};
    problem p = problem_random(5, 3125, 15, 2);
    for (size_t k = 0; k < 3125; k++)
        for (size_t i = 0, rest = k; i < 5; i++, rest /= 5)
            p.alignment.state[i * 3125 + k] = letters[rest % 5];
    for (int gap = GAP_FIFTH; gap <= GAP_MISSING; gap++) {
        int64_t score[15];
        batch(score, &p, (parsimony_gap)gap, 1, cpu_best());
        for (int i = 0; i < 15; i++)
            assert_int_equal(score[i], least_changes(&p, p.decision + 2 * i, (parsimony_gap)gap));
        /* and each column alone, where a wrong constant cannot hide */
        problem one = p;
        one.alignment.n_patterns = 1;
        uint8_t states[5];
        one.alignment.state = states;
        for (size_t k = 0; k < 3125; k++) {
            for (size_t i = 0; i < 5; i++)
                states[i] = p.alignment.state[i * 3125 + k];
            batch(score, &one, (parsimony_gap)gap, 1, cpu_best());
            for (int i = 0; i < 15; i += 7)
                assert_int_equal(score[i],
                                 least_changes(&one, p.decision + 2 * i, (parsimony_gap)gap));
        }
    }
    problem_free(&p);
}

static void threads_and_large_trees(void **state)
{
    (void)state;
#ifdef ART_SANITIZED
    enum { N = 300, TREES = 5 };
#else
    enum { N = 1500, TREES = 5 };
#endif
    problem p = problem_random(N, 1300, TREES, 3); /* several chunks of words */
    caterpillar(p.decision, N);
    balanced(p.decision + (N - 3), N);
    int64_t score[TREES], plain;
    for (int threads = 1; threads <= 8; threads *= 2) {
        batch(score, &p, GAP_FIFTH, threads, cpu_best());
        for (int i = 0; i < TREES; i += 2 * threads - 1) {
            check_status(parsimony_ref(&plain, &p.alignment, NULL, GAP_FIFTH,
                                       p.decision + (size_t)i * (N - 3)));
            assert_int_equal(score[i], plain);
        }
    }
    problem_free(&p);
}

static void calls_allocate_nothing_and_creation_may_fail(void **state)
{
    (void)state;
    problem p = problem_random(10, 500, 10, 4);
    int64_t score[10];
    parsimony *fast = NULL;
    long before = memory_count();
    check_status(parsimony_create(&fast, &p.alignment, NULL, GAP_FIFTH, NULL));
    long needed = memory_count() - before;
    for (long k = 1; k <= needed; k++) { /* fails at every allocation in turn, and frees all */
        parsimony *other;
        memory_fail_at(k);
        int status = parsimony_create(&other, &p.alignment, NULL, GAP_FIFTH, NULL);
        memory_fail_at(0);
        assert_true(status == ART_ERR_NOMEM ? other == NULL : status == ART_OK);
        parsimony_free(other); /* a block that could not be made smaller does no harm */
    }
    before = memory_count();
    parsimony_batch(fast, score, p.decision, 10);
    parsimony_batch(fast, score, p.decision, 3);
    assert_int_equal(memory_count(), before);
    parsimony_free(fast);
    problem_free(&p);
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
            json_int_t expected =
                json_integer_value(json_object_get(item, gap == GAP_FIFTH ? "fifth" : "missing"));
            parsimony *p;
            int64_t score, plain;
            check_status(parsimony_create(&p, &set.alignment, set.taxon, (parsimony_gap)gap, NULL));
            parsimony_batch(p, &score, set.trees.tree.decision, 1);
            parsimony_free(p);
            assert_int_equal(score, expected);
            check_status(parsimony_ref(&plain, &set.alignment, set.taxon, (parsimony_gap)gap,
                                       set.trees.tree.decision));
            assert_int_equal(plain, expected);
        }
    }
    assert_true(i >= 20);
    shared_data_free(&set);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_least_number_of_changes),
        cmocka_unit_test(every_column_of_five_taxa),
        cmocka_unit_test(threads_and_large_trees),
        cmocka_unit_test(calls_allocate_nothing_and_creation_may_fail),
        cmocka_unit_test(golden_scores),
    };
    return cmocka_run_group_tests_name("parsimony", tests, NULL, NULL);
}
