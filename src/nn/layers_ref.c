#include "nn/layers_ref.h"

#include "nn/layers.h"

#include <math.h>

void linear_ref(double *y, const double *x, const real *weight, const real *bias, int in, int out)
{
    for (int i = 0; i < out; i++) {
        double sum = bias ? (double)bias[i] : 0;
        for (int j = 0; j < in; j++)
            sum += (double)weight[(ptrdiff_t)i * in + j] * x[j];
        y[i] = sum;
    }
}

void norm_ref(double *x, const real *gain, const real *bias, int width)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < width; i++)
        mean += x[i] / width;
    for (int i = 0; i < width; i++)
        variance += (x[i] - mean) * (x[i] - mean) / width;
    for (int i = 0; i < width; i++)
        x[i] = (double)gain[i] * (x[i] - mean) / sqrt(variance + NORM_EPSILON) + (double)bias[i];
}

void elu_ref(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : expm1(x[i]);
}

void log_softmax_ref(double *x, int n)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - top);
    for (int i = 0; i < n; i++)
        x[i] -= top + log(sum);
}
