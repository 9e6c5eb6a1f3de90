#include "support/check.h"

#include "branch/length_guess.h"
#include "tree/rearrange.h"

#include <math.h>
#include <string.h>

enum { N = 9, E = 2 * N - 3 };

/* The same tree gets its own lengths; after an interchange only one branch has none of its own. */
static void common_splits_keep_their_lengths(void **state)
{
    (void)state;
    length_guess *g;
    topology t;
    int32_t decision[N - 3], other[N - 3], edge[2 * N - 2], scratch[6 * N];
    double length[E], back[E], mean = 0;
    for (int i = 0; i < N - 3; i++)
        decision[i] = (5 * i + 1) % (2 * i + 3);
    for (int e = 0; e < E; e++)
        length[e] = 0.01 * (e + 1);
    check_status(length_guess_create(&g, N));
    length_guess_set(g, decision, length);
    length_guess_fill(back, g, decision);
    assert_memory_equal(back, length, sizeof length);
    for (int e = 0; e < E; e++)
        mean += edge_node(e, N) < N ? 0 : cbrt(length[e]) / (N - 2);
    check_status(topology_init(&t, N));
    for (int32_t v = N; v < topology_nodes(N); v++) {
        topology_build(&t, decision);
        if (!topology_has_nni(&t, v))
            continue;
        topology_nni(&t, v, 0);
        topology_decisions(other, edge, &t, scratch);
        length_guess_fill(back, g, other);
        for (int32_t u = 1; u < topology_nodes(N); u++)
            check_near(back[edge[u]], u == v ? pow(mean, 3) : length[node_edge(u, N)], 1e-12);
    }
    topology_free(&t);
    length_guess_free(g);
}

static void a_reference_is_replaced(void **state)
{
    (void)state;
    length_guess *g;
    const int32_t one[1] = {0}, two[1] = {1};
    const double short_ones[5] = {0.1, 0.1, 0.1, 0.1, 0.1}, long_ones[5] = {1, 1, 1, 1, 1};
    double length[5];
    check_status(length_guess_create(&g, 4));
    length_guess_set(g, one, short_ones);
    length_guess_set(g, two, long_ones);
    length_guess_fill(length, g, one);
    for (int e = 0; e < 5; e++)
        check_near(length[e], 1, 1e-12);
    assert_true(length_guess_memory(4) > 0);
    length_guess_free(g);
    length_guess_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_splits_keep_their_lengths),
        cmocka_unit_test(a_reference_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
