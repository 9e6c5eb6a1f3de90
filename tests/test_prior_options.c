/* The prior of branch lengths as a user states it: --branch-prior of infer, evidence, evaluate and
 * simulate, and the setting of the library. */
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/problem.h"
#include "support/run.h"

#include "artreeformer.h"
#include "base/log_mean.h"
#include "branch/branch_solver.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ROWS[] = {"AAGTCAAGTCAG", "AAGTCAAGTCAC", "AAGTGAAGTCAC", "AATTCAATTCAG",
                                   "CATTCAATTCTG"};
enum { TAXA = 5, EDGES = 2 * TAXA - 3 };

#define QUICK "--hidden 8 --heads 2 --branch-hidden 8 --quiet --redo "

static __attribute__((format(printf, 1, 2))) run_result run_format(const char *format, ...)
{
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return run_line(NULL, line);
}

static void write_data(void)
{
    char text[500] = "";
    for (int i = 0; i < TAXA; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ">t%d\n%s\n", i, ROWS[i]);
    scratch_write("a.fasta", text);
}

/* The log evidence of the data by the mean likelihood of trees from the prior: no modes, no
 * proposals. */
static log_mean prior_sampling(branch_prior prior)
{
    enum { DRAWS = 20000 };
    small_alignment data;
    branch_posterior posterior;
    branch_solver *s;
    log_mean mean = {0};
    subst_model m = model_of("JC", NULL);
    small_alignment_init(&data, TAXA, ROWS);
    check_status(branch_posterior_init(&posterior, &data.a, NULL, &m, prior));
    check_status(branch_solver_create(&s, &posterior));
    rng r = rng_at(9, RNG_TEST, 0, 0);
    for (int tree = 0; tree < exact_trees(TAXA); tree++)
        for (int i = 0; i < DRAWS; i++) {
            int32_t decision[TAXA];
            double length[EDGES];
            exact_tree(decision, tree, TAXA);
            branch_prior_draw(length, EDGES, decisions_top_edge(decision, TAXA), prior, &r);
            branch_solver_set(s, decision, length);
            log_mean_add(&mean, branch_solver_value(s));
        }
    branch_solver_free(s);
    branch_posterior_free(&posterior);
    return mean;
}

static double result(const char *prefix, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "%s.json", prefix);
    char *text = file_text(path);
    assert_non_null(text);
    json_t *all = json_loads(text, 0, NULL), *value = json_object_get(all, key);
    if (!json_is_number(value))
        fail_msg("no %s in %s", key, text);
    const double number = json_number_value(value);
    json_decref(all);
    free(text);
    return number;
}

static void check_same_file(const char *a, const char *b)
{
    char *x = file_text(a), *y = file_text(b);
    assert_non_null(x);
    assert_non_null(y);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static void check_holds(const char *path, const char *words)
{
    char *text = file_text(path);
    assert_non_null(text);
    if (!strstr(text, words))
        fail_msg("no %s in %s", words, text);
    free(text);
}

/* The whole inference finds the evidence, with the table and a network, on any number of threads;
 * report, results, log and model file say the prior; `evidence` takes it from the model. */
static void infer_with_a_table(void **state)
{
    (void)state;
    write_data();
    static const double parameters[][4] = {{1, 0.1, 1, 1}, {3, 2, 1.5, 0.6}};
    for (int i = 0; i < 2; i++) {
        const double *p = parameters[i];
        char prior[64];
        snprintf(prior, sizeof prior, "gammadir(%g,%g,%g,%g)", p[0], p[1], p[2], p[3]);
        for (int threads = 1; threads < 3; threads++) {
            run_result r = run_format("infer -s a.fasta " QUICK
                                      "--branch-prior %s --threads %d --prefix run%d",
                                      prior, threads, threads);
            check_run(&r, "infer", 0, NULL, NULL);
            run_free(&r);
        }
        check_same_file("run1.trees", "run2.trees");
        check_same_file("run1.trace.tsv", "run2.trace.tsv");
        const log_mean expected =
            prior_sampling(branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3]));
        const double error = hypot(log_mean_error(&expected), result("run1", "log_evidence_se"));
        assert_true(error < 0.1);
        check_near(result("run1", "log_evidence"), log_mean_value(&expected), 4 * error);
        char words[100];
        snprintf(words, sizeof words, "\"branch_prior\": \"%s\"", prior);
        check_holds("run1.json", words);
        snprintf(words, sizeof words, "prior: branch lengths ~ %s", prior);
        check_holds("run1.log", words);
        snprintf(words, sizeof words, "GammaDir(%g, %g, %g, %g) branch lengths", p[0], p[1], p[2],
                 p[3]);
        check_holds("run1.report.txt", words);
        run_result r = run_format("evidence -s a.fasta --network run1.model.safetensors "
                                  "--evidence-particles 1000 --evidence-repeats 10");
        snprintf(words, sizeof words, "prior of branch lengths: %s", prior);
        check_run(&r, "evidence", 0, "log_evidence\t", words);
        run_free(&r);
    }
}

/* The trace has log priors that `evaluate` has of the trees of the sample. */
static void trace_and_evaluate_agree(void **state)
{
    (void)state;
    write_data();
    run_well("infer -s a.fasta " QUICK "--branch-prior gammadir(2,1,1.5,0.6) --prefix run");
    run_result r =
        run_format("evaluate -s a.fasta -m JC --branch-prior gammadir(2,1,1.5,0.6) run.trees");
    check_run(&r, "evaluate", 0, "log_prior", NULL);
    char *trace = file_text("run.trace.tsv");
    assert_non_null(trace);
    const char *line = strchr(trace, '\n') + 1, *other = strchr(r.out, '\n') + 1;
    int column = 1, count = 0; /* the tab before it is one more */
    for (const char *at = trace; strncmp(at, "\tprior\t", 7) != 0; at++) {
        assert_true(*at != '\n');
        column += *at == '\t';
    }
    for (; count < 100; count++) {
        double here = NAN, there;
        const char *at = line;
        for (int i = 0; i < column; i++)
            at = strchr(at, '\t') + 1;
        here = strtod(at, NULL);
        assert_int_equal(sscanf(other, "%*d\t%*f\t%lf", &there), 1);
        /* the trace includes the topology; lengths in the file have fewer digits */
        check_near(here, there - log(15), 1e-3);
        line = strchr(line, '\n') + 1;
        other = strchr(other, '\n') + 1;
    }
    free(trace);
    run_free(&r);
}

/* Few sites: chains over topologies, on any number of threads. Without any time they are as short
 * as can be. */
static void infer_with_chains(void **state)
{
    (void)state;
    run_well("simulate -n 16 -l 8 --branch-prior gammadir(1,0.5,1,1) --seed 4 --prefix data "
             "--quiet");
    for (int threads = 1; threads < 4; threads += 2) {
        run_result r = run_format("infer -s data.fasta " QUICK
                                  "--branch-prior gammadir(1,0.1,1,1) --time-limit 0.001 "
                                  "--evidence-particles 50 --threads %d --prefix run%d",
                                  threads, threads);
        check_run(&r, "infer", 0, NULL, NULL);
        run_free(&r);
    }
    check_holds("run1.log", "Markov chains over topologies");
    check_same_file("run1.trees", "run3.trees");
    check_same_file("run1.splits.tsv", "run3.splits.tsv");
    assert_true(isfinite(result("run1", "log_evidence")));
}

/* GammaDir(E, 10, 1, 1) is Exp(10) to the end, and so are the ways to say Exp(10). */
static void ways_to_say_the_same(void **state)
{
    (void)state;
    write_data();
    static const char *const runs[][2] = {{"a", "--branch-prior gammadir(7,10,1,1)"},
                                          {"b", "--branch-prior exponential(10)"},
                                          {"c", "--prior-rate 10"},
                                          {"d", ""}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_result r =
            run_format("infer -s a.fasta " QUICK "--prefix %s %s", runs[i][0], runs[i][1]);
        check_run(&r, runs[i][1], 0, NULL, NULL);
        run_free(&r);
    }
    check_same_file("b.trees", "c.trees");
    check_same_file("b.trees", "d.trees");
    check_holds("d.json", "\"branch_prior\": \"exponential(10)\"");
    const double error = hypot(result("a", "log_evidence_se"), result("b", "log_evidence_se"));
    assert_true(error < 0.1);
    check_near(result("a", "log_evidence"), result("b", "log_evidence"), 4 * error);
}

static void evaluate_and_simulate(void **state)
{
    (void)state;
    write_data();
    scratch_write("t.nwk", "((t0:0.1,t1:0.2):0.05,t2:0.3,(t3:0.2,t4:0.1):0.05);\n");
    /* 7 lengths, 1 in all: log 0.1 + log 6! - 0.1; with an exponential 7 log 10 - 10 */
    static const struct {
        const char *prior;
        double value;
    } known[] = {
        {"--branch-prior gammadir(1,0.1,1,1)", -2.302585092994046 + 6.579251212010101 - 0.1},
        {"--branch-prior exp(10)", 7 * 2.302585092994046 - 10},
        {"", 7 * 2.302585092994046 - 10}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double value;
        run_result r = run_format("evaluate -s a.fasta -m JC t.nwk %s", known[i].prior);
        check_run(&r, known[i].prior, 0, "log_prior", NULL);
        assert_int_equal(sscanf(strchr(r.out, '\n') + 1, "%*d\t%*f\t%lf", &value), 1);
        check_near(value, known[i].value, 1e-12);
        run_free(&r);
    }
    /* Lengths of a tree of 40 taxa that is 100 long, all but surely. */
    run_well("simulate -n 40 -l 10 --branch-prior gammadir(1e6,1e4,1,1) --prefix long --quiet");
    char *tree = file_text("long.nwk");
    double total = 0;
    assert_non_null(tree);
    for (const char *at = strchr(tree, ':'); at; at = strchr(at + 1, ':'))
        total += strtod(at + 1, NULL);
    check_near(total, 100, 0.5); /* standard deviation 0.1 */
    free(tree);
}

static void refusals(void **state)
{
    (void)state;
    write_data();
    scratch_write("t.nwk", "((t0:0.1,t1:0.2):0.05,t2:0.3,(t3:0.2,t4:0.1):0.05);\n");
    static const struct {
        const char *line, *says;
    } BAD[] = {
        {"infer -s a.fasta --branch-prior gammadir(1,0.1,1)",
         "gammadir(1,0.1,1)':1:9: error: 3 of 4 numbers -- give shape and rate"},
        {"infer -s a.fasta --branch-prior uniform(0,10)", "prior 'uniform' of branch lengths"},
        {"infer -s a.fasta --branch-prior exp(10) --prior-rate 10",
         "--prior-rate and --branch-prior cannot be used together"},
        {"evaluate -s a.fasta -m JC t.nwk --branch-prior exp(0)", "0 is out of range"},
        {"evaluate -s a.fasta -m JC t.nwk --branch-prior exp(1) --prior-rate 1",
         "--prior-rate and --branch-prior cannot be used together"},
        {"simulate --branch-prior exp(1) --mean 1", "--mean and --branch-prior"},
        {"simulate --branch-prior exp(1) --rate 1", "--rate and --branch-prior"},
        {"simulate --branch-prior clock(1)", "prior 'clock'"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        run_result r = run_line(NULL, BAD[i].line);
        check_run(&r, BAD[i].line, 2, NULL, BAD[i].says);
        run_free(&r);
    }
    /* another prior is another run */
    run_well("infer -s a.fasta --hidden 8 --heads 2 --branch-hidden 8 --quiet --prefix run "
             "--branch-prior gammadir(1,0.1,1,1)");
    run_result r = run_line(NULL, "infer -s a.fasta --hidden 8 --heads 2 --branch-hidden 8 --quiet "
                                  "--prefix run --branch-prior gammadir(1,0.2,1,1)");
    check_run(&r, "another prior", 3, NULL, "branch_prior");
    run_free(&r);
}

static void the_library(void **state)
{
    (void)state;
    write_data();
    art_alignment *a;
    art_model *q, *read;
    art_evidence e, f;
    art_infer_settings set;
    check_status(art_alignment_read(&a, "a.fasta", NULL));
    art_infer_defaults(&set);
    assert_null(set.branch_prior);
    set.hidden = set.branch_hidden = 8;
    set.heads = 2;
    set.branch_prior = "gammadir(1,0.1,1,1)";
    check_status(art_infer(&q, a, "JC", &set, NULL, NULL, NULL));
    check_status(art_model_answer(&e, NULL, q));
    const log_mean expected = prior_sampling(branch_prior_gamma_dirichlet(1, 0.1, 1, 1));
    check_near(e.log_evidence, log_mean_value(&expected),
               4 * hypot(log_mean_error(&expected), e.log_evidence_se));
    /* a model's file keeps its prior */
    check_status(art_model_write(q, "q.safetensors", NULL));
    check_status(art_model_read(&read, "q.safetensors", 1, NULL));
    check_status(art_model_evidence(&e, q, a, 500, 2, 1, NULL));
    check_status(art_model_evidence(&f, read, a, 500, 2, 1, NULL));
    check_near(f.log_evidence, e.log_evidence, 0);
    art_model_free(q);
    art_model_free(read);
    set.branch_prior = "gammadir(1)";
    assert_int_equal(art_infer(&q, a, "JC", &set, NULL, NULL, NULL), ART_ERR_INPUT);
    art_alignment_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scratch_folder(infer_with_a_table),    in_scratch_folder(trace_and_evaluate_agree),
        in_scratch_folder(infer_with_chains),     in_scratch_folder(ways_to_say_the_same),
        in_scratch_folder(evaluate_and_simulate), in_scratch_folder(refusals),
        in_scratch_folder(the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
