/* Programs that people use read the trees that are written: treeio and ape (R), FigTree, each where
 * it is installed. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Five trees of six taxa: (a,b) and (e,f) are in all of them, (c,d) in four. */
static const char SAMPLE[] = "(a:1,b:2,((c:1,d:1):1,(e:1,f:1):2):3);\n"
                             "(a:2,b:2,((c:1,d:2):2,(e:1,f:1):2):3);\n"
                             "(a:3,b:2,((c:1,d:3):3,(e:1,f:1):2):3);\n"
                             "(a:4,b:2,((c:1,d:4):4,(e:1,f:1):2):3);\n"
                             "(a:5,b:2,(c:1,(d:5,(e:1,f:1):2):1):3);\n";

static int make_files(void **state)
{
    (void)state;
    scratch_make();
    scratch_write("sample.nwk", SAMPLE);
    char line[512];
    snprintf(line, sizeof line, "summarize %s --prefix %s", scratch_path("sample.nwk"),
             scratch_path("out"));
    run_well(line);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

static run_result shell(const char *line)
{
    char script[2048];
    const char *const arguments[] = {"-c", script, NULL};
    snprintf(script, sizeof script, "cd '%s' && %s", scratch_path("."), line);
    return run_arguments(&(run_options){.program = "sh"}, arguments);
}

/* Runs a line of R with a package; skips the test where there is none. */
static void check_r(const char *package, const char *code, const char *expected)
{
    char line[2000];
    snprintf(line, sizeof line,
             "Rscript -e 'quit(status = !requireNamespace(\"%s\", quietly = TRUE))'", package);
    run_result r = shell(line);
    const bool absent = r.code != 0;
    run_free(&r);
    if (absent)
        skip_because("R with the package %s is not installed", package);
    snprintf(line, sizeof line, "Rscript -e 'suppressMessages(library(%s)); %s'", package, code);
    r = shell(line);
    check_run(&r, code, 0, expected, NULL);
    run_free(&r);
}

/* The columns that read.mrbayes makes of MrBayes' own annotations: prob(percent) becomes
 * prob_percent, length_95%HPD becomes length_0.95HPD. Of the branch of a, whose lengths are 1 to
 * 5. */
static void treeio_reads_the_consensus(void **state)
{
    (void)state;
    check_r("treeio",
            "t <- read.mrbayes(\"out.con.tre\"); d <- as.data.frame(t@data); "
            "row <- d[d$node == which(t@phylo$tip.label == \"a\"), ]; "
            "cat(\"HPD\", row$length_0.95HPD[[1]], \"median\", row$length_median, \"prob\", "
            "row$prob, row$prob_percent, \"\\n\"); cat(\"least\", min(d$prob), \"\\n\")",
            "HPD 1 5 median 3 prob 1 100|least 0.8");
}

static void ape_reads_the_trees(void **state)
{
    (void)state;
    check_r("ape",
            "a <- read.tree(\"out.contree\"); b <- read.nexus(\"out.con.tre\"); "
            "cat(Ntip(a), Nnode(a), a$node.label, dist.topo(unroot(a), unroot(b)), "
            "sum(a$edge.length), sum(b$edge.length), \"\\n\"); "
            "p <- read.nexus(\"out.trprobs\"); cat(length(p), \"\\n\")",
            "6 4  1 0.8 1 0 |\n2 \n");
}

static void figtree_draws_the_consensus(void **state)
{
    (void)state;
    run_result r = shell("command -v figtree xvfb-run");
    const bool absent = r.code != 0;
    run_free(&r);
    if (absent)
        skip_because("figtree and xvfb-run are not installed");
    r = shell("HOME=. xvfb-run -a figtree -graphic PDF out.con.tre out.pdf && head -c 4 out.pdf");
    check_run(&r, "figtree", 0, "%PDF", NULL);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(treeio_reads_the_consensus),
        cmocka_unit_test(ape_reads_the_trees),
        cmocka_unit_test(figtree_draws_the_consensus),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
