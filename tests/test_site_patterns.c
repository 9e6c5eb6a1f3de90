#include "support/check.h"

#include "lik/site_patterns.h"

enum { A = STATE_A, C = STATE_C, R = STATE_A | STATE_G, N = STATE_ANY, GAP = STATE_GAP };

/* Columns:  0    1    2    3    4    5    6 */
static uint8_t STATES[3][7] = {
    /* */ {A, A, N, A, GAP, GAP, A},
    /* */ {C, C, N, C, N, GAP, C},
    /* */ {GAP, N, N, R, N, GAP, N},
};
static uint32_t WEIGHTS[7] = {1, 2, 4, 8, 16, 32, 64};

static alignment example(void)
{
    return (alignment){
        .n_taxa = 3, .n_sites = 127, .n_patterns = 7, .state = STATES[0], .weight = WEIGHTS};
}

static void missing_gaps_merge_columns(void **state)
{
    (void)state;
    alignment a = example();
    site_patterns p;
    const int taxon[3] = {2, 0, 1};
    check_status(site_patterns_build(&p, &a, taxon, false));
    assert_int_equal(p.n_taxa, 3);
    assert_int_equal(p.count, 2); /* 0 = 1 = 6 and 3; the others say nothing */
    static const uint8_t expected[3][2] = {{N, R}, {A, A}, {C, C}};
    assert_memory_equal(p.state, expected, sizeof expected);
    assert_int_equal(p.weight[0], 1 + 2 + 64);
    assert_int_equal(p.weight[1], 8);
    site_patterns_free(&p);
    site_patterns_free(&p);
}

static void fifth_states_are_kept(void **state)
{
    (void)state;
    alignment a = example();
    site_patterns p;
    check_status(site_patterns_build(&p, &a, NULL, true));
    assert_int_equal(p.count, 5); /* all but 2; 1 = 6 */
    static const uint8_t expected[3][5] = {
        {A, A, A, GAP, GAP}, {C, C, C, N, GAP}, {GAP, N, R, N, GAP}};
    static const uint32_t weight[5] = {1, 2 + 64, 8, 16, 32};
    assert_memory_equal(p.state, expected, sizeof expected);
    assert_memory_equal(p.weight, weight, sizeof weight);
    site_patterns_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_gaps_merge_columns),
        cmocka_unit_test(fifth_states_are_kept),
    };
    return cmocka_run_group_tests_name("site_patterns", tests, NULL, NULL);
}
