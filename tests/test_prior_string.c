#include "support/check.h"

#include "artreeformer.h"
#include "subst/prior_string.h"

#include <stdio.h>
#include <string.h>

static void defaults_are_those_of_the_header(void **state)
{
    (void)state;
    const model_priors standard = model_priors_default();
    model_priors p;
    unsigned given;
    memset(&p, 0, sizeof p);
    check_status(prior_string_parse(&p, &given,
                                    "kappa=beta(1,1), rates=dirichlet(1,1,1,1,1,1);"
                                    " frequencies=dirichlet(1,1,1,1),alpha=exponential(1),"
                                    "pinvar=uniform(0,1)",
                                    NULL));
    assert_memory_equal(&p, &standard, sizeof p);
    assert_int_equal(given, 31);
}

static void numbers_arrive_where_they_belong(void **state)
{
    (void)state;
    model_priors p = model_priors_default();
    unsigned given;
    check_status(prior_string_parse(&p, &given,
                                    " Kappa = Beta( 2 , 3 ) ; RATES=dirichlet(1,2,3,4,5,6),"
                                    "frequencies=dirichlet(0.5)",
                                    NULL));
    assert_true(p.kappa[0] == 2 && p.kappa[1] == 3);
    for (int i = 0; i < N_RATES; i++)
        assert_true(p.rates[i] == i + 1);
    for (int i = 0; i < 4; i++)
        assert_true(p.frequencies[i] == 0.5);
    assert_true(p.alpha_rate == 1 && p.p_invariant[0] == 0 && p.p_invariant[1] == 1);
    check_status(prior_string_parse(&p, &given, "alpha=exp(2);pinvar=uniform(0.1,0.5)", NULL));
    assert_true(p.alpha_rate == 2 && p.p_invariant[0] == 0.1 && p.p_invariant[1] == 0.5);
    assert_true(p.kappa[0] == 2); /* what is not stated stays */
}

static void what_is_not_a_prior_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *words;
    } table[] = {
        {"", 1, "unexpected end -- write, for example, alpha=exponential(1)"},
        {"kapa=beta(1,1)", 1, "'kapa' is not a parameter with a prior -- use kappa, rates"},
        {"kapa=beta(1,1)", 1, "did you mean kappa?"},
        {"tree=uniform(0,1)", 1, "use kappa, rates, frequencies, alpha or pinvar"},
        {"kappa", 6, "unexpected end"},
        {"kappa=", 7, "unexpected end"},
        {"kappa=beta", 11, "unexpected end"},
        {"kappa=beta(", 12, "unexpected end"},
        {"kappa=beta(1", 13, "unexpected end"},
        {"kappa=beta(1)", 11, "1 of 2 numbers"},
        {"kappa=beta(1,2,3)", 16, "more than 2 numbers"},
        {"kappa=beta(1,x)", 14, "'x' is not a number"},
        {"kappa=beta(1,,2)", 14, "unexpected ','"},
        {"kappa=beta(0,1)", 12, "out of range"},
        {"kappa=beta(1,-1)", 14, "out of range"},
        {"kappa=uniform(0,50)", 7, "cannot be 'uniform' -- it is of the form kappa=beta(1,1)"},
        {"kappa=fixed(2)", 7, "write its numbers in the model"},
        {"rates=dirichlet(1,1,1,1,1)", 16, "5 of 6 numbers"},
        {"frequencies=dirichlet(1,1,1,1,1)", 31, "more than 4"},
        {"alpha=exponential(1,2)", 21, "more than 1 number --"},
        {"alpha=exponential(1e7)", 19, "out of range"},
        {"pinvar=uniform(0.5,0.5)", 15, "is empty"},
        {"pinvar=uniform(0,2)", 18, "out of range"},
        {"alpha=exponential(1) kappa=beta(1,1)", 22, "unexpected 'k'"},
        {"alpha=exponential(1),", 22, "unexpected end"},
        {"alpha=exponential(1),alpha=exponential(2)", 22, "two priors"},
        {"alpha=exponential(1)\x01", 21, "unexpected '\\x01'"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        model_priors p = model_priors_default();
        unsigned given;
        diag d;
        diag_init(&d);
        assert_int_equal(prior_string_parse(&p, &given, table[i].text, &d), ART_ERR_INPUT);
        assert_int_equal(d.count, 1);
        char quoted[128], head[256];
        diag_quote(quoted, sizeof quoted, table[i].text, strlen(table[i].text));
        snprintf(head, sizeof head, "%s:1:%d: error: ", quoted, table[i].column);
        if (strncmp(d.message[0].text, head, strlen(head)) != 0 ||
            !strstr(d.message[0].text, table[i].words))
            fail_msg("%s\nexpected %s %s", d.message[0].text, head, table[i].words);
        diag_free(&d);
        assert_int_equal(prior_string_parse(&p, &given, table[i].text, NULL), ART_ERR_INPUT);
    }
}

static void a_prior_belongs_to_a_free_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *prior, *model, *words;
    } table[] = {
        {"kappa=beta(1,2)", "HKY+G4", NULL},
        {"kappa=beta(1,2)", "GTR+G4", "kappa has a prior, but the model GTR+FO+G4"},
        {"kappa=beta(1,2)", "K80{2}", "with K80 or HKY without numbers"},
        {"rates=dirichlet(2)", "TN93", NULL},
        {"rates=dirichlet(2)", "HKY", "rates has a prior"},
        {"frequencies=dirichlet(2)", "JC+FO", NULL},
        {"frequencies=dirichlet(2)", "JC", "frequencies has a prior"},
        {"alpha=exponential(2)", "JC+G4", NULL},
        {"alpha=exponential(2)", "JC+G4{1}", "alpha has a prior"},
        {"pinvar=uniform(0,0.5)", "JC+I", NULL},
        {"alpha=exp(2),pinvar=uniform(0,0.5)", "JC+G4", "pinvar has a prior"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        model_priors p = model_priors_default();
        free_model f;
        unsigned given;
        diag d;
        diag_init(&d);
        check_status(prior_string_parse(&p, &given, table[i].prior, &d));
        check_status(free_model_parse(&f, table[i].model, NULL, &p, &d));
        assert_memory_equal(&f.prior, &p, sizeof p);
        const int status = prior_string_match(&f, given, &d);
        assert_int_equal(status, table[i].words ? ART_ERR_INPUT : ART_OK);
        if (table[i].words && !strstr(d.message[0].text, table[i].words))
            fail_msg("%s\nexpected %s", d.message[0].text, table[i].words);
        diag_free(&d);
    }
}

/* What is printed reads back as the same. */
static void priors_in_their_own_spelling(void **state)
{
    (void)state;
    static const char given[] = "kappa=beta(1,2.5),rates=dirichlet(0.1,2,3,4,5,6),"
                                "frequencies=dirichlet(2,2,2,2),alpha=exponential(0.001),"
                                "pinvar=uniform(0,0.3)";
    static const char *const models[] = {"HKY+I+G4", "GTR"};
    free_model f[2];
    char all[512] = "", text[PRIOR_TEXT_SIZE];
    const char *name;
    model_priors p = model_priors_default();
    unsigned bits;
    check_status(prior_string_parse(&p, &bits, given, NULL));
    for (int k = 0; k < 2; k++)
        check_status(free_model_parse(&f[k], models[k], NULL, &p, NULL));
    for (int i = 0; prior_string_print(&name, text, f, 2, i); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s=%s", i ? "," : "", name, text);
    assert_string_equal(all, given);
    assert_int_equal(prior_string_print(&name, text, f, 1, 0), 1);
    assert_string_equal(name, "kappa");
    assert_int_equal(prior_string_print(&name, text, f, 1, 3), 1);
    assert_string_equal(text, "uniform(0,0.3)"); /* rates are not estimated */
    assert_int_equal(prior_string_print(&name, text, f, 1, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_header),
        cmocka_unit_test(numbers_arrive_where_they_belong),
        cmocka_unit_test(what_is_not_a_prior_is_refused),
        cmocka_unit_test(a_prior_belongs_to_a_free_parameter),
        cmocka_unit_test(priors_in_their_own_spelling),
    };
    return cmocka_run_group_tests_name("prior_string", tests, NULL, NULL);
}
