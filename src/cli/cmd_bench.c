/* bench: what the parts of the work cost on this machine, with its own sgemm rate beside them. */
#include "artreeformer.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/banner.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "model/artreeformer_model.h"
#include "model/branch_lognormal.h"
#include "model/model_file.h"
#include "nn/gemm.h"
#include "phylo/model_string.h"
#include "phylo/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    common_settings common;
    dataset_settings data;
    const char *model;
    const char *trained;
    int64_t particles;
    int64_t repeats;
    bool json;
} settings;

static const settings DEFAULTS = {
    .common = COMMON_DEFAULTS, .model = "JC", .particles = INFER_PARTICLES, .repeats = 15};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILE(settings, data.alignment, "-s --msa", OPTIONAL,
                "alignment; without it one of 27 taxa and 2000 sites is simulated"),
    OPTION_TEXT(settings, model, "-m --model", OPTIONAL, "MODEL", "substitution model"),
    OPTION_FILE(settings, trained, "--trained", OPTIONAL,
                "model that `infer` wrote for this alignment; random weights without it"),
    OPTION_HEADING("Measurement"),
    OPTION_INT(settings, particles, "-K --particles", OPTIONAL, 2, 10000, "trees of a step"),
    OPTION_INT(settings, repeats, "--repeats", OPTIONAL, 3, 10000,
               "how often each is measured; the median counts"),
    OPTION_FLAG(settings, json, "--json", OPTIONAL, "print JSON instead of a table"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_HEADING("Running"),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* Everything that is measured works on this. */
typedef struct workbench {
    session *session;
    pool *threads;
    dataset data;
    subst_model model;
    topology_model *trees;
    branch_model *branches;
    model_file file; /* owns the models where a trained one was given */
    target *likelihood, *parsimony;
    particles draws;
    double *ones; /* [k] */
    uint32_t step;
    real *a, *b, *c; /* matrices of the sgemm measurement, per thread */
} workbench;

enum { ROWS = 100, WIDTH = 200, PRODUCTS = 64 }; /* shapes of the readout's larger layer */

/* One thread's share of PRODUCTS products of a tile with a weight matrix. A BLAS that is not
 * thread-safe may get the numbers wrong; only the time counts here. */
static void multiply(void *context, int part, int worker)
{
    (void)worker;
    workbench *w = context;
    size_t tile = (size_t)ROWS * WIDTH;
    for (int i = 0; i < PRODUCTS; i++)
        gemm(GEMM_NT, w->c + (size_t)part * tile, WIDTH, w->a + (size_t)part * tile, WIDTH, w->b,
             WIDTH, ROWS, WIDTH, WIDTH, 0);
}

static int measure_sgemm(workbench *w)
{
    pool_run(w->threads, pool_threads(w->threads), multiply, w);
    return ART_OK;
}

static double sgemm_flops(const workbench *w)
{
    return 2.0 * ROWS * WIDTH * WIDTH * PRODUCTS * pool_threads(w->threads);
}

static int measure_sample(workbench *w)
{
    topology_model *m = w->trees;
    m->ops->changed(m); /* as after an update: nothing is known of the weights */
    return m->ops->sample(m, w->draws.decision, w->draws.log_q, w->draws.k,
                          (uint64_t)w->session->common->seed, RNG_BENCH, w->step, 0);
}

static int measure_gradient(workbench *w)
{
    params_clear_grad(&w->trees->params);
    return w->trees->ops->gradient(w->trees, NULL, w->draws.decision, w->ones, w->draws.k);
}

static int measure_branches(workbench *w)
{
    branch_model *m = w->branches;
    m->ops->changed(m);
    int status = m->ops->sample(m, w->draws.length, w->draws.log_b, w->draws.decision, w->draws.k,
                                (uint64_t)w->session->common->seed, RNG_BRANCH, w->step, 0);
    params_clear_grad(&m->params);
    return status ? status : m->ops->backward(m, w->draws.slope, w->ones);
}

static int measure_likelihood(workbench *w)
{
    w->likelihood->ops->evaluate(w->likelihood, w->draws.value, w->draws.slope, w->draws.decision,
                                 w->draws.length, w->draws.k);
    return ART_OK;
}

static int measure_value(workbench *w)
{
    w->likelihood->ops->evaluate(w->likelihood, w->draws.value, NULL, w->draws.decision,
                                 w->draws.length, w->draws.k);
    return ART_OK;
}

static int measure_parsimony(workbench *w)
{
    w->parsimony->ops->evaluate(w->parsimony, w->draws.value, NULL, w->draws.decision, NULL,
                                w->draws.k);
    return ART_OK;
}

static int measure_score(workbench *w)
{
    w->trees->ops->changed(w->trees);
    return w->trees->ops->score(w->trees, w->draws.log_q, w->draws.decision, w->draws.k);
}

/* Floating-point operations of the network on the work that was done: design of the dense parts,
 * 2 (60,000 edges + 10,000 nodes) forward at hidden size 100, scaled to the model's. */
static double network_flops(const workbench *w, double passes)
{
    const param *first = params_find(&w->trees->params, "tree.mlp.2.weight");
    double d = first ? (double)first->shape[0] : 0;
    return passes * 2 * (6 * d * d + d * d) * w->trees->work.done;
}

typedef struct measurement {
    const char *name;
    int (*work)(workbench *w);
    double passes; /* of the network, for its operations; 0: not the network; -1: sgemm itself */
} measurement;

static const measurement MEASUREMENTS[] = {
    {"sgemm", measure_sgemm, -1},
    {"sample", measure_sample, 1},
    {"gradient_after_sample", measure_gradient, 2},
    {"score", measure_score, 1},
    {"branch_model", measure_branches, 0},
    {"likelihood_value", measure_value, 0},
    {"likelihood_and_gradient", measure_likelihood, 0},
    {"parsimony", measure_parsimony, 0},
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and quartiles of the seconds; each repeat draws its own trees. */
static int measure(double quartile[3], workbench *w, const measurement *m, double *seconds, int n)
{
    int status = ART_OK;
    for (int i = 0; i < n && !status; i++) {
        w->step = (uint32_t)i;
        if (m->work == measure_gradient)
            status = measure_sample(w);
        double start = clock_seconds();
        if (!status)
            status = m->work(w);
        seconds[i] = clock_seconds() - start;
    }
    qsort(seconds, (size_t)n, sizeof *seconds, ascending);
    for (int q = 0; q < 3; q++)
        quartile[q] = seconds[(n - 1) * (q + 1) / 4];
    return status;
}

static int simulate_data(dataset *data, session *s)
{
    enum { TAXA = 27, SITES = 2000 };
    int32_t decision[TAXA - 3];
    double length[2 * TAXA - 3];
    uint64_t seed = (uint64_t)s->common->seed;
    subst_model jc;
    uint8_t *state = mem_zeros((size_t)TAXA * SITES, 1);
    char *name[TAXA];
    char text[TAXA][8];
    int status = state ? model_string_parse(&jc, "JC", NULL, &s->diag) : ART_ERR_NOMEM;
    simulate_topology(decision, TAXA, seed);
    simulate_lengths(length, TAXA, 0.05, seed);
    if (!status)
        status = simulate_sites(state, decision, length, TAXA, &jc, SITES, seed, NULL);
    for (int i = 0; i < TAXA; i++) {
        snprintf(text[i], sizeof text[i], "t%02d", i);
        name[i] = text[i];
    }
    if (!status)
        status = alignment_from_states(&data->alignment, name, state, TAXA, SITES);
    data->row = mem_zeros(TAXA, sizeof *data->row);
    for (int i = 0; i < TAXA && data->row; i++)
        data->row[i] = i;
    free(state);
    return status || data->row ? status : ART_ERR_NOMEM;
}

/* Models: the trained ones, or new ones with random weights. */
static int make_models(workbench *w, const settings *o)
{
    int n = w->data.alignment.n_taxa;
    uint64_t seed = (uint64_t)o->common.seed;
    diag *d = &w->session->diag;
    int status;
    if (o->trained) {
        status = model_file_read(&w->file, o->trained, MODEL_LAST, w->threads, d);
        if (!status && (w->file.taxa.count != n || !w->file.branches))
            status = diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = o->trained},
                                "not a model of this alignment -- give the one that `infer` wrote");
        w->trees = w->file.trees;
        w->branches = w->file.branches;
        return status;
    }
    status = artreeformer_create(&w->trees, n, INFER_HIDDEN, INFER_HEADS, w->threads);
    if (!status)
        status = branch_lognormal_create(&w->branches, n, INFER_BRANCH_HIDDEN, w->threads);
    if (status)
        return status;
    w->trees->ops->initialise(w->trees, seed);
    w->branches->ops->initialise(w->branches, seed);
    return ART_OK;
}

static int workbench_open(workbench *w, session *s, const settings *o)
{
    int k = (int)o->particles;
    size_t tiles = (size_t)session_threads(s) * ROWS * WIDTH;
    w->session = s;
    int status = session_pool(s, &w->threads);
    if (!status)
        status = o->data.alignment ? dataset_read(&w->data, &o->data, &s->diag)
                                   : simulate_data(&w->data, s);
    if (!status)
        status = model_string_parse(&w->model, o->model, &w->data.alignment, &s->diag);
    if (!status)
        status = make_models(w, o);
    if (!status)
        status = target_likelihood(&w->likelihood, &w->data.alignment, w->data.row, &w->model, k,
                                   w->threads);
    if (!status)
        status = target_parsimony(&w->parsimony, &w->data.alignment, w->data.row, GAP_FIFTH, k,
                                  w->threads);
    if (!status)
        status = particles_init(&w->draws, k, w->data.alignment.n_taxa, 1);
    w->ones = mem_zeros((size_t)k, sizeof *w->ones);
    w->a = mem_aligned(tiles, sizeof *w->a);
    w->b = mem_aligned((size_t)WIDTH * WIDTH, sizeof *w->b);
    w->c = mem_aligned(tiles, sizeof *w->c);
    if (!status && (!w->ones || !w->a || !w->b || !w->c))
        status = ART_ERR_NOMEM;
    for (int i = 0; i < k && !status; i++)
        w->ones[i] = 1.0 / k;
    gemm_serial();
    return status;
}

static void workbench_close(workbench *w)
{
    free(w->ones);
    free(w->a);
    free(w->b);
    free(w->c);
    particles_free(&w->draws);
    target_free(w->likelihood);
    target_free(w->parsimony);
    if (w->file.trees) {
        model_file_free(&w->file);
    } else {
        if (w->trees)
            w->trees->ops->free(w->trees);
        if (w->branches)
            w->branches->ops->free(w->branches);
    }
    dataset_free(&w->data);
    pool_free(w->threads);
}

/* One row of the table, and of the JSON. */
static int put_row(session *s, json_t *rows, const measurement *m, const double quartile[3],
                   double flops, double sgemm, double saved)
{
    double rate = flops / quartile[1] / 1e9;
    json_t *row = json_pack("{s:s, s:f, s:f, s:f}", "name", m->name, "median_seconds", quartile[1],
                            "lower_quartile", quartile[0], "upper_quartile", quartile[2]);
    if (row && flops > 0) {
        results_number(row, "gflops", rate);
        results_number(row, "share_of_sgemm", rate / sgemm);
        results_number(row, "work_saved", saved);
    }
    if (!row || json_array_append_new(rows, row))
        return ART_ERR_NOMEM;
    log_detail(&s->log, "%s done", m->name);
    return ART_OK;
}

static void put_table(output *o, const json_t *rows)
{
    size_t i;
    json_t *row;
    output_text(o, "part\tmedian_ms\tquartiles_ms\tGFLOP/s\tof_sgemm\twork_saved\n");
    json_array_foreach(rows, i, row)
    {
        const json_t *rate = json_object_get(row, "gflops");
        output_printf(o, "%s\t%.3f\t%.3f-%.3f\t", json_string_value(json_object_get(row, "name")),
                      1e3 * json_real_value(json_object_get(row, "median_seconds")),
                      1e3 * json_real_value(json_object_get(row, "lower_quartile")),
                      1e3 * json_real_value(json_object_get(row, "upper_quartile")));
        if (rate)
            output_printf(o, "%.1f\t%.2f\t%.2f\n", json_real_value(rate),
                          json_number_value(json_object_get(row, "share_of_sgemm")),
                          json_number_value(json_object_get(row, "work_saved")));
        else
            output_text(o, "NA\tNA\tNA\n");
    }
}

static int put_json(output *o, const json_t *rows)
{
    char *text = json_dumps(rows, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (!text)
        return ART_ERR_NOMEM;
    output_printf(o, "%s\n", text);
    free(text);
    return ART_OK;
}

static int bench(session *s, void *chosen)
{
    const settings *o = chosen;
    workbench w = {0};
    json_t *rows = json_array();
    double *seconds = mem_zeros((size_t)o->repeats, sizeof *seconds), sgemm = NAN;
    int status = rows && seconds ? workbench_open(&w, s, o) : ART_ERR_NOMEM;
    if (status)
        goto out;
    session_notes(s);
    log_info(&s->log, "%d taxa, %zu sites, %lld trees per step, %d threads, %s, %lld repeats",
             w.data.alignment.n_taxa, w.data.alignment.n_sites, (long long)o->particles,
             session_threads(s), cpu_level_name(cpu_best()), (long long)o->repeats);
    for (size_t i = 0; i < sizeof MEASUREMENTS / sizeof MEASUREMENTS[0] && !status; i++) {
        const measurement *m = &MEASUREMENTS[i];
        double quartile[3], flops = 0;
        status = measure(quartile, &w, m, seconds, (int)o->repeats);
        if (m->passes < 0) {
            flops = sgemm_flops(&w);
            sgemm = flops / quartile[1] / 1e9;
        } else if (m->passes > 0) {
            flops = network_flops(&w, m->passes);
        }
        double saved = m->passes > 0 ? 1 - w.trees->work.done / w.trees->work.unshared : 0;
        if (!status)
            status = put_row(s, rows, m, quartile, flops, sgemm, saved);
    }
    if (!status && o->json)
        status = put_json(&s->table, rows);
    else if (!status)
        put_table(&s->table, rows);
    if (!status)
        log_info(&s->log, "peak memory %.1f MiB", peak_memory() / 1048576);
out:
    workbench_close(&w);
    json_decref(rows);
    free(seconds);
    return status;
}

const command bench_command = {
    .name = "bench",
    .summary = "timings with the machine's own sgemm rate beside them",
    .description =
        "Measures the parts of a training step on random or trained weights: drawing K trees, the "
        "network's gradient after that, branch model with its gradient, likelihood with and "
        "without all branch gradients, parsimony scores; each as the median of several repeats, "
        "with the quartiles. For the network also floating-point operations per second, on the "
        "work that sharing leaves, against the rate of the BLAS in the same run on the same "
        "threads.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = bench,
};
