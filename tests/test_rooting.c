/* Rooted trees: nothing but the root changes. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "tree/consensus.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 11, EDGES = 2 * MOST - 3, NODES = 2 * MOST, TRIALS = 1500 };

/* distance[i][j] between taxa, along the tree. */
static void distances(double distance[MOST][MOST], const consensus *c)
{
    double depth[NODES] = {0};
    int32_t leaf[MOST] = {0};
    for (int32_t i = 1; i < c->count; i++)
        depth[i] = depth[c->node[i].parent] + c->node[i].length;
    for (int32_t i = 0; i < c->count; i++)
        if (c->node[i].taxon >= 0)
            leaf[c->node[i].taxon] = i;
    for (int32_t a = 0; a < c->n_taxa; a++)
        for (int32_t b = 0; b < c->n_taxa; b++) {
            int32_t x = leaf[a], y = leaf[b];
            while (x != y) /* parents have smaller numbers */
                if (x > y)
                    x = c->node[x].parent;
                else
                    y = c->node[y].parent;
            distance[a][b] = depth[leaf[a]] + depth[leaf[b]] - 2 * depth[x];
        }
}

/* The taxa below every node, one bit each. */
static void taxa_below(uint32_t below[NODES], const consensus *c)
{
    memset(below, 0, NODES * sizeof *below);
    for (int32_t i = c->count - 1; i >= 0; i--) {
        if (c->node[i].taxon >= 0)
            below[i] = 1u << c->node[i].taxon;
        if (i > 0)
            below[c->node[i].parent] |= below[i];
    }
}

/* A random tree, some inner branches contracted, supports that tell the branches apart. */
static void make_tree(consensus *c, rng *r)
{
    int32_t n = 3 + (int32_t)rng_below(r, MOST - 2), decision[MOST];
    double length[EDGES];
    topology t;
    for (int32_t j = 0; j < n - 3; j++) {
        decision[j] = (int32_t)rng_below(r, (uint32_t)topology_edges(j + 3));
        if (rng_below(r, 4) == 0)
            decision[j] = ~decision[j];
    }
    for (int32_t e = 0; e < topology_edges(n); e++)
        length[e] = rng_exponential(r);
    check_status(topology_init(&t, n));
    topology_build(&t, decision);
    check_status(consensus_from_topology(c, &t, decision, length));
    for (int32_t i = 1; i < c->count; i++)
        c->node[i].support = i / 100.0;
    topology_free(&t);
}

static uint32_t side(uint32_t set, uint32_t all)
{
    return set & 1 ? all ^ set : set;
}

/* Roots the tree: distances, splits and their supports stay. The two sides of the root are set. */
static void check_rooted(consensus *c, const rooting *r, bool *is_clade, uint32_t sides[2])
{
    static double support[1 << MOST];
    double before[MOST][MOST], after[MOST][MOST];
    uint32_t below[NODES];
    const uint32_t all = (1u << c->n_taxa) - 1;
    const int32_t count = c->count;
    for (uint32_t s = 0; s <= all; s++)
        support[s] = (double)NAN;
    distances(before, c);
    taxa_below(below, c);
    for (int32_t i = 1; i < count; i++)
        support[side(below[i], all)] = c->node[i].support;
    check_status(consensus_root(c, r, is_clade));
    assert_true(c->is_rooted);
    assert_int_equal(c->count, count + 1);
    distances(after, c);
    taxa_below(below, c);
    assert_int_equal(below[0], all);
    int at_root = 0;
    for (int32_t i = 1; i < c->count; i++) {
        assert_true(c->node[i].parent < i && c->node[i].parent >= 0);
        assert_true(c->node[i].length >= 0);
        check_near(c->node[i].support, support[side(below[i], all)], 0);
        if (c->node[i].parent == 0)
            sides[at_root++ % 2] = below[i];
    }
    assert_int_equal(at_root, 2);
    for (int32_t a = 0; a < c->n_taxa; a++)
        for (int32_t b = 0; b < c->n_taxa; b++)
            check_near(after[a][b], before[a][b], 1e-13); /* sums of up to 11 of about 1 */
}

static void an_outgroup(void **state)
{
    (void)state;
    int clades = 0, others = 0;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        rng r = rng_at(8, RNG_TEST, 0, trial);
        consensus c;
        uint32_t below[NODES], sides[2], members = 0;
        make_tree(&c, &r);
        const uint32_t all = (1u << c.n_taxa) - 1;
        taxa_below(below, &c);
        if (trial % 2) /* one side of a branch; otherwise taxa at random */
            members = below[1 + rng_below(&r, (uint32_t)c.count - 1)];
        while (members == 0 || members == all)
            members = rng_below(&r, all + 1);
        if (rng_below(&r, 2))
            members ^= all;
        bool expected = false, is_clade;
        for (int32_t i = 1; i < c.count; i++)
            expected |= side(below[i], all) == side(members, all);
        int32_t taxon[MOST];
        rooting root = {.kind = ROOT_OUTGROUP, .n_taxa = c.n_taxa, .taxon = taxon};
        for (int32_t k = 0; k < c.n_taxa; k++)
            if (members >> k & 1)
                taxon[root.count++] = k;
        check_rooted(&c, &root, &is_clade, sides);
        assert_int_equal(is_clade, expected);
        assert_int_equal(sides[0], expected ? members : 1u << taxon[0]); /* the outgroup first */
        clades += expected;
        others += !expected;
        consensus_free(&c);
    }
    assert_true(clades > TRIALS / 3 && others > TRIALS / 10);
}

static void the_midpoint(void **state)
{
    (void)state;
    rooting root;
    rooting_midpoint(&root);
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        rng r = rng_at(9, RNG_TEST, 0, trial);
        consensus c;
        uint32_t sides[2], below[NODES];
        double distance[MOST][MOST], depth[NODES] = {0}, longest = 0, deepest[2] = {0};
        make_tree(&c, &r);
        distances(distance, &c);
        for (int32_t a = 0; a < c.n_taxa; a++)
            for (int32_t b = 0; b < a; b++)
                longest = fmax(longest, distance[a][b]);
        check_rooted(&c, &root, NULL, sides);
        taxa_below(below, &c);
        for (int32_t i = 1; i < c.count; i++) {
            depth[i] = depth[c.node[i].parent] + c.node[i].length;
            const int which = (below[i] & sides[0]) == 0;
            deepest[which] = fmax(deepest[which], depth[i]);
        }
        for (int k = 0; k < 2; k++)
            check_near(deepest[k], longest / 2, 1e-13);
        consensus_free(&c);
    }
}

static void no_midpoint_without_lengths(void **state)
{
    (void)state;
    consensus c;
    topology t;
    rooting root;
    const int32_t decision[] = {2};
    rooting_midpoint(&root);
    check_status(topology_init(&t, 4));
    topology_build(&t, decision);
    check_status(consensus_from_topology(&c, &t, decision, NULL));
    check_status(consensus_root(&c, &root, NULL));
    assert_false(c.is_rooted);
    consensus_free(&c);
    topology_free(&t);
}

/* What a rooted writer writes is the same unrooted tree, with the same lengths. */
static void written_trees(void **state)
{
    (void)state;
    taxa names;
    rooting root;
    tree_writer w;
    buffer text;
    size_t not_clades = 0;
    taxa_init(&names);
    buffer_init(&text);
    for (const char *name = "abcdefg"; *name; name++)
        check_status(taxa_add(&names, name, 1));
    check_status(rooting_outgroup(&root, &names, "d, b", NULL));
    assert_int_equal(root.count, 2);
    assert_int_equal(root.taxon[0], 3);
    check_status(tree_writer_init(&w, &names));
    w.rooting = &root;
    for (uint32_t trial = 0; trial < 300; trial++) {
        rng r = rng_at(10, RNG_TEST, 0, trial);
        int32_t decision[4];
        double length[11];
        for (int32_t j = 0; j < 4; j++)
            decision[j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
        for (int e = 0; e < 11; e++)
            length[e] = rng_exponential(&r);
        buffer_clear(&text);
        tree_write_newick(&text, &w, decision, length);
        check_status(buffer_status(&text));
        input in;
        tree_file f;
        check_status(input_from_memory(&in, "text", text.text, text.length, NULL, NULL));
        check_status(tree_file_from_input(&f, &in, &(tree_options){.use = TREE_LENGTHS}, NULL));
        check_status(tree_file_next(&f, NULL));
        assert_true(f.tree.was_rooted);
        assert_memory_equal(f.tree.decision, decision, sizeof decision);
        assert_memory_equal(f.tree.length, length, sizeof length); /* halves add up exactly */
        not_clades += text.text[1] != '(';
        tree_file_free(&f);
    }
    assert_int_equal(w.not_clades, not_clades);
    assert_true(not_clades > 0 && not_clades < 300);
    buffer_free(&text);
    tree_writer_free(&w);
    rooting_free(&root);
    taxa_free(&names);
}

static void commands(void **state)
{
    (void)state;
    scratch_write("t.nwk", "(a:1,b:2,((c:3,d:4):6,e:5):2);(a:1,b:2,((c:3,d:4):6,e:5):2);"
                           "(a:1,d:2,((c:3,b:4):6,e:5):2);(a:1,b:2,((c:3,d:4):6,e:5):2);");
    scratch_write("out.txt", "d\nc\n");
    static const struct {
        const char *line;
        int code;
        const char *err, *file, *text;
    } ROW[] = {
        {"--outgroup d,c", 0, "warning: the outgroup is monophyletic in 75 % of the trees",
         "s.contree", "((c:3,d:3.5)0.75:3,((a:1,b:2.5)0.75:2,e:5)0.75:3);\n"},
        {"--outgroup @out.txt", 0, "75 %", "s.con.tre", "= [&R] ((3["},
        {"--outgroup c,d", 0, "75 %", "s.map.nwk", "((c:3,d:3.5):3,((a:1,b:2.5):2,e:5):3);\n"},
        {"--outgroup c,d", 0, "75 %", "s.trprobs", "= [&R] [&W 0.750000] ((3,4),((1,2),5));\n"},
        {"--outgroup e", 0, "4 trees", "s.contree", "(e:2.5,"},
        {"--outgroup a,c", 0, "in 0 % of the trees, and not in the majority consensus", "s.contree",
         "(a:0.5,"},
        {"--root midpoint", 0, "4 trees", "s.contree",
         "(((a:1,b:2.5)0.75:2,e:5)0.75:2.25,(c:3,d:3.5)0.75:3.75);\n"},
        {"--root midpoint", 0, "4 trees", "s.trprobs", "= [&W 0.750000] (2,(5,(4,3)),1);"},
        {"--root midpoint --outgroup e", 2, "two places for the root", NULL, NULL},
        {"--outgroup a,x", 2, "the taxon 'x', which is not in the data", NULL, NULL},
        {"--outgroup a,a", 2, "'a' twice", NULL, NULL},
        {"--outgroup a,b,c,d,e", 2, "all of the taxa", NULL, NULL},
        {"--outgroup ,", 2, "none of the taxa", NULL, NULL},
        {"--outgroup @absent", 2, "absent", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof ROW / sizeof ROW[0]; i++) {
        char line[128];
        snprintf(line, sizeof line, "summarize t.nwk --prefix s --redo %s", ROW[i].line);
        run_result r = run_line(NULL, line);
        check_run(&r, line, ROW[i].code, NULL, ROW[i].err);
        char *text = ROW[i].file ? file_text(ROW[i].file) : NULL;
        if (ROW[i].file && !strstr(text, ROW[i].text))
            fail_msg("%s: %s is\n%s", ROW[i].line, ROW[i].file, text);
        free(text);
        run_free(&r);
    }
}

/* infer writes and draws rooted trees everywhere; so does sample. */
static void infer_and_sample(void **state)
{
    (void)state;
    run_well("simulate -n 6 -l 60 --prefix x --quiet");
    run_well("infer -s x.fasta --prefix r --hidden 8 --heads 2 --posterior-sample 20 --quiet "
             "--evidence-repeats 2 --outgroup t2,t5");
    static const char *const FILE_AND_TEXT[][2] = {
        {"r.trees", "= [&R] [&W "},
        {"r.con.tre", "= [&R] ("},
        {"r.con.tre", ",length_95%HPD={"},
        {"r.report.txt", "rooted with the outgroup t2, t5 (monophyletic with probability "},
        {"r.report.txt", "Jukes TH, Cantor CR (1969)"},
        {"r.report.html", "The tree is rooted with the outgroup t2, t5"},
        {"r.report.html", "For a publication"},
        {"r.json", "\"outgroup\": \"t2,t5\""},
        {"r.json", "\"hpd95\": ["},
    };
    for (size_t i = 0; i < sizeof FILE_AND_TEXT / sizeof FILE_AND_TEXT[0]; i++) {
        char *text = file_text(FILE_AND_TEXT[i][0]);
        assert_non_null(text);
        if (!strstr(text, FILE_AND_TEXT[i][1]))
            fail_msg("%s lacks %s:\n%s", FILE_AND_TEXT[i][0], FILE_AND_TEXT[i][1], text);
        free(text);
    }
    /* The results are a settings file. */
    run_well("infer -s x.fasta --prefix again --config r.json --quiet");
    char *one = file_text("r.trees"), *two = file_text("again.trees");
    assert_string_equal(one, two);
    free(one);
    free(two);
    static const struct {
        const char *line;
        int code;
        const char *out, *err;
    } ROW[] = {
        {"sample --model r.model.safetensors -n 50 --outgroup t1,t2", 0, "tree tree_1 = [&R] (",
         NULL},
        {"sample --model r.model.safetensors -n 5 --root midpoint --format newick", 0, "(", NULL},
        {"sample --model r.model.safetensors -n 5 --root midpoint --topologies", 2, NULL,
         "needs branch lengths"},
        {"infer -s x.fasta --prefix z --outgroup t9", 2, NULL, "'t9', which is not in the data"},
    };
    for (size_t i = 0; i < sizeof ROW / sizeof ROW[0]; i++) {
        run_result r = run_line(NULL, ROW[i].line);
        check_run(&r, ROW[i].line, ROW[i].code, ROW[i].out, ROW[i].err);
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outgroup),
        cmocka_unit_test(the_midpoint),
        cmocka_unit_test(no_midpoint_without_lengths),
        cmocka_unit_test(written_trees),
        in_scratch_folder(commands),
        in_scratch_folder(infer_and_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
