#include "api/run.h"

#include "base/mem.h"
#include "results/page.h"
#include "results/results_file.h"
#include "results/summary.h"
#include "tree/consensus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const FILES_OF_FIT[] = {".model.safetensors", ".json", NULL};

static int finish(art_result *found)
{
    run_core *c = found->core;
    if (c->infer)
        return infer_job_finish(c->infer, &found->infer);
    if (c->average)
        return model_average_finish(c->average, &found->infer);
    if (c->fit)
        return fit_job_finish(c->fit, &found->fit);
    if (c->search)
        return search_job_finish(c->search, &found->search);
    return parsimony_job_finish(c->parsimony, &found->parsimony);
}

/* Under one model or several. */
static bool is_inference(const art_result *found)
{
    return found->core->infer || found->core->average;
}

/* The evaluation that the run ended with; NULL if there is none. */
static const evaluation *evaluation_of(const art_result *found)
{
    const evaluation *e = is_inference(found)      ? &found->infer.evaluation
                          : found->core->parsimony ? &found->parsimony.evaluation
                                                   : NULL;
    return e && e->evidence.total > 0 ? e : NULL;
}

/* The posterior that consensus, splits and report are of; NULL if there is none. */
static const posterior *posterior_of(const art_result *found)
{
    const evaluation *e = is_inference(found) ? evaluation_of(found) : NULL;
    return e ? &e->posterior : NULL;
}

/* Whether split i has two taxa or more on either side. */
static bool is_inner(const split_table *s, size_t i)
{
    const uint64_t *bits = split_table_bits(s, i);
    int members = 0;
    for (size_t w = 0; w < s->words; w++)
        members += __builtin_popcountll(bits[w]);
    return members >= 2 && members <= s->n_taxa - 2;
}

/* The splits that art_result_split is asked for. */
static int order_splits(art_result *found)
{
    const posterior *p = posterior_of(found);
    if (!p || !p->splits.count)
        return ART_OK;
    found->inner = mem_zeros(p->splits.count, sizeof *found->inner);
    int status = found->inner ? split_table_order(found->inner, &p->splits) : ART_ERR_NOMEM;
    for (size_t i = 0; i < p->splits.count && !status; i++)
        if (is_inner(&p->splits, found->inner[i]))
            found->inner[found->n_inner++] = found->inner[i];
    return status;
}

int art_run_result(art_result **out, art_run *r, art_messages *m)
{
    *out = NULL;
    run_progress now;
    if (!r->core)
        return ART_ERR_USAGE;
    r->core->work->ops->progress(r->core->work, &now);
    if (!now.is_done)
        return ART_ERR_USAGE;
    art_result *found = mem_zeros(1, sizeof *found);
    if (!found)
        return ART_ERR_NOMEM;
    found->core = r->core;
    r->core = NULL;
    int status = finish(found);
    if (!status)
        status = order_splits(found);
    if (!status && posterior_of(found))
        status = parameter_rows(&found->parameter, posterior_of(found));
    if (!status && is_inference(found))
        messages_verdict(m, &found->infer.evaluation.verdict);
    if (status)
        art_result_free(found);
    else
        *out = found;
    return status;
}

void art_result_free(art_result *found)
{
    if (!found)
        return;
    infer_result_free(&found->infer);
    parsimony_result_free(&found->parsimony);
    search_result_free(&found->search);
    run_core_free(found->core);
    free(found->inner);
    free(found->parameter);
    free(found);
}

int art_result_evidence(art_evidence *out, const art_result *found)
{
    const evaluation *e = evaluation_of(found);
    if (!e)
        return ART_ERR_UNSUPPORTED;
    *out = model_evidence(&e->evidence, &e->verdict);
    return ART_OK;
}

/* The verdict on a run that was judged; NULL if there is none. */
static const verdict *verdict_of(const art_result *found)
{
    const evaluation *e = evaluation_of(found);
    return e && e->verdict.is_given ? &e->verdict : NULL;
}

int art_result_converged(int *converged, const art_result *found)
{
    const verdict *v = verdict_of(found);
    *converged = v && v->converged;
    return v ? ART_OK : ART_ERR_UNSUPPORTED;
}

size_t art_result_warnings(const art_result *found)
{
    const verdict *v = verdict_of(found);
    return v ? (size_t)v->n_warnings : 0;
}

const char *art_result_warning(const art_result *found, size_t i)
{
    return i < art_result_warnings(found) ? verdict_of(found)->warning[i] : NULL;
}

int art_result_diagnostics(art_diagnostics *out, const art_result *found)
{
    const verdict *v = verdict_of(found);
    if (!v)
        return ART_ERR_UNSUPPORTED;
    *out = (art_diagnostics){.asdsf = v->asdsf,
                             .largest_split_deviation = v->largest_deviation,
                             .r_hat = v->r_hat,
                             .ess_log_density = v->ess_log_density,
                             .ess_splits = v->ess_splits};
    return ART_OK;
}

static int copy_trees(tree_set *out, const tree_set *from)
{
    int status = tree_set_init(out, &from->taxa);
    for (size_t i = 0; i < from->count && !status; i++)
        status = tree_set_add(out, tree_set_decision(from, i), from->weight[i]);
    out->share = from->share;
    return status ? status : tree_set_normalise(out);
}

/* The trees of the best parsimony score. */
static int best_trees(tree_set *out, const art_result *found)
{
    const taxa *names = &found->core->data.taxa;
    const size_t n_decisions = (size_t)names->count - 3;
    int status = tree_set_init(out, names);
    for (size_t i = 0; i < (size_t)found->parsimony.best_trees && !status; i++)
        status = tree_set_add(out, found->parsimony.decision + i * n_decisions, 1);
    return status ? status : tree_set_normalise(out);
}

/* One resolution of each optimal tree of a search. */
static int optimal_set(tree_set *out, const art_result *found)
{
    const optimal_trees *o = found->search.found.trees;
    int status = tree_set_init(out, &found->core->data.taxa);
    for (size_t i = 0; i < o->collapsed.count && !status; i++)
        status = tree_set_add(out, optimal_tree(o, (size_t)o->first[i]), 1);
    return status ? status : tree_set_normalise(out);
}

int art_result_trees(art_trees **out, const art_result *found)
{
    *out = NULL;
    const evaluation *e = evaluation_of(found);
    if (!e && !found->core->search)
        return ART_ERR_UNSUPPORTED;
    art_trees *t = mem_zeros(1, sizeof *t);
    int status = !t                       ? ART_ERR_NOMEM
                 : found->core->search    ? optimal_set(&t->set, found)
                 : found->core->parsimony ? best_trees(&t->set, found)
                                          : copy_trees(&t->set, &e->posterior.trees);
    if (status)
        art_trees_free(t);
    else
        *out = t;
    return status;
}

int art_result_score(int64_t *score, const art_result *found)
{
    const run_core *c = found->core;
    *score = c->search ? found->search.found.score : found->parsimony.best_score;
    return c->search || c->parsimony ? ART_OK : ART_ERR_UNSUPPORTED;
}

int art_result_search(art_search_counts *out, const art_result *found)
{
    const parsimony_found *f = &found->search.found;
    *out = (art_search_counts){0};
    if (!found->core->search)
        return ART_ERR_UNSUPPORTED;
    *out = (art_search_counts){.score = f->score,
                               .trees = (int64_t)f->trees->collapsed.count,
                               .resolved = (int64_t)f->trees->resolved.count,
                               .starts = f->starts,
                               .hits = f->hits,
                               .islands = f->islands,
                               .is_complete = found->search.is_complete};
    return ART_OK;
}

/* The splits that a consensus is made of; NULL if there are none. */
static const split_table *splits_of_result(const art_result *found)
{
    const posterior *p = posterior_of(found);
    return p ? &p->splits : found->core->search ? &found->search.splits : NULL;
}

int art_result_consensus(const art_result *found, enum art_consensus kind, char *text, size_t size,
                         size_t *length)
{
    static const consensus_kind KIND[] = {
        [ART_STRICT] = CONSENSUS_STRICT,
        [ART_MAJORITY] = CONSENSUS_MAJORITY,
        [ART_EXTENDED] = CONSENSUS_EXTENDED,
    };
    const split_table *splits = splits_of_result(found);
    consensus c = {0};
    buffer whole;
    if (!splits)
        return ART_ERR_UNSUPPORTED;
    if (kind > ART_EXTENDED)
        return ART_ERR_USAGE;
    buffer_init(&whole);
    int status = consensus_build(&c, splits, KIND[kind]);
    if (!status) {
        consensus_write_newick(&whole, &c, &found->core->data.taxa);
        status = text_hand_out(text, size, length, &whole);
    }
    buffer_free(&whole);
    consensus_free(&c);
    return status;
}

size_t art_result_splits(const art_result *found)
{
    return found->n_inner;
}

int art_result_split(const art_result *found, size_t i, double *probability, double *se,
                     double *mean_length, char *text, size_t size, size_t *length)
{
    const posterior *p = posterior_of(found);
    if (!p)
        return ART_ERR_UNSUPPORTED;
    if (i >= found->n_inner)
        return ART_ERR_USAGE;
    const split_table *s = &p->splits;
    const size_t at = found->inner[i];
    buffer whole;
    buffer_init(&whole);
    *probability = split_frequency(s, at);
    *se = verdict_shows_split_errors(&found->infer.evaluation.verdict)
              ? split_frequency_error(s, at)
              : (double)NAN;
    *mean_length = s->known[at] > 0 ? s->mean[at] : (double)NAN;
    summary_members(&whole, split_table_bits(s, at), &p->trees.taxa);
    int status = text_hand_out(text, size, length, &whole);
    buffer_free(&whole);
    return status;
}

size_t art_result_parameters(const art_result *found)
{
    const posterior *p = posterior_of(found);
    return p ? (size_t)p->n_columns : 0;
}

int art_result_parameter(art_parameter *out, const art_result *found, size_t i)
{
    if (!posterior_of(found))
        return ART_ERR_UNSUPPORTED;
    if (i >= art_result_parameters(found))
        return ART_ERR_USAGE;
    const parameter_row *row = &found->parameter[i];
    *out = (art_parameter){.name = row->name,
                           .mean = row->mean,
                           .mean_se = row->error,
                           .sd = row->deviation,
                           .median = row->median,
                           .low = row->low,
                           .high = row->high,
                           .ess = row->ess,
                           .share = row->share};
    return ART_OK;
}

size_t art_result_candidates(const art_result *found)
{
    const model_average *a = found->core->average;
    return a ? (size_t)model_average_context(a)->models->count : 0;
}

int art_result_candidate(art_candidate *out, const art_result *found, size_t i)
{
    if (!found->core->average)
        return ART_ERR_UNSUPPORTED;
    if (i >= art_result_candidates(found))
        return ART_ERR_USAGE;
    const model_row *row = &model_average_context(found->core->average)->models->row[i];
    *out = (art_candidate){.model = row->name,
                           .parameters = row->n_parameters,
                           .log_evidence = row->log_evidence,
                           .log_evidence_se = row->log_evidence_se,
                           .probability = row->probability,
                           .probability_se = row->probability_se,
                           .was_run = row->status == MODEL_RUN,
                           .converged = row->converged};
    return ART_OK;
}

static infer_description describe(const art_result *found)
{
    return (infer_description){.alignment = "(library)", .model = found->core->model};
}

int art_result_report(const art_result *found, char *text, size_t size, size_t *length)
{
    const run_core *c = found->core;
    if (!posterior_of(found) && !c->search)
        return ART_ERR_UNSUPPORTED;
    const infer_description about = describe(found);
    buffer whole;
    buffer_init(&whole);
    int status = c->search ? search_job_report(&whole, c->search, &found->search, about.alignment)
                 : c->average ? infer_result_report(&whole, &found->infer,
                                                    model_average_context(c->average), &about)
                              : infer_job_report(&whole, c->infer, &found->infer, &about);
    if (!status)
        status = text_hand_out(text, size, length, &whole);
    buffer_free(&whole);
    return status;
}

/* The suffixes of a job with that of the results behind; out has room for 16. */
static const char *const *with_json(const char *out[16], const char *const *suffix)
{
    int n = 0;
    for (; *suffix && n < 14; suffix++)
        out[n++] = *suffix;
    out[n++] = ".json";
    out[n] = NULL;
    return out;
}

int art_result_write(art_result *found, const char *prefix, art_messages *m)
{
    run_core *c = found->core;
    diag *d = messages_diag(m);
    const char *suffix[16];
    results_facts facts = {.seed = c->seed, .seconds = c->seconds, .suffixes = FILES_OF_FIT};
    json_t *results = NULL;
    int status = ART_ERR_USAGE;
    char *settings = json_dumps(json_object_get(c->identity, "settings"), JSON_COMPACT);
    if (!c->work || (is_inference(found) && !evaluation_of(found))) {
        free(settings);
        return ART_ERR_USAGE; /* the model is taken, or there is nothing to write */
    }
    if (c->infer) {
        infer_description about = describe(found);
        about.settings = settings;
        status = infer_job_write(c->infer, &found->infer, &about, prefix, d);
        results = infer_job_results(c->infer, &found->infer, c->model);
        facts.suffixes = with_json(suffix, INFER_SUFFIXES);
    } else if (c->average) {
        const infer_description about = describe(found);
        status = model_average_write(c->average, &found->infer, &about, prefix, d);
        results = infer_result_json(&found->infer, model_average_context(c->average), c->model);
        facts.suffixes = with_json(suffix, INFER_SUFFIXES);
    } else if (c->fit) {
        status = fit_job_write(c->fit, settings, prefix, d);
        results = fit_job_results(c->fit, &found->fit);
    } else if (c->search) {
        status = search_job_write(c->search, &found->search, describe(found).alignment, prefix, d);
        results = search_job_results(&found->search);
        facts.suffixes = with_json(suffix, SEARCH_SUFFIXES);
    } else {
        status = parsimony_job_write(c->parsimony, &found->parsimony, settings, prefix, d);
        results = parsimony_job_results(c->parsimony, &found->parsimony);
        facts.suffixes = with_json(suffix, PARSIMONY_SUFFIXES);
    }
    free(settings);
    if (status) {
        json_decref(results);
        return status;
    }
    return results_file_write(prefix, c->identity, results, &facts, d);
}

/* The networks, the pool and the names go over to the model. */
static int take_models(art_model *q, art_result *found)
{
    run_core *c = found->core;
    model_file *f = &q->file;
    const taxa *names = c->fit ? &c->trees->taxa : &c->data.taxa;
    int status = taxa_copy(&f->taxa, names);
    if (status)
        return status;
    if (c->infer)
        infer_job_take_models(c->infer, &f->trees, &f->branches);
    else
        f->trees = c->fit ? fit_job_take_model(c->fit) : parsimony_job_take_model(c->parsimony);
    c->work = NULL;
    q->threads = c->threads;
    c->threads = NULL;
    return ART_OK;
}

/* What a model's file says besides. */
static int describe_model(art_model *q, const art_result *found)
{
    const run_core *c = found->core;
    model_file *f = &q->file;
    const json_t *settings = json_object_get(c->identity, "settings");
    if (!c->infer)
        return ART_OK;
    q->prior = c->prior;
    f->substitution = mem_text(c->model, strlen(c->model));
    f->settings = json_dumps(settings, JSON_COMPACT);
    return f->substitution && f->settings ? ART_OK : ART_ERR_NOMEM;
}

/* Of collapsed inference: what was found stays with the model. */
static int keep_answer(art_model *q, const art_result *found)
{
    const evaluation *e = found->core->infer ? evaluation_of(found) : NULL;
    if (!e || isnan(e->evidence.outside)) /* of other inference: there is no table */
        return ART_OK;
    q->answer = model_evidence(&e->evidence, &e->verdict);
    q->has_answer = true;
    return copy_trees(&q->found, &e->posterior.trees);
}

int art_result_model(art_model **out, art_result *found)
{
    *out = NULL;
    if (!found->core->work)
        return ART_ERR_USAGE;
    if (found->core->search || found->core->average ||
        (found->core->infer && !infer_job_has_model(found->core->infer)))
        return ART_ERR_UNSUPPORTED;
    art_model *q = mem_zeros(1, sizeof *q);
    if (!q)
        return ART_ERR_NOMEM;
    taxa_init(&q->file.taxa);
    q->prior = branch_prior_exponential(MODEL_PRIOR_RATE);
    int status = describe_model(q, found);
    if (!status)
        status = keep_answer(q, found);
    if (!status)
        status = take_models(q, found);
    return model_end(out, q, status);
}

int art_model_answer(art_evidence *e, art_trees **trees, const art_model *q)
{
    if (trees)
        *trees = NULL;
    if (!q->has_answer)
        return ART_ERR_UNSUPPORTED;
    *e = q->answer;
    if (!trees)
        return ART_OK;
    art_trees *t = mem_zeros(1, sizeof *t);
    int status = t ? copy_trees(&t->set, &q->found) : ART_ERR_NOMEM;
    if (status)
        art_trees_free(t);
    else
        *trees = t;
    return status;
}
