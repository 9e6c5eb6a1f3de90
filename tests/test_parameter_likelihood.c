/* Maximum likelihood of branch lengths and parameters: where the answer is known, and as a maximum
 * of the reference likelihood. */
#include "support/check.h"
#include "support/problem.h"

#include "branch/parameter_likelihood.h"
#include "lik/likelihood.h"
#include "subst/simulate.h"

#include <math.h>
#include <string.h>

static const char *const MODELS[] = {
    "JC",  "JC+G4",    "JC+I",     "K80",   "HKY+F{0.3,0.2,0.1,0.4}+G4{0.7}",
    "HKY", "F81+I+G4", "TN93+G2",  "SYM+I", "TVM+G4",
    "GTR", "GTR+G4",   "GTR+I+G4",
};
enum { N_MODELS = sizeof MODELS / sizeof *MODELS, MOST_EDGES = 32 };

/* The prior must not matter: it is a strange one. */
static void init(branch_posterior *p, parameter_likelihood **q, const alignment *a,
                 const char *text)
{
    const free_model f = free_model_of(text);
    check_status(branch_posterior_init_free(p, a, NULL, &f, branch_prior_exponential(1e4)));
    check_status(parameter_likelihood_create(q, p));
}

/* Sequences that evolved on the tree of the problem, at parameters near those of the start. */
static problem evolved(const char *text, int n_taxa, int n_sites, uint32_t seed)
{
    const free_model f = free_model_of(text);
    problem data = problem_random(n_taxa, (size_t)n_sites, 1, seed);
    rng stream = rng_at(seed, RNG_TEST, 1, 0);
    double z[FREE_MOST];
    subst_model truth;
    free_model_start(z, &f);
    for (int k = 0; k < f.n_free; k++)
        z[k] *= 1 + 0.2 * rng_normal(&stream);
    free_model_at(&truth, &f, z);
    check_status(simulate_sites(data.alignment.state, data.decision, data.length, n_taxa, &truth,
                                (size_t)n_sites, seed, NULL));
    return data;
}

static double reference(double *slope, const problem *data, const free_model *f,
                        const double *length, const double *z)
{
    subst_model m;
    double value;
    free_model_at(&m, f, z);
    check_status(likelihood_ref(&value, slope, &data->alignment, NULL, &m, data->decision, length));
    return value;
}

/* No slope in any direction but out of the box, and no higher value a little aside, all by the
 * other engine. Steps of z end when they promise 1e-10 nats; with second derivatives of up to 1e4
 * slopes are then below 2e-3. */
static void check_maximum(const parameter_likelihood *q, const problem *data, const double *length,
                          const double *z)
{
    const free_model *f = &q->view.free.block[0].model;
    const int edges = data->n_edges;
    double slope[MOST_EDGES], other[FREE_MOST], aside[MOST_EDGES];
    double low[FREE_MOST], high[FREE_MOST];
    free_model_bounds(low, high, f);
    const double top = reference(slope, data, f, length, z);
    check_near(q->log_likelihood, top, 1e-8);
    for (int e = 0; e < edges; e++) {
        const double by_root = 2 * sqrt(length[e]) * slope[e];
        if (length[e] > 1.01 * LIKELIHOOD_SHORTEST)
            check_near(by_root, 0, 2e-3);
        else
            assert_true(slope[e] < 0);
        memcpy(aside, length, sizeof aside);
        for (int side = 0; side < 2; side++) {
            aside[e] = fmax(length[e] * (side ? 1.02 : 0.98), LIKELIHOOD_SHORTEST);
            assert_true(reference(NULL, data, f, aside, z) <= top + 1e-8);
        }
    }
    for (int k = 0; k < f->n_free; k++) {
        const double h = 1e-4;
        double value[2];
        memcpy(other, z, sizeof other);
        for (int side = 0; side < 2; side++) {
            other[k] = fmin(fmax(z[k] + (side ? h : -h), low[k]), high[k]);
            value[side] = reference(NULL, data, f, length, other);
            assert_true(value[side] <= top + 1e-8);
        }
        if (z[k] - h > low[k] && z[k] + h < high[k])
            check_near((value[1] - value[0]) / (2 * h), 0, 2e-3);
    }
}

static void it_is_a_maximum(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N_MODELS; k++) {
        problem data = evolved(MODELS[k], 9, 400, 71 + k);
        branch_posterior p;
        parameter_likelihood *q;
        double length[MOST_EDGES] = {0}, z[FREE_MOST];
        init(&p, &q, &data.alignment, MODELS[k]);
        memcpy(length, data.length, (size_t)data.n_edges * sizeof *length);
        free_model_start(z, &p.free.block[0].model);
        const double before = reference(NULL, &data, &p.free.block[0].model, length, z);
        check_status(parameter_likelihood_find(q, data.decision, length, z, 1e-10));
        assert_true(q->log_likelihood >= before);
        check_maximum(q, &data, length, z);
        parameter_likelihood_free(q);
        branch_posterior_free(&p);
        problem_free(&data);
    }
}

/* From any start upwards, and from the usual ones to the same place. */
static void starts_lead_upwards(void **state)
{
    (void)state;
    problem data = evolved("GTR+G4", 8, 500, 5);
    branch_posterior p;
    parameter_likelihood *q;
    init(&p, &q, &data.alignment, "GTR+G4");
    double best = 0;
    for (uint32_t i = 0; i < 6; i++) {
        rng stream = rng_at(8, RNG_TEST, 0, i);
        double length[MOST_EDGES], z[FREE_MOST];
        for (int e = 0; e < data.n_edges; e++)
            length[e] = i == 1 ? 1e-7 : i == 2 ? 3 : 0.2 * rng_exponential(&stream);
        free_model_start(z, &p.free.block[0].model);
        for (int k = 0; k < p.free.n_free && i > 2; k++)
            z[k] *= 1 + 0.3 * rng_normal(&stream);
        const double before = reference(NULL, &data, &p.free.block[0].model, length, z);
        parameter_likelihood_forget(q);
        check_status(parameter_likelihood_find(q, data.decision, length, z, 1e-8));
        assert_true(q->log_likelihood > before);
        best = i ? best : q->log_likelihood;
        check_near(q->log_likelihood, best, 1e-6);
    }
    parameter_likelihood_free(q);
    branch_posterior_free(&p);
    problem_free(&data);
}

/* Two sequences: the third is unknown. K80 has a closed form for them (Kimura 1980). */
static void two_sequences_have_a_closed_form(void **state)
{
    (void)state;
    enum { SAME, TRANSITIONS, TRANSVERSIONS, PATTERNS = 16 };
    const double count[] = {100, 7, 5}; /* of each pattern of a kind: 4, 4 and 8 patterns */
    problem data = problem_random(3, PATTERNS, 1, 1);
    double all = 0, changed[3] = {0};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int k = 4 * i + j, kind = i == j         ? SAME
                                            : (i ^ j) == 2 ? TRANSITIONS
                                                           : TRANSVERSIONS;
            data.alignment.state[k] = (uint8_t)(1 << i);
            data.alignment.state[PATTERNS + k] = (uint8_t)(1 << j);
            data.alignment.state[2 * PATTERNS + k] = STATE_ANY;
            data.alignment.weight[k] = (uint32_t)count[kind];
            changed[kind] += count[kind];
            all += count[kind];
        }
    branch_posterior p;
    parameter_likelihood *q;
    double length[] = {0.1, 0.2, 0.3}, z[FREE_MOST], kappa;
    const double a = log(1 - 2 * changed[TRANSITIONS] / all - changed[TRANSVERSIONS] / all);
    const double b = log(1 - 2 * changed[TRANSVERSIONS] / all);
    init(&p, &q, &data.alignment, "K80");
    free_model_start(z, &p.free.block[0].model);
    check_status(parameter_likelihood_find(q, data.decision, length, z, 1e-12));
    free_model_values(&kappa, &p.free.block[0].model, z);
    check_near(kappa, 2 * a / b - 1, 1e-5);
    /* Which of the branches lead to the first two: those whose length matters. */
    double slope[3], sum = 0;
    const double aside[] = {0.1, 0.1, 0.1};
    reference(slope, &data, &p.free.block[0].model, aside, z);
    for (int e = 0; e < 3; e++)
        sum += fabs(slope[e]) > 1e-6 ? length[e] : 0;
    check_near(sum, -a / 2 - b / 4, 1e-6);
    parameter_likelihood_free(q);
    branch_posterior_free(&p);
    problem_free(&data);
}

/* Sequences without a change: no length, and the frequencies are those of the bases. */
static void no_change_has_no_length(void **state)
{
    (void)state;
    const double share[] = {0.1, 0.2, 0.3, 0.4};
    problem data = problem_random(6, 4, 1, 2);
    for (int k = 0; k < 4; k++) {
        data.alignment.weight[k] = (uint32_t)(1000 * share[k]);
        for (int i = 0; i < 6; i++)
            data.alignment.state[i * 4 + k] = (uint8_t)(1 << k);
    }
    branch_posterior p;
    parameter_likelihood *q;
    double z[FREE_MOST], value[FREE_COLUMNS_MOST];
    init(&p, &q, &data.alignment, "F81");
    free_model_start(z, &p.free.block[0].model);
    check_status(parameter_likelihood_find(q, data.decision, data.length, z, 1e-10));
    free_model_values(value, &p.free.block[0].model, z);
    for (int i = 0; i < 4; i++) /* slopes of 2e-3 over second derivatives of 200 */
        check_near(value[i], share[i], 1e-5);
    for (int e = 0; e < data.n_edges; e++)
        check_close(data.length[e], LIKELIHOOD_SHORTEST, 1e-12);
    parameter_likelihood_free(q);
    branch_posterior_free(&p);
    problem_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_maximum),
        cmocka_unit_test(starts_lead_upwards),
        cmocka_unit_test(two_sequences_have_a_closed_form),
        cmocka_unit_test(no_change_has_no_length),
    };
    return cmocka_run_group_tests_name("parameter_likelihood", tests, NULL, NULL);
}
