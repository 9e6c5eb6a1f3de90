/* The oracle of support/exact.h against what is known without it. */
#include "support/check.h"
#include "support/exact.h"

#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TREES = 10395 }; /* N = 8 */

static const char *const FOUR[] = {"AAG", "AAG", "CAT", "CCT"};
static const char *const FIVE[] = {"ACGTAACGC", "ACGTAACGA", "ACTTCAGGA", "CCTTCRGNA", "CCTACAG-C"};
static const char *const SIX[] = {"ACGTAAC", "ACGTAGC", "ACTTCAG", "CCTTCTG", "CCTACAG", "CATACAA"};

static void numbers_are_topologies(void **state)
{
    (void)state;
    static const int counts[] = {3, 15, 105, 945, MAX_TREES};
    for (int n = 4; n <= EXACT_TAXA; n++) {
        int trees = exact_trees(n);
        assert_int_equal(trees, counts[n - 4]);
        for (int i = 0; i < trees; i++) {
            int32_t decision[EXACT_TAXA];
            exact_tree(decision, i, n);
            for (int j = 0; j < n - 3; j++)
                assert_true(decision[j] >= 0 && decision[j] < topology_edges(j + 3));
            assert_int_equal(exact_index(decision, n), i);
        }
    }
}

static void quadrature_has_its_moments(void **state)
{
    (void)state;
    static const double exponents[] = {0.075, 0.75, 1, 7.5, 75};
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++)
        for (int n = 1; n <= EXACT_NODES; n++) {
            double node[EXACT_NODES], weight[EXACT_NODES], a = exponents[e];
            exact_quadrature(node, weight, n, a);
            for (int k = 0; k < 2 * n; k++) {
                double moment = 0;
                for (int i = 0; i < n; i++)
                    moment += weight[i] * pow(node[i], k);
                /* eigenvalues to 1e-16, a few roundings each, times the power of up to 25 */
                check_close(moment, a / (a + k), 1e-13);
            }
        }
}

/* The case worked out in rational numbers: sites AACC, AAAC, GGTT. */
static void four_taxa_as_fractions(void **state)
{
    (void)state;
    small_alignment data;
    double posterior[3];
    small_alignment_init(&data, 4, FOUR);
    double evidence = exp(exact_posterior(posterior, &data.a, 10));
    check_close(evidence, 27502662927809.0 / 363039615647215417344.0, 1e-13);
    /* Decision 1 hangs taxon 3 beside taxon 2. The numbers are given to 11 digits. */
    check_near(posterior[1], 0.98515825722, 5e-12);
    check_near(posterior[0], 0.00742087139, 5e-12);
    check_near(posterior[2], 0.00742087139, 5e-12);
}

/* Reads column number `column` (base 4) into the last site of the rows. */
static void set_column(char (*row)[EXACT_SITES + 1], int n_taxa, size_t site, int column)
{
    for (int i = 0; i < n_taxa; i++, column /= 4)
        row[i][site] = "ACGT"[column % 4];
}

/* Summed over everything that one more site can show, the evidence of every tree is what it
 * was without that site (and 1 without any). */
static void one_more_site_sums_out(void **state)
{
    (void)state;
    static const struct {
        const char *const *row;
        int n_taxa;
        size_t sites; /* of the row that are there before */
    } cases[] = {{FOUR, 4, 0}, {FOUR, 4, 1}, {FOUR, 4, 2}, {FIVE, 5, 0}, {FIVE, 5, 2}, {SIX, 6, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int n = cases[c].n_taxa, trees = exact_trees(n);
        size_t sites = cases[c].sites;
        char row[EXACT_TAXA][EXACT_SITES + 1] = {{0}};
        const char *rows[EXACT_TAXA];
        small_alignment data;
        double before[105], sum[105] = {0}, posterior[105];
        for (int i = 0; i < n; i++) {
            memcpy(row[i], cases[c].row[i], sites);
            rows[i] = row[i];
        }
        for (int i = 0; i < trees; i++)
            before[i] = 1;
        if (sites > 0) {
            small_alignment_init(&data, n, rows);
            double evidence = exp(exact_posterior(before, &data.a, 10));
            for (int i = 0; i < trees; i++)
                before[i] *= evidence * trees;
        }
        for (int column = 0; column < 1 << 2 * n; column++) {
            set_column(row, n, sites, column);
            small_alignment_init(&data, n, rows);
            double evidence = exp(exact_posterior(posterior, &data.a, 10));
            for (int i = 0; i < trees; i++)
                sum[i] += posterior[i] * evidence * trees;
        }
        /* 4^n terms, all positive */
        for (int i = 0; i < trees; i++)
            check_close(sum[i], before[i], 1e-12);
    }
}

/* The splits of a tree after taxon i was renamed to[i]: bit s is set where the taxa s stand on
 * the side without taxon 0. */
static uint64_t splits_of(int index, int n_taxa, const int *to)
{
    topology t;
    check_status(topology_init(&t, n_taxa));
    int32_t decision[EXACT_TAXA], order[2 * EXACT_TAXA];
    exact_tree(decision, index, n_taxa);
    topology_build(&t, decision);
    topology_postorder(order, &t);
    uint64_t splits = 0;
    int below[2 * EXACT_TAXA] = {0};
    for (int i = 0; i < topology_edges(n_taxa); i++) {
        int32_t v = order[i];
        below[v] = v < n_taxa ? 1 << to[v] : below[t.child[v][0]] | below[t.child[v][1]];
        int side = below[v] & 1 ? (1 << n_taxa) - 1 - below[v] : below[v];
        splits |= (uint64_t)1 << side;
    }
    topology_free(&t);
    return splits;
}

/* Other names of the taxa and another order of the sites: the same trees are as probable. */
static void names_do_not_matter(void **state)
{
    (void)state;
    static const int to[6] = {3, 5, 0, 1, 4, 2}, same[6] = {0, 1, 2, 3, 4, 5};
    enum { N = 6, TREES = 105 };
    char row[N][8] = {{0}};
    const char *rows[N];
    for (int i = 0; i < N; i++) {
        for (int site = 0; site < 7; site++)
            row[to[i]][site] = SIX[i][(3 * site + 2) % 7];
        rows[i] = row[i];
    }
    small_alignment data, renamed;
    double p[TREES], q[TREES];
    small_alignment_init(&data, N, SIX);
    small_alignment_init(&renamed, N, rows);
    check_near(exact_posterior(q, &renamed.a, 10), exact_posterior(p, &data.a, 10), 1e-12);
    double sum = 0;
    for (int i = 0; i < TREES; i++) {
        int j = 0;
        while (j < TREES && splits_of(j, N, same) != splits_of(i, N, to))
            j++;
        assert_true(j < TREES);
        check_close(q[j], p[i], 1e-12);
        sum += p[i];
    }
    check_near(sum, 1, 1e-13);
}

/* A site without data adds nothing, whatever the way of writing it. */
static void unknown_sites_add_nothing(void **state)
{
    (void)state;
    static const char *const more[] = {"AAGN", "AAG-", "CATN", "CCT-"};
    small_alignment data, longer;
    double p[3], q[3];
    small_alignment_init(&data, 4, FOUR);
    small_alignment_init(&longer, 4, more);
    check_near(exact_posterior(q, &longer.a, 3), exact_posterior(p, &data.a, 3), 1e-13);
    for (int i = 0; i < 3; i++)
        check_close(q[i], p[i], 1e-12);
}

/* The same sum over quadrature nodes with likelihoods of whole trees in place of tables. */
static double tree_by_nodes(likelihood *l, const small_alignment *data, const subst_model *model,
                            const int32_t *decision, double rate)
{
    enum { EDGES = 2 * EXACT_TAXA - 3 };
    int n_taxa = data->a.n_taxa, edges = topology_edges(n_taxa), n = (int)data->a.n_sites / 2 + 1;
    double node[EXACT_NODES], weight[EXACT_NODES], sum = 0;
    int points = 1;
    exact_quadrature(node, weight, n, 0.75 * rate);
    for (int e = 0; e < edges; e++)
        points *= n;
    for (int point = 0; point < points; point++) {
        double length[EDGES], product = 1, value, plain;
        for (int e = 0, rest = point; e < edges; e++, rest /= n) {
            length[e] = -0.75 * log(node[rest % n]);
            product *= weight[rest % n];
        }
        likelihood_batch(l, &value, NULL, decision, length, 1);
        if (point % 97 == 0) {
            check_status(likelihood_ref(&plain, NULL, &data->a, NULL, model, decision, length));
            check_close(value, plain, 1e-12);
        }
        sum += product * exp(value);
    }
    return sum;
}

static void likelihoods_add_up_to_it(void **state)
{
    (void)state;
    static const char *const five[] = {"ACGTC", "ACGTA", "ACTGA", "CCRNA", "CCA-C"};
    static const struct {
        const char *const *row;
        int n_taxa;
    } cases[] = {{FOUR, 4}, {five, 5}};
    subst_model model;
    check_status(model_string_parse(&model, "JC", NULL, NULL));
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int n = cases[c].n_taxa, trees = exact_trees(n);
        small_alignment data;
        likelihood *l;
        double posterior[15];
        small_alignment_init(&data, n, cases[c].row);
        check_status(likelihood_create(&l, &data.a, NULL, &model, 1, NULL));
        double evidence = exp(exact_posterior(posterior, &data.a, 10));
        for (int i = 0; i < trees; i++) {
            int32_t decision[EXACT_TAXA];
            exact_tree(decision, i, n);
            /* log-likelihoods near 30 carry an error of 1e-15 relative, their exponentials
             * 30 times that */
            check_close(tree_by_nodes(l, &data, &model, decision, 10),
                        posterior[i] * evidence * trees, 1e-12);
        }
        likelihood_free(l);
    }
}

/* AACC and GGTT want 1 change on ab|cd and 2 elsewhere, AAAC 1 everywhere. */
static void parsimony_by_hand(void **state)
{
    (void)state;
    small_alignment data;
    double p[3];
    small_alignment_init(&data, 4, FOUR);
    double z = exp(-3) + 2 * exp(-5);
    check_near(exact_parsimony(p, &data.a, GAP_FIFTH), log(z), 1e-14);
    check_near(p[1], exp(-3) / z, 1e-15);
    check_near(p[0], exp(-5) / z, 1e-15);
    check_near(p[2], exp(-5) / z, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_topologies),   cmocka_unit_test(quadrature_has_its_moments),
        cmocka_unit_test(four_taxa_as_fractions),   cmocka_unit_test(one_more_site_sums_out),
        cmocka_unit_test(names_do_not_matter),      cmocka_unit_test(unknown_sites_add_nothing),
        cmocka_unit_test(likelihoods_add_up_to_it), cmocka_unit_test(parsimony_by_hand),
    };
    return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
