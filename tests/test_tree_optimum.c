/* The best of several searches, for many trees on threads. */
#include "support/check.h"
#include "support/problem.h"

#include "branch/parameter_likelihood.h"
#include "branch/parameter_mode.h"
#include "branch/tree_optimum.h"
#include "lik/likelihood.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_TAXA = 8, EDGES = 2 * N_TAXA - 3, SITES = 400, TREES = 3 };

static void init(branch_posterior *p, problem *data, const char *text, double rate, uint32_t seed)
{
    free_model f;
    diag d = {0};
    double z[FREE_MOST];
    subst_model truth;
    *data = problem_random(N_TAXA, SITES, TREES, seed);
    check_status(free_model_parse(&f, text, NULL, NULL, &d));
    free_model_start(z, &f);
    free_model_at(&truth, &f, z);
    check_status(simulate_sites(data->alignment.state, data->decision, data->length, N_TAXA, &truth,
                                SITES, seed, NULL));
    check_status(
        branch_posterior_init_free(p, &data->alignment, NULL, &f, branch_prior_exponential(rate)));
}

/* Optimises all trees of the problem from its lengths, or from others. */
static void optimise(optimum_job *job, double *length, double *z, const branch_posterior *p,
                     const problem *data, optimum_kind kind, int n_threads)
{
    pool *threads;
    tree_optimum *t;
    check_status(pool_create(&threads, n_threads));
    check_status(tree_optimum_create(&t, p, kind, threads));
    for (int k = 0; k < TREES; k++)
        job[k] = (optimum_job){.decision = data->decision + (ptrdiff_t)k * (N_TAXA - 3),
                               .length = length + (ptrdiff_t)k * EDGES,
                               .z = z + (ptrdiff_t)k * FREE_MOST};
    tree_optimum_run(t, job, TREES);
    tree_optimum_free(t);
    pool_free(threads);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (int kind = OPTIMUM_LIKELIHOOD; kind <= OPTIMUM_POSTERIOR; kind++) {
        problem data;
        branch_posterior p;
        init(&p, &data, "HKY+G4", 10, 3);
        optimum_job job[2][TREES];
        double length[2][TREES * EDGES], z[2][TREES * FREE_MOST];
        for (int i = 0; i < 2; i++) {
            memcpy(length[i], data.length, sizeof length[i]);
            optimise(job[i], length[i], z[i], &p, &data, (optimum_kind)kind, 1 + 2 * i);
        }
        for (int k = 0; k < TREES; k++) {
            check_status(job[0][k].status);
            check_status(job[1][k].status);
            assert_memory_equal(job[0][k].z, job[1][k].z, (size_t)p.free.n_free * sizeof(double));
            assert_true(job[0][k].value == job[1][k].value);
        }
        assert_memory_equal(length[0], length[1], sizeof length[0]);
        branch_posterior_free(&p);
        problem_free(&data);
    }
}

/* Wherever the lengths of the file are, and if there are none, the same maximum is found, and it is
 * not below any that one search finds. */
static void starts_do_not_matter(void **state)
{
    (void)state;
    static const char *const MODELS[] = {"JC", "K80+I", "GTR+G4", "HKY+I+G4"};
    for (uint32_t m = 0; m < 4; m++) {
        problem data;
        branch_posterior p;
        parameter_likelihood *q;
        init(&p, &data, MODELS[m], 10, 20 + m);
        check_status(parameter_likelihood_create(&q, &p));
        optimum_job job[4][TREES];
        double length[4][TREES * EDGES], best[4][TREES * FREE_MOST], z[FREE_MOST];
        const double other[] = {(double)NAN, 0, 1000};
        for (int i = 0; i < 4; i++) {
            for (int e = 0; e < TREES * EDGES; e++)
                length[i][e] = i ? other[i - 1] : data.length[e];
            optimise(job[i], length[i], best[i], &p, &data, OPTIMUM_LIKELIHOOD, 1);
        }
        for (int k = 0; k < TREES; k++) {
            double *at = data.length + (ptrdiff_t)k * EDGES, value, before;
            subst_model model;
            free_model_start(z, &p.free.block[0].model);
            free_model_at(&model, &p.free.block[0].model, z);
            check_status(likelihood_ref(&before, NULL, &data.alignment, NULL, &model,
                                        job[0][k].decision, at));
            assert_true(job[0][k].log_likelihood > before);
            parameter_likelihood_forget(q);
            check_status(parameter_likelihood_find(q, job[0][k].decision, at, z, 1e-8));
            assert_true(job[0][k].log_likelihood > q->log_likelihood - 1e-6);
            for (int i = 0; i < 4; i++)
                check_near(job[i][k].log_likelihood, job[0][k].log_likelihood, 1e-6);
            free_model_at(&model, &p.free.block[0].model, job[0][k].z);
            check_status(likelihood_ref(&value, NULL, &data.alignment, NULL, &model,
                                        job[0][k].decision, job[0][k].length));
            check_near(value, job[0][k].log_likelihood, 1e-8);
        }
        parameter_likelihood_free(q);
        branch_posterior_free(&p);
        problem_free(&data);
    }
}

/* The posterior mode has no slope, and changes with the prior. */
static void the_posterior_mode_is_that_of_the_density(void **state)
{
    (void)state;
    static const char *const MODELS[] = {"JC", "HKY", "GTR+I+G4"};
    for (uint32_t m = 0; m < 3; m++) {
        double total[2] = {0};
        for (int i = 0; i < 2; i++) {
            problem data;
            branch_posterior p;
            parameter_mode *q;
            init(&p, &data, MODELS[m], i ? 100 : 10, 40 + m);
            check_status(parameter_mode_create(&q, &p));
            optimum_job job[TREES];
            double by_x[EDGES], by_z[FREE_MOST], z[TREES * FREE_MOST];
            optimise(job, data.length, z, &p, &data, OPTIMUM_POSTERIOR, 1);
            for (int k = 0; k < TREES; k++) {
                check_status(job[k].status);
                branch_posterior_move(&q->view, job[k].z);
                branch_solver_set(q->solver, job[k].decision, job[k].length);
                parameter_mode_gradient(q, by_x, by_z, job[k].z);
                for (int e = 0; e < EDGES; e++) /* 1e-7 nats, second derivatives of 1e4 */
                    check_near(by_x[e], 0, 0.05);
                for (int j = 0; j < p.free.n_free; j++)
                    check_near(by_z[j], 0, 0.05);
                for (int e = 0; e < EDGES; e++)
                    total[i] += job[k].length[e];
            }
            parameter_mode_free(q);
            branch_posterior_free(&p);
            problem_free(&data);
        }
        assert_true(total[1] < total[0]); /* shorter branches under the prior with a mean of 0.01 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(starts_do_not_matter),
        cmocka_unit_test(the_posterior_mode_is_that_of_the_density),
    };
    return cmocka_run_group_tests_name("tree_optimum", tests, NULL, NULL);
}
