#include "subst/branch_prior.h"

bool branch_prior_is_valid(branch_prior prior)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return prior.rate > 0 && isfinite(prior.rate);
    }
    return false;
}

double branch_prior_mean(branch_prior prior)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 1 / prior.rate;
    }
    return (double)NAN;
}

double branch_prior_log_density(branch_prior prior, double b)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return log(prior.rate) - prior.rate * b;
    }
    return (double)NAN;
}

double branch_prior_log_joint(branch_prior prior, const double *length, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL: {
        double sum = 0;
        for (int e = 0; e < n; e++)
            sum += length[e];
        return n * log(prior.rate) - prior.rate * sum;
    }
    }
    return (double)NAN;
}

void branch_prior_draw(double *length, int n, branch_prior prior, rng *stream)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        for (int e = 0; e < n; e++)
            length[e] = rng_exponential(stream) / prior.rate;
        break;
    }
}
