/* Two ways to draw branch lengths for a topology, judged by the effective sample size of the
 * posterior weights of their draws (docs/decisions/branch-draws.md):
 *
 *     branch_fit ALIGNMENT TREES [STEPS [RATE]]
 *
 *   own      the normal distribution in the cube roots at the topology's own mode, made anew
 *            for every topology (branch/topology_evidence.h)
 *   network  one lognormal branch model for all of them, fitted by maximum likelihood to
 *            weighted draws of the first (train/density_task.h)
 *
 * The topologies are the most probable of TREES (.trprobs), JC. The network sees every second
 * of them; it is asked about both halves. One thread; times are processor time. */
#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/dataset_options.h"
#include "train/density_task.h"
#include "train/trainer.h"
#include "density/factory.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "branch/topology_evidence.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TREES = 300, DRAWS = 300, ASKED = 60, ASKED_DRAWS = 200, BATCH = 64, HIDDEN = 100 };

static const double PRIOR_RATE = 10;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Letters: M topologies, E edges. */
typedef struct work {
    dataset data;
    subst_model model;
    tree_set trees;
    size_t count, n, edges; /* M, N-3, E */
    branch_posterior problem;
    topology_evidence *own;
    likelihood *like;
    branch_model *network;
    task *job;
    trainer *loop;
    int32_t *decision; /* [M][DRAWS][N-3] */
    double *length;    /* [M][DRAWS][E] */
    double *weight;    /* [M][DRAWS], 0 for the topologies that the network does not see */
    double *drawn;     /* [ASKED_DRAWS][E] */
} work;

static int open_data(work *w, const char *path, const char *trees, diag *d)
{
    int status = dataset_open(&w->data, &(dataset_settings){.alignment = path}, d);
    if (!status)
        status = model_string_parse(&w->model, "JC", NULL, d);
    if (!status)
        status =
            tree_set_read(&w->trees, NULL, &trees, 1, &(tree_options){.taxa = &w->data.taxa}, d);
    if (!status)
        status = branch_posterior_init(&w->problem, &w->data.alignment, w->data.row, &w->model,
                                       branch_prior_exponential(PRIOR_RATE));
    if (!status)
        status = topology_evidence_create(&w->own, &w->problem);
    if (!status)
        status = likelihood_create(&w->like, &w->data.alignment, w->data.row, &w->model,
                                   ASKED_DRAWS, NULL);
    if (status)
        return status;
    w->count = w->trees.count < MOST_TREES ? w->trees.count : MOST_TREES;
    w->n = (size_t)w->problem.n_taxa - 3;
    w->edges = (size_t)w->problem.n_edges;
    size_t all = w->count * DRAWS;
    w->decision = mem_zeros(all * w->n, sizeof *w->decision);
    w->length = mem_zeros(all * w->edges, sizeof *w->length);
    w->weight = mem_zeros(all, sizeof *w->weight);
    w->drawn = mem_zeros(ASKED_DRAWS * w->edges, sizeof *w->drawn);
    return w->decision && w->length && w->weight && w->drawn ? ART_OK : ART_ERR_NOMEM;
}

/* Draws from every topology's own proposal. */
static int draw_own(work *w)
{
    double log_weight[DRAWS], *mode = w->drawn, ess = 0, mass = 0, begin = seconds();
    for (size_t i = 0; i < w->count; i++) {
        const int32_t *decision = tree_set_decision(&w->trees, i);
        log_mean m = {0};
        for (size_t e = 0; e < w->edges; e++)
            mode[e] = branch_prior_mean(w->problem.prior, w->problem.n_edges);
        int status = topology_evidence_mode(w->own, decision, mode, BRANCH_TOLERANCE);
        if (status)
            return status;
        topology_evidence_proposal(w->own, EVIDENCE_FULL);
        topology_evidence_sample(
            w->own, &m,
            (length_draws){.length = w->length + i * DRAWS * w->edges, .log_weight = log_weight},
            DRAWS, rng_at(1, RNG_BENCH, 0, (uint32_t)i));
        for (size_t k = 0; k < DRAWS; k++) {
            memcpy(w->decision + (i * DRAWS + k) * w->n, decision, w->n * sizeof *decision);
            w->weight[i * DRAWS + k] =
                i % 2 ? 0 : w->trees.weight[i] * exp(log_weight[k] - log_mean_value(&m));
        }
        mass += w->trees.weight[i];
        ess += w->trees.weight[i] * log_mean_ess(&m) / DRAWS;
    }
    printf("own\t%.2f ms for a topology and its %d draws\tESS %.3f\n",
           1000 * (seconds() - begin) / (double)w->count, DRAWS, ess / mass);
    return ART_OK;
}

/* The effective share of draws from the network for topology i. */
static int ask(work *w, size_t i, double *share)
{
    double log_q[ASKED_DRAWS], value[ASKED_DRAWS];
    const int32_t *decision = w->decision + i * DRAWS * w->n; /* equal for all its draws */
    int status =
        branch_model_sample(w->network, w->drawn, log_q, decision, ASKED_DRAWS, 1, RNG_BENCH, 1, 0);
    if (status)
        return status;
    likelihood_batch(w->like, value, NULL, decision, w->drawn, ASKED_DRAWS);
    log_mean m = {0};
    for (size_t k = 0; k < ASKED_DRAWS; k++) {
        double log_p = value[k];
        for (size_t e = 0; e < w->edges; e++)
            log_p += branch_prior_log_density(w->problem.prior, w->drawn[k * w->edges + e],
                                              BRANCH_EXTERNAL);
        log_mean_add(&m, log_p - log_q[k]);
    }
    *share = log_mean_ess(&m) / ASKED_DRAWS;
    return ART_OK;
}

static int print_network(work *w, double spent)
{
    double ess[2] = {0}, mass[2] = {0};
    for (size_t i = 0; i < ASKED && i < w->count; i++) {
        double share;
        int status = ask(w, i, &share);
        if (status)
            return status;
        ess[i % 2] += w->trees.weight[i] * share;
        mass[i % 2] += w->trees.weight[i];
    }
    train_report report;
    trainer_report(w->loop, &report);
    printf("network\tstep %lld\t%.1f s\tmean log q %.2f\tESS %.3f, of topologies not seen %.3f\n",
           (long long)w->loop->step, spent, report.objective, ess[0] / mass[0], ess[1] / mass[1]);
    return ART_OK;
}

static int fit_network(work *w, int64_t steps, double rate, diag *d)
{
    train_settings set = train_defaults();
    set.branch_rate = rate;
    set.decay = 0.5;
    set.decay_every = steps / 8 + 1;
    const branch_config config = lognormal_config(HIDDEN);
    int status = branch_model_create(&w->network, &config, w->problem.n_taxa, NULL);
    if (status)
        return status;
    branch_model_initialise(w->network, 1);
    status = branch_density_create(&w->job, w->network, w->decision, w->length, w->weight,
                                   w->count * DRAWS, BATCH, PICKS_INDEPENDENT, 1);
    if (!status)
        status = trainer_create(&w->loop, w->job, &set, NULL);
    double spent = 0;
    for (int part = 1; part <= 4 && !status; part++) {
        double begin = seconds();
        while (w->loop->step < steps * part / 4 && !status)
            status = trainer_advance(w->loop, d);
        spent += seconds() - begin;
        if (!status)
            status = print_network(w, spent);
    }
    return status;
}

static void work_free(work *w)
{
    trainer_free(w->loop);
    if (w->job)
        w->job->ops->free(w->job);
    branch_model_free(w->network);
    likelihood_free(w->like);
    topology_evidence_free(w->own);
    branch_posterior_free(&w->problem);
    tree_set_free(&w->trees);
    dataset_free(&w->data);
    free(w->decision);
    free(w->length);
    free(w->weight);
    free(w->drawn);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: branch_fit ALIGNMENT TREES [STEPS [RATE]]\n");
        return 2;
    }
    work w = {0};
    diag d;
    diag_init(&d);
    int status = open_data(&w, argv[1], argv[2], &d);
    if (!status)
        status = draw_own(&w);
    if (!status)
        status = fit_network(&w, argc > 3 ? strtoll(argv[3], NULL, 10) : 3000,
                             argc > 4 ? strtod(argv[4], NULL) : 0.002, &d);
    for (size_t i = 0; i < d.count && status; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    work_free(&w);
    diag_free(&d);
    return status ? 1 : 0;
}
