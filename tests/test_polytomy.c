/* Trees with polytomies: resolved, with the branches marked that they do not have. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tree/consensus.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12, EDGES = 2 * MOST - 3, TRIALS = 2000 };

/* A random tree of which some inner branches are contracted. */
typedef struct sketch {
    int32_t n;
    topology tree;
    double length[EDGES];
    bool is_contracted[EDGES];
} sketch;

static void sketch_make(sketch *s, rng *r)
{
    int32_t decision[MOST];
    s->n = 4 + (int32_t)rng_below(r, MOST - 3);
    for (int32_t j = 0; j < s->n - 3; j++)
        decision[j] = (int32_t)rng_below(r, (uint32_t)topology_edges(j + 3));
    check_status(topology_init(&s->tree, s->n));
    topology_build(&s->tree, decision);
    for (int32_t e = 0; e < topology_edges(s->n); e++) {
        const int32_t v = edge_node(e, s->n);
        s->length[e] = (double)(1 + rng_below(r, 100));
        s->is_contracted[e] = v >= s->n && s->tree.parent[v] != 0 && rng_below(r, 3) == 0;
    }
}

/* What is seen from `node` looking away from `from`, as a list without parentheses. */
static void write_around(buffer *out, const sketch *s, int32_t node, int32_t from, rng *r);

static void write_branch(buffer *out, const sketch *s, int32_t node, int32_t from, rng *r)
{
    const int32_t edge = node_edge(s->tree.parent[node] == from ? node : from, s->n);
    if (s->is_contracted[edge]) {
        write_around(out, s, node, from, r);
        return;
    }
    if (node < s->n) {
        buffer_printf(out, "t%02d", node);
    } else {
        buffer_char(out, '(');
        write_around(out, s, node, from, r);
        buffer_char(out, ')');
    }
    buffer_char(out, ':');
    buffer_double(out, s->length[edge], 0);
}

static void write_around(buffer *out, const sketch *s, int32_t node, int32_t from, rng *r)
{
    const topology *t = &s->tree;
    const int32_t around[] = {t->parent[node], t->child[node][0], t->child[node][1]};
    const uint32_t first = rng_below(r, 3);
    bool is_first = true;
    for (uint32_t i = 0; i < 3; i++) {
        const int32_t next = around[(first + i) % 3];
        if (next == from)
            continue;
        if (!is_first)
            buffer_char(out, ',');
        is_first = false;
        write_branch(out, s, next, node, r);
    }
}

static void sketch_text(buffer *out, const sketch *s, rng *r)
{
    buffer_clear(out);
    buffer_char(out, '(');
    write_around(out, s, s->n + (int32_t)rng_below(r, (uint32_t)s->n - 2), -1, r);
    buffer_text(out, ");");
    check_status(buffer_status(out));
}

static void read_tree(tree_file *f, const char *text)
{
    input in;
    check_status(input_from_memory(&in, "text", text, strlen(text), NULL, NULL));
    check_status(tree_file_from_input(
        f, &in, &(tree_options){.use = TREE_LENGTHS, .polytomies = true}, NULL));
    check_status(tree_file_next(f, NULL));
}

/* The nontrivial splits of a sketch, one bit per taxon. */
static int sketch_splits(uint64_t *split, const sketch *s)
{
    uint64_t all[EDGES];
    int32_t order[EDGES];
    int count = 0;
    splits_of(all, &s->tree, order);
    for (int32_t e = 0; e < topology_edges(s->n); e++)
        if (!s->is_contracted[e] && !split_is_trivial(&all[e], s->n))
            split[count++] = all[e];
    return count;
}

/* However it is written, a tree has one key; what is written from the key is the tree; the splits
 * are those of the branches that it has, with their lengths. */
static void the_key_is_the_tree(void **state)
{
    (void)state;
    int many = 0;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        rng r = rng_at(5, RNG_TEST, 0, trial);
        sketch s;
        buffer text, again;
        tree_file f, g;
        buffer_init(&text);
        buffer_init(&again);
        sketch_make(&s, &r);
        sketch_text(&text, &s, &r);
        read_tree(&f, text.text);
        const size_t key = (size_t)(s.n - 3) * sizeof(int32_t);
        for (int i = 0; i < 3; i++) {
            sketch_text(&text, &s, &r);
            read_tree(&g, text.text);
            assert_memory_equal(f.tree.decision, g.tree.decision, key);
            tree_file_free(&g);
        }
        tree_writer w;
        check_status(tree_writer_init(&w, f.taxa));
        tree_write_newick(&again, &w, f.tree.decision, f.tree.length);
        read_tree(&g, again.text);
        assert_memory_equal(f.tree.decision, g.tree.decision, key);
        assert_int_equal(f.tree.n_contracted, g.tree.n_contracted);
        split_table table;
        uint64_t split[EDGES];
        const int count = sketch_splits(split, &s);
        check_status(split_table_init(&table, s.n));
        check_status(split_table_add(&table, f.tree.decision, f.tree.length, 1));
        assert_int_equal(table.count, (size_t)(count + s.n)); /* and the trivial ones */
        double sum = 0, expected = 0;
        for (size_t i = 0; i < table.count; i++)
            sum += table.mean[i];
        for (int32_t e = 0; e < topology_edges(s.n); e++)
            expected += s.is_contracted[e] ? 0 : s.length[e];
        check_near(sum, expected, 0); /* sums of small whole numbers are exact */
        for (int i = 0; i < count; i++)
            assert_true(split_table_find(&table, &split[i]) >= 0);
        assert_int_equal(f.tree.n_contracted, s.n - 3 - count);
        many += f.tree.n_contracted > 1;
        split_table_free(&table);
        tree_writer_free(&w);
        tree_file_free(&f);
        tree_file_free(&g);
        buffer_free(&text);
        buffer_free(&again);
        topology_free(&s.tree);
    }
    assert_true(many > TRIALS / 4);
}

/* The distance, computed from intervals, against the splits themselves. */
static void distances_count_splits(void **state)
{
    (void)state;
    bool odd = false;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        rng r = rng_at(6, RNG_TEST, 0, trial);
        sketch a, b;
        uint64_t of_a[EDGES], of_b[EDGES];
        sketch_make(&a, &r);
        do {
            sketch_make(&b, &r);
            if (b.n != a.n)
                topology_free(&b.tree);
        } while (b.n != a.n);
        const int count_a = sketch_splits(of_a, &a), count_b = sketch_splits(of_b, &b);
        int common = 0;
        for (int i = 0; i < count_a; i++)
            for (int j = 0; j < count_b; j++)
                common += of_a[i] == of_b[j];
        rf distance;
        check_status(rf_init(&distance, a.n));
        rf_set_contracted(&distance, &a.tree, a.is_contracted);
        assert_int_equal(rf_distance_contracted(&distance, &b.tree, b.is_contracted),
                         count_a + count_b - 2 * common);
        assert_int_equal(rf_distance_contracted(&distance, &a.tree, a.is_contracted), 0);
        odd |= (count_a + count_b) % 2;
        rf_free(&distance);
        topology_free(&a.tree);
        topology_free(&b.tree);
    }
    assert_true(odd);
}

/* Pruned trees keep the distances between the taxa that stay: the path through a removed node is
 * the sum of its branches. */
static void pruning_keeps_path_lengths(void **state)
{
    (void)state;
    taxa keep;
    taxa_init(&keep);
    for (const char *name = "abce"; *name; name++)
        check_status(taxa_add(&keep, name, 1));
    input in;
    tree_file f;
    static const char text[] =
        "((x:1,((a:2,y:3):4,b:5):6):7,(z:1,((c:8,u:1):9,(e:10,(v:1,w:1):1):11"
        "):12):13);";
    check_status(input_from_memory(&in, "text", text, strlen(text), NULL, NULL));
    check_status(tree_file_from_input(
        &f, &in, &(tree_options){.use = TREE_LENGTHS, .taxa = &keep, .prune = true}, NULL));
    check_status(tree_file_next(&f, NULL));
    assert_true(f.tree.has_lengths);
    assert_int_equal(f.tree.decision[0], node_edge(2, 4)); /* (a,b,(c,e)) */
    check_near(f.tree.length[node_edge(1, 4)], 5, 0);
    check_near(f.tree.length[node_edge(2, 4)], 17, 0);
    check_near(f.tree.length[node_edge(3, 4)], 21, 0);
    double sum = 0;
    for (int e = 0; e < 5; e++)
        sum += f.tree.length[e];
    check_near(sum, 6 + 5 + 17 + 21 + (6 + 7 + 13 + 12), 0);
    tree_file_free(&f);
    taxa_free(&keep);
}

/* The commands: a polytomy has the likelihood of any resolution by branches of length 0. */
static void commands_accept_polytomies(void **state)
{
    (void)state;
    scratch_write("x.fasta", ">a\nACGTAC\n>b\nACGAAC\n>c\nACGCTC\n>d\nACGGTC\n>e\nACTGTG\n");
    scratch_write("poly.nwk", "(a:.1,b:.2,(c:.1,d:.3,e:.2):.2);");
    scratch_write("zero.nwk", "(a:.1,b:.2,((c:.1,e:.2):0,d:.3):.2);");
    run_result p = run_line(NULL, "evaluate -s x.fasta -m HKY{2}+F poly.nwk");
    run_result z = run_line(NULL, "evaluate -s x.fasta -m HKY{2}+F zero.nwk");
    check_run(&p, "poly", 0, NULL, "note: polytomies in 1 of the trees are resolved");
    check_run(&z, "zero", 0, NULL, NULL);
    double of_p, of_z;
    assert_int_equal(sscanf(strchr(p.out, '\n'), " 1 %lf", &of_p), 1);
    assert_int_equal(sscanf(strchr(z.out, '\n'), " 1 %lf", &of_z), 1);
    check_near(of_p, of_z, 1e-12 * fabs(of_z)); /* the same sums in another order */
    run_free(&p);
    run_free(&z);
    scratch_write("many.nwk", "(a,b,c,d,e);(a,b,(c,d,e));(a,b,(c,(d,e)));(a,b,(c,(d,e)));");
    p = run_line(NULL, "compare many.nwk");
    check_run(&p, "compare", 0, "1\t0\t1\t2\t2\n2\t1\t0\t1\t1\n3\t2\t1\t0\t0\n", NULL);
    run_free(&p);
    p = run_line(NULL, "summarize many.nwk --prefix sum");
    check_run(&p, "summarize", 0, NULL, "4 trees (no burn-in), 3 distinct topologies, 5 taxa");
    run_free(&p);
    char *splits = file_text("sum.splits.tsv"), *listed = file_text("sum.trprobs");
    assert_non_null(strstr(splits, "0.750000\t2\tNA\tNA\ta,b\n0.500000\t2\tNA\tNA\td,e\n"));
    assert_non_null(strstr(listed, "[&W 0.250000] (5,4,2,3,1);"));
    assert_non_null(strstr(listed, "[&W 0.250000] (2,(5,4,3),1);"));
    free(splits);
    free(listed);
    p = run_line(NULL, "summarize sum.con.tre sum.contree --prefix again");
    check_run(&p, "our own consensus", 0, NULL, "2 trees (no burn-in), 1 distinct topology");
    run_free(&p);
}

/* Taxa that differ: an error that names the way out. */
static void common_taxa(void **state)
{
    (void)state;
    scratch_write("few.nwk", "(a,b,(c,(d,e)));(a,b,(d,(c,x)));");
    scratch_write("more.nwk", "((a,y),b,(c,d));");
    run_result r = run_line(NULL, "compare few.nwk more.nwk");
    check_run(&r, "compare", 2, NULL,
              "few.nwk:1:28: error: taxon 'x' of the tree is not in the first tree of the file|"
              "(--common-taxa uses only those that all trees have)");
    run_free(&r);
    r = run_line(NULL, "compare few.nwk more.nwk --common-taxa");
    check_run(&r, "compare", 0, "tree\t1\t2\t3\n1\t0\t0\t0\n", "all trees have 4 of the 7 taxa");
    run_free(&r);
    r = run_line(NULL, "compare few.nwk --with more.nwk --common-taxa");
    check_run(&r, "compare", 0, "topologies\t1\ntopologies_with\t1\ntotal_variation\t0\n", NULL);
    run_free(&r);
    r = run_line(NULL, "summarize few.nwk more.nwk --common-taxa --prefix s");
    check_run(&r, "summarize", 0, NULL, "3 trees (no burn-in), 1 distinct topology, 4 taxa");
    run_free(&r);
    r = run_line(NULL, "compare - --common-taxa");
    check_run(&r, "compare", 2, NULL, "cannot be read twice");
    run_free(&r);
    scratch_write("other.nwk", "(p,q,(r,s));");
    r = run_line(NULL, "compare few.nwk other.nwk --common-taxa");
    check_run(&r, "compare", 2, NULL, "have 0 of their 10 taxa in common -- at least 3");
    run_free(&r);
}

/* MrBayes' and BEAST's samples, by the names of their trees. */
static void default_burnin(void **state)
{
    (void)state;
    static const struct {
        const char *name, *option, *said;
    } ROW[] = {
        {"gen.", "", "6 trees (burn-in: 2 more, 25 %, the default for MrBayes and BEAST files)"},
        {"rep.", "", "6 trees (burn-in: 2 more, 25 %"},
        {"STATE_", "", "6 trees (burn-in: 2 more, 25 %"},
        {"STATE_", "--burnin 0", "8 trees (no burn-in)"},
        {"STATE_", "--burnin 3", "5 trees (burn-in: 3 more)"},
        {"tree_", "", "8 trees (no burn-in)"},
        {"tree_", "--burnin 0.5", "4 trees (burn-in: 4 more)"},
    };
    for (size_t i = 0; i < sizeof ROW / sizeof ROW[0]; i++) {
        buffer text;
        char line[128];
        buffer_init(&text);
        buffer_text(&text, "#NEXUS\nbegin trees;\n");
        for (int k = 0; k < 8; k++)
            buffer_printf(&text, "tree %s%d = (a,b,(c,d));\n", ROW[i].name, 10 * k);
        buffer_text(&text, "end;\n");
        scratch_write("sample.t", text.text);
        snprintf(line, sizeof line, "summarize sample.t --prefix s --redo %s", ROW[i].option);
        run_result r = run_line(NULL, line);
        check_run(&r, line, 0, NULL, ROW[i].said);
        run_free(&r);
        buffer_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_the_tree),
        cmocka_unit_test(distances_count_splits),
        cmocka_unit_test(pruning_keeps_path_lengths),
        in_scratch_folder(commands_accept_polytomies),
        in_scratch_folder(common_taxa),
        in_scratch_folder(default_burnin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
