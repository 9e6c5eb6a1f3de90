#include "support/check.h"
#include "support/files.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "tree/consensus.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 9 };

/* What a consensus tree says about every split of a few taxa, by its mask without taxon 0. */
typedef struct view {
    bool has[1 << MAX];
    double support[1 << MAX], length[1 << MAX];
} view;

static void look(view *v, const consensus *c)
{
    memset(v, 0, sizeof *v);
    for (int32_t i = 1; i < c->count; i++) {
        unsigned below = 0;
        assert_true(c->node[i].parent >= 0 && c->node[i].parent < i);
        for (int32_t j = 1; j < c->count; j++)
            for (int32_t at = j; c->node[j].taxon >= 0 && at > 0; at = c->node[at].parent)
                if (at == i)
                    below |= 1u << c->node[j].taxon;
        if (below & 1)
            below = ~below & ((1u << c->n_taxa) - 1);
        assert_false(v->has[below]);
        v->has[below] = true;
        v->support[below] = c->node[i].support;
        v->length[below] = c->node[i].length;
    }
}

static int ones(unsigned mask)
{
    return mask ? (int)(mask & 1) + ones(mask >> 1) : 0;
}

/* The same from the definition, over all masks. */
static void expected_view(view *v, const double *frequency, const double *mean, int32_t n,
                          consensus_kind kind)
{
    memset(v, 0, sizeof *v);
    bool tried[1 << MAX] = {false};
    for (;;) {
        unsigned best = 0;
        for (unsigned m = 2; m < 1u << n; m += 2) {
            if (tried[m] || frequency[m] == 0)
                continue;
            bool better = best == 0 || frequency[m] > frequency[best] ||
                          (frequency[m] == frequency[best] && ones(m) > ones(best));
            best = better ? m : best;
        }
        if (best == 0)
            break;
        tried[best] = true;
        bool ok = kind == CONSENSUS_EXTENDED || frequency[best] > 0.5 + 1e-9;
        ok &= kind != CONSENSUS_STRICT || frequency[best] > 1 - 1e-9;
        for (unsigned m = 2; m < 1u << n; m += 2)
            ok &= !v->has[m] || (m & best) == 0 || (m & best) == m || (m & best) == best;
        v->has[best] = ok;
        v->support[best] = fmin(1, frequency[best]);
        v->length[best] = mean[best];
    }
}

static void names_of(taxa *t, int32_t n)
{
    taxa_init(t);
    for (int32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, i % 3 ? "t%d" : "t %d", i);
        check_status(taxa_add(t, name, strlen(name)));
    }
}

/* Reads a written consensus tree again; taxa in the given order. */
static void read_back(consensus *c, const char *text, const taxa *names)
{
    input in;
    tree_file f;
    check_status(input_from_memory(&in, "f", text, strlen(text), NULL, NULL));
    check_status(tree_file_from_input(&f, &in, &(tree_options){.taxa = names}, NULL));
    check_status(tree_file_next_text(&f, NULL));
    check_status(consensus_from_newick(c, &f.text, &f.index.labels, &f.in, NULL));
    tree_file_free(&f);
}

static void check_same(const consensus *a, const consensus *b)
{
    assert_int_equal(a->count, b->count);
    for (int32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->node[i].parent, b->node[i].parent);
        assert_int_equal(a->node[i].taxon, b->node[i].taxon);
        if (i > 0) /* lengths are written with 9 digits, supports with at least 6 */
            check_close(a->node[i].length, b->node[i].length, 1e-8);
        if (i > 0 && a->node[i].taxon < 0)
            check_close(a->node[i].support, b->node[i].support, 1e-5);
    }
}

static void check_written(const consensus *c, const taxa *names)
{
    buffer out;
    consensus again;
    buffer_init(&out);
    consensus_write_newick(&out, c, names);
    read_back(&again, out.text, names);
    check_same(c, &again);
    consensus_free(&again);
    buffer_clear(&out);
    consensus_write_nexus(&out, c, names, "con 50");
    read_back(&again, out.text, names);
    check_same(c, &again);
    consensus_free(&again);
    buffer_free(&out);
}

/* Strict, majority and extended consensus of random samples, against the definition. The trees
 * of a sample share their first decisions, more or less of them. */
static void against_the_definition(void **state)
{
    (void)state;
    static view seen, expected;
    for (uint32_t trial = 0; trial < 300; trial++) {
        rng r = rng_at(1, RNG_TEST, 0, trial);
        int32_t n = 3 + (int32_t)rng_below(&r, MAX - 2), decision[MAX];
        int32_t shared = (int32_t)rng_below(&r, (uint32_t)n);
        double length[2 * MAX], frequency[1 << MAX] = {0}, mean[1 << MAX] = {0};
        uint64_t split[2 * MAX];
        int32_t order[2 * MAX];
        taxa names;
        topology t;
        split_table s;
        names_of(&names, n);
        check_status(topology_init(&t, n));
        check_status(split_table_init(&s, n));
        uint32_t trees = 1 + rng_below(&r, 12);
        for (uint32_t i = 0; i < trees; i++) {
            for (int32_t j = i == 0 ? 0 : shared; j < n - 3; j++)
                decision[j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
            for (int32_t e = 0; e < topology_edges(n); e++)
                length[e] = rng_exponential(&r);
            check_status(split_table_add(&s, decision, length, 1));
            topology_build(&t, decision);
            splits_of(split, &t, order);
            for (int32_t e = 0; e < topology_edges(n); e++) {
                frequency[split[e]] += 1;
                mean[split[e]] += length[e];
            }
        }
        for (unsigned m = 0; m < 1u << n; m++) {
            mean[m] /= fmax(1, frequency[m]);
            frequency[m] /= trees;
        }
        for (int kind = CONSENSUS_STRICT; kind <= CONSENSUS_EXTENDED; kind++) {
            consensus c;
            check_status(consensus_build(&c, &s, (consensus_kind)kind));
            look(&seen, &c);
            expected_view(&expected, frequency, mean, n, (consensus_kind)kind);
            for (unsigned m = 0; m < 1u << n; m++) {
                assert_int_equal(seen.has[m], expected.has[m]);
                if (seen.has[m]) {
                    check_near(seen.support[m], expected.support[m], 1e-12); /* sums of 12 */
                    check_close(seen.length[m], expected.length[m], 1e-12);
                }
            }
            check_written(&c, &names);
            consensus_free(&c);
        }
        split_table_free(&s);
        topology_free(&t);
        taxa_free(&names);
    }
}

static void known_texts(void **state)
{
    (void)state;
    taxa names;
    split_table s;
    consensus c;
    buffer out;
    names_of(&names, 5);
    buffer_init(&out);
    check_status(split_table_init(&s, 5));
    assert_int_equal(consensus_build(&c, &s, CONSENSUS_STRICT), ART_ERR_USAGE);
    static const double length[] = {1, 1, 1, 1, 0.5, 1, 1};
    static const int32_t two[][2] = {{0, 4}, {0, 0}}; /* ((e,(d,b)),c,a) and ((d,(e,b)),c,a) */
    check_status(split_table_add(&s, two[0], length, 3));
    check_status(split_table_add(&s, two[1], length, 1));
    check_status(consensus_build(&c, &s, CONSENSUS_STRICT));
    consensus_write_newick(&out, &c, &names);
    assert_string_equal(out.text, "('t 0':1,(t1:1,'t 3':1,t4:1)1:0.875,t2:1);");
    consensus_free(&c);
    check_status(consensus_build(&c, &s, CONSENSUS_MAJORITY));
    buffer_clear(&out);
    consensus_write_newick(&out, &c, &names);
    assert_string_equal(out.text, "('t 0':1,((t1:1,'t 3':1)0.75:0.5,t4:1)1:0.875,t2:1);");
    buffer_clear(&out);
    consensus_write_nexus(&out, &c, &names, "con");
    assert_non_null(strstr(out.text, "\ttaxlabels\n\t\t't 0'\n\t\tt1\n"));
    assert_non_null(strstr(out.text, "   tree con = [&U] (1[&prob=1,prob(percent)=\"100\"]:1"
                                     "[&length_mean=1,length_sd=0],((2[&prob=1,"));
    assert_non_null(strstr(out.text, ")[&prob=0.75,prob(percent)=\"75\"]:0.5[&length_mean=0.5,"));
    consensus_free(&c);
    buffer_free(&out);
    split_table_free(&s);
    taxa_free(&names);
}

/* A rooted text, and one without lengths. */
static void trees_of_any_degree_are_read(void **state)
{
    (void)state;
    static const char *const text[] = {
        "(a,b,(c,d,e)0.5);", "((a,b)0.5,(c,d,e));", "((c,d,e),(b,a)[&prob=0.5]);",
        "((a,(c,(d)),e));",  "(a,b,(c,d));",        "(a,b,(c,d,e,f));",
    };
    static const int expected[] = {0, 0, 0, ART_ERR_INPUT, ART_ERR_MISMATCH, ART_ERR_MISMATCH};
    taxa names;
    taxa_init(&names);
    for (const char *name = "abcde"; *name; name++)
        check_status(taxa_add(&names, name, 1));
    for (size_t i = 0; i < 6; i++) {
        input in;
        tree_file f;
        consensus c;
        check_status(input_from_memory(&in, "f", text[i], strlen(text[i]), NULL, NULL));
        check_status(tree_file_from_input(&f, &in, &(tree_options){.taxa = &names}, NULL));
        check_status(tree_file_next_text(&f, NULL));
        assert_int_equal(consensus_from_newick(&c, &f.text, &f.index.labels, &f.in, NULL),
                         expected[i]);
        if (!expected[i]) {
            buffer out;
            buffer_init(&out);
            consensus_write_newick(&out, &c, &names);
            assert_string_equal(out.text, "(a,b,(c,d,e)0.5);");
            buffer_free(&out);
        }
        consensus_free(&c);
        tree_file_free(&f);
    }
    taxa_free(&names);
}

/* Nine taxa, 60 sites, two short runs. */
static void run_mrbayes(void)
{
    char command[4400], row[61] = "";
    buffer text;
    buffer_init(&text);
    buffer_text(&text, "#NEXUS\nbegin data; dimensions ntax=9 nchar=60; format datatype=dna; "
                       "matrix\n");
    rng r = rng_at(7, RNG_TEST, 0, 0);
    for (int i = 0; i < 60; i++)
        row[i] = "ACGT"[rng_below(&r, 4)];
    for (int taxon = 0; taxon < 9; taxon++) { /* a caterpillar: every row comes from the last */
        for (int i = 0; i < 12; i++)
            row[rng_below(&r, 60)] = "ACGT"[rng_below(&r, 4)];
        buffer_printf(&text, "taxon_%d %s\n", 9 - taxon, row);
    }
    buffer_text(&text, "; end;\nbegin mrbayes; set autoclose=yes nowarn=yes seed=1 swapseed=1; "
                       "lset nst=1;\nmcmc ngen=4000 samplefreq=20 printfreq=4000 nruns=2 nchains=1 "
                       "mcmcdiagn=no;\nsumt burninfrac=0.25; end;\n");
    const char *folder = scratch_make();
    scratch_write("x.nex", text.text);
    snprintf(command, sizeof command, "cd %s && mb x.nex > log.txt 2>&1", folder);
    assert_int_equal(system(command), 0);
    buffer_free(&text);
}

/* The number behind `words` in MrBayes' log. */
static double from_log(const char *words)
{
    input in;
    check_status(input_read(&in, scratch_path("log.txt"), NULL, NULL));
    const char *at = strstr(in.text, words);
    assert_non_null(at);
    double value = strtod(at + strlen(words), NULL);
    input_free(&in);
    return value;
}

/* Two runs of MrBayes, summarised by both: deviation of split frequencies, tree
 * probabilities, and the majority consensus with its supports and mean lengths. */
static void against_mrbayes(void **state)
{
    (void)state;
    if (system("command -v mb > /dev/null 2>&1") != 0)
        skip_because("mb (MrBayes) is not installed");
    run_mrbayes();
    const char *runs[] = {scratch_path("x.nex.run1.t"), scratch_path("x.nex.run2.t")};
    tree_options o = {.use = TREE_LENGTHS, .burnin_share = 0.25};
    tree_set both, one[2], theirs;
    split_table all, splits[2];
    check_status(tree_set_read(&both, &all, runs, 2, &o, NULL));
    for (int i = 0; i < 2; i++)
        check_status(tree_set_read(&one[i], &splits[i], &runs[i], 1, &o, NULL));
    const split_table *samples[] = {&splits[0], &splits[1]};
    double largest, average = split_deviation(&largest, samples, 2, 0.1);
    /* printed with six decimals */
    check_near(average, from_log("Average standard deviation of split frequencies = "), 6e-7);
    check_near(largest, from_log("Maximum standard deviation of split frequencies = "), 6e-7);

    const char *trprobs = scratch_path("x.nex.trprobs");
    check_status(tree_set_read(&theirs, NULL, &trprobs, 1, NULL, NULL));
    assert_int_equal(both.count, theirs.count);
    /* half of the l1 distance; weights with six decimals */
    check_near(tree_set_distance(&both, &theirs), 0, 1e-6 * (double)theirs.count);

    tree_file f;
    consensus ours, con;
    check_status(tree_file_open(&f, scratch_path("x.nex.con.tre"), NULL, NULL));
    check_status(tree_file_next_text(&f, NULL));
    check_status(consensus_from_newick(&con, &f.text, &f.index.labels, &f.in, NULL));
    check_status(consensus_build(&ours, &all, CONSENSUS_MAJORITY));
    assert_int_equal(ours.count, con.count);
    assert_true(con.count > 10); /* some splits are there */
    for (int32_t i = 1; i < con.count; i++) {
        assert_int_equal(ours.node[i].parent, con.node[i].parent);
        assert_int_equal(ours.node[i].taxon, con.node[i].taxon);
        check_near(ours.node[i].support, con.node[i].support, 1e-8); /* 9 digits */
    }
    consensus_free(&ours);
    consensus_free(&con);
    tree_file_free(&f);
    tree_set_free(&both);
    tree_set_free(&theirs);
    split_table_free(&all);
    for (int i = 0; i < 2; i++) {
        tree_set_free(&one[i]);
        split_table_free(&splits[i]);
    }
    scratch_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(known_texts),
        cmocka_unit_test(trees_of_any_degree_are_read),
        cmocka_unit_test(against_mrbayes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
