#include "support/check.h"
#include "support/problem.h"

#include "branch/branch_hessian.h"
#include "branch/length_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE 10.0

/* f's gradient and Hessian by x at given x, by edge number. */
static void evaluate(double *gradient, double *hessian, branch_solver *s, branch_hessian *h,
                     const int32_t *decision, const double *x, int edges)
{
    double *length = malloc((size_t)edges * sizeof *length);
    for (int e = 0; e < edges; e++)
        length[e] = length_scale_length(x[e]);
    branch_solver_set(s, decision, length);
    branch_solver_refresh(s);
    branch_hessian_compute(h, gradient, hessian, s);
    free(length);
}

/* Gradient against branch_solver_slopes, Hessian against central differences of the gradient:
 * every entry, signed. */
static void check_tree(int n_taxa, size_t patterns, const char *model, cpu_level level,
                       void (*shape)(int32_t *, int), int stride)
{
    problem p = problem_random(n_taxa, patterns, 1, 11);
    if (shape)
        shape(p.decision, n_taxa);
    subst_model m = model_of(model, NULL);
    branch_posterior data;
    branch_solver *s;
    branch_hessian *h;
    check_status(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    branch_posterior_use(&data, level);
    check_status(branch_solver_create(&s, &data));
    check_status(branch_hessian_create(&h, &data));
    const int edges = p.n_edges;
    double *numbers = calloc((size_t)edges * (2 * (size_t)edges + 4), sizeof *numbers);
    double *hessian = numbers, *other = hessian + edges * edges, *gradient = other + edges * edges;
    double *above = gradient + edges, *below = above + edges, *x = below + edges;
    branch_solver_set(s, p.decision, p.length);
    check_status(branch_solver_mode(s, 1)); /* near the mode no derivative is far out of scale */
    for (int e = 0; e < edges; e++)
        x[e] = s->branch[edge_node(e, n_taxa)].cbrt_length;
    evaluate(gradient, hessian, s, h, p.decision, x, edges);
    for (int e = 0; e < edges; e++) {
        double out[2];
        branch_solver_slopes(out, s, edge_node(e, n_taxa));
        const double length = length_scale_length(x[e]);
        const double first = out[0] + branch_prior_first(data.prior, length, BRANCH_EXTERNAL);
        const double second = out[1] + branch_prior_second(data.prior, length, BRANCH_EXTERNAL);
        const double expected = length_scale_first(x[e], first);
        check_near(gradient[e], expected, 1e-9 * (1 + fabs(expected)));
        check_close(hessian[e * edges + e], length_scale_second(x[e], first, second), 1e-9);
    }
    for (int e = 0; e < edges; e += stride) {
        const double step = 1e-4 * x[e], here = x[e];
        x[e] = here + step;
        evaluate(above, other, s, h, p.decision, x, edges);
        x[e] = here - step;
        evaluate(below, other, s, h, p.decision, x, edges);
        x[e] = here;
        /* Error of the difference: step^2 / 6 times the third derivative of the gradient, which
         * is of the size of f'' / x^2. */
        for (int i = 0; i < edges; i++)
            check_near(hessian[e * edges + i], (above[i] - below[i]) / (2 * step),
                       1e-6 * sqrt(fabs(hessian[e * edges + e] * hessian[i * edges + i])));
        for (int i = 0; i < edges; i++)
            check_near(hessian[e * edges + i], hessian[i * edges + e], 0);
    }
    free(numbers);
    branch_hessian_free(h);
    branch_solver_free(s);
    branch_posterior_free(&data);
    problem_free(&p);
}

static void equals_differences_of_the_gradient(void **state)
{
    (void)state;
    for (int k = 0; k < N_ALL_MODELS; k++)
        for (cpu_level level = CPU_GENERIC; level <= cpu_best(); level++) {
            check_tree(3, 20, ALL_MODELS[k], level, NULL, 1);
            check_tree(9, 70, ALL_MODELS[k], level, NULL, 1);
        }
}

static void many_tiles(void **state)
{
    (void)state;
    check_tree(20, 700, "JC", cpu_best(), NULL, 5);
    check_tree(16, 300, ALL_MODELS[12], cpu_best(), NULL, 5);
}

/* Patterns are scaled on the way. */
static void deep_trees(void **state)
{
    (void)state;
    check_tree(300, 33, "JC", cpu_best(), caterpillar, 150);
    check_tree(300, 33, "JC+I{0.2}+G3{0.7}", cpu_best(), balanced, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_differences_of_the_gradient),
        cmocka_unit_test(many_tiles),
        cmocka_unit_test(deep_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
