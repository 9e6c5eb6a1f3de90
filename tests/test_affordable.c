#include "support/check.h"

#include "collapsed/affordable.h"

static void fewer_trees_of_more_taxa(void **state)
{
    (void)state;
    const affordable_settings set = {.taxa = 40, .least = 16};
    static const struct {
        size_t most;
        int n_taxa, power;
        size_t trees;
    } table[] = {
        {300, 3, 2, 300},    {300, 40, 2, 300}, {300, 80, 2, 75},
        {300, 80, 1, 150},   {300, 100, 2, 48}, {300, 64, 2, 117},
        {1024, 1281, 2, 16}, {64, 100, 1, 25},  {64, 100000, 1, 16},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(affordable_trees(&set, table[i].most, table[i].n_taxa, table[i].power),
                         table[i].trees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fewer_trees_of_more_taxa)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
