#include "chain/length_density.h"

#include "branch/length_prior.h"

#include <math.h>

static const double FIRST_LENGTH = 0.01; /* where Newton steps begin, whatever the state is */
static const double ENOUGH = 0.1;        /* nats that the last of them may promise: exact modes
                                            are not accepted more often (docs/constants.md) */
static const double WIDER = 1.1;         /* standard deviations of proposals over those at modes */

double length_density_prior(const length_density *h, double x)
{
    const branch_posterior *p = h->edge.problem;
    double sum = length_prior_log_density(p->prior, x, h->place);
    if (branch_prior_is_coupled(p->prior))
        sum +=
            branch_prior_total_log_density(p->prior, h->rest + length_scale_length(x), p->n_edges);
    return sum;
}

double length_density_proposal(const length_density *h, double x)
{
    const double z = (x - h->mode) / h->deviation;
    return -0.5 * z * z - log(h->deviation * sqrt(2 * M_PI));
}

void length_density_fit(length_density *h, const partial *below, const partial *above,
                        branch_place place, double rest)
{
    branch_state b = {.cbrt_length = length_scale_x(FIRST_LENGTH)};
    h->place = place;
    h->rest = rest;
    branch_edge_set(&h->edge, below, above);
    branch_edge_place(&h->edge, place, rest);
    branch_edge_improve(&h->edge, &b, ENOUGH);
    h->mode = b.cbrt_length; /* about; the curvature is that of the step before */
    h->deviation = WIDER / sqrt(b.curvature);
    h->log_weight = branch_edge_log_likelihood(&h->edge, h->mode) +
                    length_density_prior(h, h->mode) + 0.5 * log(2 * M_PI / b.curvature);
}

double length_density_ratio(length_density *h, double x)
{
    return branch_edge_log_likelihood(&h->edge, x) + length_density_prior(h, x) -
           length_density_proposal(h, x);
}
