#include "support/check.h"
#include "support/shared_data.h"
#include "support/problem.h"

#include "lik/likelihood.h"

#include <stdio.h>
#include <string.h>

/* The golden file's way to write a model, in which frequencies come as A, G, C, T. */
static subst_model golden_model(const char *text)
{
    char out[256];
    double f[4], kappa, rate[6], alpha = 0, p = 0;
    const char *frequencies = strstr(text, "freqs(A,G,C,T)="), *more = strstr(text, " +");
    if (frequencies)
        assert_int_equal(
            sscanf(frequencies, "freqs(A,G,C,T)=%lf,%lf,%lf,%lf", &f[0], &f[2], &f[1], &f[3]), 4);
    int used;
    if (sscanf(text, "HKY kappa=%lf", &kappa) == 1)
        used = snprintf(out, sizeof out, "HKY{%g}", kappa);
    else if (sscanf(text, "GTR AC=%lf AG=%lf AT=%lf CG=%lf CT=%lf GT=%lf", &rate[0], &rate[1],
                    &rate[2], &rate[3], &rate[4], &rate[5]) == 6)
        used = snprintf(out, sizeof out, "GTR{%g,%g,%g,%g,%g,%g}", rate[0], rate[1], rate[2],
                        rate[3], rate[4], rate[5]);
    else {
        assert_int_equal(strncmp(text, "JC", 2), 0);
        used = snprintf(out, sizeof out, "JC");
    }
    if (frequencies)
        used += snprintf(out + used, sizeof out - (size_t)used, "+F{%g,%g,%g,%g}", f[0], f[1], f[2],
                         f[3]);
    if (more && sscanf(more, " +I=%lf +G4 alpha=%lf", &p, &alpha) == 2)
        snprintf(out + used, sizeof out - (size_t)used, "+I{%g}+G4{%g}", p, alpha);
    else if (more && sscanf(more, " +G4 alpha=%lf", &alpha) == 1)
        snprintf(out + used, sizeof out - (size_t)used, "+G4{%g}", alpha);
    else
        assert_null(more);
    return model_of(out, NULL);
}

static double golden_value(double *gradient, const shared_data *set, const subst_model *m)
{
    likelihood *l;
    double value;
    check_status(likelihood_create(&l, &set->alignment, set->taxon, m, 1, NULL));
    likelihood_batch(l, &value, gradient, set->trees.tree.decision, set->trees.tree.length, 1);
    likelihood_free(l);
    return value;
}

static void check_gradient(const double *gradient, const shared_data *set, const json_t *expected)
{
    uint64_t below[125];
    int n_edges = topology_edges(set->taxa.count);
    size_t i;
    json_t *item;
    shared_data_edges(below, set);
    assert_int_equal(json_array_size(expected), n_edges);
    json_array_foreach(expected, i, item)
    {
        uint64_t side = shared_data_names(set, json_array_get(item, 0));
        int edge = 0;
        while (edge < n_edges && below[edge] != side)
            edge++;
        assert_true(edge < n_edges);
        check_close(gradient[edge], json_number_value(json_array_get(item, 1)), 1e-6);
    }
}

static void golden_values(void **state)
{
    (void)state;
    json_t *root = shared_golden("likelihood.json"), *item, *more;
    shared_data set = {0};
    size_t i, k, printed = 0, gradients = 0;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        double gradient[125], expected = json_number_value(json_object_get(item, "log_likelihood"));
        shared_data_open(&set, json_string_value(json_object_get(item, "data")));
        shared_data_tree(&set, json_string_value(json_object_get(item, "tree")));
        subst_model m = golden_model(json_string_value(json_object_get(item, "model")));
        check_close(golden_value(gradient, &set, &m), expected, 1e-8);
        if (json_array_size(json_object_get(item, "grad")) > 0) {
            check_gradient(gradient, &set, json_object_get(item, "grad"));
            gradients++;
        }
        if (json_object_get(item, "iqtree_log_likelihood")) /* four digits are printed */
            check_near(json_number_value(json_object_get(item, "iqtree_log_likelihood")), expected,
                       5.1e-5);
        json_array_foreach(json_object_get(item, "iqtree_more"), k, more)
        {
            m = golden_model(json_string_value(json_array_get(more, 0)));
            check_near(golden_value(NULL, &set, &m), json_number_value(json_array_get(more, 1)),
                       5.1e-5);
            printed++;
        }
    }
    assert_true(i >= 25 && gradients >= 15 && printed >= 12);
    shared_data_free(&set);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_values)};
    return cmocka_run_group_tests_name("likelihood_golden", tests, NULL, NULL);
}
