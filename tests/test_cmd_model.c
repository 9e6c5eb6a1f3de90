/* score, kl, sample and embed as a user runs them, on the golden models. */
#include "support/check.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/run.h"

#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The golden trees as a file of the scratch folder. */
static const char *golden_trees(const golden *g)
{
    static char text[1 << 20];
    size_t used = 0, i;
    json_t *text_of;
    json_array_foreach(json_object_get(g->json, "trees"), i, text_of)
    {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s\n", json_string_value(text_of));
        assert_true(used < sizeof text);
    }
    return scratch_write("golden.nwk", text);
}

static __attribute__((format(printf, 1, 2))) run_result run_format(const char *format, ...)
{
    char line[9000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return run_line(NULL, line);
}

/* The number behind `key` and a tab in a text of lines. */
static double field(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == '\t')
            return strtod(line + n + 1, NULL);
    }
    fail_msg("no %s in\n%s", key, text);
    return 0;
}

static void score_matches_golden(void **state)
{
    golden g;
    char path[64], key[16];
    golden_load(&g, *state);
    scratch_make();
    snprintf(path, sizeof path, "%s.safetensors", (const char *)*state);
    const char *model = golden_path(path), *trees = golden_trees(&g);
    run_result r = run_format("score --model %s %s", model, trees);
    const bool is_artree = strncmp(*state, "artree_", 7) == 0; /* published files say `model` */
    check_run(&r, "score", 0, "index\tlog_q\n1\t-", is_artree ? "artree on" : "artreeformer on");
    for (int i = 0; i < g.count; i++) {
        snprintf(key, sizeof key, "%d", i + 1);
        check_near(field(r.out, key), g.log_q[i], 2e-4); /* the network is float */
    }
    run_result threads = run_format("score -T 3 --cache-memory 0 --model %s %s", model, trees);
    assert_string_equal(r.out, threads.out);
    run_free(&threads);
    run_free(&r);
    scratch_remove();
    golden_free(&g);
}

static void score_is_the_same_with_every_embedding(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, "small_n8");
    scratch_make();
    const char *model = golden_path("small_n8.safetensors"), *trees = golden_trees(&g);
    static const char *const ways[] = {"two-pass", "iterated", "squared"};
    for (int w = 0; w < 3; w++) {
        run_result r = run_format("score --embedding %s --model %s %s", ways[w], model, trees);
        check_run(&r, ways[w], 0, "index\tlog_q", NULL);
        for (int i = 0; i < g.count; i++) {
            char key[16];
            snprintf(key, sizeof key, "%d", i + 1);
            check_near(field(r.out, key), g.log_q[i], 2e-4); /* the network is float */
        }
        run_free(&r);
    }
    scratch_remove();
    golden_free(&g);
}

/* ARTree has a state for every node: it must not matter from which node a text is written. */
static void any_rooting_is_the_same_tree(void **state)
{
    (void)state;
    static const char *const text[] = {"(((a,b),c),d,e);", "(a,b,(c,(d,e)));", "((e,d),(c,(b,a)));",
                                       "(e,(((b,a),c),d));"};
    scratch_make();
    char all[256] = "";
    for (int i = 0; i < 4; i++) {
        strcat(all, text[i]);
        strcat(all, "\n");
    }
    run_result r = run_format("score --network %s %s", golden_path("artree_tiny_n5.safetensors"),
                              scratch_write("rootings.nwk", all));
    check_run(&r, "rootings", 0, "index\tlog_q", NULL);
    const double first = field(r.out, "1");
    assert_true(first == field(r.out, "2") && first == field(r.out, "3") &&
                first == field(r.out, "4"));
    run_free(&r);
    scratch_remove();
}

static void score_refuses_other_taxa(void **state)
{
    (void)state;
    const char *model = golden_path("tiny_n5.safetensors");
    scratch_make();
    run_result r = run_format("score --model %s %s", model,
                              scratch_write("other.nwk", "((a,b),(c,x),(d,y));\n"));
    check_run(&r, "other taxa", 2, NULL, "'x'|'y'|'e'|the model");
    run_free(&r);
    r = run_format("score --model %s %s", model, "/nowhere/trees.nwk");
    check_run(&r, "no trees", 2, NULL, "/nowhere/trees.nwk");
    run_free(&r);
    r = run_format("score --model %s %s", "/nowhere/model", "/nowhere/trees.nwk");
    check_run(&r, "no model", 2, NULL, "/nowhere/model");
    run_free(&r);
    r = run_format("score --model %s %s", scratch_path("other.nwk"), scratch_path("other.nwk"));
    check_run(&r, "not a model", 2, NULL, "other.nwk: error|safetensors");
    run_free(&r);
    r = run_format("score %s", scratch_path("other.nwk"));
    check_run(&r, "model forgotten", 2, NULL, "--network");
    run_free(&r);
    char line[4096];
    scratch_write("one.nwk", "((a,b),(c,d),e);\n");
    snprintf(line, sizeof line, "score --model %s %s", model, scratch_path("one.nwk"));
    r = run_line(&(run_options){.out = "/dev/full"}, line);
    check_run(&r, "full device", 1, NULL, "standard output");
    run_free(&r);
    scratch_remove();
}

static void kl_is_that_of_the_definition(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, "tiny_n5");
    scratch_make();
    const char *model = golden_path("tiny_n5.safetensors");
    char text[4096] = "#NEXUS\nbegin trees;\n";
    size_t used = strlen(text);
    double kl = 0, distance = 0, sum = 0;
    double mixed_kl = 0, mixed_distance = 0; /* of 3/4 on the first tree and 1/4 of the model */
    for (int i = 0; i < g.count; i++)
        sum += i + 1;
    for (int i = 0; i < g.count; i++) { /* truth: proportional to 1, 2, 3, .. */
        double p = (i + 1) / sum;
        kl += p * (log(p) - g.log_q[i]);
        distance += fabs(p - exp(g.log_q[i])) / 2;
        double mixed = (i == 0 ? 0.75 : 0) + 0.25 * exp(g.log_q[i]);
        mixed_kl += p * (log(p) - log(mixed));
        mixed_distance += fabs(p - mixed) / 2;
        json_t *text_of = json_array_get(json_object_get(g.json, "trees"), (size_t)i);
        used += (size_t)snprintf(text + used, sizeof text - used, "tree t%d = [&U] [&W %.17g] %s\n",
                                 i, p, json_string_value(text_of));
    }
    snprintf(text + used, sizeof text - used, "end;\n");
    run_result r = run_format("kl --model %s --truth %s", model, scratch_write("t.trprobs", text));
    check_run(&r, "kl", 0, "kl\t|total_variation\t|trees\t15\n|mass_below_minus_50\t0\n", NULL);
    check_near(field(r.out, "kl"), kl, 1e-5); /* float network, log q to 1e-6 or so */
    check_near(field(r.out, "total_variation"), distance, 1e-5);
    run_free(&r);
    json_t *first = json_array_get(json_object_get(g.json, "trees"), 0);
    r = run_format("kl --model %s --truth %s", model,
                   scratch_write("one.nwk", json_string_value(first)));
    check_near(field(r.out, "kl"), -g.log_q[0], 1e-5);
    check_near(field(r.out, "total_variation"), 1 - exp(g.log_q[0]), 1e-5);
    run_free(&r);
    r = run_format("kl --model %s --truth %s --listed %s --network-share 0.25", model,
                   scratch_path("t.trprobs"), scratch_path("one.nwk"));
    check_run(&r, "kl --listed", 0, "trees\t15\n|listed\t1\n", NULL);
    check_near(field(r.out, "kl"), mixed_kl, 1e-5);
    check_near(field(r.out, "total_variation"), mixed_distance, 1e-5);
    run_free(&r);
    r = run_format("kl --model %s --truth %s --network-share 0.1", model,
                   scratch_path("t.trprobs"));
    check_run(&r, "kl of no mixture", 2, NULL, "--network-share needs --listed");
    run_free(&r);
    r = run_format("kl --model %s --truth %s --listed %s --network-share 0", model,
                   scratch_path("t.trprobs"), scratch_path("one.nwk"));
    check_run(&r, "kl without the model", 2, NULL, "--network-share: bad value '0'");
    run_free(&r);
    scratch_remove();
    golden_free(&g);
}

static void kl_says_what_is_out_of_reach(void **state)
{
    (void)state;
    golden g;
    golden_load(&g, "ds1_d100"); /* log q of all its trees is about -73 */
    scratch_make();
    const char *trees = golden_trees(&g);
    run_result r =
        run_format("kl --model %s --truth %s", golden_path("ds1_d100.safetensors"), trees);
    check_run(&r, "far", 0, "trees\t40\n|mass_below_minus_50\t1\n", NULL);
    double mean = 0;
    for (int i = 0; i < g.count; i++)
        mean += g.log_q[i] / g.count;
    check_near(field(r.out, "kl"), -log(g.count) - mean, 1e-4);
    run_free(&r);
    r = run_format("kl --model %s --truth %s --burnin 30", golden_path("ds1_d100.safetensors"),
                   trees);
    check_run(&r, "burn-in", 0, "trees\t10\n", NULL);
    run_free(&r);
    scratch_remove();
    golden_free(&g);
}

/* Counts of the 15 topologies in a file of trees, in the golden order. */
static void count_topologies(double *count, const char *path, const golden *g, int n)
{
    tree_set s;
    diag d;
    diag_init(&d);
    check_status(tree_set_read(&s, NULL, &path, 1, NULL, &d));
    assert_int_equal(d.count, 0);
    assert_int_equal(s.n_trees, n);
    for (int i = 0; i < g->count; i++) {
        int64_t at = tree_set_find(&s, g->decision + (ptrdiff_t)i * (g->n_taxa - 3));
        count[i] = at < 0 ? 0 : s.weight[at] * n;
    }
    tree_set_free(&s);
    diag_free(&d);
}

static void sample_draws_from_q(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    golden g;
    golden_load(&g, "tiny_n5");
    scratch_make();
    const char *model = golden_path("tiny_n5.safetensors");
    static const char *const format[] = {"nexus", "newick"};
    char line[4096];
    double count[15], first[15];
    for (int f = 0; f < 2; f++) {
        snprintf(line, sizeof line, "sample --model %s -n %d --format %s --seed 7", model, DRAWS,
                 format[f]);
        run_result r = run_line(&(run_options){.out = scratch_path("drawn")}, line);
        check_run(&r, format[f], 0, NULL, NULL);
        run_free(&r);
        count_topologies(f ? count : first, scratch_path("drawn"), &g, DRAWS);
    }
    double chi = 0;
    for (int i = 0; i < 15; i++) {
        double expected = DRAWS * exp(g.log_q[i]);
        chi += (count[i] - expected) * (count[i] - expected) / expected;
        check_near(count[i], first[i], 1e-6); /* the format changes nothing */
    }
    assert_true(chi < 36.1); /* 14 degrees of freedom: 0.1 % */
    scratch_remove();
    golden_free(&g);
}

static void sample_is_reproducible(void **state)
{
    (void)state;
    const char *model = golden_path("small_n8.safetensors");
    run_result a = run_format("sample --model %s -n 2500 --format newick", model);
    run_result b =
        run_format("sample --model %s -n 2500 --format newick -T 3 --cache-memory 100K", model);
    run_result few = run_format("sample --model %s -n 10 --format newick", model);
    run_result other = run_format("sample --model %s -n 10 --format newick --seed 2", model);
    run_result bare =
        run_format("sample --model %s -n 10 --format newick %s", model, "--topologies");
    check_run(&a, "sample", 0, ":|;\n", "lognormal branch lengths");
    assert_string_equal(a.out, b.out);
    assert_memory_equal(a.out, few.out, strlen(few.out));
    assert_string_not_equal(few.out, other.out);
    assert_null(strchr(bare.out, ':'));
    run_free(&a);
    run_free(&b);
    run_free(&few);
    run_free(&other);
    run_free(&bare);
}

static void embed_gives_hitting_probabilities(void **state)
{
    (void)state;
    static const char *const ways[] = {"projected", "two-pass", "iterated", "squared"};
    scratch_make();
    scratch_write("quartet.nwk", "((t1,t2),(t3,t4));\n");
    for (int w = 0; w < 4; w++) {
        run_result r = run_format("embed --embedding %s %s", ways[w], scratch_path("quartet.nwk"));
        check_run(&r, ways[w], 0, "tree\tnode\tname\tparent\tt1\tt2\tt3\tt4\n", NULL);
        assert_non_null(strstr(r.out, "1\t1\tt1\t\t1\t0\t0\t0\n"));
        const char *inner = strstr(r.out, "1\t5\t\t1\t"); /* next to t1 and t2 */
        assert_non_null(inner);
        double f[4];
        assert_int_equal(
            sscanf(inner, "1\t5\t\t1\t%lf\t%lf\t%lf\t%lf\n", &f[0], &f[1], &f[2], &f[3]), 4);
        for (int i = 0; i < 4; i++)
            check_near(f[i], i < 2 ? 0.375 : 0.125, 1e-12); /* the default tolerance */
        run_free(&r);
    }
    scratch_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        golden_test(score_matches_golden, "tiny_n5"),
        golden_test(score_matches_golden, "small_n8"),
        golden_test(score_matches_golden, "ds1_d100"),
        golden_test(score_matches_golden, "artree_small_n8"),
        golden_test(score_matches_golden, "artree_ds1_d100"),
        cmocka_unit_test(any_rooting_is_the_same_tree),
        cmocka_unit_test(score_is_the_same_with_every_embedding),
        cmocka_unit_test(score_refuses_other_taxa),
        cmocka_unit_test(kl_is_that_of_the_definition),
        cmocka_unit_test(kl_says_what_is_out_of_reach),
        cmocka_unit_test(sample_draws_from_q),
        cmocka_unit_test(sample_is_reproducible),
        cmocka_unit_test(embed_gives_hitting_probabilities),
    };
    return cmocka_run_group_tests_name("cmd_model", tests, NULL, NULL);
}
