/* What the library makes of models with free parameters, and of several models: priors, the
 * posterior of the parameters, the table of models (support/api_runs.h). */
#include "support/api_runs.h"
#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/run.h"

#include "artreeformer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MODEL[] = "HKY+G4";
static const char PRIORS[] = "kappa=beta(2,1),alpha=exponential(2)";

static art_run *make(const char *model, const char *priors)
{
    art_run *r;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    s.parameter_priors = priors;
    check_status(art_run_infer(&r, api_data, model, &s, NULL));
    return r;
}

/* <prefix>.json of the program with these options. */
static json_t *of_program(const char *prefix, const char *options)
{
    char line[8192], file[64];
    snprintf(line, sizeof line, "infer -s %s --prefix %s " API_INFER_OPTIONS " %s",
             scratch_path("data.fasta"), scratch_path(prefix), options);
    run_well(line);
    snprintf(file, sizeof file, "%s.json", prefix);
    json_t *all = json_load_file(scratch_path(file), 0, NULL);
    assert_non_null(all);
    return all;
}

/* <prefix>.json of a result. */
static json_t *of_library(art_result *found, const char *prefix)
{
    char file[64];
    check_status(art_result_write(found, scratch_path(prefix), NULL));
    snprintf(file, sizeof file, "%s.json", prefix);
    json_t *all = json_load_file(scratch_path(file), 0, NULL);
    assert_non_null(all);
    return all;
}

/* A number of the JSON, where null is one that is not known. */
static void check_figure(const json_t *object, const char *key, double value)
{
    const json_t *said = json_object_get(object, key);
    assert_non_null(said);
    assert_int_equal(json_is_null(said), !isfinite(value));
    if (!json_is_null(said))
        api_same_bits(json_number_value(said), value);
}

/* All parameters of a result are those of the JSON, in the same order, bit for bit. */
static void check_parameters(const art_result *found, const json_t *all)
{
    json_t *said = json_object_get(all, "parameters");
    void *at = json_object_iter(said);
    art_parameter p;
    assert_int_equal(art_result_parameters(found), json_object_size(said));
    for (size_t i = 0; i < art_result_parameters(found); i++) {
        check_status(art_result_parameter(&p, found, i));
        assert_string_equal(p.name, json_object_iter_key(at));
        const json_t *one = json_object_iter_value(at);
        check_figure(one, "mean", p.mean);
        check_figure(one, "mean_se", p.mean_se);
        check_figure(one, "sd", p.sd);
        check_figure(one, "median", p.median);
        check_figure(one, "hpd_95_low", p.low);
        check_figure(one, "hpd_95_high", p.high);
        check_figure(one, "ess", p.ess);
        if (p.share < 1)
            check_figure(one, "given_models_of_probability", p.share);
        else
            assert_null(json_object_get(one, "given_models_of_probability"));
        at = json_object_iter_next(said, at);
    }
    assert_int_equal(art_result_parameter(&p, found, art_result_parameters(found)), ART_ERR_USAGE);
}

static art_parameter parameter(const art_result *found, const char *name)
{
    art_parameter p = {.name = ""};
    for (size_t i = 0; strcmp(p.name, name) != 0; i++)
        check_status(art_result_parameter(&p, found, i));
    return p;
}

/* ---- parameters ---- */

static void parameters_are_those_of_the_files(void **state)
{
    (void)state;
    static const char *const NAME[] = {"TL", "kappa", "pi(A)", "pi(C)", "pi(G)", "pi(T)", "alpha"};
    enum { COUNT = sizeof NAME / sizeof NAME[0] };
    art_result *found = api_finish(make(MODEL, NULL));
    json_t *library = of_library(found, "library"), *program = of_program("program", "-m HKY+G4");
    char *trace = file_text(scratch_path("library.trace.tsv")), columns[128] = "";
    double frequencies = 0;
    assert_int_equal(art_result_parameters(found), COUNT);
    check_parameters(found, library);
    check_parameters(found, program);
    for (size_t i = 0; i < COUNT; i++) {
        art_parameter p;
        check_status(art_result_parameter(&p, found, i));
        assert_string_equal(p.name, NAME[i]);
        assert_true(p.sd > 0 && p.mean_se > 0 && p.mean_se < p.sd && p.ess > 1);
        assert_true(0 < p.low && p.low < p.median && p.median < p.high && p.mean < p.high);
        frequencies += strncmp(p.name, "pi(", 3) == 0 ? p.mean : 0;
        snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "\t%s", p.name);
    }
    assert_non_null(strstr(trace, columns));
    check_near(frequencies, 1, 1e-12); /* rounding */
    free(trace);
    json_decref(program);
    json_decref(library);

    /* they are the result's, and stay when the model is taken */
    const art_parameter before = parameter(found, "alpha");
    art_model *q;
    check_status(art_result_model(&q, found));
    art_model_free(q);
    api_same_bits(parameter(found, "alpha").mean, before.mean);
    art_result_free(found);
}

/* What the program says of the same priors; they change what is found, and those that are written
 * out as they are by default do not. */
static void priors_count(void **state)
{
    (void)state;
    char options[128];
    art_result *usual = api_finish(make(MODEL, NULL));
    art_result *same = api_finish(
        make(MODEL, "alpha = exponential(1); kappa=beta(1,1), Frequencies=dirichlet(1)"));
    art_result *other = api_finish(make(MODEL, PRIORS));
    snprintf(options, sizeof options, "-m %s --prior %s", MODEL, PRIORS);
    json_t *program = of_program("program", options), *library = of_library(other, "library");
    check_parameters(other, program);
    check_parameters(other, library);
    for (size_t i = 0; i < art_result_parameters(usual); i++) {
        art_parameter a, b;
        check_status(art_result_parameter(&a, usual, i));
        check_status(art_result_parameter(&b, same, i));
        api_same_bits(a.mean, b.mean);
        api_same_bits(a.median, b.median);
    }
    /* alpha is next to unknown in 26 sites: its posterior is nearly its prior, of mean 1 and 1/2 */
    assert_true(parameter(other, "alpha").mean < 0.8 * parameter(usual, "alpha").mean);
    assert_true(parameter(other, "kappa").mean > parameter(usual, "kappa").mean);
    json_decref(program);
    json_decref(library);
    art_result_free(usual);
    art_result_free(same);
    art_result_free(other);
}

typedef struct refusal {
    const char *model, *priors, *words; /* of the message */
    int status;
    enum art_method method;
} refusal;

static void check_refused(const refusal *bad)
{
    art_run *r;
    art_model *q;
    art_messages *m;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    check_status(art_messages_create(&m));
    s.method = bad->method;
    s.parameter_priors = bad->priors;
    assert_int_equal(art_run_infer(&r, api_data, bad->model, &s, m), bad->status);
    assert_null(r);
    assert_int_equal(art_messages_count(m), 1);
    assert_int_equal(art_messages_level(m, 0), ART_ERROR);
    if (!strstr(art_messages_text(m, 0), bad->words))
        fail_msg("'%s' is not in '%s'", bad->words, art_messages_text(m, 0));
    assert_int_equal(art_infer(&q, api_data, bad->model, &s, NULL, NULL, NULL), bad->status);
    assert_null(q);
    art_messages_free(m);
}

static void bad_priors_are_refused(void **state)
{
    (void)state;
    static const refusal table[] = {
        {MODEL, "", "unexpected end", ART_ERR_INPUT, ART_COLLAPSED},
        {MODEL, "alpha", "unexpected end", ART_ERR_INPUT, ART_COLLAPSED},
        {MODEL, "alpah=exponential(1)", "did you mean alpha?", ART_ERR_INPUT, ART_COLLAPSED},
        {MODEL, "kappa=beta(2,1),alpha=gamma(2)", "':1:23:", ART_ERR_INPUT, ART_COLLAPSED},
        {MODEL, "kappa=beta(-1,1)", "out of range", ART_ERR_INPUT, ART_COLLAPSED},
        {MODEL, "pinvar=uniform(0,1)", "does not estimate it", ART_ERR_INPUT, ART_COLLAPSED},
        {"JC", "kappa=beta(2,1)", "does not estimate it", ART_ERR_INPUT, ART_COLLAPSED},
        {"HKY{2}+F+G4", "kappa=beta(2,1)", "does not estimate it", ART_ERR_INPUT, ART_COLLAPSED},
        {"JC", "kappa=beta(2,1)", "does not estimate it", ART_ERR_INPUT, ART_VBPI},
        {MODEL, NULL, "fix them by numbers", ART_ERR_USAGE, ART_VBPI},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_refused(&table[i]);
}

/* A state is one of the priors that it was made with. */
static void other_priors_are_another_run(void **state)
{
    (void)state;
    const char *path = scratch_path("state");
    art_messages *m;
    art_run *r = make(MODEL, PRIORS), *other = make(MODEL, NULL);
    check_status(art_messages_create(&m));
    api_advance(r, 3);
    check_status(art_run_save(r, path, NULL));
    assert_int_equal(art_run_load(other, path, m), ART_ERR_MISMATCH);
    assert_non_null(strstr(art_messages_text(m, 0), "parameter_priors was"));
    art_run_free(other);
    other = make(MODEL, PRIORS);
    check_status(art_run_load(other, path, NULL));
    art_result *a = api_finish(r), *b = api_finish(other);
    api_same_bits(parameter(a, "alpha").mean, parameter(b, "alpha").mean);
    art_result_free(a);
    art_result_free(b);
    art_messages_free(m);
}

/* Inference has a tree length at least; other runs have nothing. */
static void results_without_parameters(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        art_result *found = api_finish(api_usual(k));
        art_parameter p;
        if (k <= VBPI) {
            json_t *library = of_library(found, "library");
            check_parameters(found, library);
            assert_int_equal(art_result_parameters(found), 1);
            assert_true(parameter(found, "TL").mean > 0);
            json_decref(library);
        } else {
            assert_int_equal(art_result_parameters(found), 0);
            assert_int_equal(art_result_parameter(&p, found, 0), ART_ERR_UNSUPPORTED);
        }
        art_result_free(found);
    }
    art_run *r;
    check_status(art_run_search(&r, api_data, NULL, NULL));
    art_result *found = api_finish(r);
    art_parameter p;
    assert_int_equal(art_result_parameters(found), 0);
    assert_int_equal(art_result_parameter(&p, found, 0), ART_ERR_UNSUPPORTED);
    art_result_free(found);
}

/* ---- several models ---- */

static const char MODELS[] = "JC,K80{1e5},HKY+G4";

/* Every row is that of the JSON, bit for bit. */
static void check_candidates(const art_result *found, const json_t *all)
{
    const json_t *said = json_object_get(all, "models");
    art_candidate m;
    const size_t count = art_result_candidates(found);
    assert_int_equal(count, json_array_size(said));
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(said, i);
        check_status(art_result_candidate(&m, found, i));
        assert_string_equal(m.model, json_string_value(json_object_get(one, "model")));
        assert_int_equal(m.parameters, json_integer_value(json_object_get(one, "n_parameters")));
        check_figure(one, "log_evidence", m.log_evidence);
        check_figure(one, "log_evidence_se", m.log_evidence_se);
        check_figure(one, "probability", m.probability);
        check_figure(one, "probability_se", m.probability_se);
        const char *status = json_string_value(json_object_get(one, "status"));
        assert_int_equal(m.was_run, strcmp(status, "run") == 0);
        assert_int_equal(m.converged, json_is_true(json_object_get(one, "converged")));
        assert_true(m.was_run ? m.probability > 0 : isnan(m.probability));
    }
    assert_int_equal(art_result_candidate(&m, found, count), ART_ERR_USAGE);
}

/* The program's average, in everything that is handed out and written, also if the run was saved on
 * the way. */
static void an_average_is_the_program_s(void **state)
{
    (void)state;
    static const char *const SAME[] = {".trees",   ".trace.tsv", ".p",         ".t",
                                       ".trprobs", ".con.tre",   ".models.tsv"};
    char options[128], report[16384];
    snprintf(options, sizeof options, "--model-average %s", MODELS);
    json_t *program = of_program("program", options);
    for (int pieces = 1; pieces <= 20; pieces += 19) { /* comparing models, and later */
        art_run *r = make(MODELS, NULL), *other = make(MODELS, NULL);
        assert_int_equal(api_advance(r, pieces), pieces);
        check_status(art_run_save(r, scratch_path("state"), NULL));
        check_status(art_run_load(other, scratch_path("state"), NULL));
        art_run_free(r);
        art_result *found = api_finish(other);
        art_evidence e;
        art_candidate best, worst;
        art_model *q;
        int converged;
        scratch_write("library.model.safetensors", "of an earlier run");
        json_t *library = of_library(found, "library");
        assert_int_equal(access(scratch_path("library.model.safetensors"), F_OK), -1);
        check_candidates(found, program);
        check_candidates(found, library);
        check_parameters(found, program);
        check_status(art_result_evidence(&e, found));
        check_figure(program, "log_evidence", e.log_evidence);
        check_status(art_result_converged(&converged, found));
        assert_int_equal(converged, json_is_true(json_object_get(program, "converged")));
        for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++)
            api_same_file(SAME[i]);
        check_status(art_result_report(found, report, sizeof report, NULL));
        check_status(art_result_candidate(&best, found, 0));
        check_status(art_result_candidate(&worst, found, 2));
        assert_true(best.was_run && !worst.was_run);
        assert_string_equal(worst.model, "K80{100000}");
        assert_non_null(strstr(report, best.model));
        assert_non_null(strstr(report, "average over 3 models"));
        /* a parameter that not all have is given those that do; no model was trained */
        const double share = parameter(found, "alpha").share;
        assert_true(share > 0 && share < 1 && parameter(found, "TL").share == 1);
        assert_int_equal(art_result_model(&q, found), ART_ERR_UNSUPPORTED);
        assert_null(q);
        json_decref(library);
        art_result_free(found);
    }
    json_decref(program);
}

static void averages_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const refusal table[] = {
        {"JC,", NULL, "empty part", ART_ERR_USAGE, ART_COLLAPSED},
        {"K80,K2P", NULL, "given twice", ART_ERR_USAGE, ART_COLLAPSED},
        {"JC,HKY+X", NULL, "'HKY+X':1:", ART_ERR_INPUT, ART_COLLAPSED},
        {"JC,HKY", "alpha=exponential(2)", "none of the models", ART_ERR_INPUT, ART_COLLAPSED},
        {"JC,F81+F", NULL, "no average over models", ART_ERR_USAGE, ART_VBPI},
        {"auto", NULL, "no average over models", ART_ERR_USAGE, ART_VBPI},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_refused(&table[i]);
    /* it has no model to hand out, which is said at once */
    art_model *q;
    art_messages *m;
    check_status(art_messages_create(&m));
    assert_int_equal(art_infer(&q, api_data, "auto", NULL, NULL, NULL, m), ART_ERR_UNSUPPORTED);
    assert_null(q);
    assert_non_null(strstr(art_messages_text(m, 0), "no trained model"));
    art_messages_free(m);
    /* one model has no table of models */
    art_candidate c;
    art_result *found = api_finish(make("JC", NULL));
    assert_int_equal(art_result_candidates(found), 0);
    assert_int_equal(art_result_candidate(&c, found, 0), ART_ERR_UNSUPPORTED);
    art_result_free(found);
}

/* Under one model and under several: whichever allocation fails, that is all that is said. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    s.parameter_priors = PRIORS;
    s.table_bytes = 0; /* the smallest table */
    for (int several = 0; several < 2; several++) {
        const char *model = several ? MODELS : MODEL;
        art_run *r;
        const long before = memory_count();
        check_status(art_run_infer(&r, api_data, model, &s, NULL));
        const long all = memory_count() - before;
        int spared = 0; /* patterns, made three times, keep the memory that they have where it
                           cannot be made smaller */
        art_run_free(r);
        assert_true(all > 20);
        for (long k = 1; k <= all; k++) {
            memory_fail_at(k);
            const int status = art_run_infer(&r, api_data, model, &s, NULL);
            memory_fail_at(0);
            assert_true(status == ART_OK ? r != NULL : status == ART_ERR_NOMEM && !r);
            spared += status == ART_OK;
            art_run_free(r);
        }
        assert_true(spared <= 3);
    }
}

int main(void)
{
#define WITH_DATA(f) cmocka_unit_test_setup_teardown(f, api_open, api_close)
    const struct CMUnitTest tests[] = {
        WITH_DATA(parameters_are_those_of_the_files),
        WITH_DATA(priors_count),
        WITH_DATA(bad_priors_are_refused),
        WITH_DATA(other_priors_are_another_run),
        WITH_DATA(results_without_parameters),
        WITH_DATA(an_average_is_the_program_s),
        WITH_DATA(averages_that_cannot_be_are_refused),
        WITH_DATA(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("api_models", tests, NULL, NULL);
}
