#include "support/check.h"

#include "artreeformer.h"
#include "base/key_table.h"
#include "base/rng.h"

#include <string.h>

/* Numbers of random keys against a search through all of them, for odd sizes too. */
static void keys_are_numbered_as_they_come(void **state)
{
    (void)state;
    enum { MOST = 12 };
    for (size_t size = 0; size <= MOST; size++) {
        static unsigned char seen[600][MOST];
        size_t count = 0;
        key_table t;
        key_table_init(&t, size);
        assert_int_equal(key_table_find(&t, seen[0]), KEY_NONE);
        rng r = rng_at(1, RNG_TEST, (uint32_t)size, 0);
        for (int i = 0; i < 600; i++) {
            unsigned char key[MOST] = {0};
            size_t number, expected = 0;
            for (size_t j = 0; j < size; j++)
                key[j] = (unsigned char)rng_below(&r, 3);
            while (expected < count && memcmp(seen[expected], key, size) != 0)
                expected++;
            assert_int_equal(key_table_find(&t, key),
                             expected < count ? (int64_t)expected : KEY_NONE);
            check_status(key_table_add(&t, key, &number));
            assert_int_equal(number, expected);
            if (expected == count)
                memcpy(seen[count++], key, size);
        }
        assert_int_equal(t.count, count);
        size_t order[600]; /* turned around */
        for (size_t i = 0; i < count; i++)
            order[i] = count - 1 - i;
        check_status(key_table_reorder(&t, order));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(key_table_find(&t, seen[i]), count - 1 - i);
            assert_memory_equal(key_table_at(&t, count - 1 - i), seen[i], size);
        }
        key_table_clear(&t);
        assert_int_equal(t.count, 0);
        assert_int_equal(key_table_find(&t, seen[0]), KEY_NONE);
        for (size_t i = 0; i < count; i++) /* the room is still there */
            assert_int_equal(key_table_put(&t, seen[i]), i);
        assert_int_equal(key_table_find(&t, seen[count - 1]), count - 1);
        key_table_free(&t);
        key_table_free(&t);
    }
}

static void too_many(void **state)
{
    (void)state;
    key_table t;
    key_table_init(&t, 8);
    assert_int_equal(key_table_reserve(&t, (size_t)-1), ART_ERR_LIMIT);
    check_status(key_table_reserve(&t, 1000));
    assert_true(t.room >= 1000);
    key_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_numbered_as_they_come),
        cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
