/* Maximum likelihood on weighted draws, where the answer is known. */
#include "support/check.h"
#include "support/exact.h"
#include "support/models.h"
#include "support/state.h"
#include "support/table_model.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "train/density_task.h"
#include "train/divergence.h"
#include "train/trainer.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rates that end small enough for the noise of the batches to be gone. */
static train_settings schedule(int64_t steps)
{
    train_settings set = train_defaults();
    set.steps = steps;
    set.decay = 0.5;
    set.decay_every = steps / 6 + 1;
    return set;
}

static void density_learns_weights(void **state)
{
    (void)state;
    int32_t decision[4 * 2];
    const double weight[4] = {4, 3, 2, 1};
    for (int i = 0; i < 4; i++)
        exact_tree(decision + 2 * i, 4 * i, TABLE_TAXA);
    topology_model *model;
    task *job;
    trainer *loop;
    train_settings set = schedule(6000);
    set.tree_rate = 0.02;
    set.average = 0.999;
    set.average_from = 1000;
    check_status(table_model_create(&model));
    model->ops->initialise(model, 2);
    check_status(density_create(&job, model, decision, weight, 4, 20, PICKS_INDEPENDENT, 3));
    check_status(trainer_create(&loop, job, &set, NULL));
    while (loop->step < set.steps)
        check_status(trainer_advance(loop, NULL));
    divergence raw, averaged;
    check_status(divergence_compute(&raw, model, decision, weight, 4, 3));
    trainer_swap_average(loop);
    check_status(divergence_compute(&averaged, model, decision, weight, 4, 3));
    trainer_swap_average(loop);
    assert_true(raw.kl >= 0 && raw.kl < 0.02);
    assert_true(averaged.kl >= 0 && averaged.kl < 0.02);
    assert_true(averaged.kl != raw.kl);
    double entropy = 0;
    for (int i = 0; i < 4; i++)
        entropy -= weight[i] / 10 * log(weight[i] / 10);
    check_near(raw.cross_entropy - raw.kl, entropy, 1e-12);
    trainer_free(loop);
    job->ops->free(job);
    model->ops->free(model);
}

/* Batches by a threshold: all trees with their exact weights where there is room; otherwise the
 * heavy ones, and a loss whose mean over the steps is that of all trees. */
static void threshold_batches(void **state)
{
    (void)state;
    enum { ALL = 15, STEPS = 4000 };
    int32_t decision[ALL * 2];
    double weight[ALL], log_q[ALL], expected = 0, sum = 0, total = 0;
    topology_model *model;
    check_status(table_model_create(&model));
    model->ops->initialise(model, 2);
    for (int i = 0; i < ALL; i++) {
        exact_tree(decision + 2 * i, i, TABLE_TAXA);
        total += weight[i] = pow(0.7, i % 8) * (i < 8 ? 1 : 0.3); /* not sorted */
    }
    check_status(topology_model_score(model, log_q, decision, ALL));
    for (int i = 0; i < ALL; i++)
        expected -= weight[i] / total * log_q[i];
    for (int batch = 1; batch <= ALL + 1; batch += 5) {
        task *job;
        task_step step;
        double squares = 0;
        check_status(density_create(&job, model, decision, weight, ALL, batch, PICKS_THRESHOLD, 3));
        sum = 0;
        for (uint32_t i = 0; i < STEPS; i++) {
            check_status(job->ops->step(job, &step, i, 1));
            assert_true(step.trees >= 1 || batch == 1);
            assert_true(step.trees <= batch && step.distinct == step.trees);
            sum += step.loss;
            squares += (step.loss - expected) * (step.loss - expected);
        }
        const double error = sqrt(squares) / STEPS;
        check_near(sum / STEPS, expected, 5 * error + 1e-12); /* five standard errors */
        assert_true(batch < ALL ? error > 0 : error < 1e-12);
        job->ops->free(job);
    }
    model->ops->free(model);
}

/* Lengths on random topologies of six taxa: the even draws are those of one branch model, with
 * random weights; the odd ones those of another, with weight 0. */
enum { TAXA = 6, EDGES = 2 * TAXA - 3, DRAWS = 20000, HIDDEN = 12 };

typedef struct draws {
    int32_t decision[DRAWS * (TAXA - 3)];
    double length[DRAWS * EDGES], log_q[DRAWS], weight[DRAWS];
} draws;

static branch_model *make_branches(uint64_t seed)
{
    branch_model *m;
    check_status(make_lognormal(&m, TAXA, HIDDEN, NULL));
    m->ops->initialise(m, seed);
    return m;
}

/* Weights half as large again as the initial ones: the moments differ more between trees. */
static branch_model *make_teacher(uint64_t seed)
{
    branch_model *m = make_branches(seed);
    for (size_t i = 0; i < m->params.total; i++)
        m->params.value[i] *= (real)1.5;
    m->ops->changed(m);
    return m;
}

static draws *make_draws(branch_model *teacher, branch_model *other, uint32_t part)
{
    draws *s = calloc(1, sizeof *s);
    for (int i = 0; i < DRAWS; i++) {
        rng r = rng_at(1, RNG_TEST, part, (uint32_t)i);
        int32_t *decision = s->decision + i * (TAXA - 3);
        for (uint32_t j = 0; j < TAXA - 3; j++)
            decision[j] = (int32_t)rng_below(&r, 2 * j + 3);
        branch_model *m = i % 2 ? other : teacher;
        check_status(m->ops->sample(m, s->length + i * EDGES, &s->log_q[i], decision, 1, 2,
                                    RNG_TEST, part, (uint32_t)i));
        s->weight[i] = i % 2 ? 0 : 0.5 + rng_uniform(&r);
    }
    return s;
}

/* KL(teacher || m) over the teacher's draws, and its standard error. */
static double excess(branch_model *m, const draws *s, double *error)
{
    static double log_q[DRAWS];
    double sum = 0, squares = 0;
    const double n = DRAWS / 2;
    check_status(m->ops->score(m, log_q, s->length, s->decision, DRAWS));
    for (int i = 0; i < DRAWS; i += 2) {
        double d = s->log_q[i] - log_q[i];
        sum += d;
        squares += d * d;
    }
    *error = sqrt((squares / n - sum / n * sum / n) / n);
    return sum / n;
}

/* The mean of log q over new draws cannot exceed minus the entropy, and comes close to it. */
static void branches_reach_the_entropy(void **state)
{
    (void)state;
    branch_model *teacher = make_teacher(1), *other = make_teacher(2), *learner = make_branches(3);
    draws *seen = make_draws(teacher, other, 0), *fresh = make_draws(teacher, other, 1);
    task *job;
    trainer *loop;
    train_settings set = schedule(2400);
    set.branch_rate = 0.01;
    check_status(branch_density_create(&job, learner, seen->decision, seen->length, seen->weight,
                                       DRAWS, 64, PICKS_INDEPENDENT, 4));
    check_status(trainer_create(&loop, job, &set, NULL));
    double error, before = excess(learner, fresh, &error);
    while (loop->step < set.steps)
        check_status(trainer_advance(loop, NULL));
    double after = excess(learner, fresh, &error);
    assert_true(before > 2);
    assert_true(after > -4 * error);
    /* ten thousand draws determine each of some hundred parameters to 1 / (2 * 10000) */
    assert_true(after < 0.04);
    train_report report;
    trainer_report(loop, &report);
    check_near(report.rate, 0.01 / 32, 1e-9); /* halved five times */
    assert_true(report.saved == 0 && isnan(report.best));
    trainer_free(loop);
    job->ops->free(job);
    free(seen);
    free(fresh);
    teacher->ops->free(teacher);
    other->ops->free(other);
    learner->ops->free(learner);
}

/* A task without topology model goes on from a checkpoint as if it had not stopped. */
static void branches_resume_exactly(void **state)
{
    (void)state;
    branch_model *teacher = make_teacher(1);
    draws *s = make_draws(teacher, teacher, 0);
    train_settings set = schedule(40);
    branch_model *m[2];
    task *job[2];
    trainer *loop[2];
    saved_state saved = {0};
    for (int i = 0; i < 2; i++) {
        m[i] = make_branches(3 + (uint64_t)i);
        check_status(branch_density_create(&job[i], m[i], s->decision, s->length, s->weight, DRAWS,
                                           8, PICKS_INDEPENDENT, 4));
        check_status(trainer_create(&loop[i], job[i], &set, NULL));
    }
    while (loop[0]->step < 17)
        check_status(trainer_advance(loop[0], NULL));
    check_status(trainer_fields(loop[0], &saved));
    state_turn(&saved, NULL);
    check_status(trainer_fields(loop[1], &saved));
    check_status(saved_state_end(&saved));
    saved_state_free(&saved);
    for (int i = 0; i < 2; i++)
        while (loop[i]->step < set.steps)
            check_status(trainer_advance(loop[i], NULL));
    assert_memory_equal(m[0]->params.value, m[1]->params.value, m[0]->params.total * sizeof(real));
    assert_memory_equal(&loop[0]->sums, &loop[1]->sums, sizeof(train_sums));
    for (int i = 0; i < 2; i++) {
        trainer_free(loop[i]);
        job[i]->ops->free(job[i]);
        m[i]->ops->free(m[i]);
    }
    free(s);
    teacher->ops->free(teacher);
}

static void nothing_to_draw_from_is_refused(void **state)
{
    (void)state;
    branch_model *m = make_branches(1);
    task *job;
    const int32_t decision[TAXA - 3] = {0};
    const double length[EDGES] = {1}, weight = 1;
    assert_int_equal(
        branch_density_create(&job, m, decision, length, &weight, 0, 1, PICKS_INDEPENDENT, 1),
        ART_ERR_USAGE);
    assert_int_equal(
        branch_density_create(&job, m, decision, length, &weight, 1, 0, PICKS_INDEPENDENT, 1),
        ART_ERR_USAGE);
    assert_null(job);
    m->ops->free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density_learns_weights),
        cmocka_unit_test(threshold_batches),
        cmocka_unit_test(branches_reach_the_entropy),
        cmocka_unit_test(branches_resume_exactly),
        cmocka_unit_test(nothing_to_draw_from_is_refused),
    };
    return cmocka_run_group_tests_name("density", tests, NULL, NULL);
}
