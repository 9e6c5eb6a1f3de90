/* The paragraph for a publication. */
#include "support/check.h"

#include "jobs/methods.h"

#include <math.h>
#include <string.h>

static void expect_model(const char *model, const char *shown)
{
    char sentence[256];
    const alignment data = {.n_taxa = 4, .n_sites = 10};
    evaluation e = {0};
    verdict_init(&e.verdict);
    e.evidence.log_evidence = (double)NAN;
    const methods_facts f = {
        .alignment = &data, .model = model, .prior = "exponential(10)", .evaluation = &e};
    buffer out;
    buffer_init(&out);
    methods_write(&out, &f);
    check_status(buffer_status(&out));
    snprintf(sentence, sizeof sentence, "under the substitution model %s (", shown);
    if (!strstr(out.text, sentence))
        print_error("%s is not in: %s\n", sentence, out.text);
    assert_non_null(strstr(out.text, sentence));
    assert_non_null(strstr(out.text, "an alignment of 4 taxa and 10 sites"));
    assert_non_null(strstr(out.text, "\nYang Z (1994)"));
    buffer_free(&out);
}

/* Frequencies that were counted have as many digits as a reader wants; what was given stays. */
static void numbers_of_the_model(void **state)
{
    (void)state;
    expect_model("HKY{3}+F{0.3121875,0.20950000000000002,0.178125,0.3001875}+G4{0.5}",
                 "HKY{3}+F{0.3122,0.2095,0.1781,0.3002}+G4{0.5}");
    expect_model("GTR{1/2.1256/1/1e-3/5/1}+FO+I{0.2}+G4m{0.1234}",
                 "GTR{1/2.1256/1/1e-3/5/1}+FO+I{0.2}+G4m{0.1234}");
    expect_model("GTR+FO+G4", "GTR+FO+G4");
}

/* The error has two digits, the estimate as many decimals; of an average there is more to say. */
static void evidence_has_its_digits(void **state)
{
    (void)state;
    static const struct {
        double se;
        int models;
        const char *words;
    } table[] = {
        {0.0043, 24,
         "estimated as -5796.5847 (standard error 0.0043), that of the mixture in which every "
         "model has the prior probability 1/24."},
        {0.0123, 1, "estimated as -5796.585 (standard error 0.012)."},
        {0.5, 0, "estimated as -5796.58 (standard error 0.50)."},
        {12.3, 0, "estimated as -5796.58 (standard error 12.30)."},
        {(double)NAN, 0, "estimated as -5796.58."},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const alignment data = {.n_taxa = 4, .n_sites = 10};
        evaluation e = {.evidence = {.log_evidence = -5796.58468, .log_evidence_se = table[i].se}};
        verdict_init(&e.verdict);
        model_row rows[24] = {{.name = "HKY+FO+G4", .probability = 0.77}};
        const model_table models = {.row = rows, .count = table[i].models};
        const methods_facts f = {.alignment = &data,
                                 .model = "JC",
                                 .prior = "exponential(10)",
                                 .models = models.count ? &models : NULL,
                                 .evaluation = &e};
        buffer out;
        buffer_init(&out);
        methods_write(&out, &f);
        check_status(buffer_status(&out));
        if (!strstr(out.text, table[i].words))
            fail_msg("'%s' is not in: %s", table[i].words, out.text);
        buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_the_model),
                                       cmocka_unit_test(evidence_has_its_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
