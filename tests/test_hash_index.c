#include "support/check.h"

#include "artreeformer.h"
#include "base/hash_index.h"
#include "base/rng.h"

/* Items are numbers; the key is a number. */
static bool is_number(const void *items, uint32_t item, const void *key)
{
    return ((const int *)items)[item] == *(const int *)key;
}

/* Against a search through all items; with hashes of one bit, and with hashes that differ in the
 * upper half alone, too. */
static void finds_the_first_of_equals(void **state)
{
    (void)state;
    enum { ITEMS = 3000 };
    static int item[ITEMS];
    for (int kind = 0; kind < 3; kind++) {
        hash_index x = {0};
        rng r = rng_at(1, RNG_TEST, (uint32_t)kind, 0);
        const int none = 7;
        assert_int_equal(hash_index_find(&x, 0, is_number, item, &none), HASH_NONE);
        for (int round = 0; round < 2; round++) { /* the second time after hash_index_clear */
            const int n = kind == 1 ? 300 : ITEMS;
            size_t count = 0;
            for (uint32_t i = 0; i < (uint32_t)n; i++) {
                uint32_t found, expected = 0;
                item[i] = (int)rng_below(&r, 1000);
                const uint64_t hash = kind == 0   ? (uint64_t)item[i] * 0x9e3779b97f4a7c15u
                                      : kind == 1 ? (uint64_t)item[i] & 1
                                                  : (uint64_t)item[i] << 32;
                while (item[expected] != item[i])
                    expected++;
                assert_int_equal(hash_index_find(&x, hash, is_number, item, &item[i]),
                                 expected < i ? (int64_t)expected : HASH_NONE);
                check_status(hash_index_intern(&x, &found, i, hash, is_number, item, &item[i]));
                assert_int_equal(found, expected);
                count += found == i;
                assert_int_equal(x.count, count);
            }
            hash_index_clear(&x);
            assert_int_equal(x.count, 0);
            assert_int_equal(hash_index_find(&x, 0, is_number, item, &item[0]), HASH_NONE);
        }
        hash_index_free(&x);
        hash_index_free(&x);
    }
}

/* What was reserved is not moved by inserting, and one slot in four is free at least. */
static void room_is_reserved(void **state)
{
    (void)state;
    for (size_t n = 1; n < 5000; n = 2 * n + 1) {
        static int item[5000];
        hash_index x = {0};
        check_status(hash_index_reserve(&x, n));
        const hash_slot *before = x.slot;
        assert_true(4 * n <= 3 * x.slots);
        for (uint32_t i = 0; i < n; i++) {
            item[i] = (int)i;
            hash_index_insert(&x, i, i);
        }
        check_status(hash_index_reserve(&x, n));
        assert_ptr_equal(before, x.slot);
        check_status(hash_index_reserve(&x, 10 * n));
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(hash_index_find(&x, i, is_number, item, &item[i]), i);
        assert_int_equal(hash_index_reserve(&x, SIZE_MAX), ART_ERR_LIMIT);
        assert_int_equal(hash_index_find(&x, n - 1, is_number, item, &item[n - 1]), n - 1);
        hash_index_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_first_of_equals),
        cmocka_unit_test(room_is_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
