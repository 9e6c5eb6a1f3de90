#include "base/number.h"

#include "artreeformer.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int number_int(int64_t *out, const char *text, size_t n)
{
    size_t i = n > 0 && (text[0] == '-' || text[0] == '+');
    int negative = i && text[0] == '-';
    if (i == n)
        return ART_ERR_INPUT;
    uint64_t limit = (uint64_t)INT64_MAX + (uint64_t)negative, value = 0;
    int over = 0;
    for (; i < n; i++) {
        if (!is_digit(text[i]))
            return ART_ERR_INPUT;
        uint64_t digit = (uint64_t)(text[i] - '0');
        over |= value > (limit - digit) / 10;
        value = over ? 0 : 10 * value + digit;
    }
    if (over)
        return ART_ERR_LIMIT;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return ART_OK;
}

int number_grouped(int64_t *out, const char *text, size_t n)
{
    char plain[32];
    size_t used = 0;
    const size_t sign = n > 0 && (text[0] == '-' || text[0] == '+');
    if (n >= sizeof plain || !memchr(text, ',', n))
        return number_int(out, text, n);
    if ((n - sign) % 4 == 0) /* the first group has one to three digits */
        return ART_ERR_INPUT;
    for (size_t i = 0; i < n; i++) {
        const bool at_group = i > sign && (n - i) % 4 == 0; /* every fourth from the end */
        if ((text[i] == ',') != at_group)
            return ART_ERR_INPUT;
        if (text[i] != ',')
            plain[used++] = text[i];
    }
    return number_int(out, plain, used);
}

/* What a token says: mantissa * 10^exponent, the mantissa true for up to 19 digits. */
typedef struct decimal {
    int negative;
    uint64_t mantissa;
    int64_t digits; /* significant digits seen, leading zeros left out */
    int64_t exponent;
} decimal;

static const char *scan_digits(decimal *d, const char *s, const char *end, int behind_point)
{
    for (; s < end && is_digit(*s); s++) {
        if (d->digits > 0 || *s != '0')
            d->digits++;
        if (d->digits <= 19)
            d->mantissa = 10 * d->mantissa + (uint64_t)(*s - '0');
        if (behind_point)
            d->exponent--;
    }
    return s;
}

/* The grammar; 0 if the token is not a number. */
static int scan_decimal(decimal *d, const char *text, size_t n)
{
    const char *s = text, *end = text + n;
    memset(d, 0, sizeof *d);
    if (s < end && (*s == '-' || *s == '+'))
        d->negative = *s++ == '-';
    const char *whole = s;
    s = scan_digits(d, s, end, 0);
    size_t seen = (size_t)(s - whole);
    if (s < end && *s == '.') {
        const char *part = ++s;
        s = scan_digits(d, s, end, 1);
        seen += (size_t)(s - part);
    }
    if (seen == 0)
        return 0;
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        int sign = 1;
        if (s < end && (*s == '-' || *s == '+'))
            sign = *s++ == '-' ? -1 : 1;
        if (s == end)
            return 0;
        int power = 0;
        for (; s < end && is_digit(*s); s++)
            if (power < 100000)
                power = 10 * power + (*s - '0');
        d->exponent += sign * power;
    }
    return s == end;
}

/* The general case, by the C library, in its own locale's decimal point. */
static int convert_slowly(double *out, const char *text, size_t n)
{
    const char *point = localeconv()->decimal_point;
    size_t width = strlen(point);
    char *copy = malloc(n + width + 1);
    if (!copy)
        return ART_ERR_NOMEM;
    const char *dot = memchr(text, '.', n);
    size_t head = dot ? (size_t)(dot - text) : n, used = head;
    memcpy(copy, text, head);
    if (dot) {
        memcpy(copy + used, point, width);
        used += width;
        memcpy(copy + used, dot + 1, n - head - 1);
        used += n - head - 1;
    }
    copy[used] = '\0';
    *out = strtod(copy, NULL);
    free(copy);
    return isfinite(*out) ? ART_OK : ART_ERR_LIMIT;
}

int number_double(double *out, const char *text, size_t n)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    if (!scan_decimal(&d, text, n))
        return ART_ERR_INPUT;
    /* With mantissa and power of ten both exact in a double, one rounding is all there is. */
    if (d.digits > 15 || d.exponent < -22 || d.exponent > 22)
        return convert_slowly(out, text, n);
    double value = (double)d.mantissa;
    value = d.exponent < 0 ? value / power[-d.exponent] : value * power[d.exponent];
    *out = d.negative ? -value : value;
    return ART_OK;
}
