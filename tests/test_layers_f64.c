/* Every layer's backward against signed central differences of its forward, in double, under
 * random upstream weights: for L = sum_i w_i y_i, dL/dtheta is what backward adds. */
#include "support/check.h"

#include "base/rng.h"
#include "nn/layers.h"

#include <math.h>
#include <string.h>

enum { ROWS = 7, IN = 13, OUT = 9, MOST = ROWS * 2 * IN };

/* The layer under test: its numbers, in the order x, weight, bias. */
typedef struct layer {
    real x[MOST], weight[IN * OUT], bias[IN];
    real dx[MOST], dweight[IN * OUT], dbias[IN];
    real upstream[MOST];
    void (*forward)(const struct layer *l, double *y); /* y as many as upstream has */
    int n_x, n_weight, n_bias, n_y;
} layer;

static void fill(real *x, int n, uint32_t index)
{
    rng r = rng_at(2, RNG_TEST, 0, index);
    for (int i = 0; i < n; i++)
        x[i] = rng_normal(&r);
}

static double loss(const layer *l)
{
    double y[MOST], sum = 0;
    l->forward(l, y);
    for (int i = 0; i < l->n_y; i++)
        sum += l->upstream[i] * y[i];
    return sum;
}

/* Central differences with step 1e-5: truncation and rounding are both about 1e-10. */
static void check_block(layer *l, real *value, const real *grad, int n)
{
    for (int i = 0; i < n; i++) {
        const real kept = value[i], step = 1e-5;
        value[i] = kept + step;
        double above = loss(l);
        value[i] = kept - step;
        double below = loss(l);
        value[i] = kept;
        check_near(grad[i], (above - below) / (2 * step), 1e-8);
    }
}

static void check_layer(layer *l)
{
    check_block(l, l->x, l->dx, l->n_x);
    check_block(l, l->weight, l->dweight, l->n_weight);
    check_block(l, l->bias, l->dbias, l->n_bias);
}

static layer random_layer(int n_x, int n_weight, int n_bias, int n_y)
{
    layer l = {.n_x = n_x, .n_weight = n_weight, .n_bias = n_bias, .n_y = n_y};
    fill(l.x, n_x, 1);
    fill(l.weight, n_weight, 2);
    fill(l.bias, n_bias, 3);
    fill(l.upstream, n_y, 4);
    return l;
}

static void linear(const layer *l, double *y)
{
    linear_forward(y, l->x, l->weight, l->bias, ROWS, IN, OUT);
}

static void linear_gradient(void **state)
{
    (void)state;
    layer l = random_layer(ROWS * IN, IN * OUT, OUT, ROWS * OUT);
    l.forward = linear;
    linear_backward(l.dx, l.dweight, l.dbias, l.upstream, l.x, l.weight, ROWS, IN, OUT);
    check_layer(&l);
    /* a second call adds to the weights' gradients and sets the input's */
    real before[IN * OUT];
    memcpy(before, l.dweight, sizeof before);
    linear_backward(l.dx, l.dweight, l.dbias, l.upstream, l.x, l.weight, ROWS, IN, OUT);
    check_block(&l, l.x, l.dx, l.n_x);
    for (int i = 0; i < IN * OUT; i++)
        check_near(l.dweight[i], 2 * before[i], 1e-12);
}

static void norm(const layer *l, double *y)
{
    real hat[ROWS * IN], rstd[ROWS];
    norm_forward(y, hat, rstd, l->x, l->weight, l->bias, ROWS, IN);
}

static void norm_gradient(void **state)
{
    (void)state;
    layer l = random_layer(ROWS * IN, IN, IN, ROWS * IN);
    real y[ROWS * IN], hat[ROWS * IN], rstd[ROWS];
    l.forward = norm;
    norm_forward(y, hat, rstd, l.x, l.weight, l.bias, ROWS, IN);
    norm_backward(l.dx, l.dweight, l.dbias, l.upstream, hat, rstd, l.weight, ROWS, IN);
    check_layer(&l);
}

static void elu(const layer *l, double *y)
{
    elu_forward(y, l->x, (size_t)l->n_x);
}

static void elu_gradient(void **state)
{
    (void)state;
    layer l = random_layer(ROWS * IN, 0, 0, ROWS * IN);
    real y[ROWS * IN];
    l.forward = elu;
    elu_forward(y, l.x, ROWS * IN);
    elu_backward(l.dx, l.upstream, y, ROWS * IN);
    check_layer(&l);
}

static void norm_elu(const layer *l, double *y)
{
    real hat[ROWS * IN], rstd[ROWS];
    norm_elu_forward(y, hat, rstd, l->x, l->weight, l->bias, ROWS, IN);
}

static void norm_elu_gradient(void **state)
{
    (void)state;
    layer l = random_layer(ROWS * IN, IN, IN, ROWS * IN);
    real y[ROWS * IN], hat[ROWS * IN], rstd[ROWS];
    l.forward = norm_elu;
    norm_elu_forward(y, hat, rstd, l.x, l.weight, l.bias, ROWS, IN);
    norm_elu_again(y, hat, l.weight, l.bias, ROWS, IN);
    norm_elu_backward(l.dx, l.dweight, l.dbias, l.upstream, y, hat, rstd, l.weight, ROWS, IN);
    check_layer(&l);
}

static void softmax(const layer *l, double *y)
{
    softmax_forward(y, l->x, l->n_x);
}

static void softmax_gradient(void **state)
{
    (void)state;
    layer l = random_layer(IN, 0, 0, IN);
    real y[IN];
    l.forward = softmax;
    softmax_forward(y, l.x, IN);
    softmax_backward(l.dx, l.upstream, y, IN);
    check_layer(&l);
}

static void log_softmax(const layer *l, double *y)
{
    log_softmax_forward(y, l->x, l->n_x);
}

static void log_softmax_gradient(void **state)
{
    (void)state;
    layer l = random_layer(IN, 0, 0, IN);
    double y[IN];
    l.forward = log_softmax;
    log_softmax_forward(y, l.x, IN);
    log_softmax_backward(l.dx, l.upstream, y, IN);
    check_layer(&l);
}

static const int32_t edge_ends[ROWS - 1][2] = {{0, 1}, {2, 1}, {3, 2}, {4, 0}, {5, 6}, {6, 1}};

static void edge_max(const layer *l, double *y)
{
    edge_max_forward(y, l->x, edge_ends, ROWS - 1, IN);
}

static void edge_max_gradient(void **state)
{
    (void)state;
    layer l = random_layer(ROWS * IN, 0, 0, (ROWS - 1) * IN);
    l.forward = edge_max;
    edge_max_backward(l.dx, l.upstream, l.x, edge_ends, ROWS - 1, IN);
    check_layer(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_gradient),   cmocka_unit_test(norm_gradient),
        cmocka_unit_test(elu_gradient),      cmocka_unit_test(norm_elu_gradient),
        cmocka_unit_test(softmax_gradient),  cmocka_unit_test(log_softmax_gradient),
        cmocka_unit_test(edge_max_gradient),
    };
    return cmocka_run_group_tests_name("layers_f64", tests, NULL, NULL);
}
