/* layers_ref.h: the layers computed from their definitions, in double, as references for checks and
 * tests. The formulas and shapes are documented in nn/layers.h. */
#ifndef NN_LAYERS_REF_H
#define NN_LAYERS_REF_H

#include "base/real.h"

/* y [out] = W x + b; x [in], weight [out][in], bias [out] or NULL */
void linear_ref(double *y, const double *x, const real *weight, const real *bias, int in, int out);

/* in place, x [width] */
void norm_ref(double *x, const real *gain, const real *bias, int width);
void elu_ref(double *x, int n);
void log_softmax_ref(double *x, int n);

#endif
