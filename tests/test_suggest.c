#include "support/check.h"

#include "base/suggest.h"

static void distances(void **state)
{
    (void)state;
    assert_int_equal(suggest_distance("", ""), 0);
    assert_int_equal(suggest_distance("", "abc"), 3);
    assert_int_equal(suggest_distance("seed", "sed"), 1);
    assert_int_equal(suggest_distance("seed", "seeds"), 1);
    assert_int_equal(suggest_distance("--thread", "--threads"), 1);
    assert_int_equal(suggest_distance("infre", "infer"), 1); /* neighbours swapped */
    assert_int_equal(suggest_distance("kitten", "sitting"), 3);
    assert_int_equal(suggest_distance("AUTO", "auto"), 0);
}

static void nearest_or_none(void **state)
{
    (void)state;
    static const char *const word[] = {"check", "compare", "infer"};
    static const struct {
        const char *written, *expected;
    } c[] = {{"chek", "check"},  {"comapre", "compare"}, {"xyzzy", ""}, {"i", ""},
             {"INFER", "infer"}, {"--infer", "infer"},   {"ab", ""}};
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        suggestion s = {0};
        for (int k = 0; k < 3; k++)
            suggest(&s, c[i].written, word[k]);
        assert_string_equal(s.word, c[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances),
                                       cmocka_unit_test(nearest_or_none)};
    return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
