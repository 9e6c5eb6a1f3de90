#include "branch/parameter_proposal.h"

#include "artreeformer.h"
#include "base/cholesky.h"
#include "base/mem.h"
#include "branch/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int parameter_proposal_init(parameter_proposal *p, int n_edges, int n_free)
{
    memset(p, 0, sizeof *p);
    p->n_edges = n_edges;
    p->n_free = n_free;
    const size_t edges = (size_t)n_edges, n = (size_t)n_free;
    p->follow = mem_zeros(n * (edges + 2 + 2 * n) + 1, sizeof *p->follow);
    if (!p->follow)
        return ART_ERR_NOMEM;
    p->mode = p->follow + n * edges;
    p->centre = p->mode + n;
    p->factor = p->centre + n;
    p->scratch = p->factor + n * n;
    return ART_OK;
}

void parameter_proposal_free(parameter_proposal *p)
{
    free(p->follow);
    memset(p, 0, sizeof *p);
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void set_mode(parameter_proposal *p, const double *z, const double *mixed,
                     const length_proposal *lengths)
{
    const int n = p->n_free, edges = p->n_edges;
    memcpy(p->mode, z, (size_t)n * sizeof *z);
    memcpy(p->centre, z, (size_t)n * sizeof *z);
    memcpy(p->follow, mixed, (size_t)n * (size_t)edges * sizeof *mixed);
    for (int k = 0; k < n; k++)
        length_proposal_solve(p->follow + (ptrdiff_t)k * edges, lengths);
}

static void set_spread(parameter_proposal *p, const double *spread)
{
    cholesky_invert(p->factor, spread, p->scratch, p->n_free);
    cholesky_factor(p->factor, p->n_free);
}

static void set_peak(parameter_proposal *p)
{
    const int n = p->n_free;
    p->log_peak = -0.5 * n * log(2 * M_PI);
    for (int i = 0; i < n; i++)
        p->log_peak += log(p->factor[i * n + i]);
}

void parameter_proposal_set(parameter_proposal *p, const double *z, const double *mixed,
                            const double *own, const length_proposal *lengths, const double *spread)
{
    const int n = p->n_free, edges = p->n_edges;
    set_mode(p, z, mixed, lengths);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            p->factor[i * n + j] =
                -(own[i * n + j] + own[j * n + i]) / 2 -
                dot(mixed + (ptrdiff_t)i * edges, p->follow + (ptrdiff_t)j * edges, edges);
    p->is_common = !cholesky_factor(p->factor, n);
    if (p->is_common)
        set_spread(p, spread);
    set_peak(p);
}

void parameter_proposal_set_common(parameter_proposal *p, const double *z, const double *mixed,
                                   const length_proposal *lengths, const double *spread)
{
    set_mode(p, z, mixed, lengths);
    p->is_common = 1;
    set_spread(p, spread);
    set_peak(p);
}

void parameter_proposal_place(double *z, const parameter_proposal *p)
{
    cholesky_backward(z, p->factor, p->n_free);
    for (int i = 0; i < p->n_free; i++)
        z[i] += p->mode[i];
}

void parameter_proposal_move(parameter_proposal *p, const double *by_z, const double *by_x)
{
    const int n = p->n_free;
    double *shift = p->centre;
    for (int k = 0; k < n; k++)
        shift[k] = by_z[k] + dot(p->follow + (ptrdiff_t)k * p->n_edges, by_x, p->n_edges);
    cholesky_forward(shift, p->factor, n);
    const double length = sqrt(dot(shift, shift, n));
    for (int k = 0; k < n && length > LENGTH_MOST_SHIFT; k++)
        shift[k] *= LENGTH_MOST_SHIFT / length;
    parameter_proposal_place(shift, p);
}

void parameter_proposal_draw(double *z, const parameter_proposal *p, rng *stream)
{
    const int n = p->n_free;
    double scale = 1;
    if (rng_uniform(stream) < PARAMETER_WIDE_SHARE) {
        double square = 0;
        for (int i = 0; i < PARAMETER_WIDE_FREEDOM; i++) {
            const double normal = rng_normal(stream);
            square += normal * normal;
        }
        scale = sqrt(PARAMETER_WIDE_FREEDOM / square);
    }
    for (int i = 0; i < n; i++)
        z[i] = scale * rng_normal(stream);
    cholesky_backward(z, p->factor, n);
    for (int i = 0; i < n; i++)
        z[i] += p->centre[i];
}

double parameter_proposal_log_density(const parameter_proposal *p, const double *z)
{
    const int n = p->n_free;
    double square = 0;
    for (int i = 0; i < n; i++) { /* |factor^T (z - centre)|^2 */
        double sum = 0;
        for (int j = i; j < n; j++)
            sum += p->factor[j * n + i] * (z[j] - p->centre[j]);
        square += sum * sum;
    }
    const double freedom = PARAMETER_WIDE_FREEDOM;
    const double normal = p->log_peak - square / 2;
    int sign;
    const double wide = p->log_peak + 0.5 * n * log(2 / freedom) +
                        lgamma_r((freedom + n) / 2, &sign) - lgamma_r(freedom / 2, &sign) -
                        (freedom + n) / 2 * log1p(square / freedom);
    const double a = log1p(-PARAMETER_WIDE_SHARE) + normal, b = log(PARAMETER_WIDE_SHARE) + wide;
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

void parameter_proposal_shift(double *shift, const parameter_proposal *p, const double *z)
{
    memset(shift, 0, (size_t)p->n_edges * sizeof *shift);
    for (int k = 0; k < p->n_free; k++) {
        const double off = z[k] - p->mode[k];
        const double *follow = p->follow + (ptrdiff_t)k * p->n_edges;
        for (int e = 0; e < p->n_edges; e++)
            shift[e] += follow[e] * off;
    }
}
