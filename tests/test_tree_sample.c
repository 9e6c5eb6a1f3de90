#include "support/check.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/consensus.h"
#include "tree/topology.h"
#include "tree/tree_sample.h"

#include <math.h>
#include <stdlib.h>

/* Rows of many taxa, more than there is room for: what is kept is evenly spaced, from the first. */
static void long_samples_are_thinned(void **state)
{
    (void)state;
    enum { TAXA = 20000, ROWS = 1000 };
    tree_sample s;
    int32_t *decision = mem_zeros(TAXA - 3, sizeof *decision);
    double *length = mem_zeros((size_t)topology_edges(TAXA), sizeof *length);
    assert_true(decision && length);
    tree_sample_init(&s, TAXA);
    for (int i = 0; i < ROWS; i++) {
        decision[TAXA - 4] = i;
        length[topology_edges(TAXA) - 1] = i;
        check_status(tree_sample_add(&s, decision, length, i));
    }
    const tree_rows rows = tree_sample_rows(&s);
    assert_true(s.step > 1);
    assert_int_equal(rows.count, (ROWS + s.step - 1) / s.step);
    for (size_t i = 0; i < rows.count; i++) {
        const int expected = (int)(i * s.step);
        check_near(rows.weight[i], expected, 0);
        assert_int_equal(rows.decision[i * (TAXA - 3) + TAXA - 4], expected);
        check_near(rows.length[(i + 1) * (size_t)topology_edges(TAXA) - 1], expected, 0);
    }
    tree_sample_free(&s);
    free(decision);
    free(length);
}

/* Medians and intervals of the branches of a consensus: of the trees that have them, by weight. */
static void ranges_of_branches(void **state)
{
    (void)state;
    /* Taxa 0 to 3; decision 2 attaches taxon 3 to the branch of taxon 0, 0 to that of taxon 1. */
    static const int32_t decision[] = {2, 2, 2, 0};
    static const double length[4][5] = {
        {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}, {9, 9, 9, 9, 9}};
    static const double weight[] = {1, 1, 3, 1};
    const tree_rows rows = {4, decision, length[0], weight};
    split_table splits;
    consensus c;
    check_status(split_table_init(&splits, 4));
    for (int i = 0; i < 4; i++)
        check_status(split_table_add(&splits, &decision[i], length[i], weight[i]));
    check_status(consensus_build(&c, &splits, CONSENSUS_MAJORITY));
    check_status(consensus_add_ranges(&c, &rows));
    int inner = 0;
    for (int32_t i = 1; i < c.count; i++) {
        const interval *r = &c.node[i].range;
        check_near(r->median, 3, 0);
        check_near(r->low, 1, 0);
        check_near(r->high, c.node[i].taxon < 0 ? 3 : 9, 0); /* the last tree has another split */
        check_near(r->mean, c.node[i].length, 1e-15);        /* 12 / 5 and 21 / 6, rounded twice */
        inner += c.node[i].taxon < 0;
    }
    assert_int_equal(inner, 1);
    consensus_free(&c);
    split_table_free(&splits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_samples_are_thinned),
        cmocka_unit_test(ranges_of_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
