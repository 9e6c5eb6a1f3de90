/* The training loop and its tasks, on a model of five taxa with one logit per tree, where the
 * answers are known. */
#include "support/check.h"
#include "support/exact.h"
#include "support/state.h"
#include "support/table_model.h"

#include "artreeformer.h"
#include "train/divergence.h"
#include "train/evidence.h"
#include "results/posterior.h"
#include "train/trainer.h"
#include "train/variational_task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A target with a fixed value per tree; it breaks (NaN) in a given range of calls. */
typedef struct fixed_target {
    target base;
    double value[TABLE_TREES];
    double plain_off; /* added by plain, to make the self-check fail */
    int calls, broken_from, broken_to;
} fixed_target;

static void fixed_evaluate(target *t, double *value, double *gradient, const int32_t *decision,
                           const double *length, int k)
{
    (void)gradient, (void)length;
    fixed_target *self = (fixed_target *)t;
    int broken = self->calls >= self->broken_from && self->calls < self->broken_to;
    self->calls++;
    for (int i = 0; i < k; i++)
        value[i] = broken ? (double)NAN
                          : self->value[exact_index(decision + i * (TABLE_TAXA - 3), TABLE_TAXA)];
}

static int fixed_plain(target *t, double *value, const int32_t *decision, const double *length)
{
    (void)length;
    fixed_target *self = (fixed_target *)t;
    *value = self->value[exact_index(decision, TABLE_TAXA)] + self->plain_off;
    return ART_OK;
}

static void fixed_free(target *t)
{
    (void)t;
}

static const target_ops FIXED_OPS = {fixed_evaluate, fixed_plain, fixed_free};

typedef struct fixture {
    topology_model *model;
    fixed_target goal;
    task *job;
    trainer *loop;
    particle_source source;
} fixture;

static train_settings quick(int64_t steps)
{
    train_settings set = train_defaults();
    set.steps = steps;
    set.tree_rate = 0.02;
    set.decay = 0.5;
    set.decay_every = steps / 6 + 1;
    set.anneal_steps = steps / 10;
    return set;
}

static void fixture_open(fixture *f, const train_settings *set, estimator kind, int k)
{
    memset(f, 0, sizeof *f);
    check_status(table_model_create(&f->model));
    f->model->ops->initialise(f->model, 5);
    f->goal.base = (target){&FIXED_OPS, TABLE_TAXA, 0};
    for (int t = 0; t < TABLE_TREES; t++)
        f->goal.value[t] = -(t * 7 % TABLE_TREES) * 0.4;
    f->source = (particle_source){.trees = f->model, .goal = &f->goal.base, .seed = 1};
    check_status(variational_create(&f->job, &f->source, k, kind));
    check_status(trainer_create(&f->loop, f->job, set, NULL));
}

static void fixture_close(fixture *f)
{
    trainer_free(f->loop);
    f->job->ops->free(f->job);
    f->model->ops->free(f->model);
}

static double exact_log_z(const fixture *f)
{
    return log_sum_exp(f->goal.value, TABLE_TREES);
}

/* Total variation between q and exp(value) / Z. */
static double distance(const fixture *f)
{
    int32_t decision[TABLE_TREES * (TABLE_TAXA - 3)];
    double weight[TABLE_TREES];
    divergence out;
    for (int t = 0; t < TABLE_TREES; t++) {
        exact_tree(decision + t * (TABLE_TAXA - 3), t, TABLE_TAXA);
        weight[t] = exp(f->goal.value[t]);
    }
    check_status(divergence_compute(&out, f->model, decision, weight, TABLE_TREES, 4));
    return out.total_variation;
}

static void every_estimator_finds_the_target(void **state)
{
    (void)state;
    for (int kind = ESTIMATOR_VIMCO_GEOMETRIC; kind <= ESTIMATOR_RWS; kind++) {
        train_settings set = quick(100000);
        fixture f;
        fixture_open(&f, &set, (estimator)kind, 10);
        assert_true(distance(&f) > 0.3);
        while (f.loop->step < set.steps)
            check_status(trainer_advance(f.loop, NULL));
        /* what noise the last learning rates leave */
        check_near(distance(&f), 0, 0.02);
        evidence e;
        check_status(evidence_run(&e, &f.source, &(evidence_settings){100, 50}));
        check_near(e.log_evidence, exact_log_z(&f), 4 * e.log_evidence_se + 1e-9);
        assert_true(e.log_evidence_sd < 0.01 && e.ess > 0.99 * 5000);
        assert_true(e.lower_bound_1 <= e.lower_bound_10 && e.lower_bound_10 <= e.log_evidence);
        const int32_t *best;
        check_near(variational_best(f.job), 0, 0);
        assert_int_equal(variational_best_trees(f.job, &best), 1);
        assert_int_equal(exact_index(best, TABLE_TAXA), 0);
        fixture_close(&f);
    }
}

static void best_trees_are_all_kept(void **state)
{
    (void)state;
    train_settings set = quick(500);
    fixture f;
    fixture_open(&f, &set, ESTIMATOR_VIMCO_GEOMETRIC, 10);
    f.goal.value[3] = f.goal.value[11] = f.goal.value[14] = 2;
    while (f.loop->step < set.steps)
        check_status(trainer_advance(f.loop, NULL));
    const int32_t *best;
    int seen = 0;
    assert_int_equal(variational_best_trees(f.job, &best), 3);
    for (int i = 0; i < 3; i++)
        seen |= 1 << exact_index(best + i * (TABLE_TAXA - 3), TABLE_TAXA);
    assert_int_equal(seen, 1 << 3 | 1 << 11 | 1 << 14);
    fixture_close(&f);
}

/* Draws from an untrained q, weighted, give the target's own distribution. */
static void weights_correct_a_wrong_q(void **state)
{
    (void)state;
    train_settings set = quick(100);
    fixture f;
    fixture_open(&f, &set, ESTIMATOR_RWS, 5);
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < TABLE_TAXA; i++)
        check_status(taxa_add(&names, (char[]){(char)('a' + i)}, 1));
    posterior p;
    evidence e;
    evidence_sampling *sampling;
    const particles *batch;
    check_status(posterior_init(&p, &names, 1000, ROWS_BY_WEIGHT, false, 1));
    check_status(evidence_sampling_create(&sampling, &f.source, &(evidence_settings){1000, 100}));
    while (!evidence_sampling_is_done(sampling)) {
        check_status(evidence_sampling_advance(sampling, &batch));
        check_status(posterior_add(&p, batch));
    }
    evidence_sampling_finish(sampling, &e);
    evidence_sampling_free(sampling);
    check_status(posterior_finish(&p));
    assert_int_equal(p.trees.count, TABLE_TREES);
    assert_int_equal(p.count, 1000);
    /* five standard errors of a share of 0.3 at the effective sample size */
    for (size_t i = 0; i < p.trees.count; i++) {
        double exact = exp(f.goal.value[exact_index(tree_set_decision(&p.trees, i), TABLE_TAXA)] -
                           exact_log_z(&f));
        check_near(p.trees.weight[i], exact, 5 * sqrt(0.3 * 0.7 / e.ess));
    }
    /* and so are the rows of the sample, which count the same, within four standard errors */
    double share[TABLE_TREES] = {0};
    for (int i = 0; i < p.count; i++)
        share[exact_index(p.decision + (size_t)i * (TABLE_TAXA - 3), TABLE_TAXA)] += 1.0 / p.count;
    for (int i = 0; i < TABLE_TREES; i++) {
        const double exact = exp(f.goal.value[i] - exact_log_z(&f));
        check_near(share[i], exact, 4 * sqrt(exact * (1 - exact) / p.count));
    }
    check_near(e.log_mean_weight, exact_log_z(&f), 5 / sqrt(e.ess));
    posterior_free(&p);
    taxa_free(&names);
    fixture_close(&f);
}

static void annealing_schedule(void **state)
{
    (void)state;
    static const struct {
        anneal_shape shape;
        double half_way;
    } row[] = {{ANNEAL_LINEAR, 0.501}, {ANNEAL_GEOMETRIC, 0.031622776601683794}};
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
        train_settings set = quick(100);
        fixture f;
        set.anneal_steps = 50;
        set.anneal_shape = row[k].shape;
        fixture_open(&f, &set, ESTIMATOR_RWS, 2);
        check_near(trainer_anneal(f.loop), 0.001, 1e-15);
        for (int i = 0; i < 25; i++)
            check_status(trainer_advance(f.loop, NULL));
        check_near(trainer_anneal(f.loop), row[k].half_way, 1e-15);
        for (int i = 0; i < 30; i++)
            check_status(trainer_advance(f.loop, NULL));
        check_near(trainer_anneal(f.loop), 1, 0);
        fixture_close(&f);
    }
}

static void broken_steps_do_not_update(void **state)
{
    (void)state;
    train_settings set = quick(100);
    fixture f;
    real before[TABLE_TREES];
    fixture_open(&f, &set, ESTIMATOR_VIMCO_GEOMETRIC, 5);
    f.goal.broken_from = 10;
    f.goal.broken_to = 10 + TRAIN_SKIPS - 1;
    for (int i = 0; i < 10; i++)
        check_status(trainer_advance(f.loop, NULL));
    memcpy(before, params_value(&f.model->params, 0), sizeof before);
    for (int i = 0; i < TRAIN_SKIPS - 1; i++)
        check_status(trainer_advance(f.loop, NULL));
    assert_memory_equal(before, params_value(&f.model->params, 0), sizeof before);
    check_status(trainer_advance(f.loop, NULL));
    assert_memory_not_equal(before, params_value(&f.model->params, 0), sizeof before);
    train_report report;
    trainer_report(f.loop, &report);
    assert_int_equal(report.skipped, TRAIN_SKIPS - 1);
    assert_true(isfinite(report.objective));
    check_near(report.saved, 0.5, 1e-12);

    f.goal.broken_to = 1000;
    f.goal.broken_from = 0;
    diag d;
    diag_init(&d);
    int status = ART_OK;
    for (int i = 0; i < TRAIN_SKIPS && !status; i++)
        status = trainer_advance(f.loop, &d);
    assert_int_equal(status, ART_ERR_NUMERIC);
    assert_int_equal(f.loop->skipped_in_row, TRAIN_SKIPS);
    assert_non_null(strstr(d.message[0].text, "NaN or infinite"));
    diag_free(&d);
    fixture_close(&f);
}

static void self_check_stops_the_run(void **state)
{
    (void)state;
    train_settings set = quick(100);
    fixture f;
    set.verify_every = 7;
    fixture_open(&f, &set, ESTIMATOR_VIMCO_GEOMETRIC, 5);
    f.goal.plain_off = 1e-3;
    diag d;
    diag_init(&d);
    for (int i = 0; i < 6; i++)
        check_status(trainer_advance(f.loop, &d));
    assert_int_equal(trainer_advance(f.loop, &d), ART_ERR_NUMERIC);
    assert_non_null(strstr(d.message[0].text, "self-check"));
    diag_free(&d);
    fixture_close(&f);
}

/* Saving at any step and going on in a new process gives the same bits. */
static void resume_is_exact(void **state)
{
    (void)state;
    train_settings set = quick(60);
    set.average = 0.99;
    set.average_from = 10;
    for (int64_t cut = 0; cut <= 60; cut += 6) {
        fixture straight, first, second;
        fixture_open(&straight, &set, ESTIMATOR_VIMCO_GEOMETRIC, 5);
        fixture_open(&first, &set, ESTIMATOR_VIMCO_GEOMETRIC, 5);
        fixture_open(&second, &set, ESTIMATOR_VIMCO_GEOMETRIC, 5);
        second.model->ops->initialise(second.model, 99);
        while (straight.loop->step < set.steps)
            check_status(trainer_advance(straight.loop, NULL));
        while (first.loop->step < cut)
            check_status(trainer_advance(first.loop, NULL));
        saved_state s = {0};
        check_status(trainer_fields(first.loop, &s));
        state_turn(&s, NULL);
        check_status(trainer_fields(second.loop, &s));
        check_status(saved_state_end(&s));
        saved_state_free(&s);
        assert_int_equal(second.loop->step, cut);
        check_status(trainer_warm(second.loop));
        assert_int_equal(second.goal.calls > 0, cut < set.steps); /* no draws after the last step */
        while (second.loop->step < set.steps)
            check_status(trainer_advance(second.loop, NULL));
        size_t size = TABLE_TREES * sizeof(real);
        assert_memory_equal(params_value(&straight.model->params, 0),
                            params_value(&second.model->params, 0), size);
        assert_memory_equal(straight.loop->trees.average, second.loop->trees.average, size);
        assert_memory_equal(&straight.loop->sums, &second.loop->sums, sizeof(train_sums));
        check_near(straight.loop->best, second.loop->best, 0);
        check_near(variational_best(straight.job), variational_best(second.job), 0);
        fixture_close(&straight);
        fixture_close(&first);
        fixture_close(&second);
    }
}

/* An early end: a quarter of the steps more, at rates that fall to 0; resumed, the same bits. */
static void cooling_ends_early(void **state)
{
    (void)state;
    train_settings set = quick(600);
    set.average = 0.9;
    fixture straight, first, second;
    fixture_open(&straight, &set, ESTIMATOR_RWS, 5);
    fixture_open(&first, &set, ESTIMATOR_RWS, 5);
    fixture_open(&second, &set, ESTIMATOR_RWS, 5);
    trainer_cool(straight.loop); /* not before the first step */
    assert_int_equal(straight.loop->set.steps, 600);
    while (straight.loop->step < straight.loop->set.steps) {
        check_status(trainer_advance(straight.loop, NULL));
        if (straight.loop->step % 120 == 0) /* only the first time */
            trainer_cool(straight.loop);
    }
    assert_int_equal(straight.loop->step, 120 + 120 / 4 + 1);
    assert_int_equal(straight.loop->cooled_at, 120);
    const double rate = optim_rate(&straight.loop->trees.settings, 120);
    check_near(rate, 0.02 * 0.5, 1e-15); /* that of the schedule, after one decay */
    check_near(optim_rate(&straight.loop->trees.settings, 150), rate / 31, 1e-15);
    while (first.loop->step < 130) {
        check_status(trainer_advance(first.loop, NULL));
        if (first.loop->step == 120)
            trainer_cool(first.loop);
    }
    saved_state s = {0};
    check_status(trainer_fields(first.loop, &s));
    state_turn(&s, NULL);
    check_status(trainer_fields(second.loop, &s));
    check_status(saved_state_end(&s));
    saved_state_free(&s);
    while (second.loop->step < second.loop->set.steps)
        check_status(trainer_advance(second.loop, NULL));
    const size_t size = TABLE_TREES * sizeof(real);
    assert_int_equal(second.loop->step, straight.loop->step);
    assert_memory_equal(params_value(&straight.model->params, 0),
                        params_value(&second.model->params, 0), size);
    assert_memory_equal(straight.loop->trees.average, second.loop->trees.average, size);
    while (first.loop->step < 590) /* near the end it would not be early */
        first.loop->step++;
    first.loop->cooled_at = 0;
    first.loop->set.steps = 600;
    trainer_cool(first.loop);
    assert_int_equal(first.loop->set.steps, 600);
    fixture_close(&straight);
    fixture_close(&first);
    fixture_close(&second);
}

static void foreign_checkpoint_is_refused(void **state)
{
    (void)state;
    train_settings set = quick(10);
    fixture f;
    fixture_open(&f, &set, ESTIMATOR_RWS, 5);
    static const struct {
        const char *field;
        double value;
    } damage[] = {
        {"train.step", -1},     {"train.skipped", -1},    {"train.skipped_in_row", 1e6},
        {"train.cooled_at", 2}, {"optim.trees.step", -1}, {"best.trees", 9},
    };
    saved_state s = {0}, copy;
    state_turn(&s, NULL);
    assert_int_equal(trainer_fields(f.loop, &s), ART_ERR_MISMATCH);
    saved_state_free(&s);
    check_status(trainer_advance(f.loop, NULL));
    check_status(trainer_fields(f.loop, &s));
    state_turn(&s, NULL);
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        state_damaged(&copy, &s, damage[i].field, 0, damage[i].value);
        assert_int_equal(trainer_fields(f.loop, &copy), ART_ERR_MISMATCH);
        saved_state_free(&copy);
    }
    for (size_t i = 0; i < s.tensors.count; i++) {
        state_without(&copy, &s, s.tensors.tensor[i].name);
        assert_int_equal(trainer_fields(f.loop, &copy), ART_ERR_MISMATCH);
        saved_state_free(&copy);
    }
    saved_state_free(&s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_estimator_finds_the_target),
        cmocka_unit_test(best_trees_are_all_kept),
        cmocka_unit_test(weights_correct_a_wrong_q),
        cmocka_unit_test(annealing_schedule),
        cmocka_unit_test(broken_steps_do_not_update),
        cmocka_unit_test(self_check_stops_the_run),
        cmocka_unit_test(resume_is_exact),
        cmocka_unit_test(cooling_ends_early),
        cmocka_unit_test(foreign_checkpoint_is_refused),
    };
    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
