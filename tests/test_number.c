#include "support/check.h"

#include "artreeformer.h"
#include "base/number.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int as_int(const char *text, int64_t *value)
{
    return number_int(value, text, strlen(text));
}

static int as_double(const char *text, double *value)
{
    return number_double(value, text, strlen(text));
}

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"007", 7},
                {"-12", -12},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = 99;
        check_status(as_int(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    static const char *const bad[] = {"",   "-",   "+",    " 1",  "1 ", "1.0",  "1e3",
                                      "0x", "0x1", "1\n2", "--1", "a",  "1_000"};
    int64_t value;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(as_int(bad[i], &value), ART_ERR_INPUT);
    assert_int_equal(as_int("9223372036854775808", &value), ART_ERR_LIMIT);
    assert_int_equal(as_int("-9223372036854775809", &value), ART_ERR_LIMIT);
    assert_int_equal(as_int("99999999999999999999999", &value), ART_ERR_LIMIT);
    assert_int_equal(as_int("99999999999999999999999x", &value), ART_ERR_INPUT);
    check_status(number_int(&value, "1234", 2)); /* only the bytes given */
    assert_int_equal(value, 12);
}

/* As format_count writes them, and without commas; nothing in between. */
static void grouped_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"1234", 1234},
                {"1,234", 1234},
                {"-12,345", -12345},
                {"123,456,789", 123456789},
                {"9,223,372,036,854,775,807", INT64_MAX}};
    static const char *const bad[] = {"",       ",",      "1,23",  ",123",  "1,2345", "1234,567",
                                      "12,34,", "1,,234", "-,123", "1 234", "1.234"};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        check_status(number_grouped(&value, good[i].text, strlen(good[i].text)));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(number_grouped(&value, bad[i], strlen(bad[i])), ART_ERR_INPUT);
    assert_int_equal(number_grouped(&value, "9,223,372,036,854,775,808", 25), ART_ERR_LIMIT);
}

static void decimals_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",      "-",   ".",    "e5",    "1e",       "1e+",  "nan",
                                      "inf",   "NaN", "-inf", "0x1p3", "1,5",      " 1",   "1 ",
                                      "1.2.3", "1d3", "1f",   "--1",   "infinity", "1e5.0"};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(as_double(bad[i], &value), ART_ERR_INPUT);
    assert_int_equal(as_double("1e309", &value), ART_ERR_LIMIT);
    assert_int_equal(as_double("-1e99999999999", &value), ART_ERR_LIMIT);
    assert_int_equal(number_double(&value, "1\0", 2), ART_ERR_INPUT);
}

/* Equal, to the last bit, to the C library's correctly rounded conversion. */
static void check_like_strtod(const char *text)
{
    double value = -1, expected = strtod(text, NULL);
    check_status(as_double(text, &value));
    if (memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%s became %.17g, not %.17g", text, value, expected);
}

static void decimals_are_correctly_rounded(void **state)
{
    (void)state;
    static const char *const good[] = {"0",
                                       "-0",
                                       "1",
                                       "-1.5",
                                       "+2",
                                       "1e-5",
                                       "1E0",
                                       "4.03E-4",
                                       ".5",
                                       "5.",
                                       "1e22",
                                       "1e23",
                                       "1e-22",
                                       "1e-23",
                                       "1e-400",
                                       "0e999999999999999999999",
                                       "5e-324",
                                       "0.1",
                                       "123456789012345",
                                       "1234567890123456",
                                       "12345678901234567890123456789",
                                       "9007199254740993",
                                       "0.000000000000000000000000000000000001",
                                       "1.7976931348623157e308",
                                       "2.2250738585072014e-308"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        check_like_strtod(good[i]);
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        double scale = pow(10, (double)rng_below(&r, 60) - 30);
        snprintf(text, sizeof text, i % 2 ? "%.*g" : "%.*e", (int)rng_below(&r, 18) + 1,
                 (rng_uniform(&r) - 0.5) * scale);
        check_like_strtod(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers), cmocka_unit_test(grouped_numbers),
        cmocka_unit_test(decimals_refused), cmocka_unit_test(decimals_are_correctly_rounded)};
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
