#include "jobs/infer_job.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "density/model_file.h"
#include "io/json_number.h"
#include "jobs/methods.h"
#include "jobs/support_run.h"
#include "jobs/variational_run.h"
#include "results/page.h"
#include "results/parameters.h"
#include "results/sample.h"
#include "results/summary.h"
#include "subst/branch_prior_string.h"
#include "subst/model_list.h"
#include "subst/prior_string.h"
#include "train/variational_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const INFER_SUFFIXES[] = {
    ".model.safetensors", ".trees",       ".trace.tsv",  ".p",       ".t",
    ".trprobs",           ".contree",     ".con.tre",    ".map.nwk", ".splits.tsv",
    ".report.txt",        ".report.html", ".models.tsv", NULL};

static const char OBJECTIVE[] = "bound";

struct infer_job {
    infer_settings set;
    const dataset *data;
    free_model model;
    pool *threads;
    branch_posterior posterior; /* collapsed */
    particle_source source;
    size_t support; /* trees that the tables come from; 0: there are none */
    run *training;  /* vbpi: the run that trains and evaluates, parts.run or within it; NULL before
                       there is a support */
    job_parts parts;
};

static int make_models(infer_job *j)
{
    const infer_settings *s = &j->set;
    const int n = j->data->alignment.n_taxa;
    int status = topology_model_create(&j->parts.trees, &s->trees, n, j->threads);
    if (!status)
        status = branch_model_create(&j->parts.branches, &s->branches, n, j->threads);
    if (status)
        return status;
    topology_model_initialise(j->parts.trees, s->seed);
    branch_model_initialise(j->parts.branches, s->seed);
    return ART_OK;
}

/* Branch lengths integrated out. */
static int make_collapsed(infer_job *j)
{
    const collapsed_problem problem = {&j->posterior,  &j->data->alignment, j->data->row,
                                       &j->data->taxa, j->parts.trees,      j->parts.branches};
    if (topology_model_can(j->parts.trees, TOPOLOGY_TABLES))
        return ART_ERR_UNSUPPORTED;
    int status = branch_posterior_init_free(&j->posterior, &j->data->alignment, j->data->row,
                                            &j->model, j->set.prior);
    return status ? status
                  : collapsed_run_create(&j->parts.run, &problem, &j->set.collapsed, j->threads);
}

/* Topologies and branch lengths learned together: once the tree model has its parameters. */
static int make_training(infer_job *j, run **out)
{
    const infer_settings *s = &j->set;
    const training_view view = {.stage = "training",
                                .objective = OBJECTIVE,
                                .best = "best_log_likelihood",
                                .best_sign = 1,
                                .report_every = s->report_every};
    const int batch = s->particles > EVIDENCE_BATCH ? s->particles : EVIDENCE_BATCH;
    int status = target_likelihood(&j->parts.goal, &j->data->alignment, j->data->row,
                                   &j->model.fixed, batch, j->threads);
    j->source =
        (particle_source){j->parts.trees, j->parts.branches, j->parts.goal, s->prior, s->seed};
    if (!status)
        status = variational_create(&j->parts.task, &j->source, s->particles, s->estimator);
    if (!status)
        status = trainer_create(&j->parts.trainer, j->parts.task, &s->training, j->threads);
    if (!status)
        status = variational_run_create(out, j->parts.trainer, &view, &j->source, &j->data->taxa,
                                        &s->evaluation);
    if (!status)
        j->training = *out;
    return status;
}

/* A model with tables gets those of these trees. */
static int begin_with_support(void *context, const tree_set *trees, run **training)
{
    infer_job *j = context;
    int status =
        topology_model_fit_begin(j->parts.trees, trees->decision, trees->weight, trees->count);
    j->support = trees->count;
    return status ? status : make_training(j, training);
}

static int make_vbpi(infer_job *j)
{
    const infer_settings *s = &j->set;
    if (j->model.n_free)
        return ART_ERR_USAGE;
    if (!topology_model_can(j->parts.trees, TOPOLOGY_TABLES))
        return make_training(j, &j->parts.run);
    if (!topology_model_can(j->parts.trees, TOPOLOGY_GRADIENT))
        return ART_ERR_UNSUPPORTED;
    if (s->support)
        return begin_with_support(j, s->support, &j->parts.run);
    support_search *search;
    int status = support_search_create(&search, j->data, &j->model, s->prior, s->seed, j->threads);
    return status ? status : support_run_create(&j->parts.run, search, begin_with_support, j);
}

int infer_job_create(infer_job **out, const dataset *data, const free_model *model,
                     const infer_settings *settings, pool *threads)
{
    *out = NULL;
    infer_job *j = mem_zeros(1, sizeof *j);
    if (!j)
        return ART_ERR_NOMEM;
    j->set = *settings;
    j->data = data;
    j->model = *model;
    j->threads = threads;
    int status = make_models(j);
    if (!status)
        status = settings->method == INFER_VBPI ? make_vbpi(j) : make_collapsed(j);
    if (status)
        infer_job_free(j);
    else
        *out = j;
    return status;
}

void infer_job_free(infer_job *j)
{
    if (!j)
        return;
    job_parts_free(&j->parts);
    branch_posterior_free(&j->posterior);
    free(j);
}

run *infer_job_run(infer_job *j)
{
    return j->parts.run;
}

bool infer_job_has_model(const infer_job *j)
{
    return j->set.method == INFER_VBPI || collapsed_run_has_network(j->parts.run);
}

void infer_job_take_models(infer_job *j, topology_model **trees, branch_model **branches)
{
    job_parts_release(&j->parts);
    *trees = j->parts.trees;
    *branches = j->parts.branches;
    j->parts.trees = NULL;
    j->parts.branches = NULL;
}

void infer_result_free(infer_result *r)
{
    evaluation_free(&r->evaluation);
    json_decref(r->facts);
    memset(r, 0, sizeof *r);
}

static int finish_collapsed(infer_job *j, infer_result *out)
{
    answer found;
    int status = collapsed_run_finish(j->parts.run, &found);
    out->evaluation.evidence = found.evidence;
    out->evaluation.posterior = found.posterior;
    out->evaluation.verdict = found.verdict;
    out->facts = status ? NULL : collapsed_run_facts(j->parts.run, &found);
    return status;
}

static int finish_vbpi(infer_job *j, infer_result *out)
{
    int status = variational_run_finish(j->training, &out->evaluation);
    if (!status && out->evaluation.evidence.total > 0)
        evaluation_judge(&out->evaluation);
    out->facts =
        json_pack("{s:s, s:I}", "method", "vbpi", "steps", (json_int_t)j->parts.trainer->step);
    if (out->facts && j->support)
        json_object_set_new(out->facts, "support_trees", json_integer((json_int_t)j->support));
    if (out->facts)
        json_set_number(out->facts, "best_log_likelihood", variational_best(j->parts.task));
    return status;
}

int infer_job_finish(infer_job *j, infer_result *out)
{
    memset(out, 0, sizeof *out);
    int status = j->set.method == INFER_VBPI ? finish_vbpi(j, out) : finish_collapsed(j, out);
    return !status && !out->facts ? ART_ERR_NOMEM : status;
}

static int write_model(infer_job *j, const infer_description *about, const char *prefix, diag *d)
{
    char *path = NULL, *prior = NULL, text[BRANCH_PRIOR_STRING_SIZE];
    if (asprintf(&path, "%s.model.safetensors", prefix) < 0)
        return ART_ERR_NOMEM;
    if (asprintf(&prior, "{\"branch_prior\":\"%s\"}", branch_prior_print(text, j->set.prior)) < 0) {
        free(path);
        return ART_ERR_NOMEM;
    }
    const model_contents contents = {.taxa = &j->data->taxa,
                                     .trees = j->parts.trees,
                                     .average =
                                         j->parts.trainer ? j->parts.trainer->trees.average : NULL,
                                     .branches = j->parts.branches,
                                     .substitution = about->model,
                                     .settings = about->settings ? about->settings : prior};
    int status = model_file_write(path, &contents, d);
    free(path);
    free(prior);
    return status;
}

/* A file of earlier results, which these replace, is not one of these. */
static int remove_file(const char *prefix, const char *suffix)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", prefix, suffix) < 0)
        return ART_ERR_NOMEM;
    unlink(path); /* as a rule there is none */
    free(path);
    return ART_OK;
}

int infer_remove_model(const char *prefix)
{
    return remove_file(prefix, ".model.safetensors");
}

/* What the report says of the run. */
enum { FACTS = 6, FACT_SIZE = 128 };

typedef struct report_facts {
    page_fact fact[FACTS];
    char size[FACT_SIZE], method[FACT_SIZE], seed[FACT_SIZE];
    buffer prior; /* owned */
} report_facts;

/* The way that the facts name (collapsed/run_facts.h). */
static methods_way way_of(const infer_result *found)
{
    const char *way = json_string_value(json_object_get(found->facts, "way"));
    if (way && strcmp(way, "chains") == 0)
        return METHODS_CHAINS;
    return way && strcmp(way, "chains with branch lengths") == 0 ? METHODS_JOINT : METHODS_TABLE;
}

/* As papers write them. */
static void describe_priors(buffer *out, const infer_context *of)
{
    const branch_prior p = of->settings->prior;
    char text[PRIOR_TEXT_SIZE];
    buffer_init(out);
    buffer_text(out, "uniform topologies, ");
    switch (p.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        buffer_printf(out, "Exp(%g)", p.rate);
        break;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        buffer_printf(out, "GammaDir(%g, %g, %g, %g)", p.shape, p.rate, p.alpha, p.ratio);
        break;
    }
    buffer_text(out, " branch lengths");
    for (int i = 0; model_list_prior_text(text, sizeof text, of->model, of->n_models, i); i++)
        buffer_printf(out, ", %s", text);
}

static void describe(report_facts *f, const infer_context *of, const infer_result *found,
                     const infer_description *about)
{
    const infer_settings *s = of->settings;
    const alignment *a = &of->data->alignment;
    char sites[FORMAT_ITEMS], patterns[FORMAT_ITEMS];
    snprintf(f->size, FACT_SIZE, "%d taxa, %s, %s", a->n_taxa,
             format_items(sites, sizeof sites, a->n_sites, "site", "sites"),
             format_items(patterns, sizeof patterns, a->n_patterns, "pattern", "patterns"));
    describe_priors(&f->prior, of);
    if (s->method == INFER_VBPI)
        snprintf(f->method, FACT_SIZE, "%lld steps of %d particles, annealed over %lld",
                 (long long)s->training.steps, s->particles, (long long)s->training.anneal_steps);
    else if (of->models)
        snprintf(f->method, FACT_SIZE,
                 "branch lengths integrated out, models weighted by their evidence");
    else if (way_of(found) == METHODS_JOINT)
        snprintf(f->method, FACT_SIZE, "Markov chains over topologies with their branch lengths");
    else
        snprintf(f->method, FACT_SIZE, "branch lengths integrated out, %s",
                 way_of(found) == METHODS_CHAINS
                     ? "Markov chains over topologies and a density of clades"
                     : "topologies explored and learned");
    snprintf(f->seed, FACT_SIZE, "%llu", (unsigned long long)s->seed);
    const page_fact fact[FACTS] = {
        {"alignment", about->alignment},
        {"size", f->size},
        {"substitution model", about->model},
        {"prior", f->prior.text},
        {"method", f->method},
        {"seed", f->seed},
    };
    memcpy(f->fact, fact, sizeof fact);
}

/* The paragraph for a publication; to be freed. */
static void describe_methods(buffer *out, const infer_context *of, const infer_result *found,
                             const infer_description *about)
{
    char prior[BRANCH_PRIOR_STRING_SIZE];
    branch_prior_print(prior, of->settings->prior);
    buffer_init(out);
    const methods_facts facts = {.alignment = &of->data->alignment,
                                 .model = about->model,
                                 .prior = prior,
                                 .free = of->model,
                                 .n_models = of->n_models,
                                 .models = of->models,
                                 .way = of->settings->method == INFER_VBPI ? METHODS_VBPI
                                                                           : way_of(found),
                                 .seed = of->settings->seed,
                                 .evaluation = &found->evaluation,
                                 .rooting = about->rooting};
    methods_write(out, &facts);
}

static page page_of(const report_facts *f, const infer_result *found, const infer_context *of,
                    const infer_description *about, const char *methods, const trace *bound)
{
    return (page){.fact = f->fact,
                  .n_facts = FACTS,
                  .evidence = &found->evaluation.evidence,
                  .verdict = &found->evaluation.verdict,
                  .posterior = &found->evaluation.posterior,
                  .bound = bound,
                  .rooting = about->rooting,
                  .methods = methods,
                  .models = of->models,
                  .rounds = json_object_get(
                      found->facts, way_of(found) == METHODS_TABLE ? "rounds" : "chain_rounds")};
}

int infer_result_report(buffer *out, const infer_result *found, const infer_context *of,
                        const infer_description *about)
{
    const trace none = {0};
    report_facts f;
    buffer methods;
    describe(&f, of, found, about);
    describe_methods(&methods, of, found, about);
    const page p = page_of(&f, found, of, about, methods.text, &none);
    int status = page_text(out, &p);
    if (!status)
        status = buffer_status(&methods);
    if (!status)
        status = buffer_status(&f.prior);
    buffer_free(&methods);
    buffer_free(&f.prior);
    return status;
}

/* <prefix>.report.txt and .html */
static int write_page(const infer_result *found, const infer_context *of,
                      const infer_description *about, const char *prefix, diag *d)
{
    trace bound = {0};
    report_facts f;
    buffer methods;
    char *metrics = NULL;
    describe(&f, of, found, about);
    int status = asprintf(&metrics, "%s.metrics.jsonl", prefix) < 0
                     ? ART_ERR_NOMEM
                     : trace_read(&bound, metrics, OBJECTIVE);
    describe_methods(&methods, of, found, about);
    const page p = page_of(&f, found, of, about, methods.text, &bound);
    if (!status)
        status = buffer_status(&methods);
    if (!status)
        status = buffer_status(&f.prior);
    if (!status)
        status = page_write(prefix, &p, d);
    buffer_free(&methods);
    buffer_free(&f.prior);
    trace_free(&bound);
    free(metrics);
    return status;
}

int infer_result_write(const infer_result *found, const infer_context *of,
                       const infer_description *about, const char *prefix, diag *d)
{
    const posterior *p = &found->evaluation.posterior;
    int status = sample_write(prefix, p, about->rooting, d);
    const tree_rows rows = {(size_t)p->count, p->decision, p->length, NULL};
    const summary_options summary = {.kind = CONSENSUS_MAJORITY,
                                     .errors =
                                         verdict_shows_split_errors(&found->evaluation.verdict),
                                     .rooting = about->rooting,
                                     .rows = p->has_lengths ? &rows : NULL};
    if (!status)
        status = parameters_write(prefix, p, d);
    if (!status)
        status = summary_write(prefix, &p->trees, &p->splits, &summary, d);
    if (!status)
        status = of->models ? model_table_write(prefix, of->models, d)
                            : remove_file(prefix, MODEL_TABLE_SUFFIX);
    return status ? status : write_page(found, of, about, prefix, d);
}

/* Of what is estimated, by the names of prior_string.h. */
static json_t *priors_json(const free_model *model, int n)
{
    char text[PRIOR_TEXT_SIZE];
    const char *name;
    json_t *out = json_object();
    for (int i = 0; out && prior_string_print(&name, text, model, n, i); i++)
        if (json_object_set_new(out, name, json_string(text))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

json_t *infer_result_json(const infer_result *found, const infer_context *of, const char *model)
{
    char prior[BRANCH_PRIOR_STRING_SIZE];
    json_t *results = evaluation_json(&found->evaluation, of->settings->evaluation.particles);
    branch_prior_print(prior, of->settings->prior);
    if (results && (json_object_set_new(results, "model", json_string(model)) ||
                    json_object_set_new(results, "branch_prior", json_string(prior)) ||
                    json_object_set_new(results, "priors", priors_json(of->model, of->n_models)) ||
                    json_object_update(results, found->facts))) {
        json_decref(results);
        return NULL;
    }
    return results;
}

static infer_context context_of(const infer_job *j)
{
    return (infer_context){.data = j->data, .settings = &j->set, .model = &j->model, .n_models = 1};
}

int infer_job_report(buffer *out, const infer_job *j, const infer_result *found,
                     const infer_description *about)
{
    const infer_context of = context_of(j);
    return infer_result_report(out, found, &of, about);
}

int infer_job_write(infer_job *j, const infer_result *found, const infer_description *about,
                    const char *prefix, diag *d)
{
    const infer_context of = context_of(j);
    int status =
        infer_job_has_model(j) ? write_model(j, about, prefix, d) : infer_remove_model(prefix);
    return status ? status : infer_result_write(found, &of, about, prefix, d);
}

json_t *infer_job_results(const infer_job *j, const infer_result *found, const char *model)
{
    const infer_context of = context_of(j);
    return infer_result_json(found, &of, model);
}
