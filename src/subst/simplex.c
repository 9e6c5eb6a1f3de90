#include "subst/simplex.h"

#include "subst/gamma_rates.h"

#include <math.h>

static double shape_of(const simplex *s, int k)
{
    return s->shape ? s->shape[k] : 1;
}

static double offset_of(const simplex *s, int k)
{
    return s->offset ? s->offset[k] : 0;
}

/* log y_k before they have the sum 1. */
static double raw(const simplex *s, const double *l, int k)
{
    const double own = k == s->reference ? 0 : l[k - (k > s->reference)];
    return offset_of(s, k) + own;
}

/* The log of the sum of exp(raw). */
static double log_total(const simplex *s, const double *l)
{
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < s->n; k++)
        most = fmax(most, raw(s, l, k));
    for (int k = 0; k < s->n; k++)
        sum += exp(raw(s, l, k) - most);
    return most + log(sum);
}

void simplex_place(double *log_y, const simplex *s, const double *l)
{
    const double total = log_total(s, l);
    for (int k = 0; k < s->n; k++)
        log_y[k] = raw(s, l, k) - total;
}

/* The density of y is Gamma(sum a) prod y_k^(a_k - 1) / Gamma(a_k), the Jacobian prod y_k. */
double simplex_log_density(const simplex *s, const double *l)
{
    const double all = log_total(s, l);
    double total = 0, value = 0;
    for (int k = 0; k < s->n; k++) {
        const double shape = shape_of(s, k);
        total += shape;
        value += shape * (raw(s, l, k) - all) - log_gamma(shape);
    }
    return value + log_gamma(total);
}

void simplex_add_gradient(double *dl, const simplex *s, const double *l)
{
    const double all = log_total(s, l);
    double total = 0;
    for (int k = 0; k < s->n; k++)
        total += shape_of(s, k);
    for (int k = 0; k < s->n; k++)
        if (k != s->reference)
            dl[k - (k > s->reference)] += shape_of(s, k) - total * exp(raw(s, l, k) - all);
}

/* Log of a gamma draw: of shape + 1 times u^(1 / shape), which may be below the smallest double. */
static double draw_log_gamma(rng *stream, double shape)
{
    const double above = log(rng_gamma(stream, shape + 1));
    return above + log(rng_uniform(stream)) / shape;
}

void simplex_draw(double *l, const simplex *s, rng *stream)
{
    double reference = 0;
    for (int k = 0; k < s->n; k++) {
        const double log_y = draw_log_gamma(stream, shape_of(s, k)) - offset_of(s, k);
        if (k == s->reference)
            reference = log_y;
        else
            l[k - (k > s->reference)] = log_y;
    }
    for (int k = 0; k < s->n - 1; k++)
        l[k] -= reference;
}
