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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
