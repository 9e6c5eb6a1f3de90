/* The trees that the tables of a subsplit network come from, against exact posteriors. */
#include "support/check.h"
#include "support/exact.h"

#include "artreeformer.h"
#include "jobs/support_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, TREES = 15 };
static const char *const ROWS[N] = {"ACGTAACGC", "ACGTAACGA", "ACTTCAGGA", "CCTTCRGNA",
                                    "CCTACAG-C"};

typedef struct fixture {
    small_alignment letters;
    dataset data;
    int row[N];
    free_model model;
} fixture;

static void fixture_open(fixture *f, const char *model)
{
    memset(f, 0, sizeof *f);
    small_alignment_init(&f->letters, N, ROWS);
    f->data.alignment = f->letters.a;
    taxa_init(&f->data.taxa);
    for (int i = 0; i < N; i++) {
        check_status(taxa_add(&f->data.taxa, f->letters.name[i], strlen(f->letters.name[i])));
        f->row[i] = i;
    }
    f->data.row = f->row;
    check_status(free_model_parse(&f->model, model, &f->letters.a, NULL, NULL));
}

static void fixture_close(fixture *f)
{
    taxa_free(&f->data.taxa);
}

/* All of it, on so many threads. */
static void find(tree_set *out, size_t *found, const fixture *f, int threads)
{
    support_search *x;
    pool *team;
    bool is_done = false;
    check_status(pool_create(&team, threads));
    check_status(
        support_search_create(&x, &f->data, &f->model, branch_prior_exponential(10), 1, team));
    while (!is_done)
        check_status(support_search_advance(x, &is_done));
    assert_true(support_search_climbs(x) > 0);
    *found = support_search_count(x);
    check_status(support_search_trees(out, x));
    support_search_free(x);
    pool_free(team);
}

/* The trees have nearly all of the posterior, best first, with no more of them than are needed; and
 * are the same on any number of threads. */
static void has_the_posterior_on_any_threads(void **state)
{
    (void)state;
    fixture f;
    tree_set one, two;
    size_t found, again;
    double posterior[TREES], inside = 0, total = 0;
    fixture_open(&f, "JC");
    exact_posterior(posterior, &f.letters.a, 10);
    find(&one, &found, &f, 1);
    find(&two, &again, &f, 3);
    assert_int_equal(found, again);
    assert_int_equal(one.count, two.count);
    assert_memory_equal(one.decision, two.decision, one.count * (N - 3) * sizeof *one.decision);
    assert_memory_equal(one.weight, two.weight, one.count * sizeof *one.weight);
    assert_true(one.count > 2 && one.count <= found && found <= TREES);
    for (size_t i = 0; i < one.count; i++) {
        inside += posterior[exact_index(tree_set_decision(&one, i), N)];
        total += one.weight[i];
        assert_true(i == 0 || one.weight[i] <= one.weight[i - 1]);
    }
    print_message("%zu of %zu trees, with %.5f of the posterior\n", one.count, found, inside);
    check_near(total, 1, 1e-12);
    assert_true(one.share >= SUPPORT_SHARE && one.share <= 1);
    /* the last one was needed */
    assert_true(one.share * (1 - one.weight[one.count - 1]) < SUPPORT_SHARE);
    /* weights are by an approximation, in which trees differ by some hundredths of a nat from what
     * they are; nine sites say little, and many trees matter */
    assert_true(inside > 0.99);
    tree_set_free(&one);
    tree_set_free(&two);
    fixture_close(&f);
}

static void refuses_free_parameters(void **state)
{
    (void)state;
    fixture f;
    support_search *x;
    fixture_open(&f, "K80");
    assert_int_equal(
        support_search_create(&x, &f.data, &f.model, branch_prior_exponential(10), 1, NULL),
        ART_ERR_USAGE);
    assert_null(x);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_posterior_on_any_threads),
        cmocka_unit_test(refuses_free_parameters),
    };
    return cmocka_run_group_tests_name("support_search", tests, NULL, NULL);
}
