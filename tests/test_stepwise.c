#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"

#include "pars/parsimony.h"
#include "pars/stepwise.h"
#include "tree/topology.h"

#include <string.h>

static int64_t fitch(const problem *p, const int32_t *decision)
{
    int64_t score;
    check_status(parsimony_ref(&score, &p->alignment, NULL, GAP_MISSING, decision));
    return score;
}

/* The score that is returned is the Fitch score of the tree that is returned: every cost of an
 * insertion along the way was exact. */
static void scores_are_fitch_scores(void **state)
{
    (void)state;
    static const int sizes[] = {3, 4, 5, 9, 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        problem p = problem_random(sizes[i], 77, 1, 31);
        stepwise *s;
        check_status(stepwise_create(&s, &p.alignment, NULL));
        for (uint32_t k = 0; k < 20; k++) {
            int32_t decision[32];
            int64_t score = stepwise_tree(s, decision, rng_at(1, RNG_START, 0, k), NULL);
            assert_int_equal(score, fitch(&p, decision));
        }
        stepwise_free(s);
        problem_free(&p);
    }
}

/* The trees are as good as stepwise trees are: better than random ones by far, and they
 * differ between streams, not within one. */
static void trees_are_good_and_differ(void **state)
{
    (void)state;
    enum { N = 20 };
    problem p = problem_random(N, 200, 20, 32);
    stepwise *s;
    check_status(stepwise_create(&s, &p.alignment, NULL));
    int64_t random = INT64_MAX, worst = 0;
    for (int i = 0; i < p.n_trees; i++) {
        int64_t score = fitch(&p, p.decision + i * (N - 3));
        random = score < random ? score : random;
    }
    int different = 0;
    int32_t first[N], decision[N], again[N];
    for (uint32_t k = 0; k < 20; k++) {
        int64_t score = stepwise_tree(s, decision, rng_at(1, RNG_START, 0, k), NULL);
        worst = score > worst ? score : worst;
        stepwise_tree(s, again, rng_at(1, RNG_START, 0, k), NULL);
        assert_memory_equal(decision, again, (N - 3) * sizeof *decision);
        if (k == 0)
            memcpy(first, decision, sizeof first);
        different += memcmp(first, decision, (N - 3) * sizeof *decision) != 0;
    }
    assert_true(worst < random);
    assert_true(different > 10);
    stepwise_free(s);
    problem_free(&p);
}

/* With no information all trees are equally likely: chi-square of the 15 of five taxa. */
static void ties_are_broken_evenly(void **state)
{
    (void)state;
    enum { TREES = 15, DRAWS = 6000 };
    problem p = problem_random(5, 10, 1, 33);
    memset(p.alignment.state, STATE_G, 5 * 10);
    stepwise *s;
    check_status(stepwise_create(&s, &p.alignment, NULL));
    int count[TREES] = {0};
    for (uint32_t k = 0; k < DRAWS; k++) {
        int32_t decision[2];
        assert_int_equal(stepwise_tree(s, decision, rng_at(2, RNG_START, 0, k), NULL), 0);
        count[exact_index(decision, 5)]++;
    }
    double square = 0;
    for (int i = 0; i < TREES; i++) {
        double off = count[i] - DRAWS / (double)TREES;
        square += off * off / (DRAWS / (double)TREES);
    }
    assert_true(square < 36.1); /* 14 degrees of freedom, one in a thousand */
    stepwise_free(s);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_fitch_scores),
        cmocka_unit_test(trees_are_good_and_differ),
        cmocka_unit_test(ties_are_broken_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
