#include "branch/length_proposal.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "branch/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int length_proposal_init(length_proposal *g, int n_edges)
{
    memset(g, 0, sizeof *g);
    const size_t edges = (size_t)n_edges;
    g->n_edges = n_edges;
    g->centre = mem_zeros(4 * edges, sizeof *g->centre);
    g->factor = mem_zeros(edges * edges, sizeof *g->factor);
    if (g->centre && g->factor) {
        g->skew = g->centre + edges;
        g->offset = g->skew + edges;
        g->scratch = g->offset + edges;
        return ART_OK;
    }
    length_proposal_free(g);
    return ART_ERR_NOMEM;
}

void length_proposal_free(length_proposal *g)
{
    free(g->centre);
    free(g->factor);
    memset(g, 0, sizeof *g);
}

/* Of the normal distribution: log det(factor) - E/2 log(2 pi) */
static void set_peak(length_proposal *g)
{
    const ptrdiff_t n = g->n_edges;
    g->log_peak = -0.5 * (double)n * log(2 * M_PI);
    for (ptrdiff_t i = 0; i < n; i++)
        g->log_peak += log(g->factor[i * n + i]);
}

static void set_centre(length_proposal *g, const double *mode)
{
    memcpy(g->centre, mode, (size_t)g->n_edges * sizeof *mode);
    memset(g->skew, 0, 2 * (size_t)g->n_edges * sizeof *g->skew); /* and offset */
}

void length_proposal_set_diagonal(length_proposal *g, const double *mode, const double *curvature)
{
    const ptrdiff_t n = g->n_edges;
    set_centre(g, mode);
    g->diagonal = 1;
    g->shrink = 1;
    for (ptrdiff_t i = 0; i < n; i++)
        g->factor[i * n + i] = sqrt(curvature[i]);
    set_peak(g);
}

void length_proposal_set(length_proposal *g, const double *mode, const double *hessian,
                         const double *curvature)
{
    static const double shrinks[] = {0, 0.001, 0.01, 0.1, 0.5, 1};
    const ptrdiff_t n = g->n_edges;
    set_centre(g, mode);
    g->diagonal = 0;
    for (size_t k = 0; k < sizeof shrinks / sizeof *shrinks; k++) {
        g->shrink = shrinks[k];
        for (ptrdiff_t i = 0; i < n; i++) {
            double own = -hessian[i * n + i];
            g->factor[i * n + i] = own > 0 ? own : curvature[i];
            for (ptrdiff_t j = 0; j < i; j++)
                g->factor[i * n + j] = -hessian[i * n + j] * (1 - g->shrink);
        }
        if (cholesky_factor(g->factor, n))
            break;
    }
    set_peak(g);
}

void length_proposal_spread(double *v, const length_proposal *g)
{
    const ptrdiff_t n = g->n_edges;
    if (!g->diagonal) {
        cholesky_backward(v, g->factor, n);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] /= g->factor[i * n + i];
}

/* (A^-1)_ii = |factor^-1 e_i|^2, e_i the unit vector; uses g->scratch. */
static double variance(const length_proposal *g, ptrdiff_t i)
{
    const ptrdiff_t n = g->n_edges;
    if (g->diagonal)
        return 1 / (g->factor[i * n + i] * g->factor[i * n + i]);
    double sum = 0;
    memset(g->scratch, 0, (size_t)n * sizeof *g->scratch);
    g->scratch[i] = 1;
    cholesky_forward(g->scratch, g->factor, n);
    for (ptrdiff_t j = i; j < n; j++) /* 0 before */
        sum += g->scratch[j] * g->scratch[j];
    return sum;
}

static double within(double value, double most)
{
    return fmin(fmax(value, -most), most);
}

void length_proposal_skew(length_proposal *g, const double *shift, const double *skew)
{
    for (ptrdiff_t i = 0; i < g->n_edges; i++) {
        const double square = variance(g, i), deviation = sqrt(square);
        g->centre[i] += within(shift[i], LENGTH_MOST_SHIFT * deviation);
        g->skew[i] = within(skew[i], LENGTH_MOST_SKEW / deviation);
        g->offset[i] = g->skew[i] * g->skew[i] * square / 2;
    }
}

double length_proposal_draw(double *x, const length_proposal *g, rng *r)
{
    const ptrdiff_t n = g->n_edges;
    double square = 0, log_slopes = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = rng_normal(r);
        square += x[i] * x[i];
    }
    length_proposal_spread(x, g);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (g->skew[i] != 0) {
            const double log_slope = g->skew[i] * x[i] - g->offset[i];
            x[i] = expm1(log_slope) / g->skew[i];
            log_slopes += log_slope;
        }
        x[i] += g->centre[i];
    }
    return g->log_peak - 0.5 * square - log_slopes;
}

double length_proposal_log_density(const length_proposal *g, const double *x)
{
    const ptrdiff_t n = g->n_edges;
    double square = 0, log_slopes = 0, *y = g->scratch;
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] = x[i] - g->centre[i];
        if (g->skew[i] == 0)
            continue;
        if (!(g->skew[i] * y[i] > -1))
            return -HUGE_VAL;
        const double log_slope = log1p(g->skew[i] * y[i]);
        y[i] = (log_slope + g->offset[i]) / g->skew[i];
        log_slopes += log_slope;
    }
    for (ptrdiff_t i = 0; i < n; i++) { /* |factor^T y|^2 */
        double sum = g->factor[i * n + i] * y[i];
        for (ptrdiff_t j = i + 1; j < n && !g->diagonal; j++)
            sum += g->factor[j * n + i] * y[j];
        square += sum * sum;
    }
    return g->log_peak - 0.5 * square - log_slopes;
}

void length_proposal_solve(double *v, const length_proposal *g)
{
    const ptrdiff_t n = g->n_edges;
    if (!g->diagonal) {
        cholesky_forward(v, g->factor, n);
        cholesky_backward(v, g->factor, n);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] /= g->factor[i * n + i] * g->factor[i * n + i];
}
