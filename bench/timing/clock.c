#include "timing/clock.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two values that the share falls between. */
static double quantile(const double *value, int n, double share)
{
    const double at = share * (n - 1);
    const int below = (int)at, above = below + 1 < n ? below + 1 : below;
    return value[below] + (at - below) * (value[above] - value[below]);
}

spread spread_of(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, ascending);
    return (spread){quantile(value, n, 0.25), quantile(value, n, 0.5), quantile(value, n, 0.75)};
}

double power_law(const double *x, const double *y, int n)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++) {
        mean_x += log(x[i]) / n;
        mean_y += log(y[i]) / n;
    }
    for (int i = 0; i < n; i++) {
        xx += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
        xy += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
    }
    return xy / xx;
}
