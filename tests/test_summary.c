#include "support/check.h"
#include "support/files.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "phylo/simulate.h"
#include "report/consensus.h"
#include "report/summary.h"
#include "tree/tree_set.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make_folder(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

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

static char *consensus_text(const tree_set *trees, const split_table *splits, consensus_rule rule,
                            consensus_style style)
{
    consensus c;
    buffer out;
    buffer_init(&out);
    check_status(consensus_build(&c, splits, rule));
    check_status(consensus_write(&out, &c, &trees->taxa, splits, style));
    consensus_free(&c);
    return out.text;
}

static void check_consensus(const char *text, consensus_rule rule, const char *expected)
{
    tree_set trees;
    split_table splits;
    read_trees(&trees, &splits, text);
    char *found = consensus_text(&trees, &splits, rule, CONSENSUS_NEWICK);
    assert_string_equal(found, expected);
    free(found);
    split_table_free(&splits);
    tree_set_free(&trees);
}

/* By hand: DE is in T1 and T2, AB in T1, AC in T2, AD and CE in T3. */
#define SAMPLE(a, b, c)                                                           \
    "#NEXUS\nbegin trees;\ntree x = [&W " a "] ((A,B),C,(D,E));\ntree y = [&W " b \
    "] ((A,C),B,(D,E));\ntree z = [&W " c "] ((A,D),B,(C,E));\nend;\n"

static void rules_by_hand(void **state)
{
    (void)state;
    check_consensus(SAMPLE("0.4", "0.35", "0.25"), CONSENSUS_STRICT, "(B,C,D,E,A);\n");
    check_consensus(SAMPLE("0.4", "0.35", "0.25"), CONSENSUS_MAJORITY, "(B,C,(D,E)0.75,A);\n");
    check_consensus(SAMPLE("0.4", "0.35", "0.25"), CONSENSUS_EXTENDED, "(B,(C,(D,E)0.75)0.4,A);\n");
    /* exactly one half is not more than half */
    check_consensus(SAMPLE("0.5", "0.0", "0.5"), CONSENSUS_MAJORITY, "(B,C,D,E,A);\n");
    check_consensus("(A,B,C);(A,B,C);", CONSENSUS_MAJORITY, "(B,C,A);\n");
    check_consensus("((A,B),(C,D));", CONSENSUS_STRICT, "(B,(C,D)1,A);\n");
    check_consensus("(('it''s',B),(C,D));((C,B),('it''s',D));((C,D),('it''s',B));",
                    CONSENSUS_MAJORITY, "((C,D)0.6667,'it''s',B);\n");
}

static void lengths_are_means_over_trees_with_the_branch(void **state)
{
    (void)state;
    check_consensus("((A:1,B:2):3,C:4,D:5);((A:3,B:2):5,C:4,D:7);((A:5,C:2):9,B:8,D:6);",
                    CONSENSUS_MAJORITY, "(B:4,(C:3.33333,D:6)0.6667:4,A:3);\n");
}

static void figtree_file(void **state)
{
    (void)state;
    tree_set trees;
    split_table splits;
    read_trees(&trees, &splits, "((A:1,'B 1':2):3,C:4,D:5);((A:3,'B 1':2):5,C:4,D:7);");
    char *text = consensus_text(&trees, &splits, CONSENSUS_MAJORITY, CONSENSUS_NEXUS);
    assert_non_null(strstr(text, "#NEXUS"));
    assert_non_null(strstr(text, "2 'B 1',"));
    assert_non_null(strstr(text, "tree consensus = [&U] (2[&prob=1,length_mean=2,length_sd=0]:2,"
                                 "(3[&prob=1,length_mean=4,length_sd=0]:4,"
                                 "4[&prob=1,length_mean=6,length_sd="));
    assert_non_null(strstr(text, ")[&prob=1,length_mean=4,length_sd="));
    free(text);
    split_table_free(&splits);
    tree_set_free(&trees);
}

static void name_taxa(taxa *names, int n)
{
    taxa_init(names);
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%04d", i);
        check_status(taxa_add(names, name, strlen(name)));
    }
}

/* The consensus of one tree, by any rule, is that tree with its lengths. */
static void consensus_of_one_tree_is_the_tree(void **state)
{
    (void)state;
    for (int n = 3; n <= 150; n = n < 20 ? n + 1 : n + 43) {
        taxa names;
        name_taxa(&names, n);
        int32_t *decision = calloc((size_t)n, sizeof *decision);
        double *length = calloc((size_t)(2 * n - 3), sizeof *length);
        simulate_topology(decision, n, (uint64_t)n);
        simulate_lengths(length, n, 0.1, (uint64_t)n);
        split_table splits;
        tree_set trees;
        check_status(split_table_init(&splits, n));
        check_status(split_table_add(&splits, decision, length, 2.5));
        check_status(tree_set_init(&trees, &names));
        for (int rule = CONSENSUS_STRICT; rule <= CONSENSUS_EXTENDED; rule++) {
            char *text = consensus_text(&trees, &splits, (consensus_rule)rule, CONSENSUS_NEWICK);
            scratch_write("one.nwk", text);
            tree_file f;
            tree_options options = {.use = TREE_LENGTHS};
            check_status(tree_file_open(&f, scratch_path("one.nwk"), &options, NULL));
            check_status(tree_file_next(&f, NULL));
            assert_memory_equal(f.tree.decision, decision, sizeof *decision * (size_t)(n - 3));
            for (int e = 0; e < 2 * n - 3; e++) /* written with 6 digits */
                check_close(f.tree.length[e], length[e], 5e-6);
            tree_file_free(&f);
            free(text);
        }
        tree_set_free(&trees);
        split_table_free(&splits);
        taxa_free(&names);
        free(decision);
        free(length);
    }
}

/* Random samples: the strict splits are in the majority's, those in the extended; every split of
 * the extended that is rarer than one left out is compatible with all that are in. */
static void rules_nest(void **state)
{
    (void)state;
    enum { N = 12, TREES = 7 };
    for (uint64_t seed = 0; seed < 50; seed++) {
        split_table splits;
        check_status(split_table_init(&splits, N));
        for (uint64_t i = 0; i < TREES; i++) {
            int32_t decision[N - 3];
            simulate_topology(decision, N, seed / 5); /* mostly alike: */
            rng r = rng_at(seed, RNG_TEST, 0, (uint32_t)i);
            for (int k = 0; k < 2; k++) {
                uint32_t n = rng_below(&r, N - 3);
                decision[n] = (int32_t)rng_below(&r, (uint32_t)topology_edges((int32_t)n + 3));
            }
            check_status(split_table_add(&splits, decision, NULL, 1));
        }
        consensus c[3];
        bool in[3][4 * N * TREES] = {{false}};
        for (int rule = 0; rule < 3; rule++) {
            check_status(consensus_build(&c[rule], &splits, (consensus_rule)rule));
            for (int32_t node = N + 1; node < c[rule].n_nodes; node++)
                in[rule][c[rule].split[node]] = true;
        }
        for (size_t i = 0; i < splits.count; i++) {
            const uint64_t *bits = split_table_bits(&splits, i);
            double f = split_frequency(&splits, i);
            if (split_is_trivial(bits, N))
                continue;
            assert_int_equal(in[0][i], f > 1 - 1e-9);
            assert_int_equal(in[1][i], f > 0.5 + 1e-9);
            assert_true(in[2][i] || !in[1][i]);
            bool clash = false; /* with a split of the extended tree that is at least as frequent */
            for (size_t k = 0; k < splits.count; k++)
                clash |= in[2][k] && split_frequency(&splits, k) >= f - 1e-9 &&
                         !split_compatible(bits, split_table_bits(&splits, k), N);
            assert_int_equal(in[2][i], !clash);
        }
        for (int rule = 0; rule < 3; rule++)
            consensus_free(&c[rule]);
        split_table_free(&splits);
    }
}

static void summary_files(void **state)
{
    (void)state;
    tree_set trees;
    split_table splits;
    read_trees(&trees, &splits,
               "((A:1,B:2):3,C:4,D:5);((A:3,B:2):5,C:4,D:7);((A:5,C:2):9,B:8,D:6);");
    check_status(summary_write(scratch_path("run"), &trees, &splits, CONSENSUS_MAJORITY, NULL));
    static const char *const expected[][2] = {
        {"run.trprobs", "   tree tree_1 [p = 0.667, P = 0.667] = [&W 0.666667] ("},
        {"run.contree", "(B:4,(C:3.33333,D:6)0.6667:4,A:3);\n"},
        {"run.con.tre", "[&prob=0.666667,"},
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
    assert_int_equal(
        summary_write(scratch_path("absent/run"), &trees, &splits, CONSENSUS_MAJORITY, NULL),
        ART_ERR_IO);
    split_table_free(&splits);
    tree_set_free(&trees);
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rules_by_hand),     IN_FOLDER(lengths_are_means_over_trees_with_the_branch),
        IN_FOLDER(figtree_file),      IN_FOLDER(consensus_of_one_tree_is_the_tree),
        cmocka_unit_test(rules_nest), IN_FOLDER(summary_files),
    };
    return cmocka_run_group_tests_name("consensus", tests, NULL, NULL);
}
