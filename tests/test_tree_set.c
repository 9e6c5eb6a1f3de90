#include "support/check.h"
#include "support/files.h"
#include "support/state.h"

#include "artreeformer.h"
#include "tree/tree_set.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The ten long runs of a data set, as one distribution. */
static int read_truth(tree_set *s, int k)
{
    char path[10][4200];
    const char *paths[10];
    for (int i = 0; i < 10; i++) {
        char relative[64];
        snprintf(relative, sizeof relative, "data/trees/DS%d/truth/rep_%d.trprobs", k, i + 1);
        snprintf(path[i], sizeof path[i], "%s", shared_path(relative));
        paths[i] = path[i];
    }
    return tree_set_read(s, NULL, paths, 10, NULL, NULL);
}

static void counts_of_the_true_posteriors(void **state)
{
    (void)state;
    static const size_t expected[] = {0, 2784, 42, 351, 11505};
    for (int k = 1; k <= 4; k++) {
        tree_set s;
        check_status(read_truth(&s, k));
        assert_int_equal(s.count, expected[k]);
        double sum = 0;
        for (size_t i = 0; i < s.count; i++) {
            sum += s.weight[i];
            assert_true(i == 0 || s.weight[i - 1] >= s.weight[i]);
            assert_int_equal(tree_set_find(&s, tree_set_decision(&s, i)), i);
        }
        check_near(sum, 1, 1e-12); /* rounding of up to 11505 terms */
        assert_int_equal(tree_set_credible(&s, 1), s.count);
        tree_set_free(&s);
    }
}

/* DS4 is 11 MB. The limit is the promise; it is many times what it takes, so that a busy
 * machine or a sanitizer does not break it. */
static void loading_is_fast(void **state)
{
    (void)state;
    struct timespec from, to;
    tree_set s;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    check_status(read_truth(&s, 4));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    print_message("ten files of DS4 in %.3f s\n", seconds);
#ifndef ART_SANITIZED
    assert_true(seconds < 1);
#endif
    tree_set_free(&s);
}

/* Files count the same whatever the number of their trees; taxa are matched by name. */
static void files_are_averaged(void **state)
{
    (void)state;
    scratch_make();
    const char *paths[3];
    paths[0] =
        scratch_write("a.nwk", "(a:1,b:1,(c:1,d:1):4);(a:1,b:2,(c:1,d:1):2);(a:1,c:1,(b:1,d:1):1);"
                               "(d:1,c:1,(b:3,a:1):3);");
    paths[1] = scratch_write("b.nex", "#NEXUS begin trees; translate 1 d, 2 c, 3 b, 4 a;"
                                      "tree x = [&W 0.125] (1:1,4:1,(2:1,3:1):7);"
                                      "tree y = [&W 0.875] (1:1,3:1,(2:1,4:1):5); end;");
    paths[2] = scratch_write("c.nwk", "(a,b,(c,e));");
    tree_set s, t;
    split_table splits;
    tree_options o = {.use = TREE_LENGTHS};
    check_status(tree_set_read(&s, &splits, paths, 2, &o, NULL));
    /* ab|cd 3/8, ac|bd 1/8 + 7/16, ad|bc 1/16 */
    assert_int_equal(s.count, 3);
    assert_int_equal(s.n_trees, 6);
    check_near(s.weight[0], 0.5625, 1e-15);
    check_near(s.weight[1], 0.375, 1e-15);
    check_near(s.weight[2], 0.0625, 1e-15);
    assert_int_equal(tree_set_credible(&s, 0.5), 1);
    assert_int_equal(tree_set_credible(&s, 0.5625), 1);
    assert_int_equal(tree_set_credible(&s, 0.9), 2);
    assert_int_equal(tree_set_credible(&s, 0.95), 3);
    uint64_t cd = 12; /* taxa 2 and 3 */
    int64_t at = split_table_find(&splits, &cd);
    assert_true(at >= 0);
    check_near(split_frequency(&splits, (size_t)at), 0.375, 1e-15);
    check_near(splits.mean[at], 3, 1e-14); /* of 4, 2 and 3 */
    split_table_free(&splits);

    check_status(tree_set_read(&t, NULL, paths + 1, 1, NULL, NULL));
    check_near(tree_set_distance(&s, &t), (0.375 + 0.3125 + 0.0625) / 2, 1e-15);
    check_near(tree_set_distance(&t, &s), (0.375 + 0.3125 + 0.0625) / 2, 1e-15);
    check_near(tree_set_distance(&t, &t), 0, 0);
    int32_t absent = tree_set_decision(&s, 1)[0];
    assert_int_equal(tree_set_find(&t, &absent), KEY_NONE);
    tree_set_free(&s);
    tree_set_free(&t);

    diag d;
    diag_init(&d);
    assert_int_equal(tree_set_read(&s, &splits, paths, 3, &o, &d), ART_ERR_MISMATCH);
    assert_int_equal(d.errors, 2); /* e is unknown, d is missing */
    assert_non_null(strstr(d.message[0].text, paths[0]));
    tree_set_free(&s);
    split_table_free(&splits);
    assert_int_equal(tree_set_read(&s, NULL, paths, 0, NULL, NULL), ART_ERR_USAGE);
    diag_free(&d);
    scratch_remove();
}

/* The only tree of three taxa: a key of no numbers. */
static void three_taxa(void **state)
{
    (void)state;
    taxa names;
    taxa_init(&names);
    for (const char *name = "abc"; *name; name++)
        check_status(taxa_add(&names, name, 1));
    tree_set s;
    int32_t nothing[1];
    check_status(tree_set_init(&s, &names));
    assert_int_equal(tree_set_find(&s, nothing), KEY_NONE);
    assert_int_equal(tree_set_normalise(&s), ART_ERR_USAGE);
    check_status(tree_set_add(&s, nothing, 2));
    check_status(tree_set_add(&s, nothing, 3));
    check_status(tree_set_normalise(&s));
    assert_int_equal(s.count, 1);
    check_near(s.weight[0], 1, 0);
    assert_int_equal(tree_set_find(&s, nothing), 0);
    tree_set_free(&s);
    tree_set_free(&s);
    taxa_free(&names);
}

/* Into a set that had something else, in the same order and with the same sums. */
static void through_a_checkpoint(void **state)
{
    (void)state;
    static const int32_t TREE[4][2] = {{0, 1}, {2, 4}, {1, 1}, {0, 0}};
    taxa names;
    taxa_init(&names);
    for (const char *name = "abcde"; *name; name++)
        check_status(taxa_add(&names, name, 1));
    tree_set set, back;
    check_status(tree_set_init(&set, &names));
    check_status(tree_set_init(&back, &names));
    check_status(tree_set_add(&back, TREE[2], 5));
    for (int round = 0; round < 2; round++) { /* empty, then not */
        saved_state s = {0};
        check_status(tree_set_fields(&set, &s));
        state_turn(&s, NULL);
        check_status(tree_set_fields(&back, &s));
        check_status(saved_state_end(&s));
        assert_int_equal(back.count, set.count);
        assert_int_equal(back.n_trees, set.n_trees);
        check_near(back.total, set.total, 0);
        for (size_t i = 0; i < set.count; i++) {
            assert_int_equal(tree_set_find(&back, tree_set_decision(&set, i)), i);
            check_near(back.weight[i], set.weight[i], 0);
        }
        saved_state_free(&s);
        for (int i = 0; i < 8; i++)
            check_status(tree_set_add(&set, TREE[i % 4], 0.1 * i));
    }
    int32_t none[2] = {0, 5}; /* five taxa have edges 0 .. 4 at the end */
    saved_state s = {0};
    check_status(tree_set_add(&set, none, 1));
    check_status(tree_set_fields(&set, &s));
    state_turn(&s, NULL);
    assert_int_equal(tree_set_fields(&back, &s), ART_ERR_MISMATCH);
    assert_int_equal(back.count, 0);
    assert_int_equal(tree_set_find(&back, TREE[0]), KEY_NONE);
    saved_state_free(&s);
    tree_set_free(&set);
    tree_set_free(&back);
    taxa_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_the_true_posteriors),
        cmocka_unit_test(loading_is_fast),
        cmocka_unit_test(files_are_averaged),
        cmocka_unit_test(three_taxa),
        cmocka_unit_test(through_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
