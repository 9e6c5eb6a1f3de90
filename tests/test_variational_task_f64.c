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

/* A subsplit network of a few trees, and fixed log p of each at each place among K particles, which
 * stand for likelihoods at fixed noise. */
enum { PLACES = 3, SUPPORT = 105 };

typedef struct tables {
    topology_model *model;
    int32_t decision[SUPPORT][N - 3]; /* of the support */
    int count;
    double log_p[SUPPORT][PLACES];
} tables;

static void tables_open(tables *t)
{
    int32_t all[SUPPORT][N - 3], given[SUPPORT][N - 3];
    double weight[SUPPORT], log_q[SUPPORT];
    size_t n_given = 0;
    const topology_config config = sbn_config(0);
    memset(t, 0, sizeof *t);
    check_status(topology_model_create(&t->model, &config, N, NULL));
    for (int i = 0; i < SUPPORT; i++) {
        exact_tree(all[i], i, N);
        if (i % 12 != 1)
            continue;
        memcpy(given[n_given], all[i], sizeof all[i]);
        weight[n_given++] = 1;
    }
    check_status(topology_model_fit_begin(t->model, given[0], weight, n_given));
    rng r = rng_at(8, RNG_TEST, 0, 0);
    for (size_t i = 0; i < t->model->params.total; i++)
        t->model->params.value[i] = rng_normal(&r);
    topology_model_changed(t->model);
    check_status(topology_model_score(t->model, log_q, all[0], SUPPORT));
    for (int i = 0; i < SUPPORT; i++) {
        if (isinf(log_q[i]))
            continue;
        memcpy(t->decision[t->count], all[i], sizeof all[i]);
        for (int k = 0; k < PLACES; k++)
            t->log_p[t->count][k] = 2 * rng_normal(&r) - 5;
        t->count++;
    }
    assert_true(t->count > (int)n_given && t->count < 30);
}

/* The bound expected over all draws of K trees. With a kind of estimator, the expected gradient of
 * minus the bound is added to the model's: in every case that of the estimator, times the
 * probability of the case. */
static double expected_bound(tables *t, const estimator *kind)
{
    double log_q[SUPPORT], sum = 0;
    int at[PLACES] = {0};
    check_status(topology_model_score(t->model, log_q, t->decision[0], t->count));
    for (bool more = true; more;) {
        double weight[PLACES], share[PLACES], coefficient[PLACES], log_case = 0;
        int32_t drawn[PLACES][N - 3];
        for (int k = 0; k < PLACES; k++) {
            weight[k] = t->log_p[at[k]][k] - log_q[at[k]];
            log_case += log_q[at[k]];
            memcpy(drawn[k], t->decision[at[k]], sizeof drawn[k]);
        }
        sum += exp(log_case) * objective_bound(weight, PLACES);
        if (kind) {
            objective_gradient(share, coefficient, weight, PLACES, *kind);
            for (int k = 0; k < PLACES; k++)
                coefficient[k] *= exp(log_case);
            check_status(topology_model_gradient(t->model, NULL, drawn[0], coefficient, PLACES));
        }
        int k = 0;
        while (k < PLACES && ++at[k] == t->count)
            at[k++] = 0;
        more = k < PLACES;
    }
    return sum;
}

/* VIMCO through the tables of a subsplit network is the gradient of the bound, on the average over
 * all draws: against signed differences of the exact expectation, for every parameter. */
static void tables_have_the_gradient_of_the_bound(void **state)
{
    (void)state;
    tables t;
    tables_open(&t);
    params *p = &t.model->params;
    const double h = 1e-5;
    double largest = 0;
    for (int kind = ESTIMATOR_VIMCO_GEOMETRIC; kind <= ESTIMATOR_VIMCO_ARITHMETIC; kind++) {
        const estimator which = (estimator)kind;
        params_clear_grad(p);
        expected_bound(&t, &which);
        for (int e = 0; e < p->count; e++)
            for (size_t i = 0; i < p->entry[e].size; i++) {
                double side[2];
                real *value = p->value + p->entry[e].offset + i, before = *value;
                for (int s = 0; s < 2; s++) {
                    *value = before + (s ? h : -h);
                    topology_model_changed(t.model);
                    side[s] = expected_bound(&t, NULL);
                }
                *value = before;
                topology_model_changed(t.model);
                const double slope = -(side[1] - side[0]) / (2 * h);
                /* rounding of sums near 5, 1e-15 / h, and h^2 of the step */
                check_near(p->grad[p->entry[e].offset + i], slope, 1e-8);
                largest = fmax(largest, fabs(slope));
            }
    }
    assert_true(largest > 0.01); /* there is a gradient to be found */
    topology_model_free(t.model);
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
        cmocka_unit_test(tables_have_the_gradient_of_the_bound),
        cmocka_unit_test(self_check_looks_at_branch_lengths),
    };
    return cmocka_run_group_tests_name("variational_f64", tests, NULL, NULL);
}
