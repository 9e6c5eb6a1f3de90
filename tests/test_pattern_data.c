#include "support/check.h"
#include "support/problem.h"

#include "lik/pattern_data.h"

/* A block of any width that begins anywhere has the same entries; beyond the last pattern every
 * base is possible. */
static void tips_in_blocks_of_any_width(void **state)
{
    (void)state;
    problem p = problem_random(5, 23, 1, 4);
    site_patterns s;
    check_status(site_patterns_build(&s, &p.alignment, NULL, false));
    for (size_t width = 1; width <= 32; width *= 2)
        for (size_t first = 0; first < s.count; first += width)
            for (int taxon = 0; taxon < 5; taxon++) {
                double rows[4 * 32];
                pattern_data_tip(rows, &s, taxon, first, width);
                for (size_t i = 0; i < 4 * width; i++) {
                    const size_t k = first + i % width, base = i / width;
                    const int set = k < s.count ? s.state[(size_t)taxon * s.count + k] : STATE_ANY;
                    check_near(rows[i], set >> base & 1, 0);
                }
            }
    site_patterns_free(&s);
    problem_free(&p);
}

static void invariant_sites_and_weights(void **state)
{
    (void)state;
    const subst_model m = model_of("HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}", NULL);
    uint8_t set[] = {STATE_A, STATE_A, STATE_ANY, STATE_A | STATE_G,
                     STATE_A, STATE_C, STATE_ANY, STATE_A | STATE_G};
    uint32_t count[] = {3, 1, 4, 2};
    const site_patterns s = {2, 4, set, count};
    double invariant[4], weight[4];
    pattern_data_invariant(invariant, &s, &m);
    check_close(invariant[0], 0.1 * 0.3, 1e-15);
    check_near(invariant[1], 0, 0);
    check_close(invariant[2], 0.1, 1e-15);
    check_close(invariant[3], 0.1 * (0.3 + 0.2), 1e-15);
    check_near(pattern_data_weights(weight, &s), 10, 0);
    for (int k = 0; k < 4; k++)
        check_near(weight[k], count[k], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tips_in_blocks_of_any_width),
        cmocka_unit_test(invariant_sites_and_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
