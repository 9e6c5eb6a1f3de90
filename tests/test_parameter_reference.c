/* Derivatives by parameters and branch lengths that trees take from a reference tree, by split. */
#include "support/check.h"
#include "support/state.h"

#include "branch/parameter_reference.h"
#include "tree/splits.h"

#include <stdlib.h>
#include <string.h>

enum { TAXA = 9, EDGES = 2 * TAXA - 3, FREE_PARAMETERS = 3 };

/* Two trees that differ in where the last taxon is. */
static const int32_t ONE[TAXA - 3] = {0, 2, 4, 1, 7, 3};
static const int32_t OTHER[TAXA - 3] = {0, 2, 4, 1, 7, 12};

static double some(int k, int e)
{
    return 100 * (k + 1) + e;
}

static parameter_reference reference_of(const int32_t *decision)
{
    parameter_reference r;
    double mixed[FREE_PARAMETERS * EDGES];
    for (int k = 0; k < FREE_PARAMETERS; k++)
        for (int e = 0; e < EDGES; e++)
            mixed[k * EDGES + e] = some(k, e);
    check_status(parameter_reference_init(&r, TAXA, FREE_PARAMETERS));
    assert_false(r.is_set);
    check_status(parameter_reference_set(&r, decision, mixed));
    assert_true(r.is_set);
    return r;
}

static void look_up(double *mixed, uint64_t *split, const parameter_reference *r,
                    const int32_t *decision)
{
    topology t;
    reference_space space = {0};
    check_status(topology_init(&t, TAXA));
    topology_build(&t, decision);
    check_status(reference_space_init(&space, TAXA));
    parameter_reference_look_up(mixed, r, &t, &space);
    memcpy(split, space.split, EDGES * sizeof *split);
    reference_space_free(&space);
    topology_free(&t);
}

static void equal_splits_have_equal_derivatives(void **state)
{
    (void)state;
    parameter_reference r = reference_of(ONE);
    double own[FREE_PARAMETERS * EDGES], other[FREE_PARAMETERS * EDGES];
    uint64_t own_split[EDGES], other_split[EDGES];
    look_up(own, own_split, &r, ONE);
    look_up(other, other_split, &r, OTHER);
    int known = 0;
    for (int k = 0; k < FREE_PARAMETERS; k++)
        for (int e = 0; e < EDGES; e++) {
            double expected = 0;
            for (int f = 0; f < EDGES; f++)
                if (own_split[f] == other_split[e])
                    expected = some(k, f);
            known += expected != 0;
            assert_true(own[k * EDGES + e] == some(k, e));
            assert_true(other[k * EDGES + e] == expected);
        }
    assert_true(known >= FREE_PARAMETERS * TAXA && known < FREE_PARAMETERS * EDGES);
    parameter_reference_free(&r);
}

static void it_is_saved_and_loaded(void **state)
{
    (void)state;
    parameter_reference r = reference_of(ONE), copy;
    saved_state s = {0}, damaged;
    parameter_reference_fields(&r, &s);
    state_turn(&s, NULL);
    state_damaged(&damaged, &s, "reference.decision", 2, 99); /* no such edge */
    check_status(parameter_reference_init(&copy, TAXA, FREE_PARAMETERS));
    parameter_reference_fields(&copy, &s);
    check_status(saved_state_end(&s));
    double mixed[2][FREE_PARAMETERS * EDGES];
    uint64_t split[EDGES];
    look_up(mixed[0], split, &r, OTHER);
    look_up(mixed[1], split, &copy, OTHER);
    assert_memory_equal(mixed[0], mixed[1], sizeof mixed[0]);
    parameter_reference_fields(&copy, &damaged);
    assert_int_not_equal(damaged.status, 0);
    saved_state_free(&s);
    saved_state_free(&damaged);
    parameter_reference_free(&r);
    parameter_reference_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_splits_have_equal_derivatives),
        cmocka_unit_test(it_is_saved_and_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
