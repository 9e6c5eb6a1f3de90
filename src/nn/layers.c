#include "nn/layers.h"

#include "nn/gemm.h"

#include <math.h>

extern const layer_kernels layer_kernels_generic;
#if defined(__x86_64__)
extern const layer_kernels layer_kernels_avx2, layer_kernels_avx512;
#endif

const layer_kernels *layer_kernels_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return &layer_kernels_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &layer_kernels_avx2;
    case CPU_AVX512:
        return &layer_kernels_avx512;
#endif
    default:
        return NULL;
    }
}

static const layer_kernels *kernels(void)
{
    return layer_kernels_at(cpu_best());
}

void linear_forward(real *y, const real *x, const real *weight, const real *bias, int rows, int in,
                    int out)
{
    gemm(GEMM_NT, y, out, x, in, weight, in, rows, out, in, 0);
    if (bias)
        kernels()->add_bias(y, bias, rows, out);
}

void linear_backward(real *dx, real *dweight, real *dbias, const real *dy, const real *x,
                     const real *weight, int rows, int in, int out)
{
    if (dx)
        gemm(GEMM_NN, dx, in, dy, out, weight, in, rows, in, out, 0);
    gemm(GEMM_TN, dweight, in, dy, out, x, in, out, in, rows, 1);
    if (dbias)
        kernels()->sum_rows(dbias, dy, rows, out);
}

void norm_forward(real *y, real *xhat, real *rstd, const real *x, const real *gain,
                  const real *bias, int rows, int width)
{
    kernels()->norm(y, xhat, rstd, x, gain, bias, rows, width);
}

void norm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *xhat,
                   const real *rstd, const real *gain, int rows, int width)
{
    kernels()->norm_back(dx, dgain, dbias, dy, xhat, rstd, gain, rows, width);
}

void elu_forward(real *y, const real *x, size_t n)
{
    kernels()->elu(y, x, n);
}

void elu_backward(real *dx, const real *dy, const real *y, size_t n)
{
    kernels()->elu_back(dx, dy, y, n);
}

void norm_elu_forward(real *y, real *xhat, real *rstd, const real *x, const real *gain,
                      const real *bias, int rows, int width)
{
    kernels()->norm_elu(y, xhat, rstd, x, gain, bias, rows, width);
}

void norm_elu_again(real *y, const real *xhat, const real *gain, const real *bias, int rows,
                    int width)
{
    kernels()->norm_elu_again(y, xhat, gain, bias, rows, width);
}

void norm_elu_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *y,
                       const real *xhat, const real *rstd, const real *gain, int rows, int width)
{
    kernels()->norm_elu_back(dx, dgain, dbias, dy, y, xhat, rstd, gain, rows, width);
}

void softmax_forward(real *y, const real *x, int n)
{
    kernels()->softmax(y, x, n);
}

void softmax_backward(real *dx, const real *dy, const real *y, int n)
{
    double dot = 0;
    for (int i = 0; i < n; i++)
        dot += (double)y[i] * (double)dy[i];
    for (int i = 0; i < n; i++)
        dx[i] = y[i] * (dy[i] - (real)dot);
}

void log_softmax_forward(double *y, const real *x, int n)
{
    double top = (double)x[0], sum = 0;
    for (int i = 1; i < n; i++)
        top = fmax(top, (double)x[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)x[i] - top);
    const double shift = top + log(sum);
    for (int i = 0; i < n; i++)
        y[i] = (double)x[i] - shift;
}

void log_softmax_backward(real *dx, const double *dy, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += dy[i];
    for (int i = 0; i < n; i++)
        dx[i] = (real)(dy[i] - exp(y[i]) * sum);
}

void edge_max_forward(real *y, const real *x, const int32_t (*ends)[2], int edges, int width)
{
    kernels()->edge_max(y, x, ends, edges, width);
}

void edge_max_backward(real *dx, const real *dy, const real *x, const int32_t (*ends)[2], int edges,
                       int width)
{
    kernels()->edge_max_back(dx, dy, x, ends, edges, width);
}
