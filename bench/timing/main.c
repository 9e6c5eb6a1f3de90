/* timing: what the parts of the work cost on this machine, with the rate of OpenBLAS beside them.
 */
#include "artreeformer.h"
#include "base/cpu.h"
#include "cli/banner.h"
#include "timing/figure.h"
#include "timing/rows.h"
#include "timing/scaling.h"
#include "io/json_number.h"
#include "cli/training.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct settings {
    common_settings common;
    dataset_settings data;
    const char *model;
    const char *trained;
    const char *trees;
    int64_t taxa;
    int64_t particles;
    int64_t evidence_repeats;
    const char *only;
    int64_t repeats;
    double limit;
    bool scaling;
    const char *figure;
    int64_t largest;
    bool json;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS,
                                  .model = "JC",
                                  .taxa = 27,
                                  .particles = VBPI_PARTICLES,
                                  .evidence_repeats = 1,
                                  .repeats = 25,
                                  .limit = 2,
                                  .largest = 200};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILE(settings, data.alignment, "-s --msa", OPTIONAL,
                "alignment; without it one of 2000 sites is simulated"),
    OPTION_INT(settings, taxa, "--taxa", OPTIONAL, 4, 1000, "taxa of a simulated alignment"),
    OPTION_TEXT(settings, model, "-m --model", OPTIONAL, "MODEL", "substitution model"),
    OPTION_FILE(settings, trained, "--trained", OPTIONAL,
                "model that `infer` or `fit` wrote; what it lacks, or all, has random weights"),
    OPTION_FILE(settings, trees, "--trees", OPTIONAL,
                "trees for the steps of density estimation; draws from the model without it"),
    OPTION_HEADING("Measurement"),
    OPTION_INT(settings, particles, "-K --particles", OPTIONAL, 2, 10000,
               "trees of a training step"),
    OPTION_INT(settings, evidence_repeats, "--evidence-repeats", OPTIONAL, 1, 1e5,
               "estimates of 1000 draws in the row of the evidence"),
    OPTION_TEXT(settings, only, "--only", OPTIONAL, "NAME",
                "measure only the rows whose names begin so"),
    OPTION_INT(settings, repeats, "--repeats", OPTIONAL, 1, 10000,
               "how often each is measured, at most; the median counts"),
    OPTION_DURATION(settings, limit, "--limit", OPTIONAL,
                    "no repeat begins after this long in a row"),
    OPTION_FLAG(settings, scaling, "--scaling", OPTIONAL,
                "instead: the training step on 25 to 200 taxa, and the exponent of its growth"),
    OPTION_TEXT(settings, figure, "--figure", OPTIONAL, "FILE",
                "instead: node embeddings and message passing on 25 to 200 taxa as an SVG picture"),
    OPTION_INT(settings, largest, "--largest", OPTIONAL, 35, 200, "most taxa of these two"),
    OPTION_FLAG(settings, json, "--json", OPTIONAL, "print JSON instead of a table"),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_HEADING("Running"),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* One row of the JSON; the table is made of these. Rates are null where nothing is multiplied. */
static json_t *row_json(const char *name, const bench_result *r)
{
    const workbench_cost *c = &r->cost;
    const double done = c->forward + c->backward, rate = bench_rate(r), sgemm = bench_sgemm(r);
    const double nothing = done > 0 ? 1 : (double)NAN;
    json_t *row = json_pack("{s:s, s:i, s:f, s:f, s:f}", "name", name, "repeats", r->repeats,
                            "median_seconds", r->seconds.median, "lower_quartile", r->seconds.lower,
                            "upper_quartile", r->seconds.upper);
    const struct {
        const char *key;
        double value;
    } number[] = {
        {"gflop", done * nothing / 1e9},
        {"gflop_shared", c->shared * nothing / 1e9},
        {"gflop_unshared", c->unshared * nothing / 1e9},
        {"gflops", rate * nothing / 1e9},
        {"sgemm_gflops", sgemm * nothing / 1e9},
        {"share_of_sgemm", rate / sgemm * nothing},
        {"peak_memory_bytes", r->peak},
    };
    int status = row ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < sizeof number / sizeof number[0] && !status; i++)
        status = json_set_number(row, number[i].key, number[i].value);
    if (!status)
        return row;
    json_decref(row);
    return NULL;
}

static int add_row(json_t *rows, session *s, const char *name, const bench_result *r)
{
    log_detail(&s->log, "%s done", name);
    return json_array_append_new(rows, row_json(name, r)) ? ART_ERR_NOMEM : ART_OK;
}

static void put_number(output *o, const json_t *row, const char *key, double unit, int decimals)
{
    const json_t *value = json_object_get(row, key);
    if (json_is_number(value))
        output_printf(o, "\t%.*f", decimals, json_number_value(value) / unit);
    else
        output_text(o, "\tNA");
}

static void put_table(output *o, const json_t *rows)
{
    size_t i;
    json_t *row;
    output_text(o, "part\trepeats\tmedian_ms\tlower_ms\tupper_ms\tGFLOP\tshared\tunshared\tGFLOP/s"
                   "\tsgemm\tof_sgemm\tpeak_MiB\n");
    json_array_foreach(rows, i, row)
    {
        output_text(o, json_string_value(json_object_get(row, "name")));
        put_number(o, row, "repeats", 1, 0);
        put_number(o, row, "median_seconds", 1e-3, 3);
        put_number(o, row, "lower_quartile", 1e-3, 3);
        put_number(o, row, "upper_quartile", 1e-3, 3);
        put_number(o, row, "gflop", 1, 3);
        put_number(o, row, "gflop_shared", 1, 3);
        put_number(o, row, "gflop_unshared", 1, 3);
        put_number(o, row, "gflops", 1, 1);
        put_number(o, row, "sgemm_gflops", 1, 1);
        put_number(o, row, "share_of_sgemm", 1, 2);
        put_number(o, row, "peak_memory_bytes", 1048576, 1);
        output_text(o, "\n");
    }
}

static workbench_plan plan_of(const settings *o)
{
    return (workbench_plan){.data = o->data,
                            .taxa = (int)o->taxa,
                            .model = o->model,
                            .trained = o->trained,
                            .trees = o->trees,
                            .particles = (int)o->particles,
                            .evidence_repeats = (int)o->evidence_repeats,
                            .seed = (uint64_t)o->common.seed};
}

static bool chosen_row(const settings *o, const char *name)
{
    return !o->only || strncmp(name, o->only, strlen(o->only)) == 0;
}

/* The step once more on one thread, and how much faster the threads of w are. */
static int measure_one_thread(json_t *out, json_t *rows, session *s, const settings *o,
                              workbench *w)
{
    const bench_row *row = bench_row_find("training_step");
    workbench one;
    sgemm_bench sgemm = {0};
    bench_result r;
    double speedup;
    int status = workbench_open(&one, s, w->plan, 1);
    if (!status)
        status = sgemm_bench_open(&sgemm, workbench_hidden(&one), one.threads);
    if (!status)
        status = bench_row_measure(&r, &one, &sgemm, row, (int)o->repeats, o->limit);
    if (!status)
        status = add_row(rows, s, "training_step_one_thread", &r);
    if (!status)
        status = bench_speedup(&speedup, w, &one, row, (int)o->repeats, o->limit);
    if (!status)
        status = json_set_number(out, "speedup", speedup);
    sgemm_bench_close(&sgemm);
    workbench_close(&one);
    return status;
}

static int add_sizes(json_t *out, const alignment *a)
{
    return json_object_set_new(out, "taxa", json_integer(a->n_taxa)) ||
                   json_object_set_new(out, "sites", json_integer((json_int_t)a->n_sites)) ||
                   json_object_set_new(out, "patterns", json_integer((json_int_t)a->n_patterns))
               ? ART_ERR_NOMEM
               : ART_OK;
}

static int measure_rows(json_t *out, json_t *rows, session *s, const settings *o)
{
    const workbench_plan plan = plan_of(o);
    workbench w;
    sgemm_bench sgemm = {0};
    int status = workbench_open(&w, s, &plan, session_threads(s));
    if (!status)
        status = sgemm_bench_open(&sgemm, workbench_hidden(&w), w.threads);
    if (!status) {
        session_notes(s);
        log_info(&s->log, "%d taxa, %zu sites, %lld trees per step, %d threads, %s weights",
                 w.data.alignment.n_taxa, w.data.alignment.n_sites, (long long)o->particles,
                 session_threads(s), o->trained ? "trained" : "random");
        status = add_sizes(out, &w.data.alignment);
    }
    for (const bench_row *row = BENCH_ROWS; row->name && !status; row++) {
        bench_result r;
        if (!chosen_row(o, row->name) || (row->trained && !o->trained))
            continue;
        status = bench_row_measure(&r, &w, &sgemm, row, (int)o->repeats, o->limit);
        if (!status)
            status = add_row(rows, s, row->name, &r);
    }
    if (!status && session_threads(s) > 1 && !o->only)
        status = measure_one_thread(out, rows, s, o, &w);
    sgemm_bench_close(&sgemm);
    workbench_close(&w);
    return status;
}

static int add_size(json_t *rows, session *s, const char *what, int size, const bench_result *r)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%d_taxa", what, size);
    return add_row(rows, s, name, r);
}

static int measure_scaling(json_t *out, json_t *rows, session *s, const settings *o)
{
    const workbench_plan plan = plan_of(o);
    scaling result;
    int status = scaling_run(&result, s, &plan, scaling_sizes((int)o->largest), session_threads(s),
                             (int)o->repeats, o->limit);
    for (int i = 0; i < result.sizes && !status; i++)
        status = add_size(rows, s, "training_step", SCALING_TAXA[i], &result.step[i]);
    return status ? status : json_set_number(out, "exponent", result.exponent);
}

static int measure_figure(json_t *rows, session *s, const settings *o)
{
    figure f;
    const int threads = session_threads(s);
    int status = figure_run(&f, s, (uint64_t)o->common.seed, scaling_sizes((int)o->largest),
                            threads, (int)o->repeats, o->limit);
    if (!status)
        status = figure_write(&f, o->figure, threads, &s->diag);
    for (int i = 0; i < FIGURE_CURVES * f.sizes && !status; i++) {
        const int curve = i / f.sizes, size = i % f.sizes;
        status = add_size(rows, s, FIGURE_NAME[curve], SCALING_TAXA[size], &f.curve[curve][size]);
    }
    return status;
}

/* What was measured where: a new object, NULL if memory is short. */
static json_t *describe(const session *s, const settings *o)
{
    char date[32], processor[128];
    const time_t now = time(NULL);
    struct tm parts;
    if (!gmtime_r(&now, &parts) || !strftime(date, sizeof date, "%Y-%m-%d", &parts))
        date[0] = '\0';
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:b}", "version", art_version(),
                     "date", date, "processor", host_processor(processor, sizeof processor),
                     "cores", host_cores(), "instruction_set", cpu_level_name(cpu_best()),
                     "threads", session_threads(s), "seed", (json_int_t)o->common.seed, "particles",
                     (json_int_t)o->particles, "trained", o->trained != NULL);
}

static int put_results(session *s, const json_t *out, const json_t *rows, bool as_json)
{
    const json_t *speedup = json_object_get(out, "speedup");
    const json_t *exponent = json_object_get(out, "exponent");
    if (speedup)
        log_info(&s->log, "%d threads are %.2f times as fast as one", session_threads(s),
                 json_number_value(speedup));
    if (exponent)
        log_info(&s->log, "a step's time grows as the number of taxa to the power of %.2f",
                 json_number_value(exponent));
    if (!as_json) {
        put_table(&s->table, rows);
        return ART_OK;
    }
    char *text = json_dumps(out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (!text)
        return ART_ERR_NOMEM;
    output_printf(&s->table, "%s\n", text);
    free(text);
    return ART_OK;
}

static int bench(session *s, void *chosen)
{
    const settings *o = chosen;
    json_t *rows = json_array(), *out = describe(s, o);
    int status = rows && out ? ART_OK : ART_ERR_NOMEM;
    if (!status && o->scaling)
        status = measure_scaling(out, rows, s, o);
    else if (!status && o->figure)
        status = measure_figure(rows, s, o);
    else if (!status)
        status = measure_rows(out, rows, s, o);
    if (!status && json_object_set(out, "rows", rows))
        status = ART_ERR_NOMEM;
    if (!status)
        status = put_results(s, out, rows, o->json);
    json_decref(rows);
    json_decref(out);
    return status;
}

static const command TIMING = {
    .name = "timing",
    .summary = "timings with the machine's own sgemm rate beside them",
    .description =
        "Measures, with random or trained weights: node embeddings of 128 trees in all four ways; "
        "one forward pass over K trees; a training step and its parts (sampling, network backward, "
        "branch model, likelihood with gradient, optimiser); steps of density estimation; draws "
        "from fixed weights; an estimate of the evidence; parsimony scores of K trees. Each is the "
        "median of several repeats with the quartiles, the floating-point operations of the "
        "matrix products as done, with every distinct partial tree once, and without sharing; "
        "their rate, and that of the BLAS in the same run at the same shapes and threads; the peak "
        "memory so far.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = bench,
};

int main(int argc, char **argv)
{
    return session_run(&TIMING, argc, argv, 1);
}
