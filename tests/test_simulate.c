#include "support/check.h"

#include "artreeformer.h"
#include "base/pool.h"
#include "subst/model_string.h"
#include "subst/simulate.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAXA = 4, EDGES = 5, NODES = 6, PATTERNS = 256 };

/* Probability of every pattern of the bases of 4 taxa, by summing over the two inner nodes. */
static void exact_patterns(double *p, const int32_t *decision, const double *length,
                           const subst_model *m)
{
    topology t;
    check_status(topology_init(&t, TAXA));
    topology_build(&t, decision);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        p[pattern] = 0;
        for (int k = -1; k < m->n_categories; k++) {
            double rate = k < 0 ? 0 : m->category_rate[k], sum = 0;
            for (int inner = 0; inner < 16; inner++) {
                int base[NODES] = {pattern & 3,      pattern >> 2 & 3, pattern >> 4 & 3,
                                   pattern >> 6 & 3, inner & 3,        inner >> 2};
                double product = m->frequency[base[0]];
                for (int32_t node = 1; node < NODES; node++) {
                    double step[4][4];
                    subst_model_transition(step, m, rate * length[node_edge(node, TAXA)]);
                    product *= step[base[t.parent[node]]][base[node]];
                }
                sum += product;
            }
            p[pattern] += (k < 0 ? m->p_invariant : m->category_weight) * sum;
        }
    }
    topology_free(&t);
}

static void frequencies_are_the_model_s(void **state)
{
    (void)state;
    static const char *const models[] = {"JC",
                                         "GTR{1,2,3,0.5,4,1}+F{0.3,0.15,0.2,0.35}+I{0.2}+G4{0.5}"};
    static const double length[EDGES] = {0.1, 0.3, 0.05, 0.7, 0.2};
    static const int32_t decision[1] = {2};
    enum { SITES = 200000 };
    uint8_t *state_of = malloc((size_t)TAXA * SITES);
    for (int i = 0; i < 2; i++) {
        subst_model m;
        double p[PATTERNS], sum = 0, chi = 0;
        int count[PATTERNS] = {0};
        check_status(model_string_parse(&m, models[i], NULL, NULL));
        exact_patterns(p, decision, length, &m);
        check_status(simulate_sites(state_of, decision, length, TAXA, &m, SITES, 7, NULL));
        for (int s = 0; s < SITES; s++) {
            int pattern = 0;
            for (int t = 0; t < TAXA; t++)
                pattern |= (int)lround(log2(state_of[t * SITES + s])) << 2 * t;
            count[pattern]++;
        }
        for (int k = 0; k < PATTERNS; k++) {
            double expected = SITES * p[k];
            sum += p[k];
            chi += (count[k] - expected) * (count[k] - expected) / expected;
        }
        check_near(sum, 1, 1e-12); /* rounding of 256 terms: the oracle itself is sound */
        /* chi-square with 255 degrees of freedom: mean 255, sd 22.6; 5 sd */
        check_near(chi, 255, 5 * sqrt(2 * 255));
    }
    free(state_of);
}

static void topologies_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 15000 };
    int count[3][5] = {0};
    double chi = 0;
    for (int i = 0; i < DRAWS; i++) {
        int32_t decision[2];
        simulate_topology(decision, 5, (uint64_t)i);
        count[decision[0]][decision[1]]++;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 5; b++)
            chi += pow(count[a][b] - DRAWS / 15.0, 2) / (DRAWS / 15.0);
    check_near(chi, 14, 5 * sqrt(2 * 14)); /* 14 degrees of freedom, 5 sd */
}

static void lengths_are_exponential(void **state)
{
    (void)state;
    enum { N = 50000 };
    double *length = malloc(sizeof *length * (2 * N - 3)), sum = 0, above = 0;
    simulate_lengths(length, N, 0.1, 3);
    for (int i = 0; i < 2 * N - 3; i++) {
        sum += length[i];
        above += length[i] > 0.1;
    }
    int n = 2 * N - 3;
    check_near(sum / n, 0.1, 5 * 0.1 / sqrt(n));          /* 5 standard errors */
    check_near(above / n, exp(-1), 5 * sqrt(0.2325 / n)); /* a binomial share, 5 se */
    free(length);
}

static void threads_and_more_sites_change_nothing(void **state)
{
    (void)state;
    enum { N = 9, SITES = 1000 };
    int32_t decision[N - 3];
    double length[2 * N - 3];
    subst_model m;
    check_status(model_string_parse(&m, "HKY{2}+F{0.1,0.2,0.3,0.4}+G4{1}", NULL, NULL));
    simulate_topology(decision, N, 5);
    simulate_lengths(length, N, 0.2, 5);
    uint8_t *one = malloc(N * SITES), *more = malloc(N * 2 * SITES);
    pool *threads;
    check_status(pool_create(&threads, 4));
    check_status(simulate_sites(one, decision, length, N, &m, SITES, 5, NULL));
    check_status(simulate_sites(more, decision, length, N, &m, (size_t)2 * SITES, 5, threads));
    for (int i = 0; i < N; i++)
        assert_memory_equal(one + i * SITES, more + i * 2 * SITES, SITES);
    check_status(simulate_sites(more, decision, length, N, &m, SITES, 6, threads));
    assert_true(memcmp(one, more, N * SITES) != 0);
    pool_free(threads);
    free(one);
    free(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_are_the_model_s),
        cmocka_unit_test(topologies_are_uniform),
        cmocka_unit_test(lengths_are_exponential),
        cmocka_unit_test(threads_and_more_sites_change_nothing),
    };
    return cmocka_run_group_tests_name("simulate", tests, NULL, NULL);
}
