/* Folded attention against the definition with full keys and values, and its gradient against
 * signed central differences; the same for the time embedding. */
#include "support/check.h"

#include "base/mem.h"
#include "base/rng.h"
#include "nn/attention.h"
#include "nn/layers_ref.h"
#include "nn/time_embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = 6, HEADS = 3, STEPS = 9, NODES = 7, TREES = 2 };
enum { IN_WEIGHT = 3 * D * D, IN_BIAS = 3 * D, OUT_WEIGHT = D * D, OUT_BIAS = D };

/* Weights, then the node features of the trees: everything that has a gradient. */
typedef struct numbers {
    real in_weight[IN_WEIGHT], in_bias[IN_BIAS], out_weight[OUT_WEIGHT], out_bias[OUT_BIAS];
    real x[TREES][NODES * D + DENSE_GRAIN];
} numbers;

static const int step_of[TREES] = {2, D + 1}; /* one with a query, one without */

static void fill(real *x, size_t n, uint32_t index)
{
    rng r = rng_at(3, RNG_TEST, 0, index);
    for (size_t i = 0; i < n; i++)
        x[i] = rng_normal(&r);
}

static void by_definition(double *r, const numbers *w, int tree)
{
    double unit[D] = {0}, query[D], key[NODES][D], value[NODES][D], score[NODES], pooled[D] = {0};
    if (step_of[tree] < D)
        unit[step_of[tree]] = 1;
    linear_ref(query, unit, w->in_weight, w->in_bias, D, D);
    for (int u = 0; u < NODES; u++) {
        const double *x = w->x[tree] + u * D;
        linear_ref(key[u], x, w->in_weight + D * D, w->in_bias + D, D, D);
        linear_ref(value[u], x, w->in_weight + 2 * D * D, w->in_bias + 2 * D, D, D);
    }
    for (int h = 0; h < HEADS; h++) {
        const int from = h * (D / HEADS), to = from + D / HEADS;
        for (int u = 0; u < NODES; u++) {
            score[u] = 0;
            for (int i = from; i < to; i++)
                score[u] += query[i] * key[u][i] / sqrt((double)D / HEADS);
        }
        log_softmax_ref(score, NODES);
        for (int u = 0; u < NODES; u++)
            for (int i = from; i < to; i++)
                pooled[i] += exp(score[u]) * value[u][i];
    }
    linear_ref(r, pooled, w->out_weight, w->out_bias, D, D);
}

typedef struct state {
    real share[TREES][NODES * HEADS], z[TREES * HEADS * D + DENSE_GRAIN],
        s[TREES * D + DENSE_GRAIN];
    real r[TREES * D];
    real *scratch;
} state;

static void forward(state *f, const attention *a, const numbers *w)
{
    for (int i = 0; i < TREES; i++)
        attention_pool(f->share[i], f->z + i * HEADS * D, a, w->x[i], NODES, step_of[i],
                       f->scratch);
    attention_project(f->r, f->s, a, f->z, TREES);
}

static void refresh(attention *a, const numbers *w)
{
    attention_refresh(a, w->in_weight, w->in_bias, w->out_weight, w->out_bias);
}

static double loss(const numbers *w, const real *upstream)
{
    double sum = 0;
    for (int i = 0; i < TREES; i++) {
        double r[D];
        by_definition(r, w, i);
        for (int j = 0; j < D; j++)
            sum += upstream[i * D + j] * r[j];
    }
    return sum;
}

static void folded_attention(void **unused)
{
    (void)unused;
    numbers *w = mem_aligned(1, sizeof *w), *dw = mem_aligned(1, sizeof *dw);
    state *f = mem_aligned(1, sizeof *f);
    attention a;
    assert_true(w && dw && f);
    fill(w->in_weight, IN_WEIGHT, 1);
    fill(w->in_bias, IN_BIAS, 2);
    fill(w->out_weight, OUT_WEIGHT, 3);
    fill(w->out_bias, OUT_BIAS, 4);
    fill(w->x[0], NODES * D, 5);
    fill(w->x[1], NODES * D, 6);
    check_status(attention_init(&a, D, HEADS, STEPS, cpu_best()));
    f->scratch = mem_aligned(attention_scratch(&a, NODES), sizeof *f->scratch);
    assert_non_null(f->scratch);
    refresh(&a, w);
    forward(f, &a, w);
    for (int i = 0; i < TREES; i++) {
        double r[D];
        by_definition(r, w, i);
        for (int j = 0; j < D; j++)
            check_near(f->r[i * D + j], r[j], 1e-12);
    }

    enum { LD = (D + DENSE_GRAIN - 1) / DENSE_GRAIN * DENSE_GRAIN };
    static real value[D * LD], value_bias[D], out[D * LD], out_bias[D], key[STEPS * HEADS * LD];
    attention_grad g = {value, value_bias, out, out_bias, key};
    real upstream[TREES * D], dz[TREES * HEADS * D], ds[TREES * D], scratch[STEPS * D];
    fill(upstream, TREES * D, 7);
    attention_project_backward(dz, &g, upstream, &a, f->s, f->z, ds, TREES);
    for (int i = 0; i < TREES; i++)
        attention_pool_backward(dw->x[i], &g, dz + i * HEADS * D, &a, f->share[i], w->x[i], NODES,
                                step_of[i], f->scratch);
    attention_finish(dw->in_weight, dw->in_bias, dw->out_weight, dw->out_bias, &g, &a, w->in_weight,
                     scratch);
    real *number = (real *)w, *grad = (real *)dw;
    for (size_t i = 0; i < sizeof *w / sizeof *number; i++) {
        const double kept = number[i], step = 1e-5;
        number[i] = kept + step;
        const double above = loss(w, upstream);
        number[i] = kept - step;
        const double below = loss(w, upstream);
        number[i] = kept;
        check_near(grad[i], (above - below) / (2 * step), 1e-8); /* truncation about 1e-9 */
    }
    attention_free(&a);
    free(f->scratch);
    free(f);
    free(w);
    free(dw);
}

static double time_loss(const time_embedding *e, const real *w[4], const real *upstream, int first)
{
    const int width = e->width;
    double sum = 0;
    for (int l = 0; l < e->steps; l++) {
        double wave[2 * D], hidden[2 * D], out[2 * D];
        for (int i = 0; i < D; i++) {
            const double c = 2.0 * i / (2 * D) * log(10000);
            wave[i] = sin(c * (first + l));
            wave[D + i] = cos(c * (first + l));
        }
        linear_ref(hidden, wave, w[0], w[1], width, width);
        elu_ref(hidden, width);
        linear_ref(out, hidden, w[2], w[3], width, width);
        for (int i = 0; i < width; i++)
            sum += upstream[l * width + i] * out[i];
    }
    return sum;
}

static void time_embeddings(void **unused)
{
    (void)unused;
    enum { W = 2 * D, FIRST = 3 };
    static real number[4][W * W], grad[4][W * W], upstream[STEPS * W];
    static const int size[4] = {W * W, W, W * W, W};
    const real *w[4] = {number[0], number[1], number[2], number[3]};
    time_embedding e;
    check_status(time_embedding_init(&e, D, FIRST, STEPS));
    for (uint32_t t = 0; t < 4; t++)
        fill(number[t], (size_t)size[t], 10 + t);
    fill(upstream, STEPS * W, 20);
    time_embedding_forward(&e, w[0], w[1], w[2], w[3]);
    double sum = 0;
    for (int i = 0; i < STEPS * W; i++)
        sum += upstream[i] * e.out[i];
    check_near(sum, time_loss(&e, w, upstream, FIRST), 1e-11);
    time_embedding_backward(grad[0], grad[1], grad[2], grad[3], upstream, &e, w[0], w[2]);
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < size[t]; i++) {
            const double kept = number[t][i], step = 1e-5;
            number[t][i] = kept + step;
            const double above = time_loss(&e, w, upstream, FIRST);
            number[t][i] = kept - step;
            const double below = time_loss(&e, w, upstream, FIRST);
            number[t][i] = kept;
            check_near(grad[t][i], (above - below) / (2 * step), 1e-7); /* rounding about 1e-9 */
        }
    }
    time_embedding_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded_attention),
        cmocka_unit_test(time_embeddings),
    };
    return cmocka_run_group_tests_name("attention_f64", tests, NULL, NULL);
}
