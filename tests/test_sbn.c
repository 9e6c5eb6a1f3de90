#include "support/check.h"
#include "support/exact.h"
#include "support/golden_trees.h"
#include "support/memory.h"
#include "support/shared_data.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/factory.h"
#include "density/sbn/sbn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAXA = 8, MOST_TREES = 10395 };

/* A network whose support comes from random trees, with random probabilities. */
static sbn *random_network(int n_taxa, int n_trees, uint32_t seed)
{
    sbn *b;
    rng r = rng_at(5, RNG_TEST, (uint32_t)n_taxa, seed);
    check_status(sbn_create(&b, n_taxa));
    for (int i = 0; i < n_trees; i++) {
        int32_t decision[MOST_TAXA];
        exact_tree(decision, (int)rng_below(&r, (uint32_t)exact_trees(n_taxa)), n_taxa);
        check_status(sbn_add(b, decision));
    }
    check_status(sbn_finish(b));
    double *logit = mem_zeros(sbn_entries(b), sizeof *logit);
    assert_non_null(logit);
    for (size_t i = 0; i < sbn_entries(b); i++)
        logit[i] = 2 * rng_normal(&r);
    sbn_softmax(b, logit);
    free(logit);
    return b;
}

/* The sum over all trees is 1, the passes agree with the definition, and the support is larger than
 * the trees that it comes from, but not all trees. */
static void sums_to_one(void **state)
{
    (void)state;
    for (int n = 3; n <= 8; n++) {
        sbn *b = random_network(n, 60, 0);
        sbn_scratch s;
        double sum = 0;
        int support = 0;
        check_status(sbn_scratch_init(&s, n));
        for (int i = 0; i < exact_trees(n); i++) {
            int32_t decision[MOST_TAXA];
            double expected;
            exact_tree(decision, i, n);
            double log_q = sbn_log_q(b, decision, &s);
            check_status(sbn_reference(&expected, b, decision, -INFINITY));
            if (isinf(expected))
                assert_true(isinf(log_q) && log_q < 0);
            else
                check_near(log_q, expected, 1e-12); /* products of 20 numbers, other order */
            sum += exp(log_q);
            support += !isinf(log_q);
        }
        check_near(sum, 1, 1e-12);
        if (n == 8) {
            print_message("%d of %d trees have a probability\n", support, exact_trees(n));
            assert_true(support > 60 && support < exact_trees(n));
        }
        sbn_scratch_free(&s);
        sbn_free(b);
    }
}

/* Frequencies of draws against log q: a chi-square over the trees that are expected five times. */
static void draws_follow_log_q(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    for (int n = 3; n <= 6; n++) {
        sbn *b = random_network(n, 4, 1);
        sbn_scratch s;
        int seen[105] = {0};
        check_status(sbn_scratch_init(&s, n));
        for (uint32_t i = 0; i < DRAWS; i++) {
            int32_t decision[MOST_TAXA], again[MOST_TAXA];
            rng r = rng_at(9, RNG_TEST, 0, i), same = r;
            double log_q = sbn_sample(decision, b, &r, &s);
            assert_true(log_q == sbn_log_q(b, decision, &s));
            seen[exact_index(decision, n)]++;
            if (i < 10) {
                sbn_sample(again, b, &same, &s);
                assert_memory_equal(again, decision, (size_t)(n - 3) * sizeof *again);
            }
        }
        double chi = 0, cells = 0;
        for (int i = 0; i < exact_trees(n); i++) {
            int32_t decision[MOST_TAXA];
            exact_tree(decision, i, n);
            double expected = DRAWS * exp(sbn_log_q(b, decision, &s));
            assert_true(expected > 0 || seen[i] == 0);
            if (expected >= 5) {
                chi += (seen[i] - expected) * (seen[i] - expected) / expected;
                cells++;
            }
        }
        print_message("%d taxa: chi-square %.1f on %.0f cells\n", n, chi, cells);
        assert_true(chi < cells + 5 * sqrt(2 * cells)); /* five standard deviations */
        sbn_scratch_free(&s);
        sbn_free(b);
    }
}

/* With a floor the probability is the definition's, of every tree, and no tree has less than
 * without one. */
static void floored_by_the_definition(void **state)
{
    (void)state;
    for (int n = 4; n <= 7; n++) {
        sbn *b = random_network(n, 4, 1);
        sbn_scratch exact, floored;
        int raised = 0;
        check_status(sbn_scratch_init(&exact, n));
        check_status(sbn_scratch_init(&floored, n));
        floored.log_floor = log(0.2);
        for (int i = 0; i < exact_trees(n); i++) {
            int32_t decision[MOST_TAXA];
            double expected;
            exact_tree(decision, i, n);
            check_status(sbn_reference(&expected, b, decision, floored.log_floor));
            const double is = sbn_log_q(b, decision, &floored);
            check_near(is, expected, 1e-12 * (1 + fabs(expected)));
            assert_true(is >= sbn_log_q(b, decision, &exact) - 1e-12);
            raised += is > sbn_log_q(b, decision, &exact) + 1e-12;
        }
        assert_true(raised > 0);
        sbn_scratch_free(&exact);
        sbn_scratch_free(&floored);
        sbn_free(b);
    }
}

/* d log q / d logit against signed central differences, random coefficients of either sign; with a
 * floor also of trees outside the support. */
static void check_gradient(double log_floor)
{
    enum { TREES = 5 };
    const double h = 1e-5;
    for (int n = 4; n <= 8; n++) {
        sbn *b = random_network(n, TREES, 0);
        size_t count = sbn_entries(b);
        double *block = mem_zeros(3 * count, sizeof *block), *logit = block,
               *counts = block + count, *grad = block + 2 * count, c[TREES];
        int32_t decision[TREES][MOST_TAXA];
        sbn_scratch s;
        rng trees = rng_at(5, RNG_TEST, (uint32_t)n, 0), r = rng_at(6, RNG_TEST, 0, 0);
        assert_non_null(block);
        check_status(sbn_scratch_init(&s, n));
        s.log_floor = log_floor;
        for (size_t i = 0; i < count; i++)
            logit[i] = rng_normal(&r);
        sbn_softmax(b, logit);
        if (isfinite(log_floor)) /* others than those of the support */
            trees = rng_at(7, RNG_TEST, (uint32_t)n, 0);
        for (int i = 0; i < TREES; i++) { /* the trees of the support */
            exact_tree(decision[i], (int)rng_below(&trees, (uint32_t)exact_trees(n)), n);
            c[i] = rng_normal(&r);
            double log_q = sbn_log_q(b, decision[i], &s);
            sbn_add_counts(counts, c[i], log_q, s.entry, &s);
        }
        sbn_drop_floored(counts, b, log_floor);
        sbn_softmax_gradient(grad, b, counts);
        for (size_t k = 0; k < count; k += 1 + count / 40) {
            double value[2] = {0, 0}, at = logit[k];
            for (int side = 0; side < 2; side++) {
                logit[k] = at + (side ? h : -h);
                sbn_softmax(b, logit);
                for (int i = 0; i < TREES; i++)
                    value[side] += c[i] * sbn_log_q(b, decision[i], &s);
            }
            logit[k] = at;
            /* truncation h^2, rounding 1e-15 / h */
            check_near(grad[k], (value[1] - value[0]) / (2 * h), 1e-8);
        }
        sbn_scratch_free(&s);
        sbn_free(b);
        free(block);
    }
}

static void gradient(void **state)
{
    (void)state;
    check_gradient(-INFINITY);
    check_gradient(log(0.1)); /* some factors are below it, most are not */
}

/* The objective never decreases, with and without a prior; and at every step the sum is 1. */
static void em_increases(void **state)
{
    (void)state;
    enum { TREES = 12, STEPS = 60 };
    for (int n = 3; n <= 7; n++)
        for (int prior = 0; prior < 2; prior++) {
            int32_t decision[TREES * MOST_TAXA];
            double weight[TREES], before = -INFINITY, now, sum = 0;
            sbn *b;
            sbn_fit *f;
            sbn_scratch s;
            rng r = rng_at(7, RNG_TEST, (uint32_t)n, 0);
            check_status(sbn_create(&b, n));
            for (int i = 0; i < TREES; i++) {
                int32_t *at = decision + i * (n - 3);
                exact_tree(at, (int)rng_below(&r, (uint32_t)exact_trees(n)), n);
                weight[i] = rng_exponential(&r);
                check_status(sbn_add(b, at));
            }
            check_status(sbn_finish(b));
            check_status(sbn_fit_create(&f, b, decision, weight, TREES, prior ? 0.01 : 0));
            for (int k = 0; k < STEPS; k++) {
                sbn_fit_step(f, &now);
                assert_true(now >= before - 1e-13 * (1 + fabs(now))); /* rounding */
                before = now;
            }
            check_status(sbn_scratch_init(&s, n));
            for (int i = 0; i < exact_trees(n); i++) {
                int32_t at[MOST_TAXA];
                exact_tree(at, i, n);
                sum += exp(sbn_log_q(b, at, &s));
            }
            check_near(sum, 1, 1e-12);
            sbn_scratch_free(&s);
            sbn_fit_free(f);
            sbn_free(b);
        }
}

/* -- golden numbers -- */

typedef struct sample {
    taxa names;
    size_t count;
    int32_t decision[16 * MOST_TAXA];
    double weight[16];
} sample;

/* The sample with its taxa in another order: shift 0 is the order of the file. */
static void read_sample(sample *s, const json_t *golden, int shift)
{
    const json_t *list = json_object_get(golden, "taxa"), *item;
    size_t i;
    taxa_init(&s->names);
    for (i = 0; i < 8; i++) {
        const char *name = json_string_value(json_array_get(list, (i + (size_t)shift) % 8));
        check_status(taxa_add(&s->names, name, strlen(name)));
    }
    s->count = 0;
    json_array_foreach(json_object_get(golden, "sample"), i, item)
    {
        golden_tree(s->decision + 5 * s->count, json_string_value(json_object_get(item, "tree")),
                    &s->names);
        s->weight[s->count++] = golden_number(item, "count");
    }
}

static sbn *network_of(const int32_t *decision, size_t count, int32_t n_taxa)
{
    sbn *b;
    check_status(sbn_create(&b, n_taxa));
    for (size_t i = 0; i < count; i++)
        check_status(sbn_add(b, decision + i * (size_t)(n_taxa - 3)));
    check_status(sbn_finish(b));
    return b;
}

/* The number of the clade of a list of 0-based taxa, or of the rest of another clade. */
static int32_t clade_of(const sbn *b, const json_t *list, int32_t without)
{
    clade_key key = without < 0 ? (clade_key){{0, 0}}
                                : *(const clade_key *)key_table_at(&b->clade_keys, (size_t)without);
    size_t i;
    json_t *taxon;
    json_array_foreach(list, i, taxon) key =
        key_xor(key, clade_key_of_taxon((int32_t)json_integer_value(taxon)));
    int64_t c = key_table_find(&b->clade_keys, &key);
    assert_true(c >= 0);
    return (int32_t)c;
}

static int32_t entry_of(const sbn *b, const json_t *item)
{
    const json_t *split = json_object_get(item, "split");
    if (split) {
        int32_t side = clade_of(b, split, -1), other, key[2];
        clade_key rest = *(const clade_key *)key_table_at(&b->clade_keys, (size_t)side);
        for (int32_t i = 0; i < 8; i++)
            rest = key_xor(rest, clade_key_of_taxon(i));
        other = (int32_t)key_table_find(&b->clade_keys, &rest);
        key[0] = side < other ? side : other;
        key[1] = side < other ? other : side;
        return (int32_t)key_table_find(&b->root_keys, key);
    }
    int32_t clade = clade_of(b, json_object_get(item, "clade"), -1);
    int32_t parent[2] = {clade_of(b, json_object_get(item, "sister"), -1), clade};
    int32_t x = clade_of(b, json_object_get(item, "child"), -1);
    int32_t y = clade_of(b, json_object_get(item, "child"), clade);
    int32_t key[3] = {(int32_t)key_table_find(&b->parent_keys, parent), x < y ? x : y,
                      x < y ? y : x};
    int64_t at = key_table_find(&b->pair_keys, key);
    assert_true(at >= 0);
    return (int32_t)(sbn_roots(b) + (size_t)at);
}

static void check_column(const sbn *b, const json_t *golden, const char *column, const double *is)
{
    size_t i;
    const json_t *item;
    assert_int_equal(sbn_roots(b), json_array_size(json_object_get(golden, "rootsplits")));
    assert_int_equal(sbn_pairs(b), json_array_size(json_object_get(golden, "pairs")));
    for (int table = 0; table < 2; table++)
        json_array_foreach(json_object_get(golden, table ? "pairs" : "rootsplits"), i, item)
            check_near(is[entry_of(b, item)], golden_number(item, column), 1e-9);
}

static void check_trees(const sbn *b, const json_t *golden, const char *column, const taxa *names)
{
    sbn_scratch s;
    size_t i;
    const json_t *item;
    check_status(sbn_scratch_init(&s, 8));
    json_array_foreach(json_object_get(golden, "trees"), i, item)
    {
        int32_t decision[MOST_TAXA];
        golden_tree(decision, json_string_value(json_object_get(item, "tree")), names);
        check_log_q(sbn_log_q(b, decision, &s), json_object_get(item, column), 1e-9);
    }
    sbn_scratch_free(&s);
}

static void check_probabilities(const sbn *b, const json_t *golden, const char *column)
{
    double *p = mem_zeros(sbn_entries(b), sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < sbn_entries(b); i++)
        p[i] = exp(b->log_p[i]);
    check_column(b, golden, column, p);
    free(p);
}

/* Whatever the order of the taxa, and so whatever taxon the trees hang from. */
static void golden_small(void **state)
{
    (void)state;
    json_t *golden = shared_golden("sbn_small_n8.json");
    for (int shift = 0; shift < 8; shift++)
        for (int prior = 0; prior < 2; prior++) {
            sample set;
            sbn_fit *f;
            read_sample(&set, golden, shift);
            sbn *b = network_of(set.decision, set.count, 8);
            check_status(sbn_fit_create(&f, b, set.decision, set.weight, set.count,
                                        prior ? golden_number(golden, "alpha") : 0));
            if (!prior)
                check_trees(b, golden, "sa", &set.names);
            if (!prior && shift == 0)
                check_probabilities(b, golden, "sa");
            const json_t *path =
                json_object_get(golden, prior ? "em_alpha_objective" : "em_log_likelihood");
            for (size_t k = 0; k < json_array_size(path); k++) {
                double objective;
                sbn_fit_step(f, &objective);
                check_near(objective, json_number_value(json_array_get(path, k)), 1e-9);
            }
            check_trees(b, golden, prior ? "em_alpha" : "em", &set.names);
            if (shift == 0)
                check_probabilities(b, golden, prior ? "em_alpha" : "em");
            sbn_fit_free(f);
            sbn_free(b);
            taxa_free(&set.names);
        }
    json_decref(golden);
}

static void golden_softmax(void **state)
{
    (void)state;
    json_t *golden = shared_golden("sbn_small_n8.json");
    sample set;
    sbn_scratch s;
    size_t i;
    const json_t *item;
    double total = 0;
    read_sample(&set, golden, 0);
    sbn *b = network_of(set.decision, set.count, 8);
    size_t count = sbn_entries(b);
    double *block = mem_zeros(3 * count, sizeof *block), *logit = block, *counts = block + count,
           *grad = block + 2 * count;
    assert_non_null(block);
    for (int table = 0; table < 2; table++)
        json_array_foreach(json_object_get(golden, table ? "pairs" : "rootsplits"), i, item)
            logit[entry_of(b, item)] = golden_number(item, "logit");
    sbn_softmax(b, logit);
    check_trees(b, golden, "softmax", &set.names);
    check_status(sbn_scratch_init(&s, 8));
    s.log_floor = log(PUBLISHED_FLOOR);
    json_array_foreach(json_object_get(golden, "floored"), i, item)
    {
        int32_t decision[5];
        golden_tree(decision, json_string_value(json_object_get(item, "tree")), &set.names);
        check_near(sbn_log_q(b, decision, &s), golden_number(item, "log_q"), 1e-9);
    }
    s.log_floor = -INFINITY;
    for (i = 0; i < set.count; i++)
        total += set.weight[i];
    for (i = 0; i < set.count; i++) {
        double log_q = sbn_log_q(b, set.decision + 5 * i, &s);
        sbn_add_counts(counts, set.weight[i] / total, log_q, s.entry, &s);
    }
    sbn_softmax_gradient(grad, b, counts);
    check_column(b, golden, "grad", grad);
    sbn_scratch_free(&s);
    sbn_free(b);
    free(block);
    taxa_free(&set.names);
    json_decref(golden);
}

typedef struct measured {
    double kl, zero, below;
    int zero_trees;
} measured;

/* As published: q counts as 2^-52 where it is less. */
static measured measure(const sbn *b, const tree_set *truth)
{
    measured m = {0};
    sbn_scratch s;
    check_status(sbn_scratch_init(&s, b->n_taxa));
    for (size_t i = 0; i < truth->count; i++) {
        double w = truth->weight[i], log_q = sbn_log_q(b, tree_set_decision(truth, i), &s);
        m.kl += w * (log(w + 0x1p-52) - fmax(log_q, log(0x1p-52)));
        m.zero += isinf(log_q) ? w : 0;
        m.zero_trees += isinf(log_q) != 0;
        m.below += !isinf(log_q) && log_q < log(0x1p-52) ? w : 0;
    }
    sbn_scratch_free(&s);
    return m;
}

static void check_fitted(const sbn *b, const json_t *golden, const json_t *expected,
                         const tree_set *truth)
{
    const taxa *names = &truth->taxa;
    sbn_scratch s;
    size_t i;
    const json_t *item;
    check_status(sbn_scratch_init(&s, b->n_taxa));
    json_array_foreach(json_object_get(golden, "trees"), i, item)
    {
        int32_t decision[64];
        golden_tree(decision, json_string_value(item), names);
        /* after many iterations differences add up */
        check_log_q(sbn_log_q(b, decision, &s),
                    json_array_get(json_object_get(expected, "log_q"), i), 1e-8);
    }
    sbn_scratch_free(&s);
    measured m = measure(b, truth);
    check_near(m.kl, golden_number(expected, "kl"), 1e-9);
    assert_int_equal(m.zero_trees, golden_number(expected, "truth_trees_of_zero_probability"));
    check_near(m.zero, golden_number(expected, "truth_mass_of_zero_probability"), 1e-12);
    check_near(m.below, golden_number(expected, "truth_mass_below_eps"), 1e-12);
}

/* Runs EM to its stop; expected (NULL: nothing) has the objective of every iteration. */
static int run_em(sbn_fit *f, const json_t *golden, const json_t *expected, const sbn *b,
                  const tree_set *truth)
{
    double now = 0, before = 0;
    int k = 0;
    do {
        before = now;
        sbn_fit_step(f, &now);
        if (expected)
            check_near(now,
                       json_number_value(
                           json_array_get(json_object_get(expected, "objective"), (size_t)k)),
                       1e-9);
        if (expected && k == 9)
            check_fitted(b, golden, json_object_get(expected, "after_10_iterations"), truth);
    } while (!sbn_fit_stops(k++, now, before));
    return k;
}

static void golden_data(void **state)
{
    const char *set = *state;
    char name[32];
    snprintf(name, sizeof name, "sbn_ds%c.json", set[2]);
    json_t *golden = shared_golden(name);
    tree_set train, truth;
    check_status(
        tree_set_read(&train, NULL, (const char *[]){golden_run(set, "short", 1)}, 1, NULL, NULL));
    golden_truth(&truth, set, &train.taxa);
    for (int prior = 0; prior < 2; prior++) {
        const json_t *expected = json_object_get(golden, prior ? "sbn_em_alpha" : "sbn_em");
        const json_t *support = json_object_get(golden, "support");
        sbn *b = network_of(train.decision, train.count, train.taxa.count);
        sbn_fit *f;
        assert_int_equal(sbn_roots(b), golden_number(support, "rootsplits"));
        assert_int_equal(sbn_parents(b), golden_number(support, "parent_subsplits"));
        assert_int_equal(sbn_pairs(b), golden_number(support, "pairs"));
        check_status(
            sbn_fit_create(&f, b, train.decision, train.weight, train.count, prior ? 1e-4 : 0));
        if (!prior)
            check_fitted(b, golden, json_object_get(golden, "sbn_sa"), &truth);
        int steps = run_em(f, golden, expected, b, &truth);
        assert_int_equal(steps, golden_number(expected, "iterations"));
        check_fitted(b, golden, expected, &truth);
        sbn_fit_free(f);
        sbn_free(b);
    }
    tree_set_free(&train);
    tree_set_free(&truth);
    json_decref(golden);
}

/* What the authors printed for five runs of each data set. */
static void published(void **state)
{
    const char *set = *state;
    json_t *golden = shared_golden("sbn_published.json");
    for (int run = 2; run <= 5; run++) {
        char number[4];
        snprintf(number, sizeof number, "%d", run);
        const json_t *expected =
            json_object_get(json_object_get(json_object_get(golden, "kl"), set), number);
        tree_set train, truth;
        check_status(tree_set_read(&train, NULL, (const char *[]){golden_run(set, "short", run)}, 1,
                                   NULL, NULL));
        golden_truth(&truth, set, &train.taxa);
        assert_int_equal(train.count, golden_number(expected, "n_trees"));
        for (int prior = 0; prior < 2; prior++) {
            sbn *b = network_of(train.decision, train.count, train.taxa.count);
            sbn_fit *f;
            check_status(
                sbn_fit_create(&f, b, train.decision, train.weight, train.count, prior ? 1e-4 : 0));
            if (!prior) /* eight digits are printed */
                check_near(measure(b, &truth).kl, golden_number(expected, "sbn_sa"), 1e-8);
            int steps = run_em(f, golden, NULL, b, &truth);
            assert_int_equal(
                steps, golden_number(expected, prior ? "em_alpha_iterations" : "em_iterations"));
            /* and the published EM has rounding noise of its own, up to 2.6e-8 */
            check_near(measure(b, &truth).kl,
                       golden_number(expected, prior ? "sbn_em_alpha" : "sbn_em"), 4e-8);
            sbn_fit_free(f);
            sbn_free(b);
        }
        tree_set_free(&train);
        tree_set_free(&truth);
    }
    json_decref(golden);
}

/* -- files -- */

static void stored_and_loaded(void **state)
{
    (void)state;
    for (int n = 3; n <= 8; n++) {
        sbn *a = random_network(n, 5, 2), *b;
        safetensors s = {0}, t = {0};
        void *bytes;
        size_t size;
        sbn_scratch w;
        check_status(sbn_store(a, &s));
        check_status(safetensors_format(&s, &bytes, &size, "test", NULL));
        check_status(safetensors_parse(&t, bytes, size, "test", NULL));
        check_status(sbn_create(&b, n));
        check_status(sbn_load(b, &t, (diag_place){0}, NULL));
        check_status(safetensors_unused(&t, "test", NULL));
        assert_int_equal(sbn_entries(a), sbn_entries(b));
        memcpy(b->log_p, a->log_p, sbn_entries(a) * sizeof *a->log_p);
        check_status(sbn_scratch_init(&w, n));
        for (int i = 0; i < exact_trees(n); i++) {
            int32_t decision[MOST_TAXA];
            exact_tree(decision, i, n);
            assert_true(sbn_log_q(a, decision, &w) == sbn_log_q(b, decision, &w));
        }
        sbn_scratch_free(&w);
        safetensors_free(&s);
        safetensors_free(&t);
        free(bytes);
        sbn_free(a);
        sbn_free(b);
    }
}

/* Any number of any table changed is refused, or is a network all the same: one that draws trees.
 */
static void damaged_tables(void **state)
{
    (void)state;
    static const char *const TABLE[] = {"tree.clades", "tree.roots", "tree.parents", "tree.pairs"};
    sbn *a = random_network(6, 4, 2);
    safetensors s = {0};
    sbn_scratch w;
    int refused = 0, accepted = 0;
    check_status(sbn_store(a, &s));
    check_status(sbn_scratch_init(&w, 6));
    for (int table = 0; table < 4; table++) {
        tensor *t = NULL;
        for (size_t i = 0; i < s.count; i++)
            if (strcmp(s.tensor[i].name, TABLE[table]) == 0)
                t = &s.tensor[i];
        assert_non_null(t);
        int32_t *copy = mem_zeros(t->count, sizeof *copy);
        const void *whole = t->data;
        memcpy(copy, whole, t->count * sizeof *copy);
        t->data = copy;
        for (size_t i = 0; i < t->count; i++)
            for (int32_t change = -3; change <= 3; change++) {
                int32_t before = copy[i];
                sbn *b;
                copy[i] = change == 3 ? INT32_MAX : change == -3 ? INT32_MIN : before + change;
                check_status(sbn_create(&b, 6));
                int status = sbn_load(b, &s, (diag_place){0}, NULL);
                assert_true(status == ART_OK || status == ART_ERR_MISMATCH);
                if (change == 0)
                    check_status(status);
                refused += status != ART_OK;
                accepted += status == ART_OK && change != 0;
                if (status == ART_OK) {
                    double *logit = mem_zeros(sbn_entries(b), sizeof *logit);
                    rng r = rng_at(1, RNG_TEST, 0, (uint32_t)i);
                    int32_t decision[MOST_TAXA];
                    assert_non_null(logit);
                    sbn_softmax(b, logit);
                    assert_true(isfinite(sbn_sample(decision, b, &r, &w)));
                    assert_true(decisions_are_trees(decision, 1, 6));
                    free(logit);
                }
                sbn_free(b);
                copy[i] = before;
            }
        t->data = whole;
        free(copy);
    }
    print_message("%d changes refused, %d harmless\n", refused, accepted);
    assert_true(refused > 10 * accepted);
    sbn_scratch_free(&w);
    safetensors_free(&s);
    sbn_free(a);
}

static int everything(void)
{
    sbn *b = NULL;
    sbn_fit *f = NULL;
    sbn_scratch s = {0};
    const int32_t decision[4] = {0, 2, 1, 3};
    const double weight[2] = {1, 2};
    double objective;
    int status = sbn_create(&b, 5);
    if (!status)
        status = sbn_add(b, decision);
    if (!status)
        status = sbn_add(b, decision + 2);
    if (!status)
        status = sbn_finish(b);
    if (!status)
        status = sbn_fit_create(&f, b, decision, weight, 2, 0.1);
    if (!status)
        sbn_fit_step(f, &objective);
    if (!status)
        status = sbn_scratch_init(&s, 5);
    sbn_scratch_free(&s);
    sbn_fit_free(f);
    sbn_free(b);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    long k = 0;
    int status;
    do {
        memory_fail_at(++k);
        status = everything();
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
    } while (status);
    assert_true(k > 20);
}

static void misuse(void **state)
{
    (void)state;
    sbn *b;
    sbn_fit *f;
    const int32_t known[2] = {0, 1}, other[2] = {2, 4};
    const double good = 1, bad = -1;
    assert_int_equal(sbn_create(&b, 2), ART_ERR_USAGE);
    check_status(sbn_create(&b, 5));
    assert_int_equal(sbn_finish(b), ART_ERR_USAGE);
    check_status(sbn_add(b, known));
    check_status(sbn_finish(b));
    assert_int_equal(sbn_add(b, known), ART_ERR_USAGE);
    assert_int_equal(sbn_fit_create(&f, b, other, &good, 1, 0), ART_ERR_USAGE);
    assert_int_equal(sbn_fit_create(&f, b, known, &bad, 1, 0), ART_ERR_USAGE);
    assert_int_equal(sbn_fit_create(&f, b, known, &good, 0, 0), ART_ERR_USAGE);
    assert_int_equal(sbn_fit_create(&f, b, known, &good, 1, -1), ART_ERR_USAGE);
    sbn_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_to_one),
        cmocka_unit_test(draws_follow_log_q),
        cmocka_unit_test(floored_by_the_definition),
        cmocka_unit_test(gradient),
        cmocka_unit_test(em_increases),
        cmocka_unit_test(golden_small),
        cmocka_unit_test(golden_softmax),
        cmocka_unit_test_prestate(golden_data, ((char[]){"DS1"})),
        cmocka_unit_test_prestate(golden_data, ((char[]){"DS2"})),
        cmocka_unit_test_prestate(published, ((char[]){"DS1"})),
        cmocka_unit_test_prestate(published, ((char[]){"DS2"})),
        cmocka_unit_test(stored_and_loaded),
        cmocka_unit_test(damaged_tables),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
