#include "support/golden_trees.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void golden_tree(int32_t *decision, const char *text, const taxa *names)
{
    input in;
    tree_file f;
    const tree_options options = {.taxa = names, .taxa_from = "the test"};
    check_status(input_from_memory(&in, "tree", text, strlen(text), NULL, NULL));
    check_status(tree_file_from_input(&f, &in, &options, NULL));
    check_status(tree_file_next(&f, NULL));
    memcpy(decision, f.tree.decision, (size_t)(names->count - 3) * sizeof *decision);
    tree_file_free(&f);
}

double golden_number(const json_t *of, const char *name)
{
    const json_t *value = json_object_get(of, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

void check_log_q(double log_q, const json_t *expected, double tolerance)
{
    if (json_is_null(expected))
        assert_true(isinf(log_q) && log_q < 0);
    else
        check_near(log_q, json_number_value(expected), tolerance);
}

const char *golden_run(const char *set, const char *run, int i)
{
    char relative[64];
    snprintf(relative, sizeof relative, "data/trees/%s/%s/rep_%d.trprobs", set, run, i);
    return shared_path(relative);
}

void golden_truth(tree_set *truth, const char *set, const taxa *names)
{
    const double trees = 750001;
    const tree_options options = {.taxa = names, .taxa_from = "the short run"};
    check_status(tree_set_init(truth, names));
    for (int i = 1; i <= 10; i++) {
        tree_file f;
        check_status(tree_file_open(&f, golden_run(set, "truth", i), &options, NULL));
        while (tree_file_more(&f)) {
            check_status(tree_file_next(&f, NULL));
            check_status(
                tree_set_add(truth, f.tree.decision, round(f.tree.weight * trees) / (10 * trees)));
        }
        tree_file_free(&f);
    }
}
