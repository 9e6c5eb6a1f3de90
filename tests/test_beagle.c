/* The likelihood and its gradient against BEAGLE, where that was there at build time. */
#include "support/check.h"
#include "support/problem.h"

#if ART_HAVE_LIBRARY
#include "beagle_tree.h"
#include "lik/likelihood.h"

#include <math.h>
#include <stdlib.h>

static void equals_beagle(void **state)
{
    (void)state;
    static const int sizes[] = {4, 5, 12, 40, 100};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        problem p = problem_random(sizes[t], 150, 1, 20);
        double value, expected, *gradient = malloc(2 * (size_t)p.n_edges * sizeof *gradient);
        double *slope = gradient + p.n_edges;
        for (int k = 0; k < N_ALL_MODELS; k++) {
            subst_model m = model_of(ALL_MODELS[k], NULL);
            beagle_tree *b;
            likelihood *l;
            assert_int_equal(beagle_tree_create(&b, &p.alignment, NULL, &m), 0);
            assert_int_equal(beagle_tree_evaluate(b, &expected, slope, p.decision, p.length), 0);
            check_status(likelihood_create(&l, &p.alignment, NULL, &m, 1, NULL));
            likelihood_batch(l, &value, gradient, p.decision, p.length, 1);
            check_close(value, expected, 1e-12);
            for (int e = 0; e < p.n_edges; e++) /* sums of 300 sites of mixed sign */
                check_near(gradient[e], slope[e], 1e-10 * (1 + fabs(slope[e])));
            likelihood_free(l);
            beagle_tree_free(b);
        }
        free(gradient);
        problem_free(&p);
    }
}

#else

static void equals_beagle(void **state)
{
    (void)state;
    skip_because("BEAGLE was not there at build time (libhmsbeagle-dev)");
}

#endif

/* BEAGLE does not free all it allocates; the leak detector is to look at us. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhmsbeagle\n";
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_beagle)};
    return cmocka_run_group_tests_name("beagle", tests, NULL, NULL);
}
