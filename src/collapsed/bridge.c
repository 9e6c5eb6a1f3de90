#include "collapsed/bridge.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "chain/convergence.h"

#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 500 };

typedef struct samples {
    const double *draw, *state;
    size_t n_draws, n_chains, n_states;
    double s, t; /* shares of states and draws */
} samples;

/* What a draw counts, over Z; bounded by 1 / s. */
static double draw_part(const samples *x, double log_w)
{
    return 1 / (x->s + x->t * exp(-log_w));
}

/* What a state counts; bounded by 1 / t. */
static double state_part(const samples *x, double log_w)
{
    return log_w > 0 ? exp(-log_w) / (x->s + x->t * exp(-log_w)) : 1 / (x->s * exp(log_w) + x->t);
}

typedef struct mean_square {
    double mean, variance; /* variance of one, over the mean squared */
} mean_square;

static mean_square mean_of(const samples *x, const double *log_w, size_t n, double log_sum,
                           double (*part)(const samples *, double))
{
    mean_square out = {0};
    for (size_t i = 0; i < n; i++)
        out.mean += part(x, log_w[i] - log_sum) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = part(x, log_w[i] - log_sum) / out.mean - 1;
        out.variance += off * off / (double)(n - 1);
    }
    return out;
}

/* The fixed point, from log_sum on. */
static double solve(const samples *x, double log_sum)
{
    const size_t states = x->n_chains * x->n_states;
    for (int i = 0; i < ITERATIONS; i++) {
        double above = 0, below = 0;
        for (size_t k = 0; k < x->n_draws; k++)
            above += draw_part(x, x->draw[k] - log_sum) / (double)x->n_draws;
        for (size_t k = 0; k < states; k++)
            below += state_part(x, x->state[k] - log_sum) / (double)states;
        const double step = log(above / below);
        log_sum += step;
        if (!(fabs(step) > 1e-9))
            break;
    }
    return log_sum;
}

/* The standard error of the log of the states' mean, and their effective number. */
static void state_error(bridge_estimate *out, const samples *x, double *series, mean_square all)
{
    const size_t n = x->n_states;
    double within = 0, between = 0;
    for (size_t c = 0; c < x->n_chains; c++) {
        double mean = 0;
        for (size_t i = 0; i < n; i++) {
            series[i] = state_part(x, x->state[c * n + i] - out->log_sum);
            mean += series[i] / (double)n;
        }
        const double ess = series_ess(series, n);
        within += isnan(ess) ? 1 : ess;
        between += (mean / all.mean - 1) * (mean / all.mean - 1);
    }
    const double chains = (double)x->n_chains;
    const double by_chains = chains > 1 ? between / (chains * (chains - 1)) : 0;
    const double variance = fmax(all.variance / within, by_chains);
    out->state_error = sqrt(variance);
    out->states = variance > 0 ? all.variance / variance : within;
}

static double start(const samples *x)
{
    double top = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < x->n_draws; i++)
        top = fmax(top, x->draw[i]);
    for (size_t i = 0; i < x->n_draws; i++)
        sum += exp(x->draw[i] - top) / (double)x->n_draws;
    return top + log(sum);
}

int bridge_of(bridge_estimate *out, const double *draw, size_t n_draws, double planned,
              const double *state, size_t n_chains, size_t n_states)
{
    samples x = {draw, state, n_draws, n_chains, n_states, 0.5, 0.5};
    *out = (bridge_estimate){NAN, INFINITY, INFINITY, INFINITY, 0, 0, 1};
    if (n_draws < 2 || n_states < 4 || n_chains < 1 || !isfinite(start(&x)))
        return ART_OK;
    double *series = mem_zeros(n_states, sizeof *series);
    if (!series)
        return ART_ERR_NOMEM;
    out->log_sum = start(&x);
    for (int round = 0; round < 2;
         round++) { /* with equal shares, then with what states are worth */
        out->log_sum = solve(&x, out->log_sum);
        const mean_square from = mean_of(&x, draw, n_draws, out->log_sum, draw_part);
        const mean_square to = mean_of(&x, state, n_chains * n_states, out->log_sum, state_part);
        state_error(out, &x, series, to);
        out->draw_error = sqrt(from.variance / (double)n_draws);
        out->overlap = fmin(1, from.mean);
        if (round == 0)
            x.s = fmax(0.01, fmin(0.99, out->states / (out->states + planned)));
        x.t = 1 - x.s;
    }
    out->error = hypot(out->draw_error, out->state_error);
    out->share = x.s;
    free(series);
    return ART_OK;
}

double bridge_weight(const bridge_estimate *b, double log_w)
{
    const samples x = {.s = b->share, .t = 1 - b->share};
    return draw_part(&x, log_w - b->log_sum);
}
