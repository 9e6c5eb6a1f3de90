#include "support/check.h"

#include "artreeformer.h"
#include "nn/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void build(params *p)
{
    check_status(params_add(p, "a.weight", 3, 5));
    check_status(params_add(p, "a.bias", 3, 0));
    check_status(params_add(p, "b.weight", 1, 33));
    assert_int_equal(params_add(p, "a.bias", 3, 0), ART_ERR_USAGE);
    assert_int_equal(params_add(p, "zero", 0, 3), ART_ERR_USAGE);
    assert_int_equal(params_add(p, "huge", SIZE_MAX / 2, 3), ART_ERR_USAGE);
    char name[PARAM_NAME + 1];
    memset(name, 'x', PARAM_NAME);
    name[PARAM_NAME] = '\0';
    assert_int_equal(params_add(p, name, 1, 0), ART_ERR_USAGE);
    check_status(params_alloc(p));
    assert_int_equal(params_add(p, "late", 1, 0), ART_ERR_USAGE);
}

static void entries_are_aligned_and_apart(void **state)
{
    (void)state;
    params p = {0};
    build(&p);
    assert_int_equal(params_numbers(&p), 15 + 3 + 33);
    for (int i = 0; i < p.count; i++) {
        assert_int_equal((uintptr_t)params_value(&p, i) % 64, 0);
        assert_int_equal((uintptr_t)params_grad(&p, i) % 64, 0);
        size_t end = i + 1 < p.count ? p.entry[i + 1].offset : p.total;
        assert_true(p.entry[i].offset + p.entry[i].size <= end);
    }
    assert_ptr_equal(params_find(&p, "a.bias"), &p.entry[1]);
    assert_null(params_find(&p, "a"));
    p.grad[7] = 3;
    params_clear_grad(&p);
    assert_true(p.grad[7] == 0);
    params_free(&p);
    params_free(&p);
}

/* Stores p under two prefixes and reads the bytes back into s. */
static void store_and_read(const params *p, const real *other, safetensors *s)
{
    safetensors out = {0};
    void *bytes;
    size_t n;
    check_status(params_store(&out, p, p->value, ""));
    check_status(params_store(&out, p, other, "ema."));
    check_status(safetensors_format(&out, &bytes, &n, "x", NULL));
    check_status(safetensors_parse(s, bytes, n, "x", NULL));
    safetensors_free(&out);
    free(bytes);
}

static void store_and_load_are_inverse(void **state)
{
    (void)state;
    params p = {0}, q = {0};
    build(&p);
    build(&q);
    real *other = params_block(&p);
    for (int i = 0; i < p.count; i++)
        for (size_t j = 0; j < p.entry[i].size; j++) {
            params_value(&p, i)[j] = (real)(0.1 * (double)(100 * i) + (double)j);
            other[p.entry[i].offset + j] = (real)-0.7 * (real)j;
        }
    safetensors s;
    store_and_read(&p, other, &s);
    check_status(params_load(q.value, &q, &s, "", "x", NULL));
    assert_memory_equal(q.value, p.value, p.total * sizeof(real));
    assert_int_equal(safetensors_unused(&s, "x", NULL), ART_ERR_MISMATCH);
    check_status(params_load(q.grad, &q, &s, "ema.", "x", NULL));
    assert_memory_equal(q.grad, other, p.total * sizeof(real));
    check_status(safetensors_unused(&s, "x", NULL));
    safetensors_free(&s);
    free(other);
    params_free(&p);
    params_free(&q);
}

static void every_difference_is_listed(void **state)
{
    (void)state;
    params p = {0};
    build(&p);
    p.value[0] = 42;
    safetensors s = {0};
    static const double numbers[33] = {1e300};
    static const int32_t ints[3] = {1, 2, 3};
    check_status(safetensors_add(&s, "a.weight", TENSOR_F64, 2, (size_t[]){5, 3}, numbers));
    check_status(safetensors_add(&s, "a.bias", TENSOR_I32, 1, (size_t[]){3}, ints));
    diag d;
    diag_init(&d);
    assert_int_equal(params_load(p.value, &p, &s, "", "f", &d), ART_ERR_MISMATCH);
    assert_int_equal(d.count, 3);
    assert_string_equal(d.message[0].text,
                        "f: error: tensor 'a.weight' has shape [5, 3], expected [3, 5]");
    assert_string_equal(d.message[1].text, "f: error: tensor 'a.bias' is I32, expected F32 or F64");
    assert_string_equal(d.message[2].text, "f: error: tensor 'b.weight' is missing");
    assert_true(p.value[0] == 42);
    safetensors_free(&s);
    params_free(&p);

    check_status(params_add(&p, "x", 33, 0));
    check_status(params_alloc(&p));
    check_status(safetensors_add(&s, "x", TENSOR_F64, 1, (size_t[]){33}, numbers));
    int status = params_load(p.value, &p, &s, "", "f", &d);
    assert_int_equal(status, REAL_IS_DOUBLE ? ART_OK : ART_ERR_MISMATCH);
    safetensors_free(&s);
    params_free(&p);
    diag_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_aligned_and_apart),
        cmocka_unit_test(store_and_load_are_inverse),
        cmocka_unit_test(every_difference_is_listed),
    };
    return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
