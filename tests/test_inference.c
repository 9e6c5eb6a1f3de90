/* Whole inferences on small data, from the alignment to the evidence and the distribution of
 * topologies, against exact answers (support/exact.h). */
#include "support/check.h"
#include "support/exact.h"
#include "support/models.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "train/density_task.h"
#include "train/divergence.h"
#include "train/evidence.h"
#include "train/trainer.h"
#include "train/variational_task.h"
#include "subst/model_string.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TREES = 945, HIDDEN = 16, HEADS = 2, SEED = 1 };
static const double PRIOR_RATE = 10;

/* Under sanitizers a step costs some ten times as much: there are fewer of them, and they leave
 * q farther from its target. What holds for any q is checked as sharply. */
#ifdef ART_SANITIZED
enum { SHORTER = 4 };
static const double FARTHER = 3;
#else
enum { SHORTER = 1 };
static const double FARTHER = 1;
#endif

/* Everything that an inference holds; what a kind of inference does not use stays NULL. */
typedef struct run {
    int n_taxa;
    int n_trees;
    int32_t *all; /* decisions of all topologies, [n_trees][N-3] */
    small_alignment data;
    subst_model model;
    particle_source source;
    task *job;
    trainer *loop;
} run;

static void run_open(run *r, int n_taxa)
{
    memset(r, 0, sizeof *r);
    r->n_taxa = n_taxa;
    r->n_trees = exact_trees(n_taxa);
    r->all = malloc((size_t)r->n_trees * (size_t)(n_taxa - 3) * sizeof *r->all);
    assert_non_null(r->all);
    for (int i = 0; i < r->n_trees; i++)
        exact_tree(r->all + i * (n_taxa - 3), i, n_taxa);
    r->source.prior = branch_prior_exponential(PRIOR_RATE);
    r->source.seed = SEED;
    check_status(make_artreeformer(&r->source.trees, n_taxa, HIDDEN, HEADS, NULL));
    r->source.trees->ops->initialise(r->source.trees, SEED);
}

static void run_close(run *r)
{
    trainer_free(r->loop);
    r->job->ops->free(r->job);
    target_free(r->source.goal);
    if (r->source.branches)
        r->source.branches->ops->free(r->source.branches);
    r->source.trees->ops->free(r->source.trees);
    free(r->all);
}

/* The learning rates fall to a hundredth, so that the last steps average out the noise. */
static void run_train(run *r, int steps, double rate, double average)
{
    train_settings set = train_defaults();
    set.steps = steps / SHORTER;
    set.anneal_steps = 3 * set.steps / 10;
    set.tree_rate = set.branch_rate = rate;
    set.decay = 0.6;
    set.decay_every = set.steps / 10;
    set.average = average;
    check_status(trainer_create(&r->loop, r->job, &set, NULL));
    while (r->loop->step < set.steps)
        check_status(trainer_advance(r->loop, NULL));
    assert_int_equal(r->loop->skipped, 0);
}

/* Between q and an exact distribution over all topologies. */
static divergence run_distance(const run *r, const double *exact)
{
    divergence out;
    check_status(
        divergence_compute(&out, r->source.trees, r->all, exact, (size_t)r->n_trees, r->n_trees));
    return out;
}

/* Weights, divided by the exact evidence and added up by topology: the mean of such a sum over
 * all particles is the exact probability of the topology, whatever q is. */
typedef struct tally {
    int n_taxa;
    double log_evidence;
    long total, count[MAX_TREES];
    double sum[MAX_TREES], square[MAX_TREES];
} tally;

static void tally_batch(tally *t, const particles *batch)
{
    for (int i = 0; i < batch->k; i++) {
        int tree = exact_index(batch->decision + i * (t->n_taxa - 3), t->n_taxa);
        double weight = exp(batch->log_weight[i] - t->log_evidence);
        t->total++;
        t->count[tree]++;
        t->sum[tree] += weight;
        t->square[tree] += weight * weight;
    }
}

/* The mean of n numbers, given their sum and that of their squares, is `expected` within four
 * of its standard errors. */
static void check_mean(double sum, double square, long n, double expected)
{
    double mean = sum / (double)n, variance = square / (double)n - mean * mean;
    check_near(mean, expected, 4 * sqrt(variance / (double)n));
}

static void check_unbiased(const run *r, const double *exact, double log_evidence, int repeats)
{
    tally t = {.n_taxa = r->n_taxa, .log_evidence = log_evidence};
    evidence e;
    evidence_sampling *sampling;
    const particles *batch;
    check_status(
        evidence_sampling_create(&sampling, &r->source, &(evidence_settings){1000, repeats}));
    while (!evidence_sampling_is_done(sampling)) {
        check_status(evidence_sampling_advance(sampling, &batch));
        tally_batch(&t, batch);
    }
    evidence_sampling_finish(sampling, &e);
    evidence_sampling_free(sampling);
    double sum = 0, square = 0;
    assert_int_equal(t.total, 1000 * repeats);
    for (int i = 0; i < r->n_trees; i++) {
        sum += t.sum[i];
        square += t.square[i];
        if (t.count[i] >= 1000) /* so many that the standard error means something */
            check_mean(t.sum[i], t.square[i], t.total, exact[i]);
    }
    check_mean(sum, square, t.total, 1);
    check_near(e.log_mean_weight, log_evidence + log(sum / (double)t.total), 1e-10);
}

/* The estimate as a user gets it, within its own error bars, which must be small. */
static void check_evidence(const run *r, double exact, double largest_sd)
{
    evidence e;
    check_status(evidence_run(&e, &r->source, &(evidence_settings){1000, 20}));
    check_near(e.log_evidence, exact, 4 * e.log_evidence_se);
    check_near(e.log_evidence_sd, 0, largest_sd);
    assert_true(e.lower_bound_1 < e.lower_bound_10 && e.lower_bound_10 < e.log_evidence);
}

/* Adds to the log-deviation of every branch. */
static void widen(branch_model *m, double more)
{
    const param *bias = params_find(&m->params, "branch.mean_std_net.readout.2.bias");
    assert_non_null(bias);
    m->params.value[bias->offset + 1] += (real)more;
    m->ops->changed(m);
}

/* A branch without a change in the data has nearly its exponential prior as posterior, which
 * in the logarithm falls like exp(x) towards minus infinity, a lognormal like exp(-x^2). Its
 * weights there grow beyond bound while draws get rare, and a sample lacks about a hundredth
 * of the evidence per branch before its standard error shows it. So the error bars of a trained
 * model are looked at where they are wide enough, at 20,000 draws, and the sharper check is
 * made with a q of wider branches, which has less of this. */
static void infer_and_check(int n_taxa, const char *const *row, estimator kind)
{
    run r;
    double posterior[MAX_TREES];
    run_open(&r, n_taxa);
    small_alignment_init(&r.data, n_taxa, row);
    double exact = exact_posterior(posterior, &r.data.a, PRIOR_RATE);
    check_status(model_string_parse(&r.model, "JC", NULL, NULL));
    check_status(target_likelihood(&r.source.goal, &r.data.a, NULL, &r.model, 10, NULL));
    check_status(make_lognormal(&r.source.branches, n_taxa, HIDDEN, NULL));
    r.source.branches->ops->initialise(r.source.branches, SEED);
    check_status(variational_create(&r.job, &r.source, 10, kind));
    double before = run_distance(&r, posterior).total_variation;
    run_train(&r, 12000, 0.005, 0);

    /* what noise the last learning rates leave: at most 0.055 over six seeds */
    double after = run_distance(&r, posterior).total_variation;
    assert_true(before > 0.4);
    check_near(after, 0, 0.08 * FARTHER);
    check_evidence(&r, exact, 0.4);
    widen(r.source.branches, 0.4);
    check_unbiased(&r, posterior, exact, 100);
    run_close(&r);
}

/* A subsplit network with a support of the topologies whose number is a multiple of `every`: the
 * evidence is that of the support, and all of it where that is all topologies. */
static void infer_with_tables(int n_taxa, const char *const *row, int every, estimator kind)
{
    run r;
    double posterior[MAX_TREES], weight[MAX_TREES], log_q[MAX_TREES], inside = 0, sum = 0;
    run_open(&r, n_taxa);
    small_alignment_init(&r.data, n_taxa, row);
    double exact = exact_posterior(posterior, &r.data.a, PRIOR_RATE);
    topology_model_free(r.source.trees);
    const topology_config config = sbn_config(0);
    const branch_config lengths = branch_config_beside(config.kind, HIDDEN);
    check_status(topology_model_create(&r.source.trees, &config, n_taxa, NULL));
    int32_t given[MAX_TREES * 4];
    size_t count = 0;
    assert_true(n_taxa <= 7);
    for (int i = 0; i < r.n_trees; i += every) {
        memcpy(given + count * (size_t)(n_taxa - 3), r.all + i * (n_taxa - 3),
               (size_t)(n_taxa - 3) * sizeof *given);
        weight[count++] = 1;
    }
    check_status(topology_model_fit_begin(r.source.trees, given, weight, count));
    check_status(topology_model_score(r.source.trees, log_q, r.all, r.n_trees));
    for (int i = 0; i < r.n_trees; i++) {
        inside += isfinite(log_q[i]) ? posterior[i] : 0;
        sum += exp(log_q[i]);
    }
    check_near(sum, 1, 1e-12);
    assert_true(every == 1 ? inside > 1 - 1e-12 : inside < 0.99);
    for (int i = 0; i < r.n_trees; i++)
        posterior[i] = isfinite(log_q[i]) ? posterior[i] / inside : 0;
    exact += log(inside);
    check_status(model_string_parse(&r.model, "JC", NULL, NULL));
    check_status(target_likelihood(&r.source.goal, &r.data.a, NULL, &r.model, 10, NULL));
    check_status(branch_model_create(&r.source.branches, &lengths, n_taxa, NULL));
    r.source.branches->ops->initialise(r.source.branches, SEED);
    check_status(variational_create(&r.job, &r.source, 10, kind));
    double before = run_distance(&r, posterior).total_variation;
    run_train(&r, 12000, 0.005, 0);
    double after = run_distance(&r, posterior).total_variation;
    print_message("%d taxa, every %d: total variation %.3f, then %.3f; %.3f of the posterior\n",
                  n_taxa, every, before, after, inside);
    assert_true(before > 0.3);
    check_near(after, 0, 0.08 * FARTHER); /* as the network */
    check_evidence(&r, exact, 0.4);
    widen(r.source.branches, 0.4);
    check_unbiased(&r, posterior, exact, 100);
    run_close(&r);
}

static const char *const FOUR[] = {"AAG", "AAG", "CAT", "CCT"};
static const char *const FIVE[] = {"ACGTAACGC", "ACGTAACGA", "ACTTCAGGA", "CCTTCRGNA", "CCTACAG-C"};
static const char *const SIX[] = {"ACGTAAC", "ACGTAGC", "ACTTCAG", "CCTTCTG", "CCTACAG", "CATACAA"};
static const char *const SEVEN[] = {"ACGTAACAGG", "ACGTAGCAGG", "ACTTCAGAGG", "CCTTCTGCTG",
                                    "CCTACAGCTG", "CATACA-CTC", "CATANA-ATC"};

static void infers_four_taxa(void **state)
{
    (void)state;
    infer_and_check(4, FOUR, ESTIMATOR_VIMCO_GEOMETRIC);
}

static void infers_five_taxa(void **state)
{
    (void)state;
    for (int kind = ESTIMATOR_VIMCO_GEOMETRIC; kind <= ESTIMATOR_RWS; kind++)
        infer_and_check(5, FIVE, (estimator)kind);
}

static void infers_six_taxa(void **state)
{
    (void)state;
    infer_and_check(6, SIX, ESTIMATOR_VIMCO_GEOMETRIC);
}

static void infers_with_tables(void **state)
{
    (void)state;
    infer_with_tables(5, FIVE, 1, ESTIMATOR_VIMCO_GEOMETRIC);
    infer_with_tables(6, SIX, 17, ESTIMATOR_VIMCO_GEOMETRIC);
}

/* q against exp(-score) / Z, and all the best trees found. */
static void parsimony_and_check(int n_taxa, const char *const *row, estimator kind, int k,
                                double largest_distance)
{
    run r;
    double exact[MAX_TREES], best = 0;
    run_open(&r, n_taxa);
    small_alignment_init(&r.data, n_taxa, row);
    double log_z = exact_parsimony(exact, &r.data.a, GAP_FIFTH);
    check_status(target_parsimony(&r.source.goal, &r.data.a, NULL, GAP_FIFTH, k, NULL));
    check_status(variational_create(&r.job, &r.source, k, kind));
    double before = run_distance(&r, exact).total_variation;
    run_train(&r, 20000, 0.003, 0);

    double after = run_distance(&r, exact).total_variation;
    assert_true(before > 0.5);
    check_near(after, 0, largest_distance * FARTHER);
    check_evidence(&r, log_z, 0.05 * FARTHER);
    check_unbiased(&r, exact, log_z, 20);
    int n_best = 0;
    for (int i = 0; i < r.n_trees; i++)
        best = fmax(best, exact[i]);
    for (int i = 0; i < r.n_trees; i++)
        n_best += exact[i] == best;
    const int32_t *found;
    assert_int_equal(variational_best_trees(r.job, &found), n_best);
    for (int i = 0; i < n_best; i++)
        assert_true(exact[exact_index(found + i * (n_taxa - 3), n_taxa)] == best);
    check_near(variational_best(r.job), log(best) + log_z, 1e-12);
    run_close(&r);
}

/* Near its optimum VIMCO still has the noise of K scores of weight 1/K each: few particles learn
 * better here. The bounds are about one and a half times the largest of six seeds. */
static void finds_parsimonious_trees(void **state)
{
    (void)state;
    parsimony_and_check(5, FIVE, ESTIMATOR_VIMCO_GEOMETRIC, 4, 0.07);
    parsimony_and_check(7, SEVEN, ESTIMATOR_VIMCO_GEOMETRIC, 4, 0.16);
    parsimony_and_check(7, SEVEN, ESTIMATOR_RWS, 10, 0.08);
}

/* Weights without any structure that the network could use. */
static void fits_any_distribution(void **state)
{
    (void)state;
    for (int n_taxa = 5; n_taxa <= 6; n_taxa++) {
        run r;
        double weight[MAX_TREES];
        run_open(&r, n_taxa);
        rng random = rng_at(SEED, RNG_TEST, 0, (uint32_t)n_taxa);
        for (int i = 0; i < r.n_trees; i++)
            weight[i] = exp(1.5 * rng_normal(&random));
        check_status(density_create(&r.job, r.source.trees, r.all, weight, (size_t)r.n_trees, 100,
                                    PICKS_INDEPENDENT, SEED));
        assert_true(run_distance(&r, weight).kl > 0.3);
        run_train(&r, 10000, 0.01, 0.99);
        divergence last = run_distance(&r, weight);
        trainer_swap_average(r.loop);
        divergence average = run_distance(&r, weight);
        check_near(last.kl, 0, 0.01 * FARTHER);
        check_near(average.kl, 0, 0.01 * FARTHER);
        run_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infers_four_taxa),         cmocka_unit_test(infers_five_taxa),
        cmocka_unit_test(infers_six_taxa),          cmocka_unit_test(infers_with_tables),
        cmocka_unit_test(finds_parsimonious_trees), cmocka_unit_test(fits_any_distribution),
    };
    return cmocka_run_group_tests_name("inference", tests, NULL, NULL);
}
