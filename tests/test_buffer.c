#include "support/check.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/rng.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void text_grows(void **state)
{
    (void)state;
    buffer b;
    buffer_init(&b);
    assert_string_equal(b.text, "");
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(b.length, strlen(b.text));
        buffer_printf(&b, "%d", i % 10);
        buffer_char(&b, ',');
    }
    assert_int_equal(b.length, 2000);
    assert_memory_equal(b.text + 1990, "5,6,7,8,9,", 11);
    buffer_clear(&b);
    assert_string_equal(b.text, "");
    buffer_add(&b, "xyz", 2);
    buffer_add(&b, NULL, 0);
    assert_string_equal(b.text, "xy");
    buffer_printf(&b, "%s-%500d", "z", 7);
    assert_int_equal(b.length, 504);
    assert_int_equal(strlen(b.text), 504);
    assert_memory_equal(b.text + 502, " 7", 3);
    check_status(buffer_status(&b));
    buffer_free(&b);
    buffer_free(&b);
    assert_string_equal(b.text, "");
}

static void failure_is_remembered(void **state)
{
    (void)state;
    buffer b;
    buffer_init(&b);
    buffer_text(&b, "kept");
    buffer_add(&b, "", (size_t)-1); /* no memory for that */
    buffer_text(&b, "dropped");
    assert_int_equal(buffer_status(&b), ART_ERR_NOMEM);
    assert_string_equal(b.text, "kept");
    buffer_free(&b);
    check_status(buffer_status(&b));
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *text;
    } known[] = {
        {0.1, 0, "0.1"},
        {1.0 / 3, 0, "0.3333333333333333"},
        {1e-300, 0, "1e-300"},
        {-2, 0, "-2"},
        {0.1 + 0.2, 0, "0.30000000000000004"},
        {DBL_MAX, 0, "1.7976931348623157e+308"},
        {5e-324, 0, "4.94065645841247e-324"},
        {1.0 / 3, 3, "0.333"},
    };
    buffer b;
    buffer_init(&b);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        buffer_clear(&b);
        buffer_double(&b, known[i].value, known[i].digits);
        assert_string_equal(b.text, known[i].text);
    }
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int i = 0; i < 10000; i++) {
        double value = rng_normal(&r) * exp(100 * rng_normal(&r));
        buffer_clear(&b);
        buffer_double(&b, value, 0);
        assert_true(strtod(b.text, NULL) == value);
    }
    /* the decimal point is a point everywhere */
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "de_DE.utf8")) {
        buffer_clear(&b);
        buffer_double(&b, 0.25, 0);
        buffer_fixed(&b, 1.5, 2);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(b.text, "0.251.50");
    }
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
