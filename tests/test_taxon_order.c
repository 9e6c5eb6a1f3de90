/* An order of taxa in which trees share their beginnings. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "base/mem.h"
#include "base/rng.h"
#include "density/model_file.h"
#include "tree/taxon_order.h"
#include "tree/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_taxa(taxa *names, int n)
{
    taxa_init(names);
    for (int i = 0; i < n; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "t%03d", i);
        check_status(taxa_add(names, name, (size_t)length));
    }
}

/* The same trees in another order of taxa: new decisions by way of the tree itself. */
static void reorder(tree_set *out, const tree_set *in, const int32_t *order)
{
    const int32_t n = in->taxa.count, nodes = topology_nodes(n);
    int32_t *place = mem_zeros((size_t)n, sizeof *place), *scratch = mem_zeros(6 * (size_t)n, 4);
    int32_t *decision = mem_zeros((size_t)n, sizeof *decision);
    taxa names;
    taxa_init(&names);
    for (int32_t i = 0; i < n; i++) {
        place[order[i]] = i;
        check_status(taxa_add(&names, in->taxa.name[order[i]], strlen(in->taxa.name[order[i]])));
    }
    check_status(tree_set_init(out, &names));
    topology from, to;
    check_status(topology_init(&from, n));
    check_status(topology_init(&to, n));
    for (size_t i = 0; i < in->count; i++) {
        /* to hang the tree from its new taxon 0, turn the way from there to the old one */
        int32_t up, node, next;
        topology_build(&from, tree_set_decision(in, i));
        from.parent[0] = -1; /* the turn before changed it */
        for (node = order[0], up = -1; node >= 0; up = node, node = next) {
            next = from.parent[node];
            from.parent[node] = up;
        }
        to.n_leaves = n;
        for (int32_t v = 0; v < nodes; v++)
            to.child[v][0] = to.child[v][1] = to.parent[v] = -1;
        for (int32_t v = 0; v < nodes; v++) {
            const int32_t p = from.parent[v], w = v < n ? place[v] : v;
            if (p < 0)
                continue;
            const int32_t q = p < n ? place[p] : p;
            to.parent[w] = q;
            to.child[q][to.child[q][0] >= 0] = w;
        }
        topology_decisions(decision, NULL, &to, scratch);
        check_status(tree_set_add(out, decision, in->weight[i]));
    }
    check_status(tree_set_normalise(out));
    topology_free(&from);
    topology_free(&to);
    taxa_free(&names);
    free(place);
    free(scratch);
    free(decision);
}

static bool is_permutation(const int32_t *order, int n)
{
    bool found[64] = {0};
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || found[order[i]])
            return false;
        found[order[i]] = true;
    }
    return true;
}

/* A fixed random tree on which one taxon, the rogue, is attached anywhere. */
static void rogue_trees(tree_set *s, int n, int32_t rogue, uint64_t seed)
{
    int32_t base[64], order[64];
    taxa names;
    tree_set last;
    rng r = rng_at(seed, RNG_TEST, 0, 0);
    name_taxa(&names, n);
    check_status(tree_set_init(&last, &names));
    for (int i = 3; i < n - 1; i++)
        base[i - 3] = (int32_t)rng_below(&r, (uint32_t)topology_edges(i));
    for (int32_t edge = 0; edge < topology_edges(n - 1); edge++) {
        base[n - 4] = edge;
        check_status(tree_set_add(&last, base, 1));
    }
    check_status(tree_set_normalise(&last));
    /* the last taxon of these trees becomes number `rogue` */
    for (int32_t i = 0; i < n; i++)
        order[i] = i < rogue ? i : i == rogue ? n - 1 : i - 1;
    reorder(s, &last, order);
    tree_set_free(&last);
    taxa_free(&names);
}

static void a_rogue_taxon_comes_last(void **state)
{
    (void)state;
    enum { N = 12 };
    for (int32_t rogue = 0; rogue < N; rogue++) {
        tree_set s, after;
        int32_t order[N];
        double before, share, alone = 0, all = 0;
        rogue_trees(&s, N, rogue, 7);
        assert_int_equal(s.count, 2 * N - 5);
        check_status(taxon_order(order, &s, 10));
        assert_true(is_permutation(order, N));
        assert_int_equal(order[N - 1], rogue);
        for (int i = 0; i + 1 < N; i++) /* the others keep their order */
            assert_int_equal(order[i], i < rogue ? i : i + 1);
        check_status(taxon_order_work(&before, &s, 10));
        reorder(&after, &s, order);
        check_status(taxon_order_work(&share, &after, 10));
        for (int n = 3; n < N; n++) {
            alone += topology_edges(n);
            all += 10 * topology_edges(n);
        }
        check_near(share, alone / all, 1e-12); /* every partial tree is the same */
        assert_true(rogue == N - 1 || before > share);
        tree_set_free(&s);
        tree_set_free(&after);
    }
}

/* The expected work against counting distinct beginnings of many batches. */
static void work_is_what_batches_show(void **state)
{
    (void)state;
    enum { N = 7, TREES = 12, K = 4, BATCHES = 20000 };
    taxa names;
    tree_set s;
    rng r = rng_at(3, RNG_TEST, 1, 0);
    double share, work = 0, all = 0, cumulative[TREES];
    name_taxa(&names, N);
    check_status(tree_set_init(&s, &names));
    for (int i = 0; i < TREES; i++) {
        int32_t decision[N - 3];
        for (int n = 3; n < N; n++)
            decision[n - 3] = (int32_t)rng_below(&r, n < 5 ? 2 : (uint32_t)topology_edges(n));
        check_status(tree_set_add(&s, decision, 1 + i));
    }
    check_status(tree_set_normalise(&s));
    for (size_t i = 0; i < s.count; i++)
        cumulative[i] = s.weight[i] + (i ? cumulative[i - 1] : 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        const int32_t *drawn[K];
        for (int i = 0; i < K; i++) {
            const double u = rng_uniform(&r);
            size_t pick = 0;
            while (pick + 1 < s.count && cumulative[pick] < u)
                pick++;
            drawn[i] = tree_set_decision(&s, pick);
        }
        for (int n = 3; n < N; n++)
            for (int i = 0; i < K; i++) {
                int first = 1;
                for (int j = 0; j < i; j++)
                    first &= memcmp(drawn[i], drawn[j], (size_t)(n - 3) * sizeof **drawn) != 0;
                work += first * topology_edges(n);
                all += topology_edges(n);
            }
    }
    check_status(taxon_order_work(&share, &s, K));
    check_near(share, work / all, 0.005); /* ten standard errors of 20,000 batches */
    assert_true(share < 0.95);
    tree_set_free(&s);
    taxa_free(&names);
}

/* Greedy, so not always the best order; but never worse than the given one on random samples. */
static void orders_save_work(void **state)
{
    (void)state;
    enum { N = 16, TREES = 40 };
    for (uint32_t seed = 0; seed < 8; seed++) {
        taxa names;
        tree_set s, after;
        int32_t order[N];
        double before, share;
        rng r = rng_at(seed, RNG_TEST, 2, 0);
        name_taxa(&names, N);
        check_status(tree_set_init(&s, &names));
        for (int i = 0; i < TREES; i++) {
            int32_t decision[N - 3];
            for (int n = 3; n < N; n++) /* few choices at some levels */
                decision[n - 3] = n % 3 ? n % topology_edges(n) : (int32_t)rng_below(&r, 3);
            check_status(tree_set_add(&s, decision, rng_exponential(&r)));
        }
        check_status(tree_set_normalise(&s));
        check_status(taxon_order(order, &s, 10));
        assert_true(is_permutation(order, N));
        reorder(&after, &s, order);
        assert_int_equal(after.count, s.count);
        check_status(taxon_order_work(&before, &s, 10));
        check_status(taxon_order_work(&share, &after, 10));
        assert_true(share < 0.8 * before);
        tree_set_free(&s);
        tree_set_free(&after);
        taxa_free(&names);
    }
}

static void small_sets(void **state)
{
    (void)state;
    taxa names;
    tree_set s;
    int32_t order[4];
    double share;
    for (int n = 3; n <= 4; n++) {
        const int32_t decision[1] = {1};
        name_taxa(&names, n);
        check_status(tree_set_init(&s, &names));
        check_status(tree_set_add(&s, decision, 1));
        check_status(tree_set_normalise(&s));
        check_status(taxon_order(order, &s, 10));
        for (int i = 0; i < n; i++)
            assert_int_equal(order[i], i);
        check_status(taxon_order_work(&share, &s, 10));
        check_near(share, n == 3 ? 1 : 0.1, 1e-15);
        tree_set_free(&s);
        taxa_free(&names);
    }
}

/* Taxon a hangs anywhere in a tree of five. */
static const char ROGUE[] = "((a,b),c,(d,(e,f)));\n(b,(c,a),(d,(e,f)));\n(b,c,((d,a),(e,f)));\n"
                            "(b,c,(d,((e,a),f)));\n(b,c,(d,(e,(f,a))));\n";

static void fit_attaches_the_rogue_last(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "c", "d", "e", "f", "a"};
    model_file m;
    diag d;
    scratch_write("t.nwk", ROGUE);
    run_result r =
        run_line(NULL, "fit t.nwk --order sharing --steps 5 --hidden 8 --heads 2 "
                       "--batch 10 --truth t.nwk --truth-every 5 --report-every 5 --prefix m");
    check_run(&r, "fit --order sharing", 0, NULL,
              "10.0 % of the work of 10 separate trees remains");
    run_free(&r);
    diag_init(&d);
    check_status(model_file_read(&m, scratch_path("m.model.safetensors"), MODEL_LAST, NULL, &d));
    assert_int_equal(m.taxa.count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(m.taxa.name[i], names[i]);
    model_file_free(&m);
    diag_free(&d);
    /* the model is used as any other: names tell the taxa apart */
    r = run_line(NULL, "kl --model m.model.safetensors --truth t.nwk");
    check_run(&r, "kl", 0, "kl\t", NULL);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rogue_taxon_comes_last),
        cmocka_unit_test(work_is_what_batches_show),
        cmocka_unit_test(orders_save_work),
        cmocka_unit_test(small_sets),
        in_scratch_folder(fit_attaches_the_rogue_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
