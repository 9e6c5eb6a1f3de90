#include "support/check.h"

#include "artreeformer.h"
#include "io/tensor_parts.h"

#include <string.h>

/* What was saved comes back; a tensor that is not as listed is named, and nothing is copied. */
static void both_ways(void **state)
{
    (void)state;
    int64_t counts[2] = {3, 4}, counts_back[2] = {0};
    double levels[6] = {1, 2, 3, 4, 5, 6}, levels_back[6] = {0};
    const tensor_part saved[] = {
        {"counts", TENSOR_I64, 1, 2, counts},
        {"levels", TENSOR_F64, 3, 2, levels},
        {"nothing", TENSOR_F32, 0, 5, NULL},
    };
    safetensors s = {0};
    check_status(tensor_parts_save(&s, saved, 3));
    assert_int_equal(tensor_rows(&s, "levels"), 3);
    assert_int_equal(tensor_rows(&s, "nothing"), 0);
    assert_int_equal(tensor_rows(&s, "other"), 0);
    const tensor_part wrong[] = {
        {"other", TENSOR_F64, 3, 2, levels_back},  {"levels", TENSOR_F32, 3, 2, levels_back},
        {"levels", TENSOR_F64, 2, 2, levels_back}, {"levels", TENSOR_F64, 3, 1, levels_back},
        {"levels", TENSOR_F64, 2, 3, levels_back},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const tensor_part list[] = {{"counts", TENSOR_I64, 1, 2, counts_back}, wrong[i]};
        diag d;
        diag_init(&d);
        assert_int_equal(tensor_parts_load(list, 2, &s, "file", &d), ART_ERR_MISMATCH);
        assert_int_equal(d.count, 1);
        assert_non_null(strstr(d.message[0].text, wrong[i].name));
        assert_int_equal(counts_back[0], 0);
        diag_free(&d);
    }
    const tensor_part list[] = {
        {"counts", TENSOR_I64, 1, 2, counts_back},
        {"levels", TENSOR_F64, 3, 2, levels_back},
        {"nothing", TENSOR_F32, 0, 5, NULL},
    };
    check_status(tensor_parts_load(list, 3, &s, "file", NULL));
    check_status(safetensors_unused(&s, "file", NULL));
    assert_memory_equal(counts, counts_back, sizeof counts);
    assert_memory_equal(levels, levels_back, sizeof levels);
    safetensors_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
