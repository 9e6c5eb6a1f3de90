#include "support/check.h"
#include "support/problem.h"

#include "lik/transitions.h"
#include "lik/vec4.h"

enum { MOST = SUBST_CATEGORIES * MATRIX_TERMS };

/* Against the matrices of the model; under JC, P x = e x + c sum(x). */
static void equal_the_matrices_of_the_model(void **state)
{
    (void)state;
    static const double length[] = {0, 1e-9, 0.05, 0.7, 20};
    for (int k = 0; k < N_ALL_MODELS; k++)
        for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
            const subst_model m = model_of(ALL_MODELS[k], NULL);
            const size_t per_category = mat4_terms(m.is_jc);
            double out[MOST];
            assert_int_equal(transitions_size(&m), (size_t)m.n_categories * per_category);
            transitions_fill(out, &m, length[i]);
            for (int c = 0; c < m.n_categories; c++) {
                const double *terms = out + (size_t)c * per_category;
                double p[4][4];
                subst_model_transition(p, &m, m.category_rate[c] * length[i]);
                for (int e = 0; e < MATRIX_TERMS; e++) {
                    const int diagonal = e / 4 == e % 4;
                    const double entry = m.is_jc ? diagonal * terms[0] + terms[1] : terms[e];
                    check_near(entry, p[e / 4][e % 4], 1e-15); /* two ways to sum to 1 */
                }
            }
        }
}

/* Signed central differences, whose error is of the order of the relative step squared. */
static void derivatives(void **state)
{
    (void)state;
    for (int k = 0; k < N_ALL_MODELS; k++) {
        const subst_model m = model_of(ALL_MODELS[k], NULL);
        const double b = 0.13, h = 1e-5;
        double above[MOST], below[MOST], slope[MOST];
        transitions_derivative(slope, &m, b);
        transitions_fill(above, &m, b + h);
        transitions_fill(below, &m, b - h);
        for (size_t i = 0; i < transitions_size(&m); i++)
            check_near(slope[i], (above[i] - below[i]) / (2 * h), 1e-8);
        double up[3][MOST], down[3][MOST], here[3][MOST];
        transitions_growth(here[0], here[1], here[2], &m, b);
        transitions_growth(up[0], up[1], up[2], &m, b + h);
        transitions_growth(down[0], down[1], down[2], &m, b - h);
        for (int i = 0; i < transitions_rates(&m); i++)
            for (int d = 0; d < 2; d++) /* mu is up to 10: mu^4 h^2 / 6 */
                check_near(here[d + 1][i], (up[d][i] - down[d][i]) / (2 * h), 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_the_matrices_of_the_model),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
