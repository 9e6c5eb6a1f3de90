/* What we write, read by the programs it is meant for. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool can_run(const char *line)
{
    const char *const arguments[] = {"-c", line, NULL};
    run_result r = run_arguments(&(run_options){.program = "sh"}, arguments);
    bool can = r.code == 0;
    run_free(&r);
    return can;
}

/* Runs an R script that must print the expected words; skips where R or ape is absent. */
static void check_r(const char *script, const char *expected)
{
    static int has_ape = -1;
    if (has_ape < 0)
        has_ape = can_run("Rscript -e 'library(ape)'");
    if (!has_ape)
        skip_because("there is no R with ape");
    scratch_write("script.R", script);
    const char *const arguments[] = {"script.R", NULL};
    run_result r = run_arguments(&(run_options){.program = "Rscript"}, arguments);
    check_run(&r, script, 0, expected, NULL);
    run_free(&r);
}

/* A sample of 6 trees with lengths, of 12 taxa, and its summary. */
static void make_sample(void)
{
    FILE *all = fopen("trees.nwk", "w");
    assert_non_null(all);
    for (int i = 0; i < 6; i++) {
        char line[128];
        snprintf(line, sizeof line, "simulate -n 12 -l 60 --seed %d --quiet --prefix s%d", i / 2,
                 i);
        run_well(line);
        snprintf(line, sizeof line, "s%d.nwk", i);
        char *text = file_text(line);
        fputs(text, all);
        free(text);
    }
    assert_int_equal(fclose(all), 0);
    run_well("summarize trees.nwk --prefix sum --consensus extended --quiet");
}

static void ape_reads_every_tree_file(void **state)
{
    (void)state;
    make_sample();
    check_r("library(ape)\n"
            "show <- function(name, t) cat(name, Ntip(t), is.rooted(t), !is.null(t$edge.length),\n"
            "                              paste(sort(t$tip.label)[1:3], collapse = ','), '\\n')\n"
            "show('simulated', read.tree('s0.nwk'))\n"
            "show('contree', read.tree('sum.contree'))\n"
            "show('con.tre', read.nexus('sum.con.tre'))\n"
            "show('map', read.tree('sum.map.nwk'))\n"
            "p <- read.nexus('sum.trprobs')\n"
            "cat('trprobs', length(p), '\\n')\n"
            "show('first', p[[1]])\n"
            "cat('support', max(as.numeric(read.tree('sum.contree')$node.label), na.rm = TRUE))\n",
            "simulated 12 FALSE TRUE t1,t10,t11|contree 12 FALSE TRUE t1,t10,t11|"
            "con.tre 12 FALSE TRUE t1,t10,t11|map 12 FALSE TRUE t1,t10,t11|trprobs 3|"
            "first 12 FALSE FALSE t1,t10,t11|support ");
}

/* Rooted with an outgroup and at the midpoint; ape agrees on where that is. */
static void ape_reads_rooted_trees(void **state)
{
    (void)state;
    make_sample();
    run_well("summarize trees.nwk --prefix out --consensus extended --quiet --outgroup t3");
    run_well("summarize trees.nwk --prefix mid --consensus extended --quiet --root midpoint");
    check_r("library(ape)\n"
            "u <- read.tree('sum.contree'); o <- read.nexus('out.con.tre')\n"
            "cat('rooted', is.rooted(o), is.rooted(read.tree('out.contree')),\n"
            "    is.rooted(read.tree('out.map.nwk')), is.rooted(read.nexus('out.trprobs')[[1]]),\n"
            "    'outgroup', is.monophyletic(o, setdiff(o$tip.label, 't3')),\n"
            "    'same', dist.topo(unroot(o), u), abs(sum(o$edge.length) - sum(u$edge.length)) < "
            "1e-6, '\\n')\n"
            "m <- read.nexus('mid.con.tre'); d <- node.depth.edgelength(m)[1:12]\n"
            "cat('midpoint', is.rooted(m), abs(max(d) - max(cophenetic(u)) / 2) < 1e-6)\n",
            "rooted TRUE TRUE TRUE TRUE outgroup TRUE same 0 TRUE|midpoint TRUE TRUE");
}

static void ape_reads_every_alignment(void **state)
{
    (void)state;
    run_well("simulate -n 7 -l 333 --prefix x --quiet");
    run_well("simulate -n 7 -l 333 --prefix x --quiet --format phylip --redo");
    run_well("simulate -n 7 -l 333 --prefix x --quiet --format nexus --redo");
    check_r("library(ape)\n"
            "a <- as.character(read.dna('x.fasta', 'fasta'))\n"
            "b <- as.character(read.dna('x.phy', 'sequential'))\n"
            "c <- do.call(rbind, read.nexus.data('x.nex'))\n"
            "cat(dim(a), all(a == b), all(a == c), rownames(a)[7])\n",
            "7 333 TRUE TRUE t7");
}

/* Our matrix of Robinson-Foulds distances against dist.topo. */
static void distances_are_those_of_ape(void **state)
{
    (void)state;
    make_sample();
    run_result r = run_line(NULL, "compare trees.nwk");
    check_run(&r, "compare", 0, NULL, NULL);
    scratch_write("matrix.tsv", r.out);
    run_free(&r);
    check_r("library(ape)\n"
            "ours <- as.matrix(read.table('matrix.tsv', header = TRUE, row.names = 1))\n"
            "theirs <- as.matrix(dist.topo(read.tree('trees.nwk')))\n"
            "cat('equal', all(ours == theirs), 'largest', max(ours))\n",
            "equal TRUE largest ");
}

static void mrbayes_reads_the_alignment(void **state)
{
    (void)state;
    if (!can_run("command -v mb"))
        skip_because("there is no mb (MrBayes)");
    run_well("simulate -n 9 -l 50 --prefix x --quiet --format nexus");
    run_result r = run_line(&(run_options){.program = "mb"}, "x.nex");
    check_run(&r, "mb x.nex", 0, "9 taxa and 50 characters|Successfully read matrix", NULL);
    run_free(&r);
}

/* MrBayes' consensus tree is read, and ours of the same sample has its annotations, spelled alike.
 */
static void consensus_of_mrbayes(void **state)
{
    (void)state;
    static const char *const KEYS[] = {"[&prob=",
                                       ",prob(percent)=\"",
                                       "\"]:",
                                       "[&length_mean=",
                                       ",length_median=",
                                       ",length_95%HPD={",
                                       "}]",
                                       "translate\n\t\t1\t",
                                       "\tdimensions ntax=6;"};
    if (!can_run("command -v mb"))
        skip_because("there is no mb (MrBayes)");
    run_well("simulate -n 6 -l 40 --prefix x --quiet --format nexus");
    scratch_write(
        "run.nex",
        "#NEXUS\nbegin mrbayes;\nset autoclose=yes nowarn=yes;\nexecute x.nex;\nmcmc "
        "ngen=2000 samplefreq=10 nruns=2 nchains=1 printfreq=2000 filename=m;\nsumt;\nend;\n");
    run_result r = run_line(&(run_options){.program = "mb"}, "run.nex");
    check_run(&r, "mb run.nex", 0, NULL, NULL);
    run_free(&r);
    r = run_line(NULL, "summarize m.run1.t m.run2.t --prefix ours");
    check_run(&r, "summarize", 0, NULL, "302 trees (burn-in: 100 more, 25 %");
    run_free(&r);
    char *ours = file_text("ours.con.tre"), *theirs = file_text("m.con.tre");
    assert_non_null(theirs);
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (!strstr(theirs, KEYS[i]) || !strstr(ours, KEYS[i]))
            fail_msg("%s is missing:\n%s\n%s", KEYS[i], theirs, ours);
    free(ours);
    free(theirs);
    run_well("summarize m.con.tre --prefix read");
    run_well("compare m.con.tre ours.con.tre");
}

/* A short inference on 8 taxa, all its files as r.*, the data as x.nex. */
static void make_inference(void)
{
    run_well("simulate -n 8 -l 100 --prefix x --quiet --format nexus");
    run_well("infer -s x.nex --prefix r --hidden 8 --heads 2 --posterior-sample 20 --quiet "
             "--branch-hidden 8 --evidence-particles 100");
}

static void ape_reads_what_infer_writes(void **state)
{
    (void)state;
    make_inference();
    check_r(
        "library(ape)\n"
        "t <- read.nexus('r.trees')\n"
        "cat('trees', length(t), Ntip(t[[1]]), is.rooted(t[[1]]), !is.null(t[[1]]$edge.length))\n"
        "cat(' contree', Ntip(read.tree('r.contree')), 'con.tre', Ntip(read.nexus('r.con.tre')))\n"
        "cat(' map', Ntip(read.tree('r.map.nwk')), 'trprobs', Ntip(read.nexus('r.trprobs')[[1]]))\n"
        "d <- read.table('r.trace.tsv', header = TRUE)\n"
        "cat(' trace', dim(d), 'lengths', all(d$TL > 0))\n"
        "s <- read.delim('r.splits.tsv')\n"
        "cat(' splits', nrow(s) >= 13)\n",
        "trees 20 8 FALSE TRUE|contree 8 con.tre 8|map 8 trprobs 8|trace 20 6 lengths TRUE|splits "
        "TRUE");
}

static void dendropy_reads_what_infer_writes(void **state)
{
    (void)state;
    /* Debian's own interpreter is the one that has Debian's packages */
    const char *python = can_run("python3 -c 'import dendropy'") ? "python3" : "/usr/bin/python3";
    char line[128];
    snprintf(line, sizeof line, "%s -c 'import dendropy'", python);
    if (!can_run(line))
        skip_because("there is no python3 with DendroPy");
    make_inference();
    scratch_write(
        "script.py",
        "import dendropy as d\n"
        "t = d.TreeList.get(path='r.trees', schema='nexus', store_tree_weights=True)\n"
        "print('trees', len(t), len(t[0].leaf_nodes()), round(sum(x.weight for x in t), 6))\n"
        "for name, kind in (('contree', 'newick'), ('con.tre', 'nexus'), ('map.nwk', 'newick')):\n"
        "    print(name, len(d.Tree.get(path='r.' + name, schema=kind).leaf_nodes()))\n"
        "print('trprobs', len(d.TreeList.get(path='r.trprobs', "
        "schema='nexus')[0].leaf_nodes()))\n");
    const char *const arguments[] = {"script.py", NULL};
    run_result r = run_arguments(&(run_options){.program = python}, arguments);
    check_run(&r, "DendroPy", 0, "trees 20 8 1.0|contree 8|con.tre 8|map.nwk 8|trprobs 8", NULL);
    run_free(&r);
}

static void mrbayes_sums_up_what_infer_writes(void **state)
{
    (void)state;
    if (!can_run("command -v mb"))
        skip_because("there is no mb (MrBayes)");
    make_inference();
    scratch_write("sum.nex",
                  "#NEXUS\nbegin mrbayes;\nset autoclose=yes nowarn=yes;\n"
                  "execute x.nex;\nsumt filename=r nruns=1 ntrees=1 relburnin=no burnin=0 "
                  "outputname=q;\nend;\n");
    assert_true(can_run("cp r.trees r.t"));
    run_result r = run_line(&(run_options){.program = "mb"}, "sum.nex");
    check_run(&r, "mb sum.nex", 0, "Clade credibility values|Credible sets of trees", NULL);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scratch_folder(ape_reads_every_tree_file),
        in_scratch_folder(ape_reads_rooted_trees),
        in_scratch_folder(ape_reads_every_alignment),
        in_scratch_folder(distances_are_those_of_ape),
        in_scratch_folder(consensus_of_mrbayes),
        in_scratch_folder(mrbayes_reads_the_alignment),
        in_scratch_folder(ape_reads_what_infer_writes),
        in_scratch_folder(dendropy_reads_what_infer_writes),
        in_scratch_folder(mrbayes_sums_up_what_infer_writes),
    };
    return cmocka_run_group_tests_name("tools", tests, NULL, NULL);
}
