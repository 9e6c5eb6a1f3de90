/* The places for a part of a tree, against distances in the tree without it. */
#include "support/check.h"

#include "base/rng.h"
#include "chain/subtree_places.h"
#include "tree/rearrange.h"

#include <stdlib.h>
#include <string.h>

enum { N = 14, NODES = 2 * N - 2, FAR = 1000 };

/* The tree without the part below v and without its hinge: where the branch above a node leads. */
static void prune(int32_t *above, const topology *t, int32_t v)
{
    const int32_t hinge = t->parent[v], beside = topology_sibling(t, v);
    memcpy(above, t->parent, NODES * sizeof *above);
    above[beside] = t->parent[hinge];
    above[hinge] = -2;
    for (int32_t u = 1; u < NODES; u++) {
        int32_t w = u;
        while (w > 0 && w != v)
            w = t->parent[w];
        if (w == v)
            above[u] = -2; /* gone */
    }
}

/* Nodes between nodes a and b, both included, going up from both. */
static int path_nodes(const int32_t *above, int32_t a, int32_t b)
{
    int best = FAR, up = 0;
    for (int32_t x = a; x >= 0; x = above[x], up++) {
        int down = 0;
        for (int32_t y = b; y >= 0; y = above[y], down++)
            if (x == y && up + down + 1 < best)
                best = up + down + 1;
    }
    return best;
}

/* Nodes between the branches above a and b. */
static int branch_distance(const int32_t *above, int32_t a, int32_t b)
{
    if (a == b)
        return 0;
    const int32_t end[2][2] = {{a, above[a]}, {b, above[b]}};
    int least = FAR;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const int nodes = path_nodes(above, end[0][i], end[1][j]);
            least = nodes < least ? nodes : least;
        }
    return least;
}

static void check_part(const topology *t, int32_t v, int radius)
{
    subtree_places x;
    int32_t above[NODES];
    int within = 0, near_0 = 0;
    prune(above, t, v);
    check_status(subtree_places_init(&x, radius));
    subtree_places_list(&x, t, v, 2 * radius);
    assert_int_equal(x.item[0].node, topology_sibling(t, v));
    for (int32_t u = 1; u < NODES; u++)
        if (above[u] != -2) {
            const int far = branch_distance(above, x.item[0].node, u);
            within += far <= 2 * radius;
            near_0 += far <= radius;
        }
    assert_int_equal(x.count, within);
    assert_int_equal(subtree_places_within(&x, radius), near_0);
    for (int i = 0; i < x.count; i++)
        assert_int_equal(x.item[i].depth, branch_distance(above, x.item[0].node, x.item[i].node));
    for (int centre = 0; centre < near_0; centre++) {
        subtree_places_list(&x, t, v, 2 * radius);
        subtree_places_mark(&x, centre, radius);
        for (int i = 0; i < x.count; i++) {
            const int far = branch_distance(above, x.item[centre].node, x.item[i].node);
            assert_int_equal(x.item[i].is_near, far <= radius);
            assert_true(!x.item[i].is_needed || x.item[x.item[i].before].is_needed);
        }
    }
    subtree_places_free(&x);
}

static void distances_are_those_of_the_tree(void **state)
{
    (void)state;
    topology t;
    check_status(topology_init(&t, N));
    for (uint32_t k = 0; k < 40; k++) {
        int32_t decision[N - 3];
        rng r = rng_at(1, RNG_TEST, k, 0);
        for (int n = 3; n < N; n++)
            decision[n - 3] = (int32_t)rng_below(&r, (uint32_t)(2 * n - 3));
        topology_build(&t, decision);
        for (int32_t v = 1; v < NODES; v++)
            for (int radius = 1; radius <= 3 && t.parent[v] != 0; radius++)
                check_part(&t, v, radius);
    }
    topology_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances_are_those_of_the_tree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
