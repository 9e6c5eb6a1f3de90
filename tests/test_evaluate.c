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
    check_run(&r, "evaluate", 0, NULL,
              "model: JC|2 of 2 trees do not have all branch lengths|--optimise");
    double value, prior;
    int used = 0;
    assert_int_equal(strncmp(r.out, HEAD, strlen(HEAD)), 0);
    sscanf(r.out + strlen(HEAD), "1\tNA\tNA\t2\t3\n2\tNA\tNA\t2\t3\n3\t%lf\t%lf\t2\t3\n%n", &value,
           &prior, &used);
    assert_true(used > 0 && r.out[strlen(HEAD) + (size_t)used] == '\0');
    check_close(prior, 5 * log(2) - 2 * 0.8, 1e-14);
    run_free(&r);
}

/* Lengths are where the search starts: negative and missing ones do not matter. */
static void optimise_needs_no_lengths(void **state)
{
    (void)state;
    scratch_write("negative.nwk", "(a:-1,(b:0.1,c):0.1,d:0.2);\n");
    run_result r = evaluate("-s @a.fasta -m JC @negative.nwk --optimise --prefix @negative");
    check_run(&r, "evaluate", 0, "\tJC\n", "note: negative branch lengths are not used");
    run_free(&r);
    r = evaluate("-s @a.fasta -m JC @negative.nwk");
    check_run(&r, "evaluate", 2, NULL, "the branch length -1 is negative");
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

/* An alignment that HKY+G4 explains, its tree without lengths, and another tree. */
static void write_simulated(void)
{
    char line[512];
    snprintf(line, sizeof line,
             "simulate -n 6 -l 600 --seed 2 --quiet --redo --prefix %s -m "
             "HKY{3}+F{0.3,0.2,0.1,0.4}+G4{0.6}",
             scratch_path("sim"));
    run_well(line);
    scratch_write("bare.nwk", "((t1,t2),(t3,t4),(t5,t6));\n");
}

/* The value of a column in line `row`, from 1, of the table; text until the end of the field. */
static const char *field(const run_result *r, const char *name, int row)
{
    const char *at = r->out, *head = r->out;
    int column = 0;
    size_t n;
    while ((n = strcspn(head, "\t\n")) != strlen(name) || strncmp(head, name, n) != 0) {
        assert_true(head[n] == '\t'); /* else there is no such column */
        head += n + 1;
        column++;
    }
    for (int i = 0; i < row; i++)
        at = strchr(at, '\n') + 1;
    for (int i = 0; i < column; i++)
        at += strcspn(at, "\t\n") + 1;
    return at;
}

static double number(const run_result *r, const char *name, int row)
{
    return strtod(field(r, name, row), NULL);
}

/* What is printed and written can be given back: the model with its numbers and the trees with
 * their lengths have the log-likelihood of the table, and both are an optimum. */
static void optima_can_be_given_back(void **state)
{
    (void)state;
    write_simulated();
    static const char columns[] = "index\tlog_likelihood\tlog_prior\tTL\tkappa\tpi(A)\tpi(C)\tpi(G)"
                                  "\tpi(T)\talpha\tmodel\n1\t";
    run_result plain = evaluate("-s @sim.fasta -m HKY{3}+F{0.3,0.2,0.1,0.4}+G4{0.6} @sim.nwk");
    const double truth = number(&plain, "log_likelihood", 1);
    run_free(&plain);
    double value[2];
    for (int i = 0; i < 2; i++) {
        run_result r = evaluate(i ? "-s @sim.fasta -m HKY+G4 @sim.nwk @bare.nwk --optimize --redo "
                                    "--prefix @opt --criterion posterior"
                                  : "-s @sim.fasta -m HKY+G4 @sim.nwk @bare.nwk --optimise --redo "
                                    "--prefix @opt");
        check_run(&r, "--optimise", 0, columns, "model: HKY+FO+G4");
        assert_true((strstr(r.err, "prior: alpha ~ exponential(1)") != NULL) == i);
        value[i] = number(&r, "log_likelihood", 1);
        assert_true(number(&r, "log_likelihood", 2) < value[i]);
        char line[1024], model[512];
        snprintf(model, sizeof model, "%.*s", (int)strcspn(field(&r, "model", 1), "\t\n"),
                 field(&r, "model", 1));
        snprintf(line, sizeof line, "-s @sim.fasta -m %s @opt.optimised.nwk --gradient", model);
        run_result again = evaluate(line);
        check_run(&again, line, 0, HEAD, NULL);
        check_near(number(&again, "log_likelihood", 1), value[i], 1e-8);
        /* The log prior adds that of the parameters: Dirichlet(1,1,1,1), beta(1,1), exponential(1).
         */
        check_near(number(&r, "log_prior", 1),
                   number(&again, "log_prior", 1) + log(6) - number(&r, "alpha", 1), 1e-8);
        const char *at = strstr(again.out, SECOND_HEAD);
        double total = 0;
        assert_non_null(at);
        at += strlen(SECOND_HEAD);
        for (int e = 0; e < 9; e++, at = strchr(at, '\n') + 1) {
            double length, slope;
            assert_int_equal(sscanf(at, "1\t%*s\t%lf\t%lf", &length, &slope), 2);
            total += length;
            if (!i) /* 1e-7 nats; second derivatives by sqrt(length) are below 1e4 */
                check_near(2 * sqrt(length) * slope, 0, 0.05);
        }
        check_close(number(&r, "TL", 1), total, 1e-12);
        run_free(&again);
        run_free(&r);
    }
    assert_true(value[0] > truth && value[0] > value[1]);
}

/* Without anything free lengths are fitted; priors change the posterior mode and nothing else. */
static void priors_enter_the_posterior_only(void **state)
{
    (void)state;
    write_simulated();
    static const char *const options[] = {
        "-m JC --prior-rate 10",
        "-m JC --prior-rate 200",
        "-m JC --prior-rate 10 --criterion posterior",
        "-m JC --prior-rate 200 --criterion posterior",
        "-m K80 --prior kappa=beta(1,1) --criterion posterior",
        "-m K80 --prior kappa=beta(1,500) --criterion posterior",
    };
    double value[6], kappa[6] = {0};
    for (int i = 0; i < 6; i++) {
        char line[512];
        snprintf(line, sizeof line, "-s @sim.fasta @sim.nwk --optimise --redo --prefix @opt %s",
                 options[i]);
        run_result r = evaluate(line);
        check_run(&r, line, 0, "index\tlog_likelihood\tlog_prior\tTL\t", NULL);
        value[i] = number(&r, "log_likelihood", 1);
        kappa[i] = i < 4 ? 0 : number(&r, "kappa", 1);
        run_free(&r);
    }
    assert_true(value[0] == value[1]);
    assert_true(value[0] > value[2] && value[2] > value[3]);
    assert_true(kappa[5] < kappa[4] / 2);
}

static void optima_are_not_overwritten(void **state)
{
    (void)state;
    write_simulated();
    run_result r = evaluate("-s @sim.fasta -m JC @bare.nwk --optimise --prefix @kept");
    check_run(&r, "first", 0, NULL, NULL);
    run_free(&r);
    r = evaluate("-s @sim.fasta -m JC @bare.nwk --optimise --prefix @kept");
    check_run(&r, "second", 3, NULL, "kept.optimised.nwk|results exist");
    run_free(&r);
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
        {"-s @a.fasta -m HKY+G4 @t.nwk", "'HKY+G4':1:4: error: |kappa|--optimise finds"},
        {"-s @a.fasta -m JC @t.nwk --criterion posterior", "--criterion needs --optimise"},
        {"-s @a.fasta -m JC @t.nwk --prefix x", "--prefix needs --optimise"},
        {"-s @a.fasta -m JC @t.nwk --prior alpha=exponential(2)", "--prior needs --optimise"},
        {"-s @a.fasta -m JC+G4 @t.nwk --optimise --prior alpha=exponential(2)",
         "add --criterion posterior"},
        {"-s @a.fasta -m JC @t.nwk --optimise --gradient", "--gradient and --optimise"},
        {"-s @a.fasta -m JC @t.nwk --optimise --criterion likely", "--criterion"},
        {"-s @a.fasta -m JC+R4 @t.nwk --optimise", "'JC+R4':1:4: error: 'R4' is not supported"},
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
        cmocka_unit_test(optimise_needs_no_lengths),
        cmocka_unit_test(the_gradient),
        cmocka_unit_test(no_gradient_of_the_impossible),
        cmocka_unit_test(many_trees),
        cmocka_unit_test(optima_can_be_given_back),
        cmocka_unit_test(priors_enter_the_posterior_only),
        cmocka_unit_test(optima_are_not_overwritten),
        cmocka_unit_test(what_cannot_be_evaluated),
    };
    return cmocka_run_group_tests_name("evaluate", tests, make_scratch, drop_scratch);
}
