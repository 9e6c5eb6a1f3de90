#include "support/check.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A set with every dtype, an empty tensor, a scalar and texts that need escapes. */
static void make_small(void **bytes, size_t *n)
{
    static const float f32[6] = {1, -2, 3.5f, 0, 1e30f, -1e-30f};
    static const double f64[2] = {0.1, -1e300};
    static const int32_t i32[3] = {1, -1, INT32_MAX};
    static const int64_t i64[1] = {INT64_MIN};
    static const unsigned char u8[5] = "abcd";
    safetensors s = {0};
    check_status(safetensors_set(&s, "taxa", "[\"a\", \"b\\u00e9\"]\n"));
    check_status(safetensors_set(&s, "version", "0"));
    check_status(safetensors_set(&s, "version", "1"));
    check_status(safetensors_add(&s, "f32", TENSOR_F32, 2, (size_t[]){2, 3}, f32));
    check_status(safetensors_add(&s, "\"quoted\" \xC3\xA9", TENSOR_U8, 1, (size_t[]){5}, u8));
    check_status(safetensors_add(&s, "f64", TENSOR_F64, 4, (size_t[]){1, 2, 1, 1}, f64));
    check_status(safetensors_add(&s, "none", TENSOR_F32, 2, (size_t[]){0, 7}, NULL));
    check_status(safetensors_add(&s, "i32", TENSOR_I32, 1, (size_t[]){3}, i32));
    check_status(safetensors_add(&s, "scalar", TENSOR_I64, 0, NULL, i64));
    assert_int_equal(safetensors_add(&s, "f32", TENSOR_U8, 1, (size_t[]){5}, u8), ART_ERR_USAGE);
    assert_int_equal(safetensors_add(&s, "", TENSOR_U8, 1, (size_t[]){5}, u8), ART_ERR_USAGE);
    assert_int_equal(safetensors_add(&s, "__metadata__", TENSOR_U8, 1, (size_t[]){5}, u8),
                     ART_ERR_USAGE);
    assert_int_equal(safetensors_add(&s, "big", TENSOR_F64, 2, (size_t[]){SIZE_MAX, 2}, u8),
                     ART_ERR_USAGE);
    check_status(safetensors_format(&s, bytes, n, "small", NULL));
    safetensors_free(&s);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    void *bytes, *again;
    size_t n, n_again;
    make_small(&bytes, &n);
    safetensors s;
    check_status(safetensors_parse(&s, bytes, n, "small", NULL));
    assert_int_equal(s.count, 6);
    assert_int_equal(s.text_count, 2);
    assert_string_equal(safetensors_get(&s, "taxa"), "[\"a\", \"b\\u00e9\"]\n");
    assert_string_equal(safetensors_get(&s, "version"), "1");
    assert_null(safetensors_get(&s, "f32"));
    const tensor *t = safetensors_find(&s, "f64");
    assert_non_null(t);
    assert_int_equal(t->rank, 4);
    assert_int_equal(t->shape[1], 2);
    assert_true(((const double *)t->data)[1] == -1e300);
    t = safetensors_find(&s, "scalar");
    assert_true(t->rank == 0 && t->count == 1 && *(const int64_t *)t->data == INT64_MIN);
    t = safetensors_find(&s, "\"quoted\" \xC3\xA9");
    assert_memory_equal(t->data, "abcd", 5);
    assert_int_equal(safetensors_find(&s, "none")->count, 0);
    check_status(safetensors_format(&s, &again, &n_again, "small", NULL));
    assert_int_equal(n_again, n);
    assert_memory_equal(again, bytes, n);

    diag d;
    diag_init(&d);
    assert_non_null(safetensors_use(&s, "f32"));
    assert_int_equal(safetensors_unused(&s, "small", &d), ART_ERR_MISMATCH);
    assert_int_equal(d.errors, 5);
    for (size_t i = 0; i < s.count; i++)
        safetensors_use(&s, s.tensor[i].name);
    check_status(safetensors_unused(&s, "small", &d));
    diag_free(&d);
    safetensors_free(&s);
    free(again);
    free(bytes);
}

/* A file with the given header and data, both as text. */
static int parse_text(const char *header, const char *data, size_t n_data, diag *d)
{
    static unsigned char bytes[4096];
    uint64_t n = strlen(header);
    memcpy(bytes, &n, 8);
    memcpy(bytes + 8, header, n);
    memcpy(bytes + 8 + n, data, n_data);
    safetensors s;
    int status = safetensors_parse(&s, bytes, 8 + n + n_data, "text", d);
    if (status)
        assert_true(s.count == 0 && s.tensor == NULL && s.block == NULL);
    safetensors_free(&s);
    return status;
}

static void bad_headers_are_refused_by_name(void **state)
{
    (void)state;
#define ONE "{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}"
    static const struct {
        const char *header;
        int status;
        const char *words; /* in the message */
    } bad[] = {
        {"{\"a\":" ONE "}", ART_OK, ""},
        {"{\"a\":" ONE "}   ", ART_OK, ""},
        {" {\"a\":" ONE "}", ART_ERR_INPUT, "JSON object"},
        {"", ART_ERR_INPUT, "JSON object"},
        {"[]", ART_ERR_INPUT, "JSON object"},
        {"{\"a\":" ONE "", ART_ERR_INPUT, "JSON"},
        {"{\"a\":" ONE "}x", ART_ERR_INPUT, "JSON"},
        {"{\"a\":" ONE ",\"a\":" ONE "}", ART_ERR_INPUT, "duplicate"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
         ART_ERR_INPUT, "duplicate"},
        {"{\"\":" ONE "}", ART_ERR_INPUT, "no name"},
        {"{\"a\":3}", ART_ERR_INPUT, "'a'"},
        {"{\"a\\u0000b\":" ONE "}", ART_ERR_INPUT, "JSON"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", ART_ERR_INPUT, "exactly"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"b\":1}}", ART_ERR_INPUT,
         "exactly"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", ART_ERR_UNSUPPORTED,
         "dtype"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,4],\"data_offsets\":[0,4]}}",
         ART_ERR_UNSUPPORTED, "5 dimensions"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4.0],\"data_offsets\":[0,4]}}", ART_ERR_INPUT,
         "shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-4],\"data_offsets\":[0,4]}}", ART_ERR_INPUT,
         "shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
         ART_ERR_INPUT, "shape"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,4]}}",
         ART_ERR_INPUT, "shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}",
         ART_ERR_INPUT, "JSON"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]}}", ART_ERR_INPUT,
         "data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}", ART_ERR_INPUT,
         "data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,4]}}", ART_ERR_INPUT,
         "4 bytes"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}", ART_ERR_INPUT, "gap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}", ART_ERR_INPUT,
         "truncated"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", ART_ERR_INPUT,
         "1 bytes after"},
        {"{\"a\":" ONE ",\"b\":" ONE "}", ART_ERR_INPUT, "overlaps"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
         ART_ERR_INPUT, "overlaps"},
        {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         ART_OK, ""},
        {"{\"__metadata__\":{\"k\":1},\"a\":" ONE "}", ART_ERR_INPUT, "'k' is not a string"},
        {"{\"__metadata__\":[],\"a\":" ONE "}", ART_ERR_INPUT, "__metadata__"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", ART_ERR_INPUT,
         "NaN or infinite"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        diag d;
        diag_init(&d);
        int status = parse_text(bad[i].header, "\xff\xff\xff\xff", 4, &d);
        if (status != bad[i].status || (status && !strstr(d.message[0].text, bad[i].words)))
            fail_msg("header %s: status %d, %s", bad[i].header, status,
                     d.count ? d.message[0].text : "no message");
        assert_int_equal(d.errors, status != ART_OK);
        diag_free(&d);
    }
    uint64_t huge[2] = {UINT64_MAX, 0};
    safetensors s;
    assert_int_equal(safetensors_parse(&s, huge, 16, "huge", NULL), ART_ERR_LIMIT);
    assert_int_equal(safetensors_parse(&s, huge, 7, "short", NULL), ART_ERR_INPUT);
    assert_int_equal(safetensors_parse(&s, NULL, 0, "empty", NULL), ART_ERR_INPUT);
    huge[0] = 9;
    assert_int_equal(safetensors_parse(&s, huge, 16, "cut", NULL), ART_ERR_INPUT);
}

static void nan_is_not_written(void **state)
{
    (void)state;
    float f[2] = {0, NAN};
    double g[1] = {-HUGE_VAL};
    void *bytes;
    size_t n;
    safetensors s = {0};
    diag d;
    diag_init(&d);
    check_status(safetensors_add(&s, "f", TENSOR_F32, 1, (size_t[]){2}, f));
    assert_int_equal(safetensors_format(&s, &bytes, &n, "x", &d), ART_ERR_NUMERIC);
    assert_string_equal(d.message[0].text,
                        "x: error: not written: in tensor 'f' number 1 is NaN or infinite");
    f[1] = 1;
    check_status(safetensors_add(&s, "g", TENSOR_F64, 1, (size_t[]){1}, g));
    assert_int_equal(safetensors_format(&s, &bytes, &n, "x", &d), ART_ERR_NUMERIC);
    g[0] = 1;
    check_status(safetensors_set(&s, "k", "\xff"));
    assert_int_equal(safetensors_format(&s, &bytes, &n, "x", &d), ART_ERR_INPUT);
    diag_free(&d);
    safetensors_free(&s);
}

/* Copies into a block of exactly n bytes, so that the sanitizer sees a read beyond it. */
static int parse_exactly(const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    safetensors s;
    int status = safetensors_parse(&s, copy, n, "damaged", NULL);
    free(copy);
    safetensors_free(&s);
    return status;
}

static void every_truncation_is_detected(void **state)
{
    (void)state;
    void *bytes;
    size_t n;
    make_small(&bytes, &n);
    for (size_t k = 0; k < n; k++)
        assert_int_not_equal(parse_exactly(bytes, k), ART_OK);
    void *longer = calloc(n + 9, 1);
    memcpy(longer, bytes, n);
    for (size_t k = 1; k < 9; k++)
        assert_int_not_equal(parse_exactly(longer, n + k), ART_OK);
    free(longer);
    free(bytes);
}

/* Flipped bytes may give another valid file (numbers, names); then it must be one that is
 * written and read again as it is. */
static void flipped_bytes_never_crash(void **state)
{
    (void)state;
    void *bytes;
    size_t n, detected = 0;
    make_small(&bytes, &n);
    for (uint32_t round = 0; round < 20000; round++) {
        rng r = rng_at(1, RNG_TEST, round, 0);
        unsigned char *copy = malloc(n);
        memcpy(copy, bytes, n);
        for (uint32_t flips = 1 + rng_below(&r, 3); flips > 0; flips--)
            copy[rng_below(&r, (uint32_t)n)] ^= (unsigned char)(1U << rng_below(&r, 8));
        safetensors s;
        void *written;
        size_t n_written;
        if (safetensors_parse(&s, copy, n, "flipped", NULL) == ART_OK) {
            check_status(safetensors_format(&s, &written, &n_written, "flipped", NULL));
            assert_int_equal(parse_exactly(written, n_written), ART_OK);
            free(written);
        } else {
            detected++;
        }
        safetensors_free(&s);
        free(copy);
    }
    assert_true(detected > 10000); /* most of the file is header, where most flips break JSON */
    free(bytes);
}

static void reads_the_golden_files(void **state)
{
    (void)state;
    safetensors s;
    diag d;
    diag_init(&d);
    check_status(safetensors_read(&s, golden_path("ds1_d100.safetensors"), &d));
    assert_string_equal(safetensors_get(&s, "n_taxa"), "27");
    const tensor *t = safetensors_find(&s, "branch.gnn.gconvs.0.mlp.0.weight");
    assert_true(t && t->dtype == TENSOR_F32 && t->rank == 2 && t->shape[0] == 100 &&
                t->shape[1] == 54);
    safetensors_free(&s);
    check_status(safetensors_read(&s, golden_path("ds1_d100.grad.safetensors"), &d));
    safetensors_free(&s);
    assert_int_equal(d.count, 0);
    diag_free(&d);
}

static void files_are_written_whole_and_read_back(void **state)
{
    (void)state;
    char path[] = "/tmp/test_safetensors_XXXXXX";
    float numbers[3] = {1, 2, 3};
    diag d;
    diag_init(&d);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    safetensors s = {0}, back;
    check_status(safetensors_add(&s, "a", TENSOR_F32, 1, (size_t[]){3}, numbers));
    check_status(safetensors_write(&s, path, &d));
    check_status(safetensors_read(&back, path, &d));
    assert_memory_equal(safetensors_find(&back, "a")->data, numbers, sizeof numbers);
    safetensors_free(&back);
    numbers[1] = NAN; /* the old file stays */
    assert_int_equal(safetensors_write(&s, path, &d), ART_ERR_NUMERIC);
    check_status(safetensors_read(&back, path, NULL));
    safetensors_free(&back);
    numbers[1] = 2;
    assert_int_equal(d.errors, 1);
    assert_int_equal(safetensors_write(&s, "/dev/full", &d), ART_ERR_IO);
    assert_int_equal(safetensors_write(&s, "/nowhere/x", &d), ART_ERR_IO);
    assert_int_equal(safetensors_read(&back, "/nowhere/x", &d), ART_ERR_INPUT);
    assert_int_equal(safetensors_read(&back, "/tmp", &d), ART_ERR_INPUT);
    assert_int_equal(safetensors_read(&back, "/dev/null", &d), ART_ERR_INPUT);
    assert_int_equal(d.errors, 6);
    safetensors_free(&s);
    diag_free(&d);
    remove(path);
}

static void short_memory_is_reported(void **state)
{
    (void)state;
    void *bytes, *again = NULL;
    size_t n, n_again;
    int status = ART_ERR_NOMEM;
    make_small(&bytes, &n);
    long k = 0;
    while (status) {
        safetensors s;
        memory_fail_at(++k);
        status = safetensors_parse(&s, bytes, n, "small", NULL);
        if (!status)
            status = safetensors_set(&s, "more", "text");
        if (!status)
            status = safetensors_format(&s, &again, &n_again, "small", NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        safetensors_free(&s);
    }
    assert_true(k > 10);
    free(again);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(bad_headers_are_refused_by_name),
        cmocka_unit_test(nan_is_not_written),
        cmocka_unit_test(every_truncation_is_detected),
        cmocka_unit_test(flipped_bytes_never_crash),
        cmocka_unit_test(reads_the_golden_files),
        cmocka_unit_test(files_are_written_whole_and_read_back),
        cmocka_unit_test(short_memory_is_reported),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
