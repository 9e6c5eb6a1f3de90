/* What the library makes of models with free parameters: their priors, their posterior
 * (support/api_runs.h). */
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

static const char MODEL[] = "HKY+G4";
static const char PRIORS[] = "kappa=beta(2,1),alpha=exponential(2)";

/* The options of the program that are api_infer_settings, and where the data are. */
#define AS_THE_LIBRARY "--hidden 8 --heads 2 --branch-hidden 8 --fit-steps 60 --threads 1 --quiet"

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
    snprintf(line, sizeof line, "infer -s %s --prefix %s " AS_THE_LIBRARY " %s",
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

static void bad_priors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *model, *priors, *words;
        int status;
        enum art_method method;
    } table[] = {
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
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        art_run *r;
        art_model *q;
        art_messages *m;
        art_infer_settings s = api_infer_settings(COLLAPSED);
        check_status(art_messages_create(&m));
        s.method = table[i].method;
        s.parameter_priors = table[i].priors;
        assert_int_equal(art_run_infer(&r, api_data, table[i].model, &s, m), table[i].status);
        assert_null(r);
        assert_int_equal(art_messages_count(m), 1);
        assert_int_equal(art_messages_level(m, 0), ART_ERROR);
        if (!strstr(art_messages_text(m, 0), table[i].words))
            fail_msg("'%s' is not in '%s'", table[i].words, art_messages_text(m, 0));
        assert_int_equal(art_infer(&q, api_data, table[i].model, &s, NULL, NULL, NULL),
                         table[i].status);
        assert_null(q);
        art_messages_free(m);
    }
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

/* Creation, and what a result is made of: whichever allocation fails, that is all that is said. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    s.parameter_priors = PRIORS;
    s.table_bytes = 0; /* the smallest table */
    int status = ART_ERR_NOMEM;
    for (long k = 1; status; k++) {
        art_run *r;
        memory_fail_at(k);
        status = art_run_infer(&r, api_data, MODEL, &s, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK ? r != NULL : status == ART_ERR_NOMEM && !r);
        assert_true(k < 5000);
        art_run_free(r);
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
        WITH_DATA(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("api_models", tests, NULL, NULL);
}
