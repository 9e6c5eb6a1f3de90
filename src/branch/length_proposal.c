#include "branch/length_proposal.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int length_proposal_init(length_proposal *g, int n_edges)
{
    memset(g, 0, sizeof *g);
    const size_t edges = (size_t)n_edges;
    g->n_edges = n_edges;
    g->mode = mem_zeros(edges, sizeof *g->mode);
    g->factor = mem_zeros(edges * edges, sizeof *g->factor);
    if (g->mode && g->factor)
        return ART_OK;
    length_proposal_free(g);
    return ART_ERR_NOMEM;
}

void length_proposal_free(length_proposal *g)
{
    free(g->mode);
    free(g->factor);
    memset(g, 0, sizeof *g);
}

/* log q(mode) = log det(factor) - E/2 log(2 pi) */
static void set_peak(length_proposal *g)
{
    const ptrdiff_t n = g->n_edges;
    g->log_peak = -0.5 * (double)n * log(2 * M_PI);
    for (ptrdiff_t i = 0; i < n; i++)
        g->log_peak += log(g->factor[i * n + i]);
}

void length_proposal_set_diagonal(length_proposal *g, const double *mode, const double *curvature)
{
    const ptrdiff_t n = g->n_edges;
    memcpy(g->mode, mode, (size_t)n * sizeof *mode);
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
    memcpy(g->mode, mode, (size_t)n * sizeof *mode);
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

/* With z standard normal, y = factor^-T z has precision factor factor^T. */
double length_proposal_draw(double *x, const length_proposal *g, rng *r, double *scratch)
{
    const ptrdiff_t n = g->n_edges;
    double square = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        scratch[i] = rng_normal(r);
        square += scratch[i] * scratch[i];
    }
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        const double *row = g->factor + i * n;
        const double y = scratch[i] / row[i];
        x[i] = g->mode[i] + y;
        for (ptrdiff_t j = 0; j < i && !g->diagonal; j++)
            scratch[j] -= row[j] * y;
    }
    return g->log_peak - 0.5 * square;
}

double length_proposal_log_density(const length_proposal *g, const double *x)
{
    const ptrdiff_t n = g->n_edges;
    double square = 0;
    for (ptrdiff_t i = 0; i < n; i++) { /* |factor^T (x - mode)|^2 */
        double sum = g->factor[i * n + i] * (x[i] - g->mode[i]);
        for (ptrdiff_t j = i + 1; j < n && !g->diagonal; j++)
            sum += g->factor[j * n + i] * (x[j] - g->mode[j]);
        square += sum * sum;
    }
    return g->log_peak - 0.5 * square;
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
