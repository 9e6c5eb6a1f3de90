#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

char *format_count(char *out, size_t size, uint64_t count)
{
    char digits[FORMAT_SIZE];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t used = 0;
    for (int i = 0; i < n && used + 2 < size; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    if (size)
        out[used] = '\0';
    return out;
}

char *format_items(char *out, size_t size, uint64_t count, const char *one, const char *many)
{
    char number[FORMAT_SIZE];
    snprintf(out, size, "%s %s", format_count(number, sizeof number, count),
             format_noun(count, one, many));
    return out;
}

char *format_bytes(char *out, size_t size, double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int k = 0;
    while (k < 5 && bytes >= 1023.95) {
        bytes /= 1024;
        k++;
    }
    snprintf(out, size, "%.*f %s", k > 0, bytes, unit[k]);
    return out;
}

char *format_seconds(char *out, size_t size, double seconds)
{
    if (!(seconds < 1e12)) { /* and NaN */
        snprintf(out, size, "unknown");
        return out;
    }
    long long whole = (long long)(seconds + 0.5);
    if (seconds < 1)
        snprintf(out, size, "%.2g s", seconds > 0 ? seconds : 0.0);
    else if (seconds < 59.95)
        snprintf(out, size, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(out, size, "%lld min %02lld s", whole / 60, whole % 60);
    else if (whole < 48 * 3600)
        snprintf(out, size, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
    else
        snprintf(out, size, "%lld d %lld h", whole / 86400, whole % 86400 / 3600);
    return out;
}

char *format_real(char *out, size_t size, double value)
{
    int digits = 15; /* every decimal with this many digits is the shortest for its double */
    do               /* what printf wrote is in the form and locale that strtod reads */
        snprintf(out, size, "%.*g", digits, value);
    while (digits++ < 17 && strtod(out, NULL) != value);
    return out;
}
