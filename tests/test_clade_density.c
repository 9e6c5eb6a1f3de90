#include "support/check.h"
#include "support/exact.h"
#include "support/golden_trees.h"
#include "support/memory.h"
#include "support/shared_data.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/clade/clade_density.h"
#include "tree/splits.h"
#include "tree/tree_set.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TAXA = 8, MOST_TREES = 10395 };

static const char *const KIND[] = {"ccd0", "ccd1", "ccd2"};

/* -- small cases, where all trees are there to be looked at -- */

/* A density fitted to random trees, a few of them often, with weights that are not integers. */
static clade_density *random_density(int n_taxa, clade_kind kind, int n_trees, double scale,
                                     const clade_smoothing *smoothing)
{
    clade_density *d;
    rng r = rng_at(3, RNG_TEST, (uint32_t)n_taxa, 0);
    check_status(clade_density_create(&d, n_taxa, kind));
    for (int i = 0; i < n_trees; i++) {
        int32_t decision[MOST_TAXA];
        exact_tree(decision, (int)rng_below(&r, (uint32_t)exact_trees(n_taxa)), n_taxa);
        check_status(clade_density_add(d, decision, scale * rng_exponential(&r)));
    }
    check_status(clade_density_fit(d, smoothing));
    return d;
}

static clade_smoothing given_smoothing(double strength, double discount, double seen,
                                       double interchange)
{
    return (clade_smoothing){12,
                             {strength, 2 * strength},
                             {discount, discount / 2},
                             {seen, interchange, 1 - seen - interchange}};
}

/* All trees that have a probability, best first, each once; and the first of them if fewer are
 * asked for. Smoothed densities have no such list. */
static void check_best_trees(const clade_density *d, const double *log_q, int n_taxa, int support)
{
    int trees = exact_trees(n_taxa), n = n_taxa - 3;
    size_t found, few;
    int32_t *decision = mem_zeros((size_t)trees * MOST_TAXA, sizeof *decision),
            first[3 * MOST_TAXA];
    double *log_p = mem_zeros((size_t)trees, sizeof *log_p), value[3];
    bool *seen = mem_zeros((size_t)trees, sizeof *seen);
    assert_true(decision && log_p && seen);
    if (clade_density_smoothing(d).observations > 0) {
        assert_int_equal(clade_density_best_trees(decision, log_p, &found, d, 1), ART_ERR_USAGE);
        goto out;
    }
    check_status(clade_density_best_trees(decision, log_p, &found, d, (size_t)trees));
    assert_int_equal(found, support);
    for (size_t i = 0; i < found; i++) {
        int at = exact_index(decision + i * (size_t)n, n_taxa);
        assert_false(seen[at]);
        seen[at] = true;
        check_near(log_p[i], log_q[at], 1e-12); /* sums of logs, other order */
        assert_true(i == 0 || log_p[i] <= log_p[i - 1]);
    }
    check_status(clade_density_best_trees(first, value, &few, d, 3));
    assert_int_equal(few, found < 3 ? found : 3);
    assert_memory_equal(first, decision, few * (size_t)n * sizeof *first);
    assert_memory_equal(value, log_p, few * sizeof *value);
out:
    free(decision);
    free(log_p);
    free(seen);
}

/* Everything that the passes over the graph say, against all trees; only where the core is the
 * whole density. */
static void check_summaries(const clade_density *d, const double *log_q, int n_taxa,
                            clade_scratch *s)
{
    int trees = exact_trees(n_taxa), best = 0;
    double entropy = 0, value, log_p, support = 0;
    size_t clades = clade_density_clades(d);
    double *expected = mem_zeros(clades, sizeof *expected);
    double *probability = mem_zeros(clades, sizeof *probability);
    int32_t decision[MOST_TAXA], order[2 * MOST_TAXA];
    topology t;
    assert_true(expected && probability);
    check_status(topology_init(&t, n_taxa));
    for (int i = 0; i < trees; i++) {
        if (isinf(log_q[i]))
            continue;
        support++;
        entropy -= exp(log_q[i]) * log_q[i];
        if (log_q[i] > log_q[best])
            best = i;
        uint64_t split[2 * MOST_TAXA];
        exact_tree(decision, i, n_taxa);
        topology_build(&t, decision);
        splits_of(split, &t, order);
        for (int e = 0; e < topology_edges(n_taxa); e++) {
            int64_t c = clade_density_find(d, &split[e]);
            assert_true(c >= 0);
            expected[c] += exp(log_q[i]);
            uint64_t bits;
            clade_density_bits(&bits, d, (size_t)c, s);
            assert_int_equal(bits, split[e]);
        }
    }
    check_status(clade_density_entropy(&value, d));
    check_near(value, entropy, 1e-11); /* sums of up to 10395 terms of order 1 */
    check_status(clade_density_log_trees(&value, d));
    check_near(value, log(support), 1e-12);
    check_status(clade_density_best(decision, &log_p, d));
    check_near(log_p, log_q[best], 1e-12);
    check_near(log_q[exact_index(decision, n_taxa)], log_q[best], 1e-12);
    check_best_trees(d, log_q, n_taxa, (int)support);
    check_status(clade_density_probabilities(probability, d));
    for (size_t c = 1; c < clades; c++)
        check_near(probability[c], expected[c], 1e-12);
    topology_free(&t);
    free(expected);
    free(probability);
}

static void all_trees(void **state)
{
    (void)state;
    static double log_q[MOST_TREES];
    clade_smoothing estimated = clade_smoothing_estimated();
    clade_smoothing seen = given_smoothing(0.7, 0.3, 1, 0),
                    some = given_smoothing(0.5, 0.4, 0.5, 0.3);
    clade_smoothing far = given_smoothing(20, 1, 0.1, 0.2),
                    only = given_smoothing(1, 0.2, 0.01, 0.99);
    const clade_smoothing *const way[] = {NULL, &seen, &some, &far, &only, &estimated};
    for (int n_taxa = 4; n_taxa <= MOST_TAXA; n_taxa++)
        for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++)
            for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
                clade_density *d = random_density(n_taxa, (clade_kind)kind, 25, 1, way[k]);
                clade_scratch s;
                check_status(clade_scratch_init(&s, d));
                double sum = 0;
                for (int i = 0; i < exact_trees(n_taxa); i++) {
                    int32_t decision[MOST_TAXA];
                    exact_tree(decision, i, n_taxa);
                    log_q[i] = clade_density_log_q(d, decision, &s);
                    assert_true(k < 2 || way[k] == &only || isfinite(log_q[i]));
                    sum += exp(log_q[i]);
                }
                check_near(sum, 1, 1e-11); /* rounding of 10395 terms */
                if (k < 2)
                    check_summaries(d, log_q, n_taxa, &s);
                clade_scratch_free(&s);
                clade_density_free(d);
            }
}

/* The interchange of one seen tree: its neighbours have what the formula says. */
static void neighbours_of_one_tree(void **state)
{
    (void)state;
    enum { N = 6 };
    clade_density *d;
    clade_scratch s;
    int32_t decision[N];
    check_status(clade_density_create(&d, N, CLADE_CCD1));
    exact_tree(decision, 40, N);
    check_status(clade_density_add(d, decision, 5));
    clade_smoothing only = {10, {1, -1}, {0, 0}, {0.01, 0.99, 0}};
    check_status(clade_density_fit(d, &only));
    check_status(clade_scratch_init(&s, d));
    rf distance;
    topology t;
    check_status(rf_init(&distance, N));
    check_status(topology_init(&t, N));
    topology_build(&t, decision);
    rf_set(&distance, &t);
    double stay = clade_density_log_q(d, decision, &s);
    int neighbours = 0;
    for (int i = 0; i < exact_trees(N); i++) {
        exact_tree(decision, i, N);
        topology_build(&t, decision);
        double log_q = clade_density_log_q(d, decision, &s);
        if (rf_distance(&distance, &t) == 2) { /* one interchange away */
            neighbours++;
            assert_true(isfinite(log_q) && log_q < stay);
        }
    }
    assert_int_equal(neighbours, 2 * (N - 3));
    rf_free(&distance);
    topology_free(&t);
    clade_scratch_free(&s);
    clade_density_free(d);
}

/* Pearson's statistic over the trees that are expected at least five times, the rest as one. */
static void draws_have_their_frequencies(void **state)
{
    (void)state;
    enum { N = 6, TREES = 105, DRAWS = 40000 };
    clade_smoothing estimated = clade_smoothing_estimated();
    clade_smoothing far = given_smoothing(20, 1, 0.1, 0.4);
    clade_smoothing any = given_smoothing(50, 0.5, 0.01, 0);
    const clade_smoothing *const way[] = {NULL, &estimated, &far, &any};
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++)
        for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
            clade_density *d = random_density(N, (clade_kind)kind, 8, 1, way[k]);
            clade_scratch s;
            check_status(clade_scratch_init(&s, d));
            static int32_t decision[DRAWS * (N - 3)];
            static double log_q[DRAWS];
            double seen[TREES] = {0}, statistic = 0, rest = 0, rest_seen = 0;
            clade_density_sample_many(decision, log_q, d, DRAWS, 7, RNG_TEST, (uint32_t)k, 0, &s);
            for (int i = 0; i < DRAWS; i++) {
                check_near(log_q[i], clade_density_log_q(d, decision + (N - 3) * i, &s), 0);
                seen[exact_index(decision + (N - 3) * i, N)]++;
            }
            int cells = 0;
            for (int i = 0; i < TREES; i++) {
                int32_t at[N];
                exact_tree(at, i, N);
                double expected = DRAWS * exp(clade_density_log_q(d, at, &s));
                if (expected < 5) {
                    rest += expected;
                    rest_seen += seen[i];
                    assert_true(expected > 0 || seen[i] == 0);
                    continue;
                }
                statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
                cells++;
            }
            if (rest > 0)
                statistic += (rest_seen - rest) * (rest_seen - rest) / fmax(rest, 1);
            /* mean cells - 1, variance twice that; the draws are fixed, and 4.5 deviations are
             * beyond what is ever seen of a right sampler */
            double freedom = fmax(cells - 1, 1);
            assert_true(statistic < freedom + 4.5 * sqrt(2 * freedom));
            clade_scratch_free(&s);
            clade_density_free(d);
        }
}

/* Node by node, the taxa below it as bits. */
static void taxa_below(uint64_t *bits, const topology *t)
{
    int32_t order[2 * MOST_TAXA];
    topology_postorder(order, t);
    for (int32_t i = 0; i < topology_edges(t->n_taxa); i++) {
        int32_t v = order[i];
        bits[v] = v < t->n_taxa ? (uint64_t)1 << v : bits[t->child[v][0]] | bits[t->child[v][1]];
    }
}

/* A tree whose part below v was drawn again: what is elsewhere stays, and nodes with their clades
 * keep their numbers. */
static void check_redrawn(const topology *t, const topology *before, int32_t v)
{
    uint64_t old[2 * MOST_TAXA] = {0}, new[2 * MOST_TAXA] = {0};
    taxa_below(old, before);
    taxa_below(new, t);
    assert_true(new[v] == old[v]);
    for (int32_t u = 1; u < topology_nodes(t->n_taxa); u++) {
        if ((old[u] & ~old[v]) || u == v)
            assert_true(new[u] == old[u] && t->parent[u] == before->parent[u]);
        for (int32_t w = 1; w < topology_nodes(t->n_taxa); w++)
            assert_true(new[u] != old[w] || u == w);
    }
}

/* All parts of a tree drawn again: a part comes as often as q, which log_ratio gives, says. */
static void redrawn_parts_have_their_frequencies(void **state)
{
    (void)state;
    enum { N = 7, TREES = 945, DRAWS = 4000 };
    clade_smoothing estimated = clade_smoothing_estimated();
    clade_smoothing far = given_smoothing(20, 1, 0.1, 0.4);
    const clade_smoothing *const way[] = {NULL, &estimated, &far};
    int32_t decision[N], scratch[6 * N];
    topology start, t;
    check_status(topology_init(&start, N));
    check_status(topology_init(&t, N));
    for (size_t k = 0; k < sizeof way / sizeof *way; k++)
        for (int32_t v = N; v < topology_nodes(N); v++) {
            clade_density *d = random_density(N, CLADE_CCD2, 8, 1, way[k]);
            clade_scratch s;
            check_status(clade_scratch_init(&s, d));
            static double seen[TREES], weight[TREES];
            memset(seen, 0, sizeof seen);
            memset(weight, 0, sizeof weight);
            rng r = rng_at(9, RNG_TEST, (uint32_t)k, (uint32_t)v);
            clade_density_sample(decision, d, &r, &s);
            topology_build(&start, decision);
            const double log_q = clade_density_log_q(d, decision, &s);
            const int stay = exact_index(decision, N);
            weight[stay] = 1;
            for (int i = 0; i < DRAWS; i++) {
                double log_ratio = 0;
                topology_copy(&t, &start);
                const bool is_another = clade_density_redraw(&t, v, &log_ratio, d, &r, &s);
                check_redrawn(&t, &start, v);
                topology_decisions(decision, NULL, &t, scratch);
                const int now = exact_index(decision, N);
                assert_int_equal(is_another, now != stay);
                if (t.parent[v] == 0) /* the whole tree */
                    check_near(clade_density_log_q(d, decision, &s), log_q - log_ratio, 1e-12);
                weight[now] = exp(-log_ratio);
                seen[now]++;
            }
            double sum = 0, statistic = 0, freedom = 0;
            for (int i = 0; i < TREES; i++)
                sum += weight[i]; /* but for parts that were never drawn */
            for (int i = 0; i < TREES; i++) {
                const double expected = DRAWS * weight[i] / sum;
                if (expected < 5)
                    continue;
                statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
                freedom++;
            }
            assert_true(statistic < freedom + 4.5 * sqrt(2 * freedom));
            clade_scratch_free(&s);
            clade_density_free(d);
        }
    topology_free(&start);
    topology_free(&t);
}

static void scale_of_the_weights(void **state)
{
    (void)state;
    enum { N = 7 };
    clade_smoothing estimated = clade_smoothing_estimated();
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++)
        for (int smooth = 0; smooth < 2; smooth++) {
            const clade_smoothing *how = smooth ? &estimated : NULL;
            clade_density *a = random_density(N, (clade_kind)kind, 40, 1, how);
            clade_density *b = random_density(N, (clade_kind)kind, 40, 1e-7 / 3, how);
            clade_scratch s;
            check_status(clade_scratch_init(&s, a));
            for (int i = 0; i < exact_trees(N); i++) {
                int32_t decision[N];
                exact_tree(decision, i, N);
                double p = clade_density_log_q(a, decision, &s);
                double q = clade_density_log_q(b, decision, &s);
                if (isinf(p))
                    assert_true(isinf(q));
                else
                    check_near(p, q, 1e-9); /* rounding of the weights' products */
            }
            clade_scratch_free(&s);
            clade_density_free(a);
            clade_density_free(b);
        }
}

/* More trees after a fit, and fits of different kinds, leave nothing behind. */
static void fits_again(void **state)
{
    (void)state;
    enum { N = 7 };
    clade_smoothing estimated = clade_smoothing_estimated();
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++) {
        clade_density *once = random_density(N, (clade_kind)kind, 30, 1, NULL);
        clade_density *often = random_density(N, (clade_kind)kind, 30, 1, &estimated);
        check_status(clade_density_fit(often, &estimated));
        check_status(clade_density_fit(often, NULL));
        clade_scratch s;
        check_status(clade_scratch_init(&s, once));
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < exact_trees(N); i++) {
                int32_t decision[N];
                exact_tree(decision, i, N);
                double p = clade_density_log_q(once, decision, &s);
                double q = clade_density_log_q(often, decision, &s);
                assert_true(p == q || fabs(p - q) < 1e-12); /* order of sums */
            }
            for (int i = 0; i < 5; i++) {
                int32_t decision[N];
                exact_tree(decision, 100 * i + 7, N);
                check_status(clade_density_add(once, decision, 2));
                check_status(clade_density_add(often, decision, 2));
            }
            check_status(clade_density_fit(once, &estimated));
            check_status(clade_density_fit(often, &estimated));
        }
        clade_scratch_free(&s);
        clade_density_free(once);
        clade_density_free(often);
    }
}

static void smallest_trees(void **state)
{
    (void)state;
    int32_t decision[1] = {0};
    clade_smoothing estimated = clade_smoothing_estimated();
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++) {
        clade_density *d;
        clade_scratch s;
        double value;
        check_status(clade_density_create(&d, 3, (clade_kind)kind));
        check_status(clade_density_add(d, decision, 1));
        check_status(clade_density_fit(d, &estimated));
        check_status(clade_scratch_init(&s, d));
        check_near(clade_density_log_q(d, decision, &s), 0, 0);
        rng r = rng_at(1, RNG_TEST, 0, 0);
        check_near(clade_density_sample(decision, d, &r, &s), 0, 0);
        check_status(clade_density_entropy(&value, d));
        check_near(value, 0, 0);
        check_status(clade_density_log_trees(&value, d));
        check_near(value, 0, 0);
        check_status(clade_density_best(decision, NULL, d));
        clade_scratch_free(&s);
        clade_density_free(d);
    }
}

static void bad_arguments(void **state)
{
    (void)state;
    clade_density *d;
    int32_t decision[2] = {0, 0};
    assert_int_equal(clade_density_create(&d, 2, CLADE_CCD1), ART_ERR_USAGE);
    assert_null(d);
    assert_int_equal(clade_density_create(&d, 5, (clade_kind)3), ART_ERR_USAGE);
    check_status(clade_density_create(&d, 5, CLADE_CCD1));
    assert_int_equal(clade_density_fit(d, NULL), ART_ERR_USAGE);
    assert_int_equal(clade_density_add(d, decision, -1), ART_ERR_USAGE);
    assert_int_equal(clade_density_add(d, decision, NAN), ART_ERR_USAGE);
    assert_int_equal(clade_density_add(d, decision, INFINITY), ART_ERR_USAGE);
    check_status(clade_density_add(d, decision, 0));
    assert_int_equal(clade_density_fit(d, NULL), ART_ERR_USAGE);
    check_status(clade_density_add(d, decision, 1));
    clade_smoothing s = clade_smoothing_estimated();
    s.share[0] = 0.5; /* the others are not given */
    assert_int_equal(clade_density_fit(d, &s), ART_ERR_USAGE);
    s.share[0] = 0; /* nothing would be left of a clade whose counts are all discounted */
    s.share[1] = s.share[2] = 0.5;
    assert_int_equal(clade_density_fit(d, &s), ART_ERR_USAGE);
    s = clade_smoothing_estimated();
    s.discount[0] = 1.5;
    assert_int_equal(clade_density_fit(d, &s), ART_ERR_USAGE);
    s = clade_smoothing_estimated();
    s.strength[1] = NAN;
    assert_int_equal(clade_density_fit(d, &s), ART_ERR_USAGE);
    clade_density_free(d);
    clade_density_free(NULL);
}

static int everything_once(void)
{
    clade_density *d;
    clade_scratch s = {0};
    clade_smoothing estimated = clade_smoothing_estimated();
    int32_t decision[4] = {0, 3, 2, 5};
    double value, probability[64];
    int status = clade_density_create(&d, 7, CLADE_CCD2);
    for (int i = 0; i < 3 && !status; i++) {
        decision[3] = i;
        status = clade_density_add(d, decision, 1);
    }
    if (!status)
        status = clade_density_fit(d, &estimated);
    if (!status)
        status = clade_scratch_init(&s, d);
    if (!status)
        status = clade_density_entropy(&value, d);
    if (!status)
        status = clade_density_log_trees(&value, d);
    if (!status)
        status = clade_density_best(decision, NULL, d);
    if (!status)
        status = clade_density_probabilities(probability, d);
    clade_scratch_free(&s);
    clade_density_free(d);
    return status;
}

static void memory_is_short(void **state)
{
    (void)state;
    long before = memory_count();
    check_status(everything_once());
    long count = memory_count() - before;
    assert_true(count > 10);
    for (long k = 1; k <= count; k++) {
        memory_fail_at(k);
        assert_int_equal(everything_once(), ART_ERR_NOMEM);
    }
    memory_fail_at(0);
    check_status(everything_once());
}

/* -- many taxa -- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void random_decisions(int32_t *decision, int32_t n_taxa, rng *r)
{
    for (int32_t n = 3; n < n_taxa; n++)
        decision[n - 3] = (int32_t)rng_below(r, (uint32_t)topology_edges(n));
}

/* Trees that have nothing in common are the hardest case for the tables; trees that differ in a few
 * taxa are the usual one. The limit of time is many times what it takes. */
static void a_thousand_taxa(void **state)
{
    (void)state;
    enum { N = 1000, TREES = 100, DRAWS = 20 };
    clade_smoothing estimated = clade_smoothing_estimated();
    for (int alike = 0; alike < 2; alike++) {
        double from = cpu_seconds();
        clade_density *d;
        clade_scratch s;
        int32_t base[N], decision[N], again[N];
        rng r = rng_at(11, RNG_TEST, 0, 0);
        check_status(clade_density_create(&d, N, CLADE_CCD2));
        random_decisions(base, N, &r);
        for (int i = 0; i < TREES; i++) {
            random_decisions(decision, N, &r);
            if (alike)
                memcpy(decision, base, (N - 13) * sizeof *decision);
            check_status(clade_density_add(d, decision, 1));
        }
        check_status(clade_density_fit(d, &estimated));
        check_status(clade_scratch_init(&s, d));
        double log_q = clade_density_log_q(d, decision, &s);
        assert_true(isfinite(log_q) && log_q < 0);
        for (uint32_t i = 0; i < DRAWS; i++) {
            r = rng_at(12, RNG_TEST, 1, i);
            log_q = clade_density_sample(again, d, &r, &s);
            assert_true(decisions_are_trees(again, 1, N));
            assert_true(isfinite(log_q) && log_q < 0);
            check_near(clade_density_log_q(d, again, &s), log_q, 0);
        }
        double entropy, log_p;
        check_status(clade_density_entropy(&entropy, d));
        check_status(clade_density_best(decision, &log_p, d));
        assert_true(isfinite(entropy) && isfinite(log_p) && -log_p <= entropy + 1e-9);
        uint64_t bits[(N + 63) / 64];
        for (size_t c = 1; c < clade_density_clades(d); c += 97) {
            clade_density_bits(bits, d, c, &s);
            assert_int_equal(clade_density_find(d, bits), c);
        }
        double seconds = cpu_seconds() - from;
        print_message("%d trees of %d taxa: %zu clades, %zu splits, %.2f s\n", TREES, N,
                      clade_density_clades(d), clade_density_splits(d), seconds);
#if !defined(ART_SANITIZED)
        assert_true(seconds < 20);
#endif
        clade_scratch_free(&s);
        clade_density_free(d);
    }
}

/* A tree is the same whatever is drawn beside it, and whoever has counted the same trees. */
static void draws_stand_alone(void **state)
{
    (void)state;
    enum { N = 8, DRAWS = 10 };
    clade_smoothing estimated = clade_smoothing_estimated();
    clade_density *a = random_density(N, CLADE_CCD2, 30, 1, &estimated);
    clade_density *b = random_density(N, CLADE_CCD2, 30, 1, &estimated);
    clade_scratch s;
    check_status(clade_scratch_init(&s, a));
    int32_t x[DRAWS][N - 3], y[DRAWS][N - 3];
    double log_x[DRAWS], log_y[DRAWS], scored[DRAWS];
    clade_density_sample_many(x[0], log_x, a, DRAWS, 5, RNG_TEST, 2, 100, &s);
    for (int i = DRAWS - 1; i >= 0; i--)
        clade_density_sample_many(y[i], &log_y[i], b, 1, 5, RNG_TEST, 2, 100 + (uint32_t)i, &s);
    clade_density_log_q_many(scored, a, x[0], DRAWS, &s);
    assert_memory_equal(x, y, sizeof x);
    assert_memory_equal(log_x, log_y, sizeof log_x);
    assert_memory_equal(scored, log_x, sizeof log_x);
    clade_scratch_free(&s);
    clade_density_free(a);
    clade_density_free(b);
}

/* -- golden numbers -- */

static void check_golden_summary(const clade_density *d, const json_t *golden, const taxa *names)
{
    double value, log_p;
    int32_t best[64], expected[64];
    check_status(clade_density_entropy(&value, d));
    check_near(value, golden_number(golden, "entropy"), 1e-9);
    check_status(clade_density_log_trees(&value, d));
    const json_t *count = json_object_get(golden, "n_trees");
    double trees =
        json_is_string(count) ? strtod(json_string_value(count), NULL) : json_number_value(count);
    check_near(value, log(trees), 1e-9);
    check_status(clade_density_best(best, &log_p, d));
    check_near(log_p, golden_number(golden, "map_log_q"), 1e-9);
    golden_tree(expected, json_string_value(json_object_get(golden, "map_tree")), names);
    assert_memory_equal(best, expected, (size_t)(names->count - 3) * sizeof *best);
    size_t inner = clade_density_clades(d) - (size_t)names->count;
    if (json_object_get(golden, "clade_splits") && clade_density_pairs(d) == 0) {
        assert_int_equal(inner + 1, golden_number(golden, "graph_nodes_without_leaves"));
        assert_int_equal(clade_density_splits(d) + 1, golden_number(golden, "clade_splits"));
    }
}

/* Whatever taxon comes first: the trees hang from it. */
static void check_hipstr(const clade_density *d, const json_t *golden, const char *score,
                         const taxa *names)
{
    for (int majority = 0; majority < 2; majority++) {
        const json_t *is = json_object_get(golden, majority ? "mrhipstr" : "hipstr");
        int32_t decision[64], expected[64];
        double credibility;
        check_status(clade_density_hipstr(decision, &credibility, d, majority));
        golden_tree(expected, json_string_value(json_object_get(is, "tree")), names);
        assert_memory_equal(decision, expected, (size_t)(names->count - 3) * sizeof *decision);
        if (!majority)
            check_near(credibility, golden_number(is, score), 1e-9);
    }
}

/* Entropies without a taxon against densities fitted to the trees without it. */
static void entropy_without_a_taxon(void **state)
{
    (void)state;
    enum { N = 7, TREES = 12 };
    rng r = rng_at(21, RNG_TEST, 0, 0);
    taxa names;
    tree_writer writer;
    buffer text;
    int32_t decision[TREES][MOST_TAXA];
    double weight[TREES], entropy[N];
    clade_density *d;
    taxa_init(&names);
    for (char c = 'a'; c < 'a' + N; c++)
        check_status(taxa_add(&names, &c, 1));
    check_status(tree_writer_init(&writer, &names));
    buffer_init(&text);
    check_status(clade_density_create(&d, N, CLADE_CCD1));
    for (int i = 0; i < TREES; i++) {
        exact_tree(decision[i], (int)rng_below(&r, (uint32_t)exact_trees(N)), N);
        weight[i] = rng_exponential(&r);
        check_status(clade_density_add(d, decision[i], weight[i]));
    }
    check_status(clade_density_fit(d, NULL));
    check_status(clade_density_without(entropy, d));
    for (int x = 0; x < N; x++) {
        taxa order; /* x last: without the last decision, the tree has no x */
        clade_density *rest;
        double expected;
        taxa_init(&order);
        for (int i = 1; i <= N; i++) {
            char c = (char)('a' + (x + i) % N);
            check_status(taxa_add(&order, &c, 1));
        }
        check_status(clade_density_create(&rest, N - 1, CLADE_CCD1));
        for (int i = 0; i < TREES; i++) {
            int32_t moved[MOST_TAXA];
            buffer_clear(&text);
            tree_write_newick(&text, &writer, decision[i], NULL);
            golden_tree(moved, text.text, &order);
            check_status(clade_density_add(rest, moved, weight[i]));
        }
        check_status(clade_density_fit(rest, NULL));
        check_status(clade_density_entropy(&expected, rest));
        check_near(entropy[x], expected, 1e-12);
        clade_density_free(rest);
        taxa_free(&order);
    }
    clade_density_free(d);
    buffer_free(&text);
    tree_writer_free(&writer);
    taxa_free(&names);
}

static void golden_small(void **state)
{
    (void)state;
    json_t *golden = shared_golden("sbn_small_n8.json");
    const json_t *list = json_object_get(golden, "taxa"), *item;
    size_t i;
    for (int shift = 0; shift < 8; shift++) {
        taxa names;
        taxa_init(&names);
        for (i = 0; i < 8; i++) {
            const char *name = json_string_value(json_array_get(list, (i + (size_t)shift) % 8));
            check_status(taxa_add(&names, name, strlen(name)));
        }
        for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++) {
            clade_density *d;
            clade_scratch s;
            int32_t decision[MOST_TAXA];
            check_status(clade_density_create(&d, 8, (clade_kind)kind));
            json_array_foreach(json_object_get(golden, "sample"), i, item)
            {
                golden_tree(decision, json_string_value(json_object_get(item, "tree")), &names);
                check_status(clade_density_add(d, decision, golden_number(item, "count")));
            }
            check_status(clade_density_fit(d, NULL));
            check_status(clade_scratch_init(&s, d));
            json_array_foreach(json_object_get(golden, "trees"), i, item)
            {
                golden_tree(decision, json_string_value(json_object_get(item, "tree")), &names);
                check_log_q(clade_density_log_q(d, decision, &s), json_object_get(item, KIND[kind]),
                            1e-9); /* sums of logs, other order */
            }
            if (shift == 0)
                check_golden_summary(d, json_object_get(golden, KIND[kind]), &names);
            check_hipstr(d, golden, "score", &names);
            clade_scratch_free(&s);
            clade_density_free(d);
        }
        taxa_free(&names);
    }
    json_decref(golden);
}

/* KL as published: q counts as 2^-52 where it is less. Beside it the smoothed density, which has no
 * such places and is no worse. */
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
    clade_smoothing estimated = clade_smoothing_estimated();
    estimated.observations = 1 / train.weight[train.count - 1];
    for (int kind = CLADE_CCD0; kind <= CLADE_CCD2; kind++) {
        const json_t *expected = json_object_get(golden, KIND[kind]), *item;
        clade_density *d;
        clade_scratch s;
        double kl[2] = {0, 0};
        size_t i;
        check_status(clade_density_create(&d, train.taxa.count, (clade_kind)kind));
        for (i = 0; i < train.count; i++)
            check_status(clade_density_add(d, tree_set_decision(&train, i), train.weight[i]));
        check_status(clade_scratch_init(&s, d));
        for (int smooth = 0; smooth < 2; smooth++) {
            check_status(clade_density_fit(d, smooth ? &estimated : NULL));
            for (i = 0; i < truth.count; i++) {
                double w = truth.weight[i];
                double log_q = clade_density_log_q(d, tree_set_decision(&truth, i), &s);
                assert_true(smooth == 0 || isfinite(log_q));
                kl[smooth] += w * (log(w + 0x1p-52) - fmax(log_q, log(0x1p-52)));
            }
            if (smooth)
                continue;
            json_array_foreach(json_object_get(golden, "trees"), i, item)
            {
                int32_t decision[64];
                golden_tree(decision, json_string_value(item), &train.taxa);
                check_log_q(clade_density_log_q(d, decision, &s),
                            json_array_get(json_object_get(expected, "log_q"), i), 1e-9);
            }
            check_golden_summary(d, expected, &train.taxa);
            check_hipstr(d, golden, "log_clade_credibility", &train.taxa);
        }
        check_near(kl[0], golden_number(expected, "kl"), 1e-9); /* sums over 2784 trees */
        print_message("%s %s: KL %.5f, smoothed %.5f\n", set, KIND[kind], kl[0], kl[1]);
        assert_true(kl[1] < kl[0] + 1e-3);
        clade_scratch_free(&s);
        clade_density_free(d);
    }
    tree_set_free(&train);
    tree_set_free(&truth);
    json_decref(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_trees),
        cmocka_unit_test(neighbours_of_one_tree),
        cmocka_unit_test(draws_have_their_frequencies),
        cmocka_unit_test(redrawn_parts_have_their_frequencies),
        cmocka_unit_test(scale_of_the_weights),
        cmocka_unit_test(fits_again),
        cmocka_unit_test(smallest_trees),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(a_thousand_taxa),
        cmocka_unit_test(draws_stand_alone),
        cmocka_unit_test(entropy_without_a_taxon),
        cmocka_unit_test(golden_small),
        cmocka_unit_test_prestate(golden_data, ((char[]){"DS1"})),
        cmocka_unit_test_prestate(golden_data, ((char[]){"DS2"})),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
