#include "results/marginal.h"

#include "artreeformer.h"
#include "base/interval.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double INTERVAL = 0.95;
static const double NORMAL_WIDTH = 3.92; /* of that interval, in standard deviations */
static const double BEYOND = 0.35;       /* of the interval, shown on either side of it */

/* All parameters are at least 0. */
static double upper_bound(const posterior *p, int column)
{
    char name[PARAMETER_NAME_SIZE];
    posterior_column_name(name, p, column);
    const bool is_share = strncmp(name, "r(", 2) == 0 || strncmp(name, "pi(", 3) == 0 ||
                          strncmp(name, "pinvar", 6) == 0;
    return is_share ? 1 : INFINITY;
}

/* What the rows of one model say. */
typedef struct model_values {
    double first; /* NaN: the model has no such parameter */
    int count;
    bool varies;
} model_values;

static int row_model(const posterior *p, int row)
{
    return p->row_model ? p->row_model[row] : 0;
}

/* The rows by model; *out [*n] is to be freed. */
static int look_at_models(model_values **out, int *n, const posterior *p, int column)
{
    *n = 1;
    for (int i = 0; i < p->count; i++)
        *n = row_model(p, i) >= *n ? row_model(p, i) + 1 : *n;
    model_values *m = *out = mem_zeros((size_t)*n, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    for (int i = 0; i < p->count; i++) {
        model_values *own = &m[row_model(p, i)];
        const double value = posterior_row_value(p, i, column);
        if (own->count++ == 0)
            own->first = value;
        own->varies |= value != own->first;
    }
    return ART_OK;
}

/* A single row tells nothing, nor do those of a run of one model. */
static bool is_fixed(const model_values *m, const posterior *p)
{
    return p->row_model && m->count > 1 && !m->varies;
}

static void set_fixed(marginal *out, const model_values *m, int n, const posterior *p)
{
    double fixed = 0, known = 0;
    out->fixed_value = NAN;
    for (int k = 0; k < n; k++) {
        if (!m[k].count || isnan(m[k].first))
            continue;
        known += m[k].count;
        if (!is_fixed(&m[k], p))
            continue;
        const bool is_other = fixed > 0 && m[k].first != out->fixed_value;
        out->fixed_value = is_other ? (double)NAN : m[k].first;
        fixed += m[k].count;
    }
    out->fixed_share = fixed > 0 ? fixed / known : 0;
}

/* The rows that the curve is of; returns how many. */
static size_t collect(double *value, const posterior *p, int column, const model_values *m)
{
    size_t count = 0;
    for (int i = 0; i < p->count; i++) {
        const double v = posterior_row_value(p, i, column);
        if (!isnan(v) && !is_fixed(&m[row_model(p, i)], p))
            value[count++] = v;
    }
    return count;
}

static double kernel(double off)
{
    return exp(-off * off / 2);
}

/* Silverman's rule, with the deviation of a normal distribution that has this interval. */
static void set_curve(marginal *out, const double *value, size_t count, double bound)
{
    const double spread = out->high - out->low;
    const double width = 1.06 * spread / NORMAL_WIDTH * pow((double)count, -0.2);
    double top = 0;
    out->from = fmax(out->low - BEYOND * spread, 0);
    out->to = fmin(out->high + BEYOND * spread, bound);
    for (int j = 0; j < MARGINAL_POINTS; j++) {
        const double x = out->from + (out->to - out->from) * j / (MARGINAL_POINTS - 1);
        double *sum = &out->density[j];
        for (size_t i = 0; i < count; i++) {
            *sum += kernel((x - value[i]) / width) + kernel((x + value[i]) / width);
            *sum += isfinite(bound) ? kernel((2 * bound - x - value[i]) / width) : 0;
        }
        top = fmax(top, *sum);
    }
    for (int j = 0; j < MARGINAL_POINTS; j++)
        out->density[j] /= top;
}

int marginal_of(marginal *out, const posterior *p, int column)
{
    model_values *models = NULL;
    int n = 0;
    *out = (marginal){0};
    double *value = mem_zeros((size_t)p->count + 1, sizeof *value);
    int status = value ? look_at_models(&models, &n, p, column) : ART_ERR_NOMEM;
    if (!status) {
        interval sample;
        set_fixed(out, models, n, p);
        const size_t count = collect(value, p, column, models);
        status = interval_of(&sample, value, NULL, count, INTERVAL);
        out->low = sample.low;
        out->high = sample.high;
        if (!status && marginal_has_curve(out))
            set_curve(out, value, count, upper_bound(p, column));
    }
    free(models);
    free(value);
    return status;
}

bool marginal_has_curve(const marginal *m)
{
    return m->high > m->low;
}
