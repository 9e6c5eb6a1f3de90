#include "timing/rows.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/banner.h"
#include "cli/model_input.h"
#include "cli/progress.h"
#include "train/evidence.h"

#include <stdlib.h>
#include <string.h>

static int open_embedding(workbench *w, int method)
{
    int status = workbench_embedding(w);
    return status ? status : embedding_bench_method(&w->embedding, (embedding_method)method);
}

static int work_embedding(workbench *w, int method)
{
    (void)method;
    embedding_bench_embed(&w->embedding);
    return ART_OK;
}

static int work_message_passing(workbench *w, int argument)
{
    (void)argument;
    const double d = workbench_hidden(w), nodes = topology_nodes(w->trees->n_taxa);
    const double flops = 2 * d * d * nodes * w->embedding.n_trees;
    embedding_bench_pass(&w->embedding);
    w->cost.forward += flops;
    w->cost.shared += flops;
    w->cost.unshared += flops;
    return ART_OK;
}

static int work_forward(workbench *w, int argument)
{
    (void)argument;
    topology_model *m = w->trees;
    topology_model_changed(m); /* as after an update: nothing is known of the weights */
    int status = topology_model_score(m, w->draws.log_q, w->draws.decision, w->draws.k);
    workbench_count_forward(w);
    return status;
}

static int work_sampling(workbench *w, int argument)
{
    (void)argument;
    topology_model *m = w->trees;
    topology_model_changed(m);
    int status = topology_model_sample(m, w->draws.decision, w->draws.log_q, w->draws.k,
                                       w->plan->seed, RNG_BENCH, w->step, 0);
    workbench_count_forward(w);
    return status;
}

static int prepare_backward(workbench *w, int argument)
{
    const workbench_cost before = w->cost;
    int status = work_sampling(w, argument);
    w->cost = before;
    params_clear_grad(&w->trees->params);
    return status;
}

static int work_backward(workbench *w, int argument)
{
    (void)argument;
    int status =
        topology_model_gradient(w->trees, NULL, w->draws.decision, w->coefficient, w->draws.k);
    workbench_count_gradient(w, 2);
    return status;
}

/* Every repeat has the trees of its own draws. */
static int prepare_draws(workbench *w, int argument)
{
    int status = prepare_backward(w, argument);
    params_clear_grad(&w->branches->params);
    return status;
}

static int work_branches(workbench *w, int argument)
{
    (void)argument;
    branch_model *m = w->branches;
    const particles *p = &w->draws;
    branch_model_changed(m);
    int status = branch_model_sample(m, p->length, p->log_b, p->decision, p->k, w->plan->seed,
                                     RNG_BRANCH, w->step, 0);
    if (!status)
        status = branch_model_backward(m, p->slope, w->coefficient);
    workbench_count_branches(w, p->k, workbench_distinct(w, p), true);
    return status;
}

static int work_likelihood(workbench *w, int with_gradient)
{
    const particles *p = &w->draws;
    w->likelihood->ops->evaluate(w->likelihood, p->value, with_gradient ? p->slope : NULL,
                                 p->decision, p->length, p->k);
    return ART_OK;
}

static int work_parsimony(workbench *w, int argument)
{
    (void)argument;
    const particles *p = &w->draws;
    w->parsimony->ops->evaluate(w->parsimony, p->value, NULL, p->decision, NULL, p->k);
    return ART_OK;
}

static int work_optimiser(workbench *w, int argument)
{
    (void)argument;
    double norm;
    optim *of[] = {&w->trainer->trees, &w->trainer->branches};
    int status = ART_OK;
    for (int i = 0; i < 2 && !status; i++) {
        status = optim_norm(of[i], &norm);
        optim_update(of[i], 1);
        params_clear_grad(of[i]->p);
    }
    return status;
}

static int work_step(workbench *w, int argument)
{
    (void)argument;
    const double *counted = &w->trainer->sums.distinct, before = *counted;
    int status = trainer_advance(w->trainer, &w->session->diag);
    workbench_count_forward(w); /* sampling, of the same trees as the gradient */
    workbench_count_gradient(w, 2);
    workbench_count_branches(w, w->plan->particles, *counted - before, true);
    return status;
}

static int open_density(workbench *w, int which)
{
    (void)which;
    return workbench_density(w);
}

static int work_density(workbench *w, int which)
{
    int status = trainer_advance(w->fitting[which], &w->session->diag);
    workbench_count_gradient(w, 3);
    return status;
}

/* From an empty cache. */
static int prepare_frozen(workbench *w, int draws)
{
    (void)draws;
    const model_settings as_commands = MODEL_DEFAULTS;
    topology_model_changed(w->trees);
    return topology_model_freeze(w->trees, (size_t)as_commands.cache_memory);
}

static int work_frozen(workbench *w, int draws)
{
    topology_model *m = w->trees;
    int status = ART_OK;
    for (int done = 0, k; done < draws && !status; done += k) {
        k = draws - done < MODEL_BATCH ? draws - done : MODEL_BATCH;
        status = topology_model_sample(m, w->many, w->many_log_q, k, w->plan->seed, RNG_SAMPLE,
                                       w->step, (uint32_t)done);
        workbench_count_forward(w);
    }
    return status;
}

static int close_frozen(workbench *w, int draws)
{
    (void)draws;
    return topology_model_freeze(w->trees, 0);
}

static int work_evidence(workbench *w, int draws)
{
    const evidence_settings plan = {draws, w->plan->evidence_repeats};
    evidence_sampling *sampling;
    const particles *batch;
    int status = evidence_sampling_create(&sampling, &w->source, &plan);
    while (!status && !evidence_sampling_is_done(sampling)) {
        status = evidence_sampling_advance(sampling, &batch);
        if (status)
            break;
        workbench_count_forward(w);
        workbench_count_branches(w, batch->k, workbench_distinct(w, batch), false);
    }
    evidence_sampling_free(sampling);
    return status;
}

/* Those that need most memory last: the peak is that of the process so far. */
const bench_row BENCH_ROWS[] = {
    {"forward", 0, false, NULL, prepare_draws, work_forward, NULL},
    {"sampling", 0, false, NULL, NULL, work_sampling, NULL},
    {"network_backward", 0, false, NULL, prepare_backward, work_backward, NULL},
    {"branch_model", 0, false, NULL, prepare_draws, work_branches, NULL},
    {"likelihood", 0, false, NULL, prepare_draws, work_likelihood, NULL},
    {"likelihood_gradient", 1, false, NULL, prepare_draws, work_likelihood, NULL},
    {"parsimony", 0, false, NULL, prepare_draws, work_parsimony, NULL},
    {"optimiser", 0, false, NULL, prepare_draws, work_optimiser, NULL},
    {"training_step", 0, false, NULL, NULL, work_step, NULL},
    {"density_step_10", 0, false, open_density, NULL, work_density, NULL},
    {"density_step_100", 1, false, open_density, NULL, work_density, NULL},
    {"density_step_1000", 2, false, open_density, NULL, work_density, NULL},
    {"sample_10", 10, false, NULL, prepare_frozen, work_frozen, close_frozen},
    {"sample_1000", 1000, false, NULL, prepare_frozen, work_frozen, close_frozen},
    {"sample_100000", 100000, true, NULL, prepare_frozen, work_frozen, close_frozen},
    {"evidence", 1000, false, NULL, prepare_frozen, work_evidence, close_frozen},
    {"embedding_projected", EMBEDDING_PROJECTED, false, open_embedding, NULL, work_embedding, NULL},
    {"embedding_two_pass", EMBEDDING_TWO_PASS, false, open_embedding, NULL, work_embedding, NULL},
    {"embedding_iterated", EMBEDDING_ITERATED, false, open_embedding, NULL, work_embedding, NULL},
    {"embedding_squared", EMBEDDING_SQUARED, false, open_embedding, NULL, work_embedding, NULL},
    {"message_passing", EMBEDDING_PROJECTED, false, open_embedding, NULL, work_message_passing,
     NULL},
    {0},
};

const bench_row *bench_row_find(const char *name)
{
    for (const bench_row *row = BENCH_ROWS; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static int repeat(double *seconds, workbench *w, const bench_row *row, int number)
{
    w->step = (uint32_t)number;
    int status = row->prepare ? row->prepare(w, row->argument) : ART_OK;
    const double start = clock_seconds();
    if (!status)
        status = row->work(w, row->argument);
    *seconds = clock_seconds() - start;
    return status;
}

/* The first repeat warms up, and counts only if there is no time for a second one. */
static int repeat_all(bench_result *out, double *seconds, workbench *w, const bench_row *row,
                      int repeats, double limit)
{
    w->cost = (workbench_cost){0};
    int status = repeat(&seconds[0], w, row, 0);
    if (!status && seconds[0] > limit) {
        out->repeats = 1;
        return ART_OK;
    }
    w->cost = (workbench_cost){0};
    const double start = clock_seconds();
    while (!status && out->repeats < repeats &&
           (out->repeats == 0 || clock_seconds() - start < limit)) {
        status = repeat(&seconds[out->repeats], w, row, out->repeats + 1);
        out->repeats++;
    }
    return status;
}

static void divide_cost(workbench_cost *c, double by)
{
    c->forward /= by;
    c->backward /= by;
    c->shared /= by;
    c->unshared /= by;
}

int bench_row_measure(bench_result *out, workbench *w, sgemm_bench *sgemm, const bench_row *row,
                      int repeats, double limit)
{
    memset(out, 0, sizeof *out);
    double *seconds = mem_zeros((size_t)repeats, sizeof *seconds);
    int status = seconds ? ART_OK : ART_ERR_NOMEM;
    if (!status && row->open)
        status = row->open(w, row->argument);
    for (int pass = 0; pass < SGEMM_PASSES; pass++)
        out->sgemm[pass] = sgemm_bench_rate(sgemm, (sgemm_pass)pass, repeats);
    if (!status)
        status = repeat_all(out, seconds, w, row, repeats, limit);
    if (row->close) {
        int closed = row->close(w, row->argument);
        status = status ? status : closed;
    }
    if (!status) {
        out->seconds = spread_of(seconds, out->repeats);
        out->cost = w->cost;
        divide_cost(&out->cost, out->repeats);
        out->peak = peak_memory();
    }
    free(seconds);
    return status;
}

int bench_speedup(double *out, workbench *many, workbench *one, const bench_row *row, int repeats,
                  double limit)
{
    double *ratio = mem_zeros((size_t)repeats, sizeof *ratio);
    const double start = clock_seconds();
    int status = ratio ? ART_OK : ART_ERR_NOMEM, n = 0;
    while (!status && n < repeats && (n == 0 || clock_seconds() - start < limit)) {
        double slow, fast;
        status = repeat(&slow, one, row, n);
        if (!status)
            status = repeat(&fast, many, row, n);
        if (!status)
            ratio[n++] = slow / fast;
    }
    if (!status)
        *out = spread_of(ratio, n).median;
    free(ratio);
    return status;
}

double bench_rate(const bench_result *r)
{
    return (r->cost.forward + r->cost.backward) / r->seconds.median;
}

double bench_sgemm(const bench_result *r)
{
    const double seconds =
        r->cost.forward / r->sgemm[SGEMM_FORWARD] + r->cost.backward / r->sgemm[SGEMM_BACKWARD];
    return seconds > 0 ? (r->cost.forward + r->cost.backward) / seconds : 0;
}
