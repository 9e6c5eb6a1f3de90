/* The program as a user meets it: command lines by table, exit codes, what is said and where. */
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/run.h"

#include "cli/command.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct line {
    const char *arguments;
    int code;
    const char *out, *err; /* words, all of which occur; NULL: no matter */
} line;

static void check_lines(const line *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_result r = run_line(NULL, table[i].arguments);
        check_run(&r, table[i].arguments, table[i].code, table[i].out, table[i].err);
        run_free(&r);
    }
}

#define CHECK_LINES(table) check_lines(table, sizeof(table) / sizeof((table)[0]))

static void without_a_command(void **state)
{
    (void)state;
    static const line table[] = {
        {"", 2, "usage: artreeformer COMMAND", NULL},
        {"-h", 0, "usage: artreeformer COMMAND", NULL},
        {"--help", 0, "usage: artreeformer COMMAND", NULL},
        {"help", 0, "usage: artreeformer COMMAND", NULL},
        {"--version", 0, "artreeformer " ART_VERSION "\n|instruction set: ", NULL},
        {"--verison", 2, NULL, "unknown option '--verison' -- did you mean --version?"},
        {"--xyzzy", 2, NULL, "must be a command, not '--xyzzy'"},
        {"xyzzy", 2, NULL, "unknown command 'xyzzy' -- see artreeformer --help"},
        {"help xyzzy", 2, NULL, "unknown command 'xyzzy'"},
        {"--print-completion tcsh", 2, NULL, NULL},
    };
    CHECK_LINES(table);
    run_result r = run_line(NULL, "--version");
    assert_int_equal(strncmp(r.out, "artreeformer " ART_VERSION "\n", strlen(ART_VERSION) + 14), 0);
    run_free(&r);
}

/* The short help has room on one screen, and says where the rest is if there is one. */
static void check_one_screen(const char *text)
{
    enum { SCREEN = 44 };
    run_result r = run_line(NULL, text);
    check_run(&r, text, 0, "usage: artreeformer |--quiet", NULL);
    int lines = 0;
    for (const char *p = r.out; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    if (lines > SCREEN)
        fail_msg("%s: %d lines", text, lines);
    if (strncmp(text, "infer ", 6) == 0) {
        assert_non_null(strstr(r.out, "for experts: artreeformer infer --help-all\n"));
        assert_null(strstr(r.out, "--fit-rate"));
        assert_null(strstr(r.out, "--phylip-strict"));
        assert_non_null(strstr(r.out, "--model"));
    }
    run_free(&r);
}

/* Help of every command: the usage, every name of the table, and the defaults. */
static void every_command_explains_itself(void **state)
{
    (void)state;
    for (const command *const *c = COMMANDS; *c; c++) {
        char text[128], name[OPTION_NAME];
        snprintf(text, sizeof text, "%s -h", (*c)->name);
        check_one_screen(text);
        snprintf(text, sizeof text, "%s --help-all", (*c)->name);
        run_result r = run_line(NULL, text);
        check_run(&r, text, 0, "usage: artreeformer |--quiet|--config FILE", NULL);
        option_set s;
        check_status(options_init(&s, (*c)->options, (*c)->defaults, (*c)->size));
        for (int i = 0; i < s.count; i++)
            for (int k = 0; option_name(name, s.item[i].row, k, false); k++)
                if (!strstr(r.out, name))
                    fail_msg("%s: no %s in\n%s", text, name, r.out);
        options_free(&s);
        run_free(&r);
        snprintf(text, sizeof text, "help %s", (*c)->name);
        r = run_line(NULL, text);
        check_run(&r, text, 0, "usage: artreeformer ", NULL);
        run_free(&r);
        snprintf(text, sizeof text, "%s --quite", (*c)->name);
        r = run_line(NULL, text);
        check_run(&r, text, 2, NULL, "unknown option '--quite' -- did you mean --quiet?");
        run_free(&r);
    }
}

static void full_standard_output_is_an_error(void **state)
{
    (void)state;
    static const char *const lines[] = {"--version", "--help", "--print-manual",
                                        "--print-completion bash"};
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        run_result r = run_line(&(run_options){.out = "/dev/full"}, lines[i]);
        check_run(&r, lines[i], 1, NULL, "standard output: error: cannot write: No space left");
        run_free(&r);
    }
}

static const char ALIGNMENT[] = ">a\nACGTACGTAA\n>b\nACGTACGTAC\n>c\nACGAACTTAC\n>d\nAC-AACTT--\n"
                                ">e\nACGTACGTAC\n";
static const char TREES[] = "((a,b),c,(d,e));\n((a,b),d,(c,e));\n((a,b),c,(d,e));\n";

static void check_describes_the_alignment(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    static const line table[] = {
        {"check -s a.fasta", 0,
         "format\tFASTA\n|taxa\t5\n|sites\t10\n|patterns\t|constant_sites\t7\n|"
         "informative_sites\t2\n|identical_sequences\t1\n|"
         "loading_time\t|loading_memory\t|infer_memory_if_concentrated\t|infer_table_memory_at_"
         "most\t"
         "512.0 MiB\n|infer_memory_if_diffuse\t|"
         "infer_time_if_concentrated\t|infer_time_if_diffuse\t|infer_time_if_diffuse_at_most\t|"
         "vbpi_memory\t|vbpi_time_at_most\t|"
         "\nd\t0.3000\t\n|\ne\t0.0000\tb\n",
         NULL},
        {"check --msa=a.fasta --quiet", 0, "taxa\t5\n", NULL},
        {"check -s a.fasta -m HKY{2}+F+G4{0.5}", 0, "infer_time_if_diffuse\t", NULL},
        {"check -s a.fasta -m JCC", 2, NULL, "JCC"},
        {"check -s a.fasta -m auto", 2, NULL, "check single models; the largest is GTR+I+G4"},
        {"check -s a.fasta -m HKY+G4 --prior alpha=beta(1)", 2, NULL, "alpha"},
        {"check -s a.fasta --branch-prior gamma(1)", 2, NULL, "gamma(1)"},
        {"check", 2, NULL, "option -s FILE is missing"},
        {"check a.fasta", 2, NULL, "unexpected argument 'a.fasta'"},
        {"check -s absent.fasta", 2, NULL, "absent.fasta: error: |No such file or directory"},
        {"check -s .", 2, NULL, "error: "},
        {"check -s a.fasta -s a.fasta", 2, NULL, "-s is given twice"},
        {"check -s a.fasta --threds 3", 2, NULL, "unknown option '--threds'"},
    };
    CHECK_LINES(table);
    run_result r = run_line(&(run_options){.input = ALIGNMENT}, "check -s -");
    check_run(&r, "check -s -", 0, "alignment\t-\n|taxa\t5\n", NULL);
    run_free(&r);
    assert_int_equal(scratch_count(), 1); /* it writes nothing */
}

/* The rows of --method vbpi, which takes fixed models only, are left out. */
static void check_estimates_models_with_free_parameters(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "check -s a.fasta -m GTR+I+G4",
        "check -s a.fasta -m GTR+G4 --branch-prior gammadir(1,0.1,1,1)",
        "check -s a.fasta -m HKY+G4 --prior alpha=exponential(2) --prior-rate 20",
        "check -s three.fasta -m GTR+I+G4",
    };
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("three.fasta", ">a\nACGTACGTAA\n>b\nACGTACGTAC\n>c\nACGAACTTAC\n");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        run_result r = run_line(&(run_options){0}, lines[i]);
        check_run(&r, lines[i], 0, "infer_time_if_concentrated\t|infer_time_if_diffuse\t", NULL);
        assert_null(strstr(r.out, "vbpi"));
        run_free(&r);
    }
}

static char *read_file(const char *name)
{
    char *text = file_text(scratch_path(name));
    if (!text)
        fail_msg("%s was not written", name);
    return text;
}

static void check_same_files(const char *a, const char *b)
{
    char *x = read_file(a), *y = read_file(b);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static void simulate_writes_what_others_read(void **state)
{
    (void)state;
    run_well("simulate --taxa 12 --sites 300 --seed 7 --prefix one -T 1");
    run_well("simulate -n 12 -l 300 --seed 7 --prefix four -T 4 --quiet");
    check_same_files("one.fasta", "four.fasta");
    check_same_files("one.nwk", "four.nwk");
    run_well("simulate --tree one.nwk --sites 300 --seed 7 --prefix again --format phylip");
    run_well("simulate --tree one.nwk --sites 300 --seed 7 --prefix other --format nexus");
    static const line table[] = {
        {"check -s one.fasta", 0, "format\tFASTA\n|taxa\t12\n|sites\t300\n", NULL},
        {"check -s again.phy", 0, "format\tPHYLIP\n|taxa\t12\n|sites\t300\n", NULL},
        {"check -s other.nex", 0, "format\tNEXUS\n|taxa\t12\n|sites\t300\n", NULL},
        {"compare one.nwk again.nwk other.nwk", 0, "1\t0\t0\t0\n|3\t0\t0\t0\n", NULL},
        {"simulate --taxa 2", 2, NULL, "--taxa: bad value '2'"},
        {"simulate -m HKY --prefix x", 2, NULL,
         "-m HKY has parameters without numbers|--from-prior"},
        {"simulate -m HKY{2}+FQ --prior kappa=beta(1,2) --prefix x", 2, NULL, "add --from-prior"},
        {"simulate -m HKY{2}+FQ --prior kappa=beta(1,2) --from-prior --prefix x", 2, NULL,
         "kappa has a prior, but the model HKY{2}+FQ does not estimate it"},
        {"simulate -m HKY --prior kapa=beta(1,2) --from-prior --prefix x", 2, NULL,
         "'kapa=beta(1,2)':1:1: error:|did you mean kappa?"},
        {"simulate -m LG --prefix x", 2, NULL, "LG"},
        {"simulate -m auto --prefix x", 2, NULL, "only inference takes it|give one model"},
        {"simulate -m JC+G1 --from-prior --prefix x", 2, NULL, "with one rate category"},
        {"simulate --taxa 5 --tree one.nwk", 2, NULL, "--taxa and --tree cannot be used together"},
        {"simulate --mean 1 --rate 1", 2, NULL, "--mean and --rate cannot be used together"},
        {"simulate --tree absent.nwk --prefix x", 2, NULL, "absent.nwk"},
        {"simulate --prefix absent/x", 1, NULL, "absent/x.log: error: cannot write: No such file"},
    };
    CHECK_LINES(table);
}

/* What was drawn is in the log as a model with its numbers, which gives the same again, and in a
 * table. */
static void simulate_draws_parameters(void **state)
{
    (void)state;
    run_well("simulate -n 8 -l 200 --seed 5 -m TN93+I+G4 --from-prior --prefix drawn "
             "--prior 'pinvar=uniform(0.2,0.3); alpha=exponential(3)'");
    char *log = read_file("drawn.log"), *found = strstr(log, "model: "), words[1024];
    assert_non_null(found);
    assert_non_null(strstr(log, "prior: exchange rates, equal ones summed ~ dirichlet(4,1,1)"));
    assert_non_null(strstr(log, "prior: pinvar ~ uniform(0.2,0.3)"));
    snprintf(words, sizeof words, "simulate -n 8 -l 200 --seed 5 --prefix again -m '%.*s'",
             (int)strcspn(found + 7, "\n"), found + 7);
    free(log);
    run_well(words);
    check_same_files("drawn.fasta", "again.fasta");
    check_same_files("drawn.nwk", "again.nwk");
    char *table = read_file("drawn.parameters.tsv");
    static const char head[] = "TL\tr(A<->C)\tr(A<->G)\tr(A<->T)\tr(C<->G)\tr(C<->T)\tr(G<->T)\t"
                               "pi(A)\tpi(C)\tpi(G)\tpi(T)\talpha\tpinvar\n";
    assert_true(strncmp(table, head, strlen(head)) == 0);
    double value[13], rates = 0, frequencies = 0;
    char *at = table + strlen(head);
    for (int i = 0; i < 13; i++) {
        value[i] = strtod(at, &at);
        assert_int_equal(*at, i == 12 ? '\n' : '\t');
        at++;
    }
    assert_int_equal(*at, 0);
    free(table);
    for (int i = 1; i < 7; i++)
        rates += value[i];
    for (int i = 7; i < 11; i++)
        frequencies += value[i];
    check_near(rates, 1, 1e-14);
    check_near(frequencies, 1, 1e-14);
    assert_true(value[1] == value[3] && value[1] == value[4] && value[1] == value[6]);
    assert_true(value[0] > 0 && value[11] > 0 && value[12] > 0.2 && value[12] < 0.3);
    run_well("simulate -n 8 -l 200 --seed 5 -m TN93+I+G4 --from-prior --prefix drawn --redo -T 2 "
             "--prior 'pinvar=uniform(0.2,0.3); alpha=exponential(3)'");
    check_same_files("drawn.fasta", "again.fasta");
}

static void summarize_writes_its_files(void **state)
{
    (void)state;
    scratch_write("t.nwk", TREES);
    static const line table[] = {
        {"summarize t.nwk", 0,
         "credible_set\ttopologies\tprobability\n|0.5\t1\t0.666667\n|0.99\t2\t1.000000\n",
         "3 trees (no burn-in), 2 distinct topologies, 5 taxa|files written:|t.nwk.contree|please "
         "cite"},
        {"summarize t.nwk", 3, NULL, "t.nwk.trprobs: error: results exist -- --redo"},
        {"summarize t.nwk --redo --quiet", 0, "credible_set", NULL},
        {"summarize t.nwk t.nwk --prefix both --burnin 1", 0, "0.5\t", NULL},
        {"summarize t.nwk --burnin 0.5 --prefix x", 0, "0.5\t", NULL},
        {"summarize t.nwk --burnin 3 --prefix y", 2, NULL, "error"},
        {"summarize t.nwk --burnin 1.5 --prefix y", 2, NULL, "whole number, or a fraction below 1"},
        {"summarize t.nwk --consensus strict --prefix z", 0, NULL, NULL},
        {"summarize t.nwk --consensus stric --prefix y", 2, NULL, "did you mean strict?"},
        {"summarize", 2, NULL, "TREES are missing"},
        {"summarize z.contree --prefix y", 0, NULL, "1 tree (no burn-in), 1 distinct topology"},
        {"summarize z.contree --ccd --prefix q", 2, NULL, "z.contree:1:"}, /* has polytomies */
        /* -2/3 log 2/3 - 1/3 log 1/3; the second tree is only as probable as its split */
        {"summarize t.nwk --ccd --prefix c", 0,
         "distribution\tccd1\n|entropy\t0.636514\n|trees\t2\n|map_log_probability\t-0.405465\n|"
         "map_frequency\t0.666667\n|hipstr_log_credibility\t-0.405465\n",
         "c.ccd.map.nwk|c.hipstr.nwk|c.mrhipstr.nwk|c.ccd.trprobs|c.ccd.clades.tsv|c.rogues.tsv"},
        {"summarize t.nwk --ccd --ccd-kind ccd2 --best 1 --tree t.nwk --prefix d", 0,
         "distribution\tccd2\n|1\t-0.405465\t1\t|2\t-1.098612\tNA\t1.000000\t0.000000\n", NULL},
        {"summarize t.nwk --ccd --prefix e --clade 'd,e;a,b'", 0,
         "clade\tprobability\tfrequency\nd,e\t0.666667\t0.666667\na,b\t1.000000\t1.000000\n", NULL},
        {"summarize t.nwk --best 3 --prefix y", 2, NULL, "--best needs --ccd"},
        {"summarize t.nwk --ccd --clade a,x --prefix v", 2, NULL,
         "'x' is not a taxon of the trees"},
        {"summarize t.nwk --ccd --tree absent.nwk --prefix w", 2, NULL, "absent.nwk"},
    };
    CHECK_LINES(table);
    char *text = read_file("t.nwk.contree");
    assert_string_equal(text, "(a,b,(c,(d,e)0.666667)1);\n");
    free(text);
    text = read_file("z.contree");
    assert_string_equal(text, "(a,b,(c,d,e)1);\n");
    free(text);
    text = read_file("t.nwk.log");
    if (!strstr(text, "artreeformer " ART_VERSION) || !strstr(text, "command: ") ||
        !strstr(text, "peak memory"))
        fail_msg("the log is\n%s", text);
    free(text);
    run_result r = run_line(&(run_options){.input = TREES}, "summarize - --prefix piped");
    check_run(&r, "summarize -", 0, "credible_set", NULL);
    run_free(&r);
    check_same_files("piped.trprobs", "t.nwk.trprobs");
    /* what was written is the same distribution */
    static const line back[] = {
        {"compare t.nwk --with t.nwk.trprobs", 0, "split_deviation\t", NULL},
    };
    CHECK_LINES(back);
}

static void compare_prints_distances(void **state)
{
    (void)state;
    scratch_write("t.nwk", TREES);
    scratch_write("u.nwk", "((a,c),b,(d,e));((a,b),c,(d,e));");
    scratch_write("v.nwk", "((a,c),b,(d,f));");
    static const line table[] = {
        {"compare t.nwk", 0, "tree\t1\t2\t3\n1\t0\t2\t0\n2\t2\t0\t2\n3\t0\t2\t0\n", NULL},
        {"compare t.nwk u.nwk", 0, "4\t2\t4\t2\t0\t2\n", NULL},
        {"compare t.nwk --with t.nwk", 0,
         "total_variation\t0\n|split_deviation\t0\n|kl\t0\n|missing\t0\n", NULL},
        /* p = (2/3, 1/3, 0), q = (1/2, 0, 1/2); ab: 1, 1/2; de: 2/3, 1; ce: 1/3, 0; ac: 0, 1/2 */
        {"compare t.nwk --with u.nwk", 0,
         "total_variation\t0.5\n|split_deviation\t0.294627825\n|"
         "largest_split_deviation\t0.353553391\n|kl\tinf\n|missing\t0.333333333\n|"
         "missing_reverse\t0.5\n",
         NULL},
        {"compare t.nwk v.nwk", 2, NULL, "v.nwk|f"},
        {"compare t.nwk --with v.nwk", 2, NULL, "v.nwk|f"},
        {"compare t.nwk --with", 2, NULL, "--with needs a value"},
        {"compare t.nwk --min-frequency 0.5", 2, NULL, "--min-frequency needs --with"},
        {"compare - --with -", 2, NULL, "standard input (-) is given 2 times"},
        {"compare", 2, NULL, "TREES are missing"},
    };
    CHECK_LINES(table);
}

static void inputs_are_never_overwritten(void **state)
{
    (void)state;
    scratch_write("run.trprobs", TREES);
    scratch_write("run.log", TREES);
    scratch_write("run.json", ALIGNMENT);
    assert_int_equal(symlink("run.trprobs", "link.contree"), 0);
    static const line table[] = {
        {"summarize run.trprobs --prefix run --redo", 2, NULL,
         "run.trprobs: error: is an input (run.trprobs) and would be overwritten"},
        {"summarize run.log --prefix run --redo", 2, NULL, "run.log: error: is an input"},
        {"summarize run.trprobs --prefix link --redo", 2, NULL, "link.contree: error: is an input"},
        {"infer -s run.json --prefix run --redo", 2, NULL, "run.json: error: is an input"},
    };
    CHECK_LINES(table);
    check_same_files("run.trprobs", "run.log");
    char *text = read_file("run.json");
    assert_string_equal(text, ALIGNMENT);
    free(text);
    assert_int_equal(scratch_count(), 4);
}

/* Bad input: exit code 2, the message has the place, and results of before are untouched. */
static void bad_input_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *arguments, *err;
    } table[] = {
        {"empty", "", "check -s empty", "empty: error: "},
        {"blank", "\n\n", "check -s blank", "blank: error: "},
        {"ragged", ">a\nACGT\n>b\nACG\n>c\nACGT\n", "check -s ragged", "ragged:3:"},
        {"letter", ">a\nACGT\n>b\nACZT\n>c\nACGT\n", "check -s letter", "letter:4:3: error: |'Z'"},
        {"two", ">a\nACGT\n>b\nACGT\n", "check -s two", "error: "},
        {"twice", ">a\nAC\n>a\nAC\n>b\nAC\n", "check -s twice", "twice:3:|'a'"},
        {"nopar", "((a,b),c,d;", "summarize nopar --prefix old --redo", "nopar:1:"},
        {"nosemi", "((a,b),c,d)", "summarize nosemi --prefix old --redo", "nosemi:1:"},
        {"poly", "(a,b,((c,d,e)));", "summarize poly --prefix old --redo", "poly:1:"},
        {"number", "(a:1,b:0x1,c:1);", "summarize number --prefix old --redo", "number:1:"},
        {"taxa", "((a,b),c,d);((a,b),c,x);", "summarize taxa --prefix old --redo", "'x'"},
        {"part", "((a:1,b:1):1,c:1,d);", "simulate -t part --prefix old --redo", "4 of 5 branches"},
        {"nul", NULL, "summarize absent --prefix old --redo", "absent: error: "},
    };
    scratch_write("old.trprobs", "precious");
    scratch_write("old.contree", "precious");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].text)
            scratch_write(table[i].name, table[i].text);
        run_result r = run_line(NULL, table[i].arguments);
        check_run(&r, table[i].arguments, 2, NULL, table[i].err);
        assert_string_equal(r.out, "");
        const char *error = strstr(r.err, "error: "); /* one, not a vaguer one behind it */
        assert_true(error && !strstr(error + 1, "\nerror: "));
        run_free(&r);
        check_same_files("old.trprobs", "old.contree");
    }
    char *text = read_file("old.contree");
    assert_string_equal(text, "precious");
    free(text);
}

/* Names that look like options, markup or formulas are names and nothing else. */
static void strange_names_are_harmless(void **state)
{
    (void)state;
    scratch_write("s.fasta", ">--help\nACGT\n>=cmd()\nACGA\n><script>\nACGC\n>$(touch\nACGG\n"
                             ">../../x\nACGT\n");
    scratch_write("s.nwk", "(('--help','=cmd()'),'<script>',('$(touch','../../x'));\n");
    static const line table[] = {
        {"check -s s.fasta", 0, "\n--help\t0|\n=cmd()\t|\n<script>\t|\n$(touch\t|\n../../x\t",
         NULL},
        {"summarize s.nwk --prefix s", 0, NULL, NULL},
        {"compare s.contree s.map.nwk s.con.tre s.trprobs", 0, "4\t0\t0\t0\t0\n", NULL},
    };
    CHECK_LINES(table);
    char *text = read_file("s.contree");
    assert_non_null(strstr(text, "--help"));
    assert_non_null(strstr(text, "'=cmd()'"));
    free(text);
}

/* Every file that a command writes, one after another, on a full device: exit code 1, and the name
 * is said. Which files they are is seen from a run that succeeds. */
static void check_full_outputs(const char *command_line, int number)
{
    char text[512], name[300], well[16];
    int prefix = snprintf(well, sizeof well, "well%d", number);
    snprintf(text, sizeof text, "%s --prefix %s --quiet", command_line, well);
    run_well(text);
    DIR *folder = opendir(".");
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, well, (size_t)prefix) != 0)
            continue;
        snprintf(name, sizeof name, "full%s", entry->d_name + prefix);
        unlink(name); /* the log of the run before */
        assert_int_equal(symlink("/dev/full", name), 0);
        snprintf(text, sizeof text, "%s --prefix full --redo", command_line);
        run_result r = run_line(NULL, text);
        char words[400];
        snprintf(words, sizeof words, "%s: error: cannot write: No space left", name);
        check_run(&r, text, 1, NULL, words);
        run_free(&r);
        assert_int_equal(unlink(name), 0);
        count++;
    }
    closedir(folder);
    assert_true(count >= 3);
}

#define SMALL "--steps 3 --hidden 8 --heads 2 --report-every 1 --seed 3"
#define FEW   "--evidence-particles 10 --evidence-repeats 2"

static void full_devices_are_reported(void **state)
{
    (void)state;
    static const char *const writers[] = {
        "summarize t.nwk",
        "simulate",
        ("infer -s a.fasta --method vbpi --branch-hidden 8 --posterior-sample 10 " SMALL " " FEW),
        ("parsimony -s a.fasta --method annealing " SMALL " " FEW),
        "parsimony -s a.fasta",
        ("fit t.nwk " SMALL),
    };
    static const char *const tables[] = {
        "check -s a.fasta",
        "check -h",
        "compare t.nwk",
        "compare t.nwk --with t.nwk",
        "evaluate -s a.fasta -m JC t.nwk",
        "summarize t.nwk --prefix full --redo",
        "score --model m.model.safetensors t.nwk",
        "kl --model m.model.safetensors --truth t.nwk",
        "sample --model m.model.safetensors -n 3",
        "embed t.nwk",
    };
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full");
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("t.nwk", TREES);
    for (int i = 0; i < (int)(sizeof writers / sizeof writers[0]); i++)
        check_full_outputs(writers[i], i);
    run_well("fit t.nwk --prefix m --quiet " SMALL);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        run_result r = run_line(&(run_options){.out = "/dev/full"}, tables[i]);
        check_run(&r, tables[i], 1, NULL, "standard output: error: cannot write: No space left");
        run_free(&r);
    }
    run_result r = run_line(&(run_options){.err = "/dev/full"}, "simulate --prefix full --redo");
    check_run(&r, "simulate 2>/dev/full", 1, NULL, NULL);
    run_free(&r);
}

static double result(const char *path, const char *key)
{
    json_t *all = json_load_file(path, 0, NULL);
    assert_non_null(all);
    double value = json_number_value(json_object_get(all, key));
    json_decref(all);
    return value;
}

/* Densities with tables from the sample to the divergence. t.nwk has a tree twice and another one
 * once; u.nwk has a third, of which CCD1 knows nothing. */
static void densities_with_tables(void **state)
{
    (void)state;
    scratch_write("t.nwk", TREES);
    scratch_write("u.nwk", "((a,b),c,(d,e));((a,c),b,(d,e));");
    static const line table[] = {
        {"fit t.nwk --density ccd1 --prefix c1", 0, NULL, "c1.model.safetensors"},
        {"fit t.nwk --density ccd0 --prefix c0", 0, NULL, NULL},
        {"fit t.nwk --density ccd2 --truth u.nwk --prefix c2", 0, NULL,
         "KL(truth || q) inf|1 trees with 0.5 of the truth have probability 0"},
        {"fit t.nwk --density sbn --prefix em", 0, NULL, "iterations of EM, objective"},
        {"fit t.nwk --density sbn --method sa --prefix sa", 0, NULL, NULL},
        {"fit t.nwk --density sbn --method sga --steps 20 --start zero --prefix sga", 0, NULL,
         NULL},
        {"fit t.nwk --density ccd1 --smooth 0.15 --prefix smooth", 0, NULL, NULL},
        {"score --model c1.model.safetensors u.nwk", 0, "1\t-0.405465108\n2\t-inf\n",
         "1 of 2 trees are outside the support of the model|--smooth"},
        {"score --model em.model.safetensors t.nwk", 0, "2\t-1.09", NULL},
        {"score --model sga.model.safetensors t.nwk", 0, "1\t-0.", NULL},
        /* 0.85 * 2/3 + 0.15/15, and 0.15/15 */
        {"score --model smooth.model.safetensors u.nwk", 0, "1\t-0.55049088\n", NULL},
        {"score --model smooth.model.safetensors u.nwk", 0, "2\t-4.605170", NULL},
        {"sample --model c2.model.safetensors -n 3 --format newick", 0, "(", NULL},
        {"kl --model c1.model.safetensors --truth u.nwk", 0,
         "kl\tinf\n|kl_clipped\t17.5|trees_of_zero_probability\t1\n|"
         "mass_of_zero_probability\t0.5\n|mass_below_2^-52\t0\n",
         NULL},
        {"kl --model smooth.model.safetensors --truth u.nwk", 0,
         "kl\t1.88|trees_of_zero_probability\t0\n", NULL},
        {"fit t.nwk --density ccd1 --prefix c1", 0, NULL, "finished"}, /* already */
        {"fit t.nwk --density ccd1 --steps 5", 2, NULL,
         "--steps is for densities that are trained"},
        {"fit t.nwk --density sbn --batch 5", 2, NULL, "--batch is for densities that are trained"},
        {"fit t.nwk --density sbn --hidden 8", 2, NULL, "--hidden needs --density artreeformer"},
        {"fit t.nwk --density ccd1 --method em", 2, NULL, "--method needs --density sbn"},
        {"fit t.nwk --density sbn --method em --alpha 1", 2, NULL,
         "--alpha needs --density sbn --method em-alpha"},
        {"fit t.nwk --density sbn --start zero", 2, NULL,
         "--start needs --density sbn --method sga"},
        {"fit t.nwk --smooth 0.1", 2, NULL, "--smooth is for densities with a support"},
        {"fit t.nwk --density ccd3", 2, NULL, "did you mean ccd"},
        {"fit t.nwk --density ccd1 --smooth 1", 2, NULL, "--smooth: bad value '1'"},
        {"score --model c1.model.safetensors t.nwk --embedding two-pass", 2, NULL,
         "has no node embeddings"},
    };
    CHECK_LINES(table);
}

/* Options of the method that is not chosen are refused, and so are values out of range. */
static void methods_have_their_own_options(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    static const line table[] = {
        {"infer -s a.fasta --steps 5", 2, NULL, "--steps is an option of --method vbpi"},
        {"infer -s a.fasta --branch-rate 0.1", 2, NULL,
         "--branch-rate is an option of --method vb"},
        {"infer -s a.fasta --estimator rws", 2, NULL, "--estimator is an option of --method vbpi"},
        {"infer -s a.fasta -K 5", 2, NULL, "--particles is an option of --method vbpi"},
        {"infer -s a.fasta --report-every 5", 2, NULL,
         "--report-every is an option of --method vb"},
        {"infer -s a.fasta --preset paper --method collapsed", 2, NULL,
         "--preset is an option of --method vbpi -- remove it, or choose that method"},
        {"infer -s a.fasta --method vbpi --se 0.1", 2, NULL, "--se is an option of --method coll"},
        {"infer -s a.fasta --preset paper --rounds 2", 2, NULL,
         "--rounds is an option of --method"},
        {"infer -s a.fasta --method vbpi --table-memory 1M", 2, NULL,
         "--table-memory is an option"},
        {"infer -s a.fasta --method colapsed", 2, NULL, "did you mean collapsed?"},
        {"infer -s a.fasta -m K80 --prior alpha=exp(2)", 2, NULL, "alpha has a prior, but"},
        {"infer -s a.fasta -m K80 --prior kappa=uniform(0,9)", 2, NULL,
         "'kappa=uniform(0,9)':1:7: error: the prior of kappa cannot be 'uniform'"},
        {"infer -s a.fasta -m HKY --model-average JC,K80 --prefix x", 2, NULL,
         "-m HKY and --model-average JC,K80|leave one of the options out"},
        {"infer -s a.fasta --model-average JC,,K80 --prefix x", 2, NULL, "empty part"},
        {"infer -s a.fasta --model-average JC,K80,K2P --prefix x", 2, NULL,
         "the model K80 is given twice"},
        {"infer -s a.fasta --model-average JC,HKI --prefix x", 2, NULL, "'HKI'"},
        {"infer -s a.fasta -m auto --method vbpi --prefix x", 2, NULL, "no average over models"},
        {"infer -s a.fasta -m auto+G4 --prefix x", 2, NULL,
         "'auto+G4':1:1: error: auto stands for an average over 24 models"},
        {"infer -s a.fasta -m JC+G1 --prefix x", 2, NULL, "leave 'G1' out, or use +G4"},
        {"infer -s a.fasta --model-average JC,F81 --prior kappa=beta(1,2) --prefix x", 2, NULL,
         "none of the models estimates it"},
        {"infer -s a.fasta --se 0", 2, NULL, "--se: bad value '0'"},
        {"infer -s a.fasta --se nan", 2, NULL, "--se: bad value 'nan'"},
        {"infer -s a.fasta --news 1.5", 2, NULL, "--news: bad value '1.5'"},
        {"infer -s a.fasta --gap -1", 2, NULL, "--gap: bad value '-1'"},
        {"infer -s a.fasta --rounds 0", 2, NULL, "--rounds: bad value '0'"},
        {"infer -s a.fasta --rounds 65", 2, NULL, "--rounds: bad value '65'"},
        {"infer -s a.fasta --fit-batch 0", 2, NULL, "--fit-batch: bad value '0'"},
        {"infer -s a.fasta --fit-rate 0", 2, NULL, "--fit-rate: bad value '0'"},
        {"infer -s a.fasta --table-memory 5Q", 2, NULL, "--table-memory: bad value '5Q'"},
        {"infer -s a.fasta --time-limit -1", 2, NULL, "--time-limit: bad value '-1'"},
        {"infer -s a.fasta --evidence-particles 1", 2, NULL, "needs at least two"},
        {"infer -s a.fasta --evidence-particles 3000000", 2, NULL, "more than 2147483647 draws"},
        {"infer -s a.fasta --method vbpi --evidence-particles 30000 --evidence-repeats 100000", 2,
         NULL, "more than 2147483647 draws"},
        {"parsimony -s a.fasta --method annealing --evidence-particles 30000 --evidence-repeats "
         "100000",
         2, NULL, "more than 2147483647 draws"},
        {"parsimony -s a.fasta --steps 10", 2, NULL, "--steps|is an option of --method annealing"},
        {"parsimony -s a.fasta --hidden 8", 2, NULL, "is an option of --method annealing"},
        {"parsimony -s a.fasta --method annealing --hits 3", 2, NULL,
         "--hits|is an option of --method search"},
        {"parsimony -s a.fasta --hits 0", 2, NULL, "--hits: bad value '0'"},
        {"parsimony -s a.fasta --starts 0", 2, NULL, "--starts: bad value '0'"},
        {"parsimony -s a.fasta --max-trees 0", 2, NULL, "--max-trees: bad value '0'"},
        {"parsimony -s a.fasta --method fast", 2, NULL, "--method: bad value 'fast'"},
        {"infer -s a.fasta --hidden 10 --heads 4", 2, NULL, "not divisible"},
        {"infer -s a.fasta --density artree --hidden 9", 2, NULL, "--hidden 9 is odd"},
        {"infer -s a.fasta --density artree --heads 4", 2, NULL,
         "--heads is an option of --density artreeformer"},
        {"infer -s a.fasta --density sbn", 2, NULL, "--density sbn is for --method vbpi"},
        {"infer -s a.fasta --density sbn --method vbpi --hidden 8", 2, NULL,
         "--hidden needs --density artreeformer"},
        {"infer -s a.fasta --method vbpi --support t.nwk", 2, NULL,
         "--support needs --density sbn"},
        {"infer -s a.fasta --method vbpi --floor 1e-6", 2, NULL, "--floor needs --density sbn"},
        {"infer -s a.fasta --density sbn --method vbpi --burnin 1", 2, NULL,
         "--burnin is for the trees of --support"},
        {"infer -s a.fasta --density sbn --method vbpi --support none.nwk", 2, NULL, "none.nwk"},
        {"infer -s a.fasta --density artre", 2, NULL, "'artre'|artreeformer|artree"},
        /* the smallest that is allowed */
        {"infer -s a.fasta --hidden 8 --heads 2 --branch-hidden 8 --gap 0 --rounds 1 --fit-steps 1 "
         "--fit-batch 1 --table-memory 0 --evidence-particles 2 --evidence-repeats 1 --prefix "
         "least",
         0, NULL, "log evidence"},
        {("infer -s a.fasta --preset paper --branch-hidden 8 --prefix paper " SMALL " " FEW), 0,
         NULL, "log evidence"},
    };
    CHECK_LINES(table);
    /* what has no meaning in a run is not among its settings */
    static const char *const other[2][2] = {{"least.json", "steps"}, {"paper.json", "se"}};
    static const char *const own[2][3] = {{"se", "collapsed"}, {"steps", "vbpi"}};
    for (int i = 0; i < 2; i++) {
        json_t *all = json_load_file(other[i][0], 0, NULL), *set = json_object_get(all, "settings");
        assert_non_null(set);
        assert_null(json_object_get(set, other[i][1]));
        assert_non_null(json_object_get(set, own[i][0]));
        assert_string_equal(json_string_value(json_object_get(all, "method")), own[i][1]);
        json_decref(all);
    }
}

/* The smallest problem there is, from standard input: one topology, and an evidence that is an
 * integral over three branches. */
static void three_taxa_from_standard_input(void **state)
{
    (void)state;
    static const char *const row[3] = {"ACGTACGTTA", "ACGTACGTTT", "ACGAACGATA"};
    small_alignment data;
    double posterior[1];
    char text[256];
    small_alignment_init(&data, 3, row);
    double exact = exact_posterior(posterior, &data.a, 10);
    snprintf(text, sizeof text, ">a\n%s\n>b\n%s\n>c\n%s\n", row[0], row[1], row[2]);
    static const char *const method[2] = {
        "infer -s - --hidden 8 --heads 2 --branch-hidden 8",
        "infer -s - --method vbpi --steps 500 --anneal 0 --hidden 8 --heads 2 --branch-hidden 8 "
        "--branch-rate 0.01 --evidence-repeats 20 --redo"};
    for (int i = 0; i < 2; i++) {
        run_result r = run_line(&(run_options){.input = text}, method[i]);
        check_run(&r, method[i], 0, NULL, "stdin.report.html|1 distinct tree");
        run_free(&r);
        /* four standard errors by the effective sample size: that of vbpi is not given if Pareto k
         * is 0.7 or more */
        check_near(result("stdin.json", "log_evidence"), exact,
                   4 / sqrt(result("stdin.json", "ess")));
        assert_true(result("stdin.json", "ess") > 5000);
        if (i == 0)
            check_near(result("stdin.json", "log_evidence_se"), 0, 0.01);
        check_near(result("stdin.json", "distinct_trees"), 1, 0);
        char *best = file_text("stdin.map.nwk");
        assert_true(best[0] == '(' && strstr(best, "a:") && strstr(best, "b:") &&
                    strstr(best, "c:"));
        free(best);
    }
}

/* The verdict comes before the tree and the evidence in the log, and is not lost with --quiet; the
 * exit code is 0 whether a run has converged or not. */
static void the_verdict_comes_first(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    static const char few[] = "infer -s a.fasta --hidden 8 --heads 2 --branch-hidden 8 --rounds 1 "
                              "--fit-steps 1 --evidence-particles 2 --evidence-repeats 1 "
                              "--prefix few --redo";
    run_result r = run_line(NULL, few);
    check_run(&r, few, 0, NULL,
              "verdict: NOT CONVERGED -- |standard error: not known (not converged)");
    const char *verdict = strstr(r.err, "verdict: ");
    assert_true(verdict && verdict < strstr(r.err, "majority consensus") &&
                verdict < strstr(r.err, "effective sample size"));
    run_free(&r);
    char quiet[512], *report = file_text("few.report.txt"), *json = file_text("few.json");
    assert_true(report && json);
    assert_non_null(strstr(report, "inference of a tree\nVerdict: NOT CONVERGED -- "));
    assert_memory_equal(json, "{\n  \"converged\": false,\n  \"warnings\": [\n", 40);
    free(report);
    free(json);
    snprintf(quiet, sizeof quiet, "%s --quiet", few);
    r = run_line(NULL, quiet);
    check_run(&r, quiet, 0, NULL, "warning: verdict: NOT CONVERGED -- ");
    run_free(&r);
}

/* The published schedules, explicit options take precedence. */
static void the_preset_of_the_paper(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("t.nwk", TREES);
    static const line table[] = {
        {"infer -s a.fasta --preset paper --steps 2 --hidden 8 --heads 2 --branch-hidden 8 " FEW, 0,
         NULL,
         "method \"vbpi\"|steps 2,|tree_rate 0.0001|decay 0.75|decay_every 20000|hidden 8,|heads "
         "2,|"
         "branch_rate 0.001|branch_hidden 8|particles 10|estimator \"vimco\"|anneal 100000|"
         "anneal_shape \"linear\""},
        {"parsimony -s a.fasta --preset paper --steps 2 --decay 0.5 --prefix p " FEW, 0, NULL,
         "method \"annealing\"|steps 2,|tree_rate 0.0001|decay 0.5|decay_every 20000|hidden 100|"
         "heads 4|anneal 200000"},
        {"fit t.nwk --preset paper --steps 2 --prefix f", 0, NULL,
         "steps 2,|tree_rate 0.0001|decay_every 20000|batch 10|picks \"independent\"|"
         "average 0.9995|average_from 1000|clip 0.0"},
        {"fit t.nwk --density artree --preset paper --steps 2 --prefix fa", 0, NULL,
         "steps 2,|tree_rate 0.0001|decay 0.75|decay_every 20000|density \"artree\"|hidden 100|"
         "batch 10|picks \"independent\"|average 0.0,"},
        {"infer -s a.fasta --density artree --preset paper --steps 2 --hidden 8 --branch-hidden 8 "
         "--prefix va --evidence-particles 10 --posterior-sample 10",
         0, NULL,
         "method \"vbpi\"|density \"artree\"|branch_rate 0.001|anneal 100000|evidence_repeats "
         "1000"},
        {"infer -s a.fasta --density sbn --preset paper --steps 2 --branch-hidden 8 --prefix "
         "vs " FEW,
         0, NULL,
         "method \"vbpi\"|density \"sbn\"|tree_rate 0.001|branch_rate 0.001|anneal 100000|"
         "decay_every 20000|floor 1e-6"},
    };
    CHECK_LINES(table);
}

/* Every command with ARTree: trained in all ways, then scored, drawn from and compared. */
static void all_commands_know_artree(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("t.nwk", TREES);
    static const line table[] = {
        {"fit t.nwk --density artree --steps 3 --hidden 8 --prefix f", 0, NULL, "f.model"},
        {"score --network f.model.safetensors t.nwk", 0, "1\t-", "artree-counts on"},
        {"kl --network f.model.safetensors --truth t.nwk", 0, "kl\t", NULL},
        {"sample --network f.model.safetensors -n 3 --format newick", 0, ";", NULL},
        {"fit t.nwk --density artree --steps 3 --hidden 8 --counts ignore --prefix g", 0, NULL,
         "g.model"},
        {"score --network g.model.safetensors t.nwk", 0, "1\t-", "artree on"},
        {"fit t.nwk --density sbn --counts use --prefix s", 2, NULL,
         "needs --density artreeformer"},
        {"sample --network f.model.safetensors -n 3 --embedding iterated", 2, NULL,
         "no node embeddings"},
        {"parsimony -s a.fasta --method annealing --density artree --steps 3 --hidden 8 --prefix "
         "p " FEW,
         0, NULL, "best parsimony score"},
        {"infer -s a.fasta --density artree --method vbpi --steps 3 --hidden 8 --branch-hidden 8 "
         "--posterior-sample 10 --prefix v " FEW,
         0, NULL, "v.model"},
        {"evidence --network v.model.safetensors -s a.fasta " FEW, 0, "log_evidence\t",
         "artree on|plain lognormal"},
        {"infer -s a.fasta --density artree --hidden 8 --branch-hidden 8 --rounds 1 --fit-steps 2 "
         "--posterior-sample 10 --prefix c " FEW,
         0, NULL, "c.model"},
    };
    CHECK_LINES(table);
}

/* Inference with a subsplit network, whose support comes from a search or from a file, and what can
 * be done with its model. */
static void inference_with_a_subsplit_network(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("t.nwk", TREES);
    scratch_write("other.nwk", "((x,y),z,w);\n");
#define TABLES "infer -s a.fasta --density sbn --method vbpi --steps 30 --branch-hidden 8 " FEW " "
    static const line table[] = {
        {TABLES "--prefix v", 0, NULL, "support: |v.model"},
        {"score --model v.model.safetensors t.nwk", 0, "1\t-", "sbn on"},
        {"sample --model v.model.safetensors -n 3 --format newick", 0, ";", NULL},
        {"evidence --model v.model.safetensors -s a.fasta " FEW, 0, "log_evidence\t",
         "sbn on|plain lognormal"},
        {TABLES "--support t.nwk --prefix w", 0, NULL, "support: |w.model"},
        {TABLES "--support t.nwk --prefix w", 0, NULL, "already finished"},
        {TABLES "--support t.nwk t.nwk --burnin 1 --prefix u", 0, NULL, "support: "},
        {TABLES "--support other.nwk --prefix x", 2, NULL, "other.nwk"},
    };
#undef TABLES
    CHECK_LINES(table);
    check_near(result("w.json", "support_trees"), 2, 0); /* distinct ones */
    assert_true(result("v.json", "support_trees") >= 1);
}

/* A network does not draw parameters: where they were estimated, it has no evidence to give. */
static void evidence_needs_fixed_parameters(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    static const line table[] = {
        {"infer -s a.fasta -m K80 --hidden 8 --branch-hidden 8 --rounds 1 --fit-steps 2 "
         "--posterior-sample 10 --prefix k " FEW,
         0, NULL, "k.model"},
        {"evidence --network k.model.safetensors -s a.fasta " FEW, 2, NULL,
         "k.model.safetensors: error: the parameters of K80 were estimated in its run"},
    };
    CHECK_LINES(table);
}

static void settings_files_and_quiet(void **state)
{
    (void)state;
    scratch_write("set.json", "{\"taxa\": 7, \"sites\": 40, \"prefix\": \"from_file\"}");
    scratch_write("bad.json", "{\"taxas\": 7}");
    static const line table[] = {
        {"simulate --config set.json --sites 50", 0, NULL, "seed: 1"},
        {"check -s from_file.fasta", 0, "taxa\t7\n|sites\t50\n", NULL},
        {"simulate --config bad.json", 2, NULL,
         "bad.json: error: unknown setting 'taxas' -- did you mean 'taxa'?"},
    };
    CHECK_LINES(table);
    run_result r = run_line(NULL, "simulate --quiet --prefix silent");
    check_run(&r, "simulate --quiet", 0, NULL, NULL);
    assert_string_equal(r.err, "");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_command),
        cmocka_unit_test(every_command_explains_itself),
        cmocka_unit_test(full_standard_output_is_an_error),
        in_scratch_folder(check_describes_the_alignment),
        in_scratch_folder(check_estimates_models_with_free_parameters),
        in_scratch_folder(simulate_writes_what_others_read),
        in_scratch_folder(simulate_draws_parameters),
        in_scratch_folder(summarize_writes_its_files),
        in_scratch_folder(compare_prints_distances),
        in_scratch_folder(inputs_are_never_overwritten),
        in_scratch_folder(bad_input_changes_nothing),
        in_scratch_folder(strange_names_are_harmless),
        in_scratch_folder(full_devices_are_reported),
        in_scratch_folder(densities_with_tables),
        in_scratch_folder(methods_have_their_own_options),
        in_scratch_folder(three_taxa_from_standard_input),
        in_scratch_folder(the_verdict_comes_first),
        in_scratch_folder(the_preset_of_the_paper),
        in_scratch_folder(all_commands_know_artree),
        in_scratch_folder(inference_with_a_subsplit_network),
        in_scratch_folder(evidence_needs_fixed_parameters),
        in_scratch_folder(settings_files_and_quiet),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
