#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "results/summary.h"

#include <stdlib.h>
#include <string.h>

static void read_trees(tree_set *trees, split_table *splits, const char *text)
{
    const char *path = scratch_write("trees.nex", text);
    tree_options options = {.use = TREE_LENGTHS};
    diag d;
    diag_init(&d);
    int status = tree_set_read(trees, splits, &path, 1, &options, &d);
    if (d.errors)
        print_error("%s\n", d.message[0].text);
    check_status(status);
    diag_free(&d);
}

static void summary_files(void **state)
{
    (void)state;
    tree_set trees;
    split_table splits;
    read_trees(&trees, &splits,
               "((A:1,B:2):3,C:4,D:5);((A:3,B:2):5,C:4,D:7);((A:5,C:2):9,B:8,D:6);");
    check_status(summary_write(scratch_path("run"), &trees, &splits,
                               &(summary_options){.kind = CONSENSUS_MAJORITY, .errors = false},
                               NULL));
    static const char *const expected[][2] = {
        {"run.trprobs", "   tree tree_1 [p = 0.667, P = 0.667] = [&W 0.6666666667] ("},
        {"run.contree", "(A:3,B:4,(C:3.33333333,D:6)0.666667:4);\n"},
        {"run.con.tre", "[&prob=0.666666667,"},
        {"run.map.nwk", ":4"},
        {"run.splits.tsv", "frequency\tsize\tlength_mean\tlength_sd\tmembers\n"
                           "0.666667\t2\t4\t1\tC,D\n0.333333\t2\t9\t0\tB,D\n"},
    };
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(expected[i][0] + 3, SUMMARY_SUFFIXES[i]);
        char *text = file_text(scratch_path(expected[i][0]));
        if (!text || !strstr(text, expected[i][1]))
            fail_msg("'%s' is not in %s:\n%s", expected[i][1], expected[i][0], text);
        free(text);
    }
    /* what was written reads back as the same distribution */
    const char *path = scratch_path("run.trprobs");
    tree_set again;
    check_status(tree_set_read(&again, NULL, &path, 1, NULL, NULL));
    check_near(tree_set_distance(&trees, &again), 0, 1e-6); /* 6 decimals */
    tree_set_free(&again);
    assert_int_equal(summary_write(scratch_path("absent/run"), &trees, &splits,
                                   &(summary_options){.kind = CONSENSUS_MAJORITY, .errors = false},
                                   NULL),
                     ART_ERR_IO);
    /* three independent draws: sqrt(sum over draws of (has the split - 2/3)^2) / 3 */
    check_status(summary_write(scratch_path("run"), &trees, &splits,
                               &(summary_options){.kind = CONSENSUS_MAJORITY, .errors = true},
                               NULL));
    char *text = file_text(scratch_path("run.splits.tsv"));
    assert_string_equal(text, "frequency\tsize\tlength_mean\tlength_sd\tmembers\tfrequency_se\n"
                              "0.666667\t2\t4\t1\tC,D\t0.272166\n"
                              "0.333333\t2\t9\t0\tB,D\t0.272166\n");
    free(text);
    split_table_free(&splits);
    tree_set_free(&trees);
}

/* Trees that are a small part of the posterior keep their digits, and the file says so. */
static void selections_are_read_back(void **state)
{
    (void)state;
    tree_set trees, again;
    split_table splits;
    read_trees(&trees, &splits, "((A,B),C,D);((A,B),C,D);((A,C),B,D);");
    trees.share = 1.5e-9;
    check_status(summary_write(scratch_path("run"), &trees, &splits,
                               &(summary_options){.kind = CONSENSUS_MAJORITY, .errors = false},
                               NULL));
    char *text = file_text(scratch_path("run.trprobs"));
    assert_non_null(strstr(text, "[These are the trees that were met; together they have 1.5e-09 "
                                 "of the posterior]\n   tree tree_1 [p = 1e-09, P = 1e-09] = [&W "
                                 "1e-09] ("));
    assert_non_null(strstr(text, "tree tree_2 [p = 5e-10, P = 1.5e-09] = [&W 5e-10] ("));
    free(text);
    const char *path = scratch_path("run.trprobs");
    check_status(tree_set_read(&again, NULL, &path, 1, NULL, NULL));
    assert_int_equal(again.count, 2);
    check_near(tree_set_distance(&trees, &again), 0, 1e-5); /* 6 digits */
    tree_set_free(&again);
    tree_set_free(&trees);
    split_table_free(&splits);
}

/* All trees of nine taxa, 135,135: the list ends, says so, and is still read. */
static void the_list_of_trees_has_an_end(void **state)
{
    (void)state;
    enum { TAXA = 9, ALL = 135135, LISTED = 100000 };
    tree_set trees, again;
    split_table splits;
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < TAXA; i++)
        check_status(taxa_add(&names, &"abcdefghi"[i], 1));
    check_status(tree_set_init(&trees, &names));
    check_status(split_table_init(&splits, TAXA));
    for (int i = 0; i < ALL; i++) {
        int32_t decision[TAXA - 3];
        for (int n = 3, rest = i; n < TAXA; rest /= 2 * n++ - 3)
            decision[n - 3] = rest % (2 * n - 3);
        check_status(tree_set_add(&trees, decision, i ? 1 : ALL - 1)); /* the first has half */
    }
    check_status(tree_set_normalise(&trees));
    check_status(split_table_add(&splits, tree_set_decision(&trees, 0), NULL, 1));
    check_status(summary_write(scratch_path("run"), &trees, &splits,
                               &(summary_options){.kind = CONSENSUS_MAJORITY, .errors = false},
                               NULL));
    char *text = file_text(scratch_path("run.trprobs"));
    /* half a 135,134th each */
    assert_non_null(strstr(text, "[35135 more trees, together with a probability of 0.130001, are "
                                 "not listed]\nend;\n"));
    assert_non_null(strstr(text, "tree tree_100000 [p = 3.7e-06, P = 0.870]"));
    assert_null(strstr(text, "tree_100001"));
    free(text);
    const char *path = scratch_path("run.trprobs");
    check_status(tree_set_read(&again, NULL, &path, 1, NULL, NULL));
    assert_int_equal(again.count, LISTED);
    tree_set_free(&again);
    tree_set_free(&trees);
    split_table_free(&splits);
    taxa_free(&names);
}

/* Whichever allocation fails: the status says so, and no file is left half-written. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    tree_set trees;
    split_table splits;
    read_trees(&trees, &splits, "((A:1,B:2):3,C:4,D:5);((A:3,B:2):5,C:4,D:7);");
    int status = ART_ERR_NOMEM;
    for (long k = 1; status != ART_OK; k++) {
        memory_fail_at(k);
        status =
            summary_write(scratch_path("run"), &trees, &splits,
                          &(summary_options){.kind = CONSENSUS_EXTENDED, .errors = false}, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK ? k > 20 : status == ART_ERR_NOMEM);
        assert_true(scratch_count() <= 6);
    }
    assert_int_equal(scratch_count(), 6); /* the five files and their input */
    split_table_free(&splits);
    tree_set_free(&trees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_scratch_folder(summary_files),
                                       in_scratch_folder(selections_are_read_back),
                                       in_scratch_folder(the_list_of_trees_has_an_end),
                                       in_scratch_folder(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
