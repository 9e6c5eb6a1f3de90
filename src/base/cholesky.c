#include "base/cholesky.h"

#include <math.h>
#include <string.h>

static double dot(const double *a, const double *b, ptrdiff_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

int cholesky_factor(double *a, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double left = a[i * n + j] - dot(a + i * n, a + j * n, j);
            if (j < i)
                a[i * n + j] = left / a[j * n + j];
            else if (left > 1e-10 * a[i * n + i])
                a[i * n + i] = sqrt(left);
            else
                return 0;
        }
    return 1;
}

void cholesky_forward(double *v, const double *factor, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] = (v[i] - dot(factor + i * n, v, i)) / factor[i * n + i];
}

void cholesky_backward(double *v, const double *factor, ptrdiff_t n)
{
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        v[i] /= factor[i * n + i];
        for (ptrdiff_t j = 0; j < i; j++)
            v[j] -= factor[i * n + j] * v[i];
    }
}

int cholesky_invert(double *inverse, const double *a, double *scratch, ptrdiff_t n)
{
    double *factor = scratch;
    memcpy(factor, a, (size_t)(n * n) * sizeof *factor);
    if (!cholesky_factor(factor, n))
        return 0;
    for (ptrdiff_t k = 0; k < n; k++) { /* column k, as a row at first */
        double *column = inverse + k * n;
        for (ptrdiff_t i = 0; i < n; i++)
            column[i] = i == k;
        cholesky_forward(column, factor, n);
        cholesky_backward(column, factor, n);
    }
    for (ptrdiff_t k = 0; k < n; k++)
        for (ptrdiff_t i = 0; i < k; i++) {
            const double below = inverse[k * n + i];
            inverse[k * n + i] = inverse[i * n + k];
            inverse[i * n + k] = below;
        }
    return 1;
}
