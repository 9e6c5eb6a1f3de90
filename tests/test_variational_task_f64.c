/* The gradient of a variational step against differences of its loss, in double. With the
 * noise fixed by the step, the loss is a function of the branch model's parameters. */
#include "support/check.h"
#include "support/exact.h"
#include "support/models.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "train/variational_task.h"
#include "subst/model_string.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, K = 5, DIRECTIONS = 4 };

static const char *const ROWS[N] = {"ACGTAACGG", "ACGTAGCGG", "ACTTCAGGT",
                                    "CCTTCTGGT", "CCTACAG-T", "CATACAAGR"};

typedef struct fixture {
    small_alignment data;
    subst_model model;
    particle_source source;
    task *job;
} fixture;

static void fixture_open(fixture *f, branch_prior prior)
{
    memset(f, 0, sizeof *f);
    small_alignment_init(&f->data, N, ROWS);
    check_status(model_string_parse(&f->model, "HKY{2.5}+F{0.3,0.15,0.2,0.35}", NULL, NULL));
    check_status(target_likelihood(&f->source.goal, &f->data.a, NULL, &f->model, K, NULL));
    check_status(make_artreeformer(&f->source.trees, N, 8, 2, NULL));
    check_status(make_lognormal(&f->source.branches, N, 8, NULL));
    f->source.trees->ops->initialise(f->source.trees, 1);
    f->source.branches->ops->initialise(f->source.branches, 1);
    f->source.prior = prior;
    f->source.seed = 3;
    check_status(variational_create(&f->job, &f->source, K, ESTIMATOR_VIMCO_GEOMETRIC));
}

static void fixture_close(fixture *f)
{
    f->job->ops->free(f->job);
    f->source.branches->ops->free(f->source.branches);
    f->source.trees->ops->free(f->source.trees);
    target_free(f->source.goal);
}

/* The loss of a step with the branch parameters moved by h along a direction. */
static double loss_at(fixture *f, const real *direction, double h, uint32_t step, double anneal)
{
    params *p = &f->source.branches->params;
    task_step out;
    for (size_t i = 0; i < p->total; i++)
        p->value[i] += h * direction[i];
    f->source.branches->ops->changed(f->source.branches);
    check_status(f->job->ops->step(f->job, &out, step, anneal));
    for (size_t i = 0; i < p->total; i++)
        p->value[i] -= h * direction[i];
    return out.loss;
}

static void check_gradient(branch_prior prior)
{
    fixture f;
    fixture_open(&f, prior);
    params *p = &f.source.branches->params;
    real *direction = params_block(p), *gradient = params_block(p);
    assert_true(direction && gradient);
    for (uint32_t step = 0; step < 3; step++) {
        double anneal = step == 0 ? 1 : 0.3 * step;
        params_clear_grad(p);
        loss_at(&f, direction, 0, step, anneal);
        memcpy(gradient, p->grad, p->total * sizeof *gradient);
        for (uint32_t d = 0; d < DIRECTIONS; d++) {
            rng r = rng_at(4, RNG_TEST, step, d);
            double expected = 0, h = 1e-5;
            for (int e = 0; e < p->count; e++)
                for (size_t i = 0; i < p->entry[e].size; i++) {
                    size_t at = p->entry[e].offset + i;
                    direction[at] = rng_normal(&r);
                    expected += gradient[at] * direction[at];
                }
            double slope = (loss_at(&f, direction, h, step, anneal) -
                            loss_at(&f, direction, -h, step, anneal)) /
                           (2 * h);
            /* the difference of losses near 50 carries 1e-14 / h, the step h^2 times a third
             * derivative in the hundreds */
            check_near(slope, expected, 1e-6 * fmax(1, fabs(expected)));
        }
    }
    free(direction);
    free(gradient);
    fixture_close(&f);
}

static void branch_gradient_is_that_of_the_loss(void **state)
{
    (void)state;
    check_gradient(branch_prior_exponential(7));
    check_gradient(branch_prior_gamma_dirichlet(1, 0.1, 1, 1));
    check_gradient(branch_prior_gamma_dirichlet(2, 3, 1.5, 0.6));
}

/* The self-check of a step finds a branch model whose fast path is wrong by a little. */
static int score_off(branch_model *m, double *log_q, const double *length, const int32_t *decision,
                     int k)
{
    int status = m->ops->reference(m, log_q, length, decision);
    *log_q += 0.02;
    assert_int_equal(k, 1);
    return status;
}

static void self_check_looks_at_branch_lengths(void **state)
{
    (void)state;
    fixture f;
    task_step out;
    diag d;
    diag_init(&d);
    fixture_open(&f, branch_prior_exponential(7));
    check_status(f.job->ops->step(f.job, &out, 0, 1));
    check_status(f.job->ops->verify(f.job, &d));
    branch_model_ops wrong = *f.source.branches->ops;
    wrong.score = score_off;
    f.source.branches->ops = &wrong;
    assert_int_equal(f.job->ops->verify(f.job, &d), ART_ERR_NUMERIC);
    assert_non_null(strstr(d.message[0].text, "log q of branch lengths"));
    diag_free(&d);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branch_gradient_is_that_of_the_loss),
        cmocka_unit_test(self_check_looks_at_branch_lengths),
    };
    return cmocka_run_group_tests_name("variational_f64", tests, NULL, NULL);
}
