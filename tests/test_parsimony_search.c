#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/problem.h"
#include "support/shared_data.h"

#include "artreeformer.h"
#include "pars/parsimony_search.h"

#include <stdlib.h>
#include <string.h>

static parsimony_search_settings usual(uint64_t seed)
{
    return (parsimony_search_settings){.seed = seed,
                                       .hits = SEARCH_HITS,
                                       .starts = SEARCH_STARTS,
                                       .rounds = SEARCH_ROUNDS,
                                       .drop = SEARCH_DROP,
                                       .trees = SEARCH_TREES};
}

static parsimony_search *search_on(const alignment *a, const int *row, parsimony_gap gap,
                                   const parsimony_search_settings *set, pool *threads)
{
    parsimony_search *x;
    check_status(parsimony_search_create(&x, a, row, gap, set, threads));
    return x;
}

static parsimony_found finish(parsimony_search *x)
{
    while (!parsimony_search_is_done(x))
        check_status(parsimony_search_step(x, NULL));
    return parsimony_search_found(x);
}

/* ---- all trees, one by one ---- */

/* The least score, the number of trees that have it, and of what remains of them when branches
 * without changes are collapsed. */
typedef struct truth {
    int64_t score;
    size_t resolved, collapsed;
    size_t most; /* resolved trees of one collapsed */
} truth;

static truth enumerate(const alignment *a, parsimony_gap gap)
{
    const int n = a->n_taxa, trees = exact_trees(n);
    truth out = {.score = INT64_MAX};
    site_patterns sites;
    site_bits all;
    fitch_tree whole;
    key_table forms;
    int64_t score, length[2 * EXACT_TAXA];
    int32_t decision[EXACT_TAXA], key[2 * EXACT_TAXA];
    size_t times[20000] = {0}, number;
    check_status(site_patterns_build(&sites, a, NULL, gap == GAP_FIFTH));
    check_status(site_bits_init(&all, &sites, gap == GAP_FIFTH ? 5 : 4, SIZE_MAX));
    check_status(fitch_tree_init(&whole, &all));
    key_table_init(&forms, (size_t)(2 * n - 3) * sizeof *key);
    for (int i = 0; i < trees; i++) {
        exact_tree(decision, i, n);
        check_status(parsimony_ref(&score, a, NULL, gap, decision));
        if (score > out.score)
            continue;
        if (score < out.score) {
            key_table_clear(&forms);
            memset(times, 0, sizeof times);
            out = (truth){.score = score};
        }
        collapsed_key(key, decision, &whole, length);
        check_status(key_table_add(&forms, key, &number));
        times[number]++;
        out.most = times[number] > out.most ? times[number] : out.most;
        out.resolved++;
    }
    out.collapsed = forms.count;
    key_table_free(&forms);
    fitch_tree_free(&whole);
    site_bits_free(&all);
    site_patterns_free(&sites);
    return out;
}

/* A few columns of random data, so that there are many optimal trees, with and without branches to
 * collapse. The search finds the score, and every one of the trees. */
static void all_optimal_trees_by_enumeration(void **state)
{
    (void)state;
    int many = 0, differ = 0;
    for (int n = 4; n <= EXACT_TAXA; n++)
        for (uint32_t k = 0; k < (n < EXACT_TAXA ? 12 : 6); k++) {
            const parsimony_gap gap = k % 2 ? GAP_MISSING : GAP_FIFTH;
            problem p = problem_random(n, 4 + 3 * (k / 2), 1, 50 + k);
            const truth exact = enumerate(&p.alignment, gap);
            const parsimony_search_settings set = usual(k);
            parsimony_search *x = search_on(&p.alignment, NULL, gap, &set, NULL);
            const parsimony_found f = finish(x);
            assert_int_equal(f.score, exact.score);
            assert_true(f.hits >= set.hits && !f.is_cut && !f.rare && !f.trees->is_full);
            assert_int_equal(f.explored, f.trees->resolved.count);
            assert_int_equal(f.trees->collapsed.count, exact.collapsed);
            if (exact.most <= RESOLVED_MOST) {
                assert_false(f.trees->is_partial);
                assert_int_equal(f.trees->resolved.count, exact.resolved);
            } else {
                assert_true(f.trees->is_partial);
                assert_true(f.trees->resolved.count < exact.resolved);
            }
            many += exact.collapsed > 1;
            differ += exact.collapsed != exact.resolved;
            parsimony_search_free(x);
            problem_free(&p);
        }
    assert_true(many > 10 && differ > 10); /* else the test says little */
}

/* Nothing to choose by: one collapsed tree without any inner branch. */
static void data_without_information(void **state)
{
    (void)state;
    static const char *const ROWS[] = {"AAAC", "AAAA", "AAAA", "AAGA", "AAAA", "AAAA"};
    for (int n = 3; n <= 6; n++) {
        small_alignment data;
        small_alignment_init(&data, n, ROWS);
        const parsimony_search_settings set = usual(1);
        parsimony_search *x = search_on(&data.a, NULL, GAP_FIFTH, &set, NULL);
        const parsimony_found f = finish(x);
        bool keeps[9];
        assert_int_equal(f.score, n < 4 ? 1 : 2);
        assert_int_equal(f.trees->collapsed.count, 1);
        assert_int_equal(f.trees->resolved.count, n < 6 ? exact_trees(n) : RESOLVED_MOST);
        parsimony_search_branches(x, keeps, optimal_tree(f.trees, 0));
        int kept = 0;
        for (int e = 0; e < topology_edges(n); e++)
            kept += keeps[e];
        assert_int_equal(kept, n); /* those of the taxa */
        parsimony_search_free(x);
    }
}

/* ---- a larger case ---- */

enum { N = 20 };

/* Short sequences that disagree: several islands, and starts that end with different scores. */
static problem hard_problem(void)
{
    return problem_random(N, 60, 1, 77);
}

static void same_found(parsimony_search *a, parsimony_search *b)
{
    const parsimony_found x = parsimony_search_found(a), y = parsimony_search_found(b);
    assert_int_equal(x.score, y.score);
    assert_int_equal(x.starts, y.starts);
    assert_int_equal(x.hits, y.hits);
    assert_int_equal(x.islands, y.islands);
    assert_int_equal(x.rare, y.rare);
    assert_int_equal(x.trees->resolved.count, y.trees->resolved.count);
    assert_int_equal(x.trees->collapsed.count, y.trees->collapsed.count);
    assert_memory_equal(x.trees->resolved.key, y.trees->resolved.key,
                        x.trees->resolved.count * x.trees->resolved.size);
    assert_memory_equal(x.trees->collapsed.key, y.trees->collapsed.key,
                        x.trees->collapsed.count * x.trees->collapsed.size);
}

static void threads_find_the_same(void **state)
{
    (void)state;
    problem p = hard_problem();
    const parsimony_search_settings set = usual(5);
    parsimony_search *one = search_on(&p.alignment, NULL, GAP_FIFTH, &set, NULL);
    finish(one);
    for (int threads = 2; threads <= 5; threads += 3) {
        pool *team;
        check_status(pool_create(&team, threads));
        parsimony_search *more = search_on(&p.alignment, NULL, GAP_FIFTH, &set, team);
        finish(more);
        same_found(one, more);
        parsimony_search_free(more);
        pool_free(team);
    }
    parsimony_search_free(one);
    problem_free(&p);
}

/* Saved after any step and loaded into another search, it ends the same way. */
static void saved_and_loaded_after_any_step(void **state)
{
    (void)state;
    problem p = hard_problem();
    parsimony_search_settings set = usual(6);
    set.rounds = 4;
    parsimony_search *whole = search_on(&p.alignment, NULL, GAP_FIFTH, &set, NULL);
    int steps = 0;
    for (; !parsimony_search_is_done(whole); steps++)
        check_status(parsimony_search_step(whole, NULL));
    assert_true(steps > 5);
    for (int stop = 0; stop <= steps; stop += stop < 12 ? 1 : 7) {
        parsimony_search *first = search_on(&p.alignment, NULL, GAP_FIFTH, &set, NULL);
        parsimony_search *second = search_on(&p.alignment, NULL, GAP_FIFTH, &set, NULL);
        for (int i = 0; i < stop; i++)
            check_status(parsimony_search_step(first, NULL));
        saved_state s = {0};
        check_status(parsimony_search_fields(first, &s));
        check_status(saved_state_write(&s, scratch_path("state"), NULL));
        saved_state_free(&s);
        parsimony_search_free(first);
        check_status(saved_state_read(&s, scratch_path("state"), NULL));
        check_status(parsimony_search_fields(second, &s));
        check_status(saved_state_end(&s));
        saved_state_free(&s);
        finish(second);
        same_found(whole, second);
        parsimony_search_free(second);
    }
    parsimony_search_free(whole);
    problem_free(&p);
}

static void an_end_before_the_end(void **state)
{
    (void)state;
    problem p = hard_problem();
    const parsimony_search_settings set = usual(7);
    interrupt stop;
    interrupt_init(&stop);
    interrupt_ask(&stop);
    parsimony_search *x = search_on(&p.alignment, NULL, GAP_FIFTH, &set, NULL);
    check_status(parsimony_search_step(x, &stop)); /* one step is enough for a tree */
    parsimony_found f = parsimony_search_found(x);
    int64_t score;
    assert_true(f.stage == STAGE_DONE && f.is_cut && f.trees->collapsed.count >= 1);
    check_status(parsimony_ref(&score, &p.alignment, NULL, GAP_FIFTH, optimal_tree(f.trees, 0)));
    assert_int_equal(score, f.score);
    parsimony_search_free(x);
    /* no room for all trees; more starts than are allowed would be needed */
    parsimony_search_settings few = set;
    few.trees = 1;
    x = search_on(&p.alignment, NULL, GAP_FIFTH, &few, NULL);
    f = finish(x);
    assert_true(f.trees->is_full);
    assert_int_equal(f.trees->resolved.count, 1);
    parsimony_search_free(x);
    few = set;
    few.starts = 3;
    x = search_on(&p.alignment, NULL, GAP_FIFTH, &few, NULL);
    f = finish(x);
    assert_int_equal(f.starts, 3);
    assert_true(f.hits >= 1 && f.hits <= 3);
    parsimony_search_free(x);
    problem_free(&p);
}

static int search_all(const problem *p)
{
    parsimony_search *x;
    parsimony_search_settings set = usual(1);
    set.hits = 2;
    set.rounds = 1;
    set.starts = 8;
    int status = parsimony_search_create(&x, &p->alignment, NULL, GAP_FIFTH, &set, NULL);
    while (!status && !parsimony_search_is_done(x))
        status = parsimony_search_step(x, NULL);
    parsimony_search_free(x);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    problem p = problem_random(8, 6, 1, 51); /* few sites: many trees, so that tables grow */
    long k = 0, before, refused = 0;
    do {
        before = memory_count();
        memory_fail_at(++k);
        int status = search_all(&p);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        refused += status != ART_OK;
    } while (k <= memory_count() - before);
    assert_true(refused > 20);
    problem_free(&p);
}

/* ---- data sets that others have searched ---- */

/* Scores, and numbers of trees as PAUP* counts them. Of DS5 it found one of two islands: the other
 * two trees have the same score by parsimony_ref too. */
static void scores_and_trees_of_data_sets(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t score;
        size_t trees;
    } table[] = {{"DS1", 4026, 1}, {"DS2", 6223, 1}, {"DS3", 6659, 2}, {"DS4", 2424, 4},
                 {"DS5", 1491, 4}, {"DS6", 879, 12}, {"DS7", 7150, 1}, {"DS8", 1461, 21}};
    shared_data set = {0};
#ifdef ART_SANITIZED
    const size_t rows = 1;
#else
    const size_t rows = sizeof table / sizeof *table;
#endif
    for (size_t i = 0; i < rows; i++) {
        shared_data_open(&set, table[i].name);
        const parsimony_search_settings plan = usual(2);
        parsimony_search *x = search_on(&set.alignment, set.taxon, GAP_FIFTH, &plan, NULL);
        const parsimony_found f = finish(x);
        assert_int_equal(f.score, table[i].score);
        assert_int_equal(f.trees->collapsed.count, table[i].trees);
        assert_true(f.hits >= plan.hits && !f.rare);
        for (size_t j = 0; j < f.trees->resolved.count; j++) {
            int64_t score;
            check_status(parsimony_ref(&score, &set.alignment, set.taxon, GAP_FIFTH,
                                       optimal_tree(f.trees, j)));
            assert_int_equal(score, f.score);
        }
        parsimony_search_free(x);
    }
    shared_data_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_optimal_trees_by_enumeration),
        cmocka_unit_test(data_without_information),
        cmocka_unit_test(threads_find_the_same),
        in_scratch_folder(saved_and_loaded_after_any_step),
        cmocka_unit_test(an_end_before_the_end),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(scores_and_trees_of_data_sets),
    };
    return cmocka_run_group_tests_name("parsimony_search", tests, NULL, NULL);
}
