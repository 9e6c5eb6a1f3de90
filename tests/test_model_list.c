/* Lists of substitution models. */
#include "support/check.h"

#include "artreeformer.h"
#include "subst/model_list.h"

#include <stdlib.h>
#include <string.h>

static free_model *parse(int *n, const char *text, const char *priors, int expected)
{
    free_model *model;
    diag d;
    diag_init(&d);
    assert_int_equal(model_list_parse(&model, n, text, priors, NULL, &d), expected);
    assert_int_equal(model == NULL, expected != ART_OK);
    diag_free(&d);
    return model;
}

static void automatic(void **state)
{
    (void)state;
    int n;
    free_model *model = parse(&n, "auto", NULL, ART_OK);
    char first[MODEL_STRING_SIZE], last[MODEL_STRING_SIZE];
    assert_int_equal(n, 24);
    assert_string_equal(free_model_print(first, &model[0]), "JC");
    assert_string_equal(free_model_print(last, &model[23]), "GTR+FO+I+G4");
    assert_int_equal(model[23].n_free, 10);
    free(model);
}

static void commas_in_braces(void **state)
{
    (void)state;
    int n;
    free_model *model = parse(&n, "HKY{2}+F{0.1,0.2,0.3,0.4} , GTR{1,2,1,1,2,1}+FQ,TN93", NULL, 0);
    assert_int_equal(n, 3);
    assert_true(model[0].fixed.frequency[3] == 0.4);
    assert_int_equal(model[1].n_free, 0);
    assert_true(model[2].n_free > 0);
    free(model);
}

/* A prior counts for the models that have the parameter. */
static void priors(void **state)
{
    (void)state;
    int n;
    free_model *model = parse(&n, "JC,HKY+G4,F81+G4", "alpha=exponential(2),kappa=beta(3,1)", 0);
    assert_int_equal(n, 3);
    assert_true(model[1].prior.alpha_rate == 2 && model[2].prior.alpha_rate == 2);
    assert_true(model[1].prior.kappa[0] == 3);
    free(model);
}

static void texts_of_priors(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "kappa / (1 + kappa) ~ beta(1,1)", "alpha ~ exponential(2)",
        "exchange rates, equal ones summed ~ dirichlet(2,2,2)", "frequencies ~ dirichlet(1,1,1,1)",
        "exchange rates ~ dirichlet(1,1,1,1,1,1)"};
    int n, i = 0;
    char text[128];
    free_model *model = parse(&n, "JC,K80+G4,K80,K81u+G4,SYM,GTR+G4", "alpha=exp(2)", 0);
    for (; model_list_prior_text(text, sizeof text, model, n, i); i++)
        assert_string_equal(text, expected[i]);
    assert_int_equal(i, 5);
    free(model);
}

static void refused(void **state)
{
    (void)state;
    int n;
    static const struct {
        const char *text, *priors;
        int status;
    } table[] = {
        {"", NULL, ART_ERR_USAGE},
        {"JC,,K80", NULL, ART_ERR_USAGE},
        {"JC,", NULL, ART_ERR_USAGE},
        {"JC,K80,K2P", NULL, ART_ERR_USAGE},
        {"auto,HKY+G", NULL, ART_ERR_USAGE},
        {"JC,FOO", NULL, ART_ERR_INPUT},
        {"JC,HKY{", NULL, ART_ERR_INPUT},
        {"JC,F81", "kappa=beta(1,2)", ART_ERR_INPUT},
        {"JC,F81", "kapa=beta(1,2)", ART_ERR_INPUT},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        parse(&n, table[i].text, table[i].priors, table[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(automatic), cmocka_unit_test(commas_in_braces),
        cmocka_unit_test(priors),    cmocka_unit_test(texts_of_priors),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
