/* layers.h: the layers of the networks, each with its forward and backward pass.
 *
 * Matrices are row-major; a layer works on `rows` independent rows. Weights are stored as torch
 * stores them (out x in). A backward pass adds to the gradients of the weights and sets the
 * gradient of the input (edge_max_backward, which scatters, adds). Arguments must not overlap
 * unless stated otherwise.
 *
 * The elementwise kernels exist for every instruction set and are chosen at run time; the float
 * ones are one vectorised source (layers_kernel.inc) whose exponential is within 2 ulp.
 * nn/layers_ref.h has the same layers by their definitions, in double. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include "base/cpu.h"
#include "base/real.h"

#include <stddef.h>
#include <stdint.h>

#define NORM_EPSILON 1e-5

/* y = x W^T + b.   y [rows][out], x [rows][in], weight [out][in], bias [out] or NULL. */
void linear_forward(real *y, const real *x, const real *weight, const real *bias, int rows, int in,
                    int out);

/* dx = dy W (unless dx is NULL), dweight += dy^T x, dbias += column sums of dy (unless NULL). */
void linear_backward(real *dx, real *dweight, real *dbias, const real *dy, const real *x,
                     const real *weight, int rows, int in, int out);

/* y = gain * xhat + bias with xhat = (x - mean) * rstd and rstd = 1 / sqrt(variance + 1e-5),
 * mean and variance over the width of a row.   y and x [rows][width], rstd [rows],
 * gain and bias [width]. Writes xhat [rows][width] for the backward. xhat may be x. */
void norm_forward(real *y, real *xhat, real *rstd, const real *x, const real *gain,
                  const real *bias, int rows, int width);

/* With g = gain * dy:  dx = rstd (g - mean(g) - xhat mean(g xhat)), dgain += sum dy xhat,
 * dbias += sum dy.   dx may be dy. */
void norm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *xhat,
                   const real *rstd, const real *gain, int rows, int width);

/* y = x if x > 0, else exp(x) - 1.   [n]; y may be x. */
void elu_forward(real *y, const real *x, size_t n);

/* dx = dy where y > 0, else dy (1 + y): the input is not needed.   dx may be dy. */
void elu_backward(real *dx, const real *dy, const real *y, size_t n);

/* Both in one pass: y = ELU(norm(x)). xhat and rstd as norm_forward; xhat may be x, and y may be x
 * if xhat is not needed. */
void norm_elu_forward(real *y, real *xhat, real *rstd, const real *x, const real *gain,
                      const real *bias, int rows, int width);

/* Recomputes y from xhat: ELU(gain * xhat + bias). */
void norm_elu_again(real *y, const real *xhat, const real *gain, const real *bias, int rows,
                    int width);

/* Back through both; y is the output. dx may be dy. */
void norm_elu_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *y,
                       const real *xhat, const real *rstd, const real *gain, int rows, int width);

/* y = exp(x - max x) / sum.   [n]; y may be x. */
void softmax_forward(real *y, const real *x, int n);

/* dx = y (dy - sum y dy).   dx may be dy. */
void softmax_backward(real *dx, const real *dy, const real *y, int n);

/* y = x - log sum exp(x), in double, independently of the number type of the network.   [n] */
void log_softmax_forward(double *y, const real *x, int n);

/* dx = dy - exp(y) sum dy.   [n] */
void log_softmax_backward(real *dx, const double *dy, const double *y, int n);

/* y_e = max(x_u, x_v), elementwise, for the edges e = (u, v).
 * y [edges][width], x [nodes][width], ends [edges][2]. */
void edge_max_forward(real *y, const real *x, const int32_t (*ends)[2], int edges, int width);

/* Adds dy_e to the end that was larger (to the first if they are equal). dx [nodes][width]: added
 * to. */
void edge_max_backward(real *dx, const real *dy, const real *x, const int32_t (*ends)[2], int edges,
                       int width);

/* The kernels behind the layers, for fused loops and for tests; rows and widths as above.
 * y may be x. */
typedef struct layer_kernels {
    void (*elu)(real *y, const real *x, size_t n);
    void (*elu_back)(real *dx, const real *dy, const real *y, size_t n);
    void (*norm)(real *y, real *xhat, real *rstd, const real *x, const real *gain, const real *bias,
                 int rows, int width);
    void (*norm_back)(real *dx, real *dgain, real *dbias, const real *dy, const real *xhat,
                      const real *rstd, const real *gain, int rows, int width);
    void (*norm_elu)(real *y, real *xhat, real *rstd, const real *x, const real *gain,
                     const real *bias, int rows, int width);
    void (*norm_elu_again)(real *y, const real *xhat, const real *gain, const real *bias, int rows,
                           int width);
    void (*norm_elu_back)(real *dx, real *dgain, real *dbias, const real *dy, const real *y,
                          const real *xhat, const real *rstd, const real *gain, int rows,
                          int width);
    void (*softmax)(real *y, const real *x, int n);
    void (*edge_max)(real *y, const real *x, const int32_t (*ends)[2], int edges, int width);
    void (*edge_max_back)(real *dx, const real *dy, const real *x, const int32_t (*ends)[2],
                          int edges, int width);
    void (*add_bias)(real *y, const real *bias, int rows, int width); /* y += bias */
    void (*sum_rows)(real *sum, const real *x, int rows, int width);  /* sum += rows of x */
    /* y_i = x_i . w + bias;  y_ij = x_i w_j */
    void (*dot)(real *y, const real *x, const real *w, real bias, int rows, int width);
    void (*spread)(real *y, const real *x, const real *w, int rows, int width);
} layer_kernels;

/* The kernels of a level; NULL if this build does not have them. */
const layer_kernels *layer_kernels_at(cpu_level level);

#endif
