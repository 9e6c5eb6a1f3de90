#include "subst/branch_prior.h"

#include "tree/topology.h"

static bool is_positive(double x)
{
    return x > 0 && isfinite(x);
}

bool branch_prior_is_valid(branch_prior prior)
{
    const double least = 1.0 / 3;
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return is_positive(prior.rate);
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return is_positive(prior.shape) && is_positive(prior.rate) && is_positive(prior.alpha) &&
               is_positive(prior.ratio) && prior.shape >= 0.1 && prior.alpha > least &&
               prior.alpha * prior.ratio > least && isfinite(prior.alpha * prior.ratio);
    }
    return false;
}

double branch_prior_mean(branch_prior prior, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 1 / prior.rate;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return prior.shape / prior.rate / n;
    }
    return (double)NAN;
}

/* 0 where b may be 0. */
static double power_log_density(double power, double b)
{
    return power == 0 ? 0 : power * log(b);
}

double branch_prior_log_density(branch_prior prior, double b, branch_place place)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return log(prior.rate) - prior.rate * b;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return power_log_density(branch_prior_power(prior, place), b);
    }
    return (double)NAN;
}

/* log Gamma(a); lgamma itself writes a global. */
static double log_gamma(double a)
{
    int sign;
    return lgamma_r(a, &sign);
}

/* The sum of the parameters of the Dirichlet distribution: N external branches and N - 3
 * internal ones, n = 2N - 3. */
static double concentration(branch_prior prior, int n)
{
    const int n_taxa = (n + 3) / 2;
    return prior.alpha * n_taxa + prior.alpha * prior.ratio * (n_taxa - 3);
}

double branch_prior_total_log_density(branch_prior prior, double total, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 0;
    case BRANCH_PRIOR_GAMMA_DIRICHLET: {
        const int n_taxa = (n + 3) / 2;
        const double sum = concentration(prior, n), inner = prior.alpha * prior.ratio;
        return prior.shape * log(prior.rate) - log_gamma(prior.shape) + log_gamma(sum) -
               n_taxa * log_gamma(prior.alpha) - (n_taxa - 3) * log_gamma(inner) +
               power_log_density(prior.shape - sum, total) - prior.rate * total;
    }
    }
    return (double)NAN;
}

double branch_prior_total_first(branch_prior prior, double total, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 0;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return (prior.shape - concentration(prior, n)) / total - prior.rate;
    }
    return (double)NAN;
}

double branch_prior_total_second(branch_prior prior, double total, int n)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        return 0;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        return (concentration(prior, n) - prior.shape) / (total * total);
    }
    return (double)NAN;
}

static branch_place place_of(int edge, int top)
{
    return branch_place_of(edge_is_external(edge, top));
}

double branch_prior_log_joint(branch_prior prior, const double *length, int n, int top)
{
    double sum = 0;
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        for (int e = 0; e < n; e++)
            sum += length[e];
        return n * log(prior.rate) - prior.rate * sum;
    case BRANCH_PRIOR_GAMMA_DIRICHLET: {
        double total = 0;
        for (int e = 0; e < n; e++) {
            total += length[e];
            sum += branch_prior_log_density(prior, length[e], place_of(e, top));
        }
        return sum + branch_prior_total_log_density(prior, total, n);
    }
    }
    return (double)NAN;
}

/* The tree length, and shares of it: gamma variables divided by their sum. */
static void draw_shares(double *length, int n, int top, branch_prior prior, rng *stream)
{
    const double total = rng_gamma(stream, prior.shape) / prior.rate;
    double sum = 0;
    for (int e = 0; e < n; e++) {
        length[e] = rng_gamma(stream, 1 + branch_prior_power(prior, place_of(e, top)));
        sum += length[e];
    }
    for (int e = 0; e < n; e++)
        length[e] *= total / sum;
}

void branch_prior_draw(double *length, int n, int top, branch_prior prior, rng *stream)
{
    switch (prior.kind) {
    case BRANCH_PRIOR_EXPONENTIAL:
        for (int e = 0; e < n; e++)
            length[e] = rng_exponential(stream) / prior.rate;
        break;
    case BRANCH_PRIOR_GAMMA_DIRICHLET:
        draw_shares(length, n, top, prior, stream);
        break;
    }
}
