/* The likelihood against IQ-TREE, where that is installed: random alignments, trees and models,
 * all parameters and branch lengths fixed; and both estimated. IQ-TREE prints four decimals. */
#include "support/check.h"
#include "support/files.h"
#include "support/problem.h"
#include "support/run.h"

#include "artreeformer.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "seq/alignment_write.h"
#include "tree/tree_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the program, which is called either way; skips the test where there is none. */
static const char *iqtree(void)
{
    static const char *const names[] = {"iqtree2", "iqtree"};
    for (int i = 0; i < 2; i++) {
        const char *path = getenv("PATH");
        while (path && *path) {
            char full[4096];
            size_t n = strcspn(path, ":");
            snprintf(full, sizeof full, "%.*s/%s", (int)n, path, names[i]);
            if (access(full, X_OK) == 0)
                return names[i];
            path += n + (path[n] == ':');
        }
    }
    skip_because("IQ-TREE is not installed (iqtree)");
    return NULL;
}

/* A random alignment as a file would have it, with names t0, t1, .., and its tree. */
typedef struct input_files {
    problem p;
    taxa names;
    const char *alignment, *tree;
} input_files;

static input_files input_make(int n_taxa, uint32_t seed)
{
    input_files f = {.p = problem_random(n_taxa, 300, 1, seed)};
    alignment *a = &f.p.alignment;
    buffer text;
    tree_writer w;
    buffer_init(&text);
    taxa_init(&f.names);
    a->site_pattern = malloc(a->n_sites * sizeof *a->site_pattern);
    for (size_t k = 0; k < a->n_sites; k++) {
        a->site_pattern[k] = (uint32_t)k;
        a->weight[k] = 1;
    }
    for (int e = 0; e < f.p.n_edges; e++) /* IQ-TREE makes shorter ones longer */
        f.p.length[e] += 1e-3;
    for (int i = 0; i < n_taxa; i++) {
        char name[16];
        check_status(taxa_add(&f.names, name, (size_t)snprintf(name, sizeof name, "t%d", i)));
    }
    a->name = f.names.name;
    check_status(alignment_write(&text, a, ALIGNMENT_FASTA, NULL));
    f.alignment = scratch_write("data.fasta", text.text);
    buffer_clear(&text);
    check_status(tree_writer_init(&w, &f.names));
    tree_write_newick(&text, &w, f.p.decision, f.p.length);
    check_status(buffer_status(&text));
    f.tree = scratch_write("data.nwk", text.text);
    tree_writer_free(&w);
    buffer_free(&text);
    return f;
}

static void input_free_all(input_files *f)
{
    free(f->p.alignment.site_pattern);
    taxa_free(&f->names);
    problem_free(&f->p);
}

/* Runs IQ-TREE on an alignment and a tree, with further options (NULL at the end); the number
 * behind `what` in its report. */
static double iqtree_report(const char *sequences, const char *tree, const char *model,
                            const char *const *options, const char *what)
{
    const char *arguments[32] = {"-s",          sequences, "-te", tree, "-m",  model,
                                 "-keep-ident", "-redo",   "-nt", "1",  "-pre"};
    const char *program = iqtree();
    int n = 11;
    arguments[n++] = scratch_path("iqtree");
    while (*options)
        arguments[n++] = *options++;
    run_result r = run_arguments(&(run_options){.program = program}, arguments);
    check_run(&r, model, 0, NULL, NULL);
    run_free(&r);
    char *report = file_text(scratch_path("iqtree.iqtree"));
    assert_non_null(report);
    const char *at = strstr(report, what);
    double value = 0;
    if (!at || sscanf(at + strlen(what), "%lf", &value) != 1)
        fail_msg("no %s in\n%s", what, report);
    free(report);
    return value;
}

static double iqtree_number(const input_files *f, const char *model, const char *what)
{
    static const char *const options[] = {"-blfix", NULL};
    return iqtree_report(f->alignment, f->tree, model, options, what);
}

/* A model string that IQ-TREE reads too: it wants the rates relative to GT. */
static void random_model(char *out, size_t size, rng *r, int kind, int may_be_invariant)
{
    static const char *const names[SUBST_KINDS] = {"JC",   "K80",  "F81",  "HKY",  "TN",
                                                   "SYM",  "GTR",  "K81",  "TPM2", "TPM3",
                                                   "TIMe", "TIM2", "TIM3", "TVM"};
    const int n_rates = subst_rate_classes((subst_kind)kind) - 1;
    size_t used = (size_t)snprintf(out, size, "%s", names[kind]);
    for (int i = 0; i < n_rates; i++)
        used += (size_t)snprintf(out + used, size - used, "%c%.3f", i ? ',' : '{',
                                 0.3 + 4 * rng_uniform(r));
    used += (size_t)snprintf(out + used, size - used, "%s", n_rates ? "}" : "");
    /* IQ-TREE counts the frequencies where TPM2 and TPM3 have numbers but no +F. */
    const int equal = kind == SUBST_JC || kind == SUBST_K80 || kind == SUBST_SYM ||
                      kind == SUBST_K81 || kind == SUBST_TIM;
    if (!equal) {
        int share[4], rest = 1000;
        for (int i = 0; i < 3; i++) {
            share[i] = 100 + (int)rng_below(r, 200);
            rest -= share[i];
        }
        share[3] = rest;
        used += (size_t)snprintf(out + used, size - used, "+F{0.%d,0.%d,0.%d,0.%d}", share[0],
                                 share[1], share[2], share[3]);
    }
    if (may_be_invariant && rng_below(r, 2))
        used += (size_t)snprintf(out + used, size - used, "+I{%.3f}", 0.05 + 0.4 * rng_uniform(r));
    if (rng_below(r, 3))
        snprintf(out + used, size - used, "+G%d{%.3f}", (int)(2 + rng_below(r, 7)),
                 0.2 + rng_uniform(r));
}

static double value_of(const input_files *f, const char *model)
{
    subst_model m = model_of(model, &f->p.alignment);
    likelihood *l;
    double value;
    check_status(likelihood_create(&l, &f->p.alignment, NULL, &m, 1, NULL));
    likelihood_batch(l, &value, NULL, f->p.decision, f->p.length, 1);
    likelihood_free(l);
    return value;
}

static void equals_iqtree(void **state)
{
    (void)state;
    iqtree();
    rng r = rng_at(30, RNG_TEST, 0, 0);
    for (uint32_t i = 0; i < 21; i++) {
        char model[256];
        input_files f = input_make(4 + (int)rng_below(&r, 30), i);
        random_model(model, sizeof model, &r, (int)(i % 7), 1);
        print_message("%d taxa, %s\n", f.p.alignment.n_taxa, model);
        check_near(value_of(&f, model), iqtree_number(&f, model, "Log-likelihood of the tree:"),
                   5.1e-5);
        input_free_all(&f);
    }
}

/* Without +I, which IQ-TREE 2.0.7 leaves out for some numbers, under GTR with equal ones too. */
static void restricted_models_equal_iqtree(void **state)
{
    (void)state;
    iqtree();
    rng r = rng_at(31, RNG_TEST, 0, 0);
    for (int kind = SUBST_K81; kind < SUBST_KINDS; kind++) {
        char model[256];
        input_files f = input_make(4 + (int)rng_below(&r, 30), 50 + (uint32_t)kind);
        random_model(model, sizeof model, &r, kind, 0);
        print_message("%d taxa, %s\n", f.p.alignment.n_taxa, model);
        check_near(value_of(&f, model), iqtree_number(&f, model, "Log-likelihood of the tree:"),
                   5.1e-5);
        input_free_all(&f);
    }
}

/* +F counts ambiguous bases as IQ-TREE does. */
static void empirical_frequencies_are_those_of_iqtree(void **state)
{
    (void)state;
    iqtree();
    for (uint32_t i = 0; i < 3; i++) {
        input_files f = input_make(8, 100 + i);
        double frequency[4];
        int absent;
        static const char *const names[] = {"pi(A) =", "pi(C) =", "pi(G) =", "pi(T) ="};
        check_status(subst_frequencies(frequency, &absent, &f.p.alignment));
        for (int s = 0; s < 4; s++) /* printed with four digits, iterated eight times */
            check_near(frequency[s], iqtree_number(&f, "F81+F", names[s]), 1e-4);
        input_free_all(&f);
    }
}

/* evaluate --optimise finds what IQ-TREE -te does, or a little more: that ends its search when a
 * round gains less than -me, and may be some rounds from the top. */
static void maxima_are_those_of_iqtree(void **state)
{
    (void)state;
    static const char *const MODELS[] = {"JC",     "K80",       "HKY+FO",
                                         "GTR+FO", "GTR+FO+G4", "GTR+FO+I+G4"};
    static const char *const options[] = {"-me", "1e-4", "-blmin", "1e-8", NULL};
    static const char head[] = "\n1\t";
    char line[2048];
    iqtree();
    snprintf(line, sizeof line,
             "simulate -n 12 -l 1500 --seed 4 --prefix %s -m "
             "GTR{1,3,0.6,0.8,4,1}+F{0.3,0.2,0.2,0.3}+I{0.3}+G4{0.8} --quiet",
             scratch_path("sim"));
    run_well(line);
    for (size_t k = 0; k < sizeof MODELS / sizeof *MODELS; k++) {
        const char *sequences = scratch_path("sim.fasta"), *tree = scratch_path("sim.nwk");
        snprintf(line, sizeof line, "evaluate -s %s -m %s %s --optimise --prefix %s --redo",
                 sequences, MODELS[k], tree, scratch_path("optimum"));
        run_result r = run_line(NULL, line);
        check_run(&r, line, 0, head, NULL);
        const double ours = strtod(strstr(r.out, head) + strlen(head), NULL);
        const double theirs =
            iqtree_report(sequences, tree, MODELS[k], options, "Log-likelihood of the tree:");
        print_message("%s: %.4f, IQ-TREE %.4f\n", MODELS[k], ours, theirs);
        check_near(ours, theirs, 0.01);
        assert_true(ours > theirs - 1e-4);
        run_free(&r);
    }
}

static int make_scratch(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int drop_scratch(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_iqtree),
        cmocka_unit_test(restricted_models_equal_iqtree),
        cmocka_unit_test(empirical_frequencies_are_those_of_iqtree),
        cmocka_unit_test(maxima_are_those_of_iqtree),
    };
    return cmocka_run_group_tests_name("iqtree", tests, make_scratch, drop_scratch);
}
