/* What is said of a result, and that errors are shown only where they are earned. */
#include "support/check.h"

#include "artreeformer.h"
#include "results/evaluation.h"
#include "results/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const evidence GOOD = {.log_evidence = -1234.5,
                              .log_evidence_sd = 0.25,
                              .log_evidence_se = 0.0125,
                              .lower_bound_1 = -1236,
                              .lower_bound_10 = -1235,
                              .ess = 3000,
                              .pareto_k = 0.25,
                              .total = 5000,
                              .outside = 0.01,
                              .outside_se = 0.002};

static void judge(verdict *v, const evidence *e)
{
    verdict_init(v);
    verdict_of_evidence(v, e, verdict_remedy(e->cut));
}

/* Each defect with the words that a reader must find, and whether the result survives it. */
static void sentences(void **state)
{
    (void)state;
    evidence e[8];
    for (int i = 0; i < 8; i++)
        e[i] = GOOD;
    e[1].pareto_k = 0.7;
    e[2].pareto_k = 1.25;
    e[3].pareto_k = INFINITY;
    e[4].unfinished = true;
    e[5].unfinished = e[5].cut = true;
    e[6].cut = true;
    e[7].failed = 3;
    static const struct {
        bool converged;
        int warnings;
        const char *words[3];
    } expected[8] = {
        {true, 0, {"converged", "", ""}},
        {false, 1, {"Pareto k is 0.70", "unreliable", "by itself: compare runs"}},
        {false, 1, {"Pareto k is 1.25", "meaningless", "compare runs with other seeds"}},
        {false, 1, {"too few draws", "do not depend", "more draws"}},
        {false, 1, {"search for trees is unfinished:", "too low", "Allow more rounds."}},
        {false, 1, {"unfinished because the time limit", "too low", "Allow more time."}},
        {false, 1, {"The run is unfinished", "first look", "more time"}},
        {true, 1, {"For 3 of 5000 draws", "count as 0", "check the alignment"}},
    };
    for (int i = 0; i < 8; i++) {
        verdict v;
        char line[VERDICT_LINE];
        judge(&v, &e[i]);
        assert_true(v.is_given);
        assert_int_equal(v.converged, expected[i].converged);
        assert_int_equal(v.has_evidence_error, expected[i].converged);
        assert_int_equal(v.n_warnings, expected[i].warnings);
        verdict_line(line, &v);
        assert_memory_equal(line, v.converged ? "converged" : "NOT CONVERGED -- ",
                            v.converged ? 10 : 17);
        assert_int_equal(verdict_first_other(&v), v.converged ? 0 : 1);
        for (int k = 0; k < 3; k++)
            if (!strstr(v.n_warnings ? v.warning[0] : line, expected[i].words[k]))
                fail_msg("case %d: '%s' is not in '%s'", i, expected[i].words[k], v.warning[0]);
        assert_true(strlen(v.warning[0]) < VERDICT_TEXT - 1); /* none is cut */
    }
}

static void only_what_is_known_is_shown(void **state)
{
    (void)state;
    verdict v, none = {0};
    evidence e = GOOD;
    judge(&v, &e);
    evidence shown = verdict_shown(&v, &e);
    check_near(shown.log_evidence_se, 0.0125, 0);
    check_near(shown.outside, 0.01, 0);
    e.pareto_k = 0.9; /* the search is finished, the errors are not known */
    judge(&v, &e);
    shown = verdict_shown(&v, &e);
    check_near(shown.log_evidence, -1234.5, 0);
    assert_true(isnan(shown.log_evidence_se) && isnan(shown.log_evidence_sd));
    check_near(shown.outside, 0.01, 0);
    assert_true(isnan(shown.outside_se));
    e.unfinished = true;
    judge(&v, &e);
    assert_true(isnan(verdict_shown(&v, &e).outside));
    assert_int_equal(v.n_warnings, 2);
    shown = verdict_shown(&none, &e); /* nobody has judged */
    check_near(shown.log_evidence_se, 0.0125, 0);
}

/* Fatal ones come first, in their order, and are never lost to others. */
static void order_of_warnings(void **state)
{
    (void)state;
    verdict v;
    verdict_init(&v);
    verdict_warn(&v, false, "note %d", 1);
    assert_true(v.converged && v.has_evidence_error);
    verdict_warn(&v, true, "reason %d", 1);
    verdict_warn(&v, false, "note %d", 2);
    verdict_warn(&v, true, "reason %d", 2);
    assert_true(!v.converged && !v.has_evidence_error);
    static const char *const text[] = {"reason 1", "reason 2", "note 1", "note 2"};
    assert_int_equal(v.n_warnings, 4);
    assert_int_equal(v.n_fatal, 2);
    for (int i = 0; i < 4; i++)
        assert_string_equal(v.warning[i], text[i]);
    for (int i = 3; i <= 20; i++)
        verdict_warn(&v, false, "note %d", i);
    assert_int_equal(v.n_warnings, VERDICT_WARNINGS);
    assert_string_equal(v.warning[VERDICT_WARNINGS - 1], "note 6");
    for (int i = 3; i <= 20; i++)
        verdict_warn(&v, true, "reason %d", i);
    assert_int_equal(v.n_warnings, VERDICT_WARNINGS);
    assert_int_equal(v.n_fatal, VERDICT_WARNINGS);
    for (int i = 0; i < VERDICT_WARNINGS; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "reason %d", i + 1);
        assert_string_equal(v.warning[i], expected);
    }
    char longer[VERDICT_TEXT + 100];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    verdict_init(&v);
    verdict_warn(&v, true, "%s", longer);
    assert_int_equal(strlen(v.warning[0]), VERDICT_TEXT - 1);
}

static void figures(void **state)
{
    (void)state;
    verdict v;
    verdict_figure f[VERDICT_FIGURES];
    evidence e = GOOD;
    verdict_init(&v);
    assert_int_equal(verdict_figures(f, &v, &e), 1);
    assert_string_equal(f[0].name, "Pareto k");
    assert_string_equal(f[0].value, "0.25");
    assert_string_equal(f[0].customary, "below 0.7");
    e.pareto_k = INFINITY;
    v.r_hat = INFINITY;
    v.ess_splits = 12.4;
    assert_int_equal(verdict_figures(f, &v, &e), 3);
    assert_string_equal(f[0].value, "infinite");
    assert_string_equal(f[1].value, "12");
    assert_string_equal(f[2].value, "not known");
    e.pareto_k = NAN;
    v.r_hat = v.ess_splits = NAN;
    assert_int_equal(verdict_figures(f, &v, &e), 0);
}

static bool is_null(const json_t *all, const char *key)
{
    const json_t *value = json_object_get(all, key);
    assert_non_null(value);
    return json_is_null(value);
}

static void keys_of_the_json(void **state)
{
    (void)state;
    static const char *const FIGURES[] = {"asdsf", "largest_split_deviation", "r_hat",
                                          "ess_log_density", "ess_splits"};
    evaluation e = {.evidence = GOOD};
    json_t *all = evaluation_json(&e, 100); /* not judged */
    assert_null(json_object_get(all, "converged"));
    assert_null(json_object_get(all, "r_hat"));
    assert_true(json_is_real(json_object_get(all, "log_evidence_se")));
    json_decref(all);

    evaluation_judge(&e);
    all = evaluation_json(&e, 100);
    assert_true(json_is_true(json_object_get(all, "converged")));
    assert_int_equal(json_array_size(json_object_get(all, "warnings")), 0);
    assert_true(json_is_array(json_object_get(all, "warnings")));
    assert_true(json_is_real(json_object_get(all, "log_evidence_se")));
    for (int i = 0; i < 5; i++)
        assert_true(is_null(all, FIGURES[i]));
    json_decref(all);

    e.evidence.unfinished = true;
    evaluation_judge(&e);
    e.verdict.asdsf = 0.034;
    e.verdict.r_hat = INFINITY;
    all = evaluation_json(&e, 100);
    assert_string_equal(json_object_iter_key(json_object_iter(all)), "converged");
    assert_true(json_is_false(json_object_get(all, "converged")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(all, "warnings"), 0)),
                        e.verdict.warning[0]);
    assert_true(is_null(all, "log_evidence_se") && is_null(all, "log_evidence_sd"));
    assert_false(is_null(all, "log_evidence"));
    assert_true(is_null(all, "r_hat"));
    check_near(json_real_value(json_object_get(all, "asdsf")), 0.034, 0);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),         cmocka_unit_test(only_what_is_known_is_shown),
        cmocka_unit_test(order_of_warnings), cmocka_unit_test(figures),
        cmocka_unit_test(keys_of_the_json),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
