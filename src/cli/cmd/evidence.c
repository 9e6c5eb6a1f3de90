/* evidence: the log marginal likelihood by importance sampling from a trained model. */
#include "artreeformer.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/dataset_options.h"
#include "cli/evaluation_options.h"
#include "cli/model_input.h"
#include "cli/prior_options.h"
#include "cli/progress.h"
#include "subst/branch_prior_string.h"
#include "subst/model_string.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    common_settings common;
    model_settings model;
    dataset_settings data;
    prior_settings prior; /* without text, with rate 0: the one the model was trained with */
    evaluation_settings evaluation;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .evaluation = EVALUATION_DEFAULTS};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_INCLUDE(settings, model, MODEL_OPTIONS),
    OPTION_INCLUDE(settings, data, DATASET_OPTIONS),
    OPTION_TEXT(settings, prior.text, "--branch-prior", OPTIONAL, "PRIOR",
                "prior on branch lengths, such as exponential(10) or gammadir(1,0.1,1,1), instead "
                "of that of the training"),
    OPTION_REAL(settings, prior.rate, "--prior-rate", OPTIONAL, 0, 1e6,
                "rate of an exponential prior on branch lengths; 0: as in training"),
    OPTION_INCLUDE(settings, evaluation, EVALUATION_OPTIONS),
    OPTION_INCLUDE(settings, common, COMMON_SEED),
    OPTION_HEADING("Running"),
    OPTION_INCLUDE(settings, common, COMMON_THREADS),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

static int print(session *s, const evaluation *e, const evaluation_settings *set)
{
    const char *key;
    json_t *value, *figures = json_object();
    int status = figures ? evaluation_figures(figures, e, set->particles) : ART_ERR_NOMEM;
    if (!status)
        output_printf(&s->table, "converged\t%s\n", e->verdict.converged ? "true" : "false");
    json_object_foreach(figures, key, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        output_printf(&s->table, "%s\t%s\n", key, text && json_is_number(value) ? text : "NA");
        free(text);
    }
    json_decref(figures);
    return status;
}

/* The evaluation and its progress line. */
static int evaluate(evaluation *out, session *s, const particle_source *source, const taxa *names,
                    const evaluation_settings *set)
{
    evaluator *e;
    progress line;
    int status = evaluator_create(&e, source, names, set);
    progress_start(&line, &s->log, "evidence", "draws",
                   (double)set->particles * (double)set->repeats, 0);
    while (!status && !evaluator_is_done(e)) {
        status = evaluator_advance(e);
        progress_update(&line, evaluator_draws(e), "distinct trees: %zu", evaluator_topologies(e));
    }
    progress_end(&line);
    if (!status)
        status = evaluator_finish(e, out);
    if (!status)
        evaluation_judge(out);
    evaluator_free(e);
    return status;
}

/* The prior that the options state, or that of the training. */
static int find_prior(branch_prior *out, session *s, const prior_settings *set, const model_file *m)
{
    if (set->text && set->rate > 0)
        return diag_error(
            &s->diag, ART_ERR_USAGE, (diag_place){0},
            "--prior-rate and --branch-prior cannot be used together -- remove one of them");
    if (set->text)
        return branch_prior_parse(out, set->text, &s->diag);
    *out = branch_prior_exponential(set->rate);
    return set->rate > 0 ? ART_OK : model_file_prior(out, m, &s->diag);
}

/* The substitution model of the training, which must have all its numbers: the network has no
 * distribution of parameters to draw from. */
static int find_model(subst_model *out, const char *text, const char *path, const alignment *a,
                      diag *d)
{
    model_text t;
    const int status = model_text_parse(&t, text, a, d);
    if (status)
        return status;
    if (t.rates_free || t.frequencies_free || t.alpha_free || t.p_invariant_free)
        return diag_error(d, ART_ERR_INPUT, (diag_place){.file = path},
                          "the parameters of %s were estimated in its run, and a network draws "
                          "topologies and branch lengths only -- see log_evidence in the .json of "
                          "the run",
                          text);
    return model_string_parse(out, text, a, d);
}

static int run_evidence(session *s, void *chosen)
{
    const settings *o = chosen;
    model_input in = {0};
    const model_file *m = &in.file;
    dataset data = {0};
    subst_model model;
    branch_prior prior;
    char text[BRANCH_PRIOR_STRING_SIZE];
    target *goal = NULL;
    evaluation e = {0};
    int status = evaluation_check(s, &o->evaluation, 1);
    if (!status)
        status = model_input_open(&in, s, &o->model);
    if (!status && (!m->branches || !m->substitution))
        status = diag_error(&s->diag, ART_ERR_INPUT, (diag_place){.file = o->model.path},
                            "this model has no branch lengths, so it cannot be used to estimate "
                            "the evidence -- give a model written by `infer`");
    if (!status)
        status = find_prior(&prior, s, &o->prior, m);
    if (!status)
        status = dataset_open(&data, &o->data, &s->diag);
    if (!status)
        status = dataset_match(&data, &m->taxa, o->data.alignment, &s->diag);
    if (!status)
        status = find_model(&model, m->substitution, o->model.path, &data.alignment, &s->diag);
    if (!status)
        status =
            target_likelihood(&goal, &data.alignment, data.row, &model, EVIDENCE_BATCH, in.team);
    if (status)
        goto out;
    session_notes(s);
    log_info(&s->log, "model: %s, prior of branch lengths: %s", m->substitution,
             branch_prior_print(text, prior));
    particle_source source = {m->trees, m->branches, goal, prior, (uint64_t)o->common.seed};
    status = evaluate(&e, s, &source, &m->taxa, &o->evaluation);
    if (!status)
        status = print(s, &e, &o->evaluation);
    if (!status)
        evaluation_warn(s, &e);
out:
    evaluation_free(&e);
    target_free(goal);
    dataset_free(&data);
    model_input_close(&in);
    return status;
}

const command evidence_command = {
    .name = "evidence",
    .summary = "log marginal likelihood by importance sampling",
    .description =
        "Estimates the log marginal likelihood of the alignment by importance sampling from a "
        "trained model, under the substitution model and the priors used in its training. Prints "
        "one value per line: the estimate (mean over repeats of the log of the mean weight) with "
        "its standard deviation and error, lower bounds, the effective sample size and Pareto k. "
        "If k is 0.7 or more, the estimate is unreliable, and its error is not printed (NA); if k "
        "is 1 or more, it is meaningless.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run_evidence,
};
