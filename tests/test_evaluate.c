/* artreeformer evaluate, through the program. */
#include "support/check.h"
#include "support/files.h"
#include "support/problem.h"
#include "support/run.h"
#include "support/shared_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HEAD[] = "index\tlog_likelihood\tlog_prior\tparsimony_missing\tparsimony_fifth\n";
static const char SECOND_HEAD[] = "\nindex\tsplit\tlength\tderivative\n";

static int make_scratch(void **state)
{
    (void)state;
    scratch_make();
    scratch_write("a.fasta", ">d\nTCGN\n>a\nACGT\n>b\nACGA\n>c\nAC-A\n");
    scratch_write("t.nwk", "((a:0.1,b:0.1):0.1,c:0.2,d:0.3);\n");
    return 0;
}

static int drop_scratch(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

/* Runs evaluate on files of the scratch folder: @name is its path. */
static run_result evaluate(const char *arguments)
{
    char line[4096] = "evaluate ";
    for (const char *from = arguments; *from; from++) {
        size_t used = strlen(line);
        if (*from == '@') {
            char name[64];
            size_t n = strcspn(from + 1, " ");
            snprintf(name, sizeof name, "%.*s", (int)n, from + 1);
            snprintf(line + used, sizeof line - used, "%s", scratch_path(name));
            from += n;
        } else {
            snprintf(line + used, sizeof line - used, "%c", *from);
        }
    }
    return run_line(NULL, line);
}

static void golden_trees(void **state)
{
    (void)state;
    json_t *root = shared_golden("likelihood.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        char path[64], line[8192];
        const char *name = json_string_value(json_object_get(item, "data"));
        if (strcmp(json_string_value(json_object_get(item, "model")), "JC") != 0)
            continue;
        snprintf(path, sizeof path, "data/alignments/%s.fasta", name);
        snprintf(line, sizeof line, "evaluate -s %s -m JC %s", shared_path(path),
                 scratch_write("golden.nwk", json_string_value(json_object_get(item, "tree"))));
        run_result r = run_line(NULL, line);
        check_run(&r, line, 0, HEAD, "model: JC");
        double value, prior;
        assert_int_equal(sscanf(r.out + strlen(HEAD), "1\t%lf\t%lf\t", &value, &prior), 2);
        check_close(value, json_number_value(json_object_get(item, "log_likelihood")), 1e-8);
        /* Their lengths have twelve digits. */
        check_close(prior, json_number_value(json_object_get(item, "log_prior_exp10_branches")),
                    1e-10);
        run_free(&r);
    }
    json_decref(root);
}

static void golden_parsimony(void **state)
{
    (void)state;
    json_t *root = shared_golden("parsimony.json"), *item;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, item)
    {
        char path[64], line[8192], expected[128];
        snprintf(path, sizeof path, "data/alignments/%s.fasta",
                 json_string_value(json_object_get(item, "data")));
        snprintf(line, sizeof line, "evaluate -s %s -m JC %s", shared_path(path),
                 scratch_write("golden.nwk", json_string_value(json_object_get(item, "tree"))));
        run_result r = run_line(NULL, line);
        snprintf(expected, sizeof expected, "%s1\tNA\tNA\t%d\t%d\n", HEAD,
                 (int)json_integer_value(json_object_get(item, "missing")),
                 (int)json_integer_value(json_object_get(item, "fifth")));
        assert_string_equal(r.out, expected);
        run_free(&r);
    }
    json_decref(root);
}

static void the_table(void **state)
{
    (void)state;
    scratch_write("two.nwk", "(a,(b,c),d);((a,b),(c:1,d));\n");
    run_result r = evaluate("-s @a.fasta -m JC @two.nwk @t.nwk --prior-rate 2");
    check_run(&r, "evaluate", 0, NULL, "model: JC");
    double value, prior;
    int used = 0;
    assert_int_equal(strncmp(r.out, HEAD, strlen(HEAD)), 0);
    sscanf(r.out + strlen(HEAD), "1\tNA\tNA\t2\t3\n2\tNA\tNA\t2\t3\n3\t%lf\t%lf\t2\t3\n%n", &value,
           &prior, &used);
    assert_true(used > 0 && r.out[strlen(HEAD) + (size_t)used] == '\0');
    check_close(prior, 5 * log(2) - 2 * 0.8, 1e-14);
    run_free(&r);
}

/* Each derivative against the difference of two values that the program itself prints. */
static void the_gradient(void **state)
{
    (void)state;
    static const char *const sides[] = {"b", "c", "a", "d", "c,d"};
    static const char *const model = "GTR{1,2,3,4,5,6}+F{0.1,0.2,0.3,0.4}+I{0.1}+G4{0.5}";
    static const double length[] = {0.15, 0.2, 0.1, 0.3, 0.12};
    char trees[4096] = "", line[512];
    for (int i = -1; i < 10; i++) {
        double x[5];
        for (int e = 0; e < 5; e++)
            x[e] = length[e] + (i >= 0 && i / 2 == e ? (i % 2 ? 1e-5 : -1e-5) : 0);
        snprintf(trees + strlen(trees), sizeof trees - strlen(trees),
                 "((a:%.9g,b:%.9g):%.9g,c:%.9g,d:%.9g);\n", x[2], x[0], x[4], x[1], x[3]);
    }
    scratch_write("g.nwk", trees);
    snprintf(line, sizeof line, "-s @a.fasta -m %s @g.nwk --gradient", model);
    run_result r = evaluate(line);
    check_run(&r, line, 0, HEAD, model);
    double value[11];
    const char *at = r.out + strlen(HEAD);
    for (int i = 0; i < 11; i++) {
        assert_int_equal(sscanf(at, "%*d\t%lf", &value[i]), 1);
        at = strchr(at, '\n') + 1;
    }
    assert_int_equal(strncmp(at, SECOND_HEAD, strlen(SECOND_HEAD)), 0);
    at += strlen(SECOND_HEAD);
    for (int e = 0; e < 5; e++) {
        char side[16];
        double x, derivative;
        assert_int_equal(sscanf(at, "1\t%15s\t%lf\t%lf\n", side, &x, &derivative), 3);
        assert_string_equal(side, sides[e]);
        check_close(x, length[e], 1e-15);
        check_near(derivative, (value[2 * e + 2] - value[2 * e + 1]) / 2e-5, 1e-6);
        at = strchr(at, '\n') + 1;
    }
    run_free(&r);
}

/* Without any length different sequences are impossible: there is nothing to derive. */
static void no_gradient_of_the_impossible(void **state)
{
    (void)state;
    scratch_write("z.nwk", "((a:0,b:0):0,c:0,d:0);\n");
    run_result r = evaluate("-s @a.fasta -m JC @z.nwk --gradient");
    check_run(&r, "no lengths", 0, "1\t-inf\t", NULL);
    const char *at = strstr(r.out, SECOND_HEAD);
    assert_non_null(at);
    int lines = 0;
    for (at += strlen(SECOND_HEAD); *at; at = strchr(at, '\n') + 1)
        lines += strncmp(strchr(at, '\n') - 5, "\t0\tNA", 5) == 0;
    assert_int_equal(lines, 5);
    run_free(&r);
}

/* More trees than a batch holds; names that need quotes; the same output on any threads. */
static void many_trees(void **state)
{
    (void)state;
    scratch_write("q.fasta", ">x,y\nACGT\n>it's\nACGA\n>c\nACTA\n>d\nTCGN\n>e\nTCTN\n");
    char trees[200 * 64] = "";
    rng random = rng_at(1, RNG_TEST, 0, 0);
    for (int i = 0; i < 150; i++)
        snprintf(trees + strlen(trees), sizeof trees - strlen(trees),
                 "(('x,y':%.3f,'it''s':0.2):0.1,c:0.1,(d:0.1,e:0.2):%.3f);\n", rng_uniform(&random),
                 rng_uniform(&random));
    scratch_write("q.nwk", trees);
    run_result one = evaluate("-s @q.fasta -m JC @q.nwk --gradient -T 1");
    run_result two = evaluate("-s @q.fasta -m JC @q.nwk --gradient -T 3");
    check_run(&one, "-T 1", 0, "\n150\t|\n150\t'it''s','x,y'\t", NULL);
    assert_string_equal(one.out, two.out);
    run_free(&one);
    run_free(&two);
}

typedef struct refusal {
    const char *arguments, *words;
} refusal;

static void what_cannot_be_evaluated(void **state)
{
    (void)state;
    scratch_write("unknown.nwk", "((a:0.1,b:0.1):0.1,c:0.2,f:0.3);\n");
    scratch_write("negative.nwk", "((a:0.1,b:0.1):0.1,c:-0.2,d:0.3);\n");
    scratch_write("noT.fasta", ">d\nACG\n>a\nACG\n>b\nACG\n>c\nACG\n");
    static const refusal table[] = {
        {"-s @a.fasta -m HKY+G4 @t.nwk", "'HKY+G4':1:4: error: |kappa"},
        {"-s @a.fasta -m JC+R4 @t.nwk", "'JC+R4':1:4: error: 'R4' is not supported"},
        {"-s @noT.fasta -m F81+F @t.nwk", "base T does not occur"},
        {"-s @a.fasta @t.nwk", "-m MODEL is missing"},
        {"-s @a.fasta -m JC", "TREES"},
        {"-s @a.fasta -m JC @unknown.nwk", "'f'"},
        {"-s @a.fasta -m JC @negative.nwk", "-0.2"},
        {"-s @a.fasta -m JC @absent.nwk", "absent.nwk"},
        {"-s @a.fasta -m JC @t.nwk --prior-rate 0", "--prior-rate"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        run_result r = evaluate(table[i].arguments);
        check_run(&r, table[i].arguments, 2, NULL, table[i].words);
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_trees),
        cmocka_unit_test(golden_parsimony),
        cmocka_unit_test(the_table),
        cmocka_unit_test(the_gradient),
        cmocka_unit_test(no_gradient_of_the_impossible),
        cmocka_unit_test(many_trees),
        cmocka_unit_test(what_cannot_be_evaluated),
    };
    return cmocka_run_group_tests_name("evaluate", tests, make_scratch, drop_scratch);
}
