#include "support/check.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "tree/taxa.h"

#include <stdio.h>
#include <string.h>

static void fill(taxa *t, const char *const *name, size_t count)
{
    taxa_init(t);
    for (size_t i = 0; i < count; i++)
        check_status(taxa_add(t, name[i], strlen(name[i])));
}

static void names_in_order(void **state)
{
    (void)state;
    /* bytewise: upper case before '_' before lower case before non-ASCII */
    static const char *const given[] = {"b", "\xc3\xa9t\xc3\xa9", "a b", "a_c", "B", "10", "9", "a",
                                        ""};
    static const char *const sorted[] = {
        "", "10", "9", "B", "a", "a b", "a_c", "b", "\xc3\xa9t\xc3\xa9"};
    taxa t;
    fill(&t, given, 9);
    assert_int_equal(taxa_add(&t, "a_c!", 3), ART_ERR_INPUT);
    assert_int_equal(taxa_add(&t, "a\0b", 3), ART_ERR_INPUT);
    assert_int_equal(t.count, 9);
    int32_t moved[9];
    check_status(taxa_sort(&t, moved));
    for (int32_t i = 0; i < 9; i++) {
        assert_string_equal(t.name[i], sorted[i]);
        assert_string_equal(t.name[moved[i]], given[i]);
        assert_int_equal(taxa_find(&t, sorted[i], strlen(sorted[i])), i);
    }
    assert_int_equal(taxa_find(&t, "A", 1), -1);
    assert_int_equal(taxa_find(&t, "a_", 2), -1);
    taxa_free(&t);
    taxa_free(&t);
    assert_int_equal(taxa_find(&t, "a", 1), -1);
}

static void many_names(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    taxa t, copy;
    taxa_init(&t);
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "t%d", i);
        check_status(taxa_add(&t, name, strlen(name)));
    }
    check_status(taxa_copy(&copy, &t));
    assert_true(taxa_equal(&copy, &t));
    check_status(taxa_sort(&copy, NULL));
    assert_false(taxa_equal(&copy, &t));
    static int32_t index[MANY];
    assert_int_equal(taxa_map(index, &t, &copy), MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(taxa_find(&t, name, strlen(name)), i);
        assert_string_equal(copy.name[index[i]], name);
        assert_true(i == 0 || strcmp(copy.name[i - 1], copy.name[i]) < 0);
    }
    taxa_free(&t);
    taxa_free(&copy);
}

static void every_difference_is_named(void **state)
{
    (void)state;
    static const char *const left[] = {"a", "b", "c", "left"};
    static const char *const right[] = {"c", "b", "a", "r\n1", "r2"};
    taxa a, b;
    fill(&a, left, 4);
    fill(&b, right, 5);
    diag d;
    diag_init(&d);
    diag_place place = {"f.nwk", 3, 0};
    assert_int_equal(taxa_compare(&a, "the tree", &b, "the alignment", place, &d),
                     ART_ERR_MISMATCH);
    assert_int_equal(d.errors, 3);
    assert_non_null(strstr(d.message[0].text, "f.nwk:3: error: taxon 'left' of the tree"));
    assert_non_null(strstr(d.message[1].text, "'r\\x0A1' of the alignment is not in the tree"));
    assert_non_null(strstr(d.message[2].text, "'r2'"));
    diag_clear(&d);
    check_status(taxa_compare(&a, "x", &a, "y", place, &d));
    assert_int_equal(d.count, 0);
    diag_free(&d);
    taxa_free(&a);
    taxa_free(&b);
}

/* Underscore and blank are the same, in any mixture; case, length and all other bytes count. */
static void underscore_is_blank(void **state)
{
    (void)state;
    static const char *const apart[] = {"a b", "a__b", "ab", "A_b", "a.b", "a\tb"};
    static const char *const alike[] = {"x y z", "x_y_z", "x y_z", "x_y z"};
    static const char *const first[] = {"r", "x_y z", "q"}, *const second[] = {"r", "x y_z", "q"};
    taxa t, u;
    fill(&t, apart, 6);
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(taxa_find(&t, apart[i], strlen(apart[i])), i);
    taxa_free(&t);
    fill(&t, first, 3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(taxa_find(&t, alike[i], 5), 1);
        assert_int_equal(taxa_add(&t, alike[i], 5), ART_ERR_INPUT);
    }
    assert_string_equal(t.name[1], "x_y z");
    fill(&u, second, 3);
    assert_true(taxa_equal(&t, &u));
    check_status(taxa_compare(&t, "x", &u, "y", (diag_place){0}, NULL));
    taxa_free(&t);
    taxa_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_order),
        cmocka_unit_test(many_names),
        cmocka_unit_test(every_difference_is_named),
        cmocka_unit_test(underscore_is_blank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
