#include "subst/gamma_rates.h"

#include <float.h>
#include <math.h>

double log_gamma(double a)
{
    int sign;
    return lgamma_r(a, &sign);
}

/* Upwards by psi(a) = psi(a + 1) - 1 / a to where the asymptotic series is exact. */
double digamma(double a)
{
    double below = 0;
    for (; a < 12; a++)
        below += 1 / a;
    const double s = 1 / (a * a); /* Bernoulli numbers B_2k / 2k */
    const double tail =
        s *
        (1.0 / 12 -
         s * (1.0 / 120 -
              s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
    return log(a) - 0.5 / a - tail - below;
}

/* x^a e^-x / Gamma(a + 1) */
static double head(double a, double x)
{
    return exp(a * log(x) - x - log_gamma(a + 1));
}

/* head * (1 + x/(a+1) + x^2/((a+1)(a+2)) + ..): all terms positive, quick for x < a + 1. */
static double below_by_series(double a, double x)
{
    double sum = 1, term = 1;
    for (double k = a + 1; term > sum * (DBL_EPSILON / 4); k++) {
        term *= x / k;
        sum += term;
    }
    return head(a, x) * sum;
}

/* 1 - P(a, x) by Legendre's continued fraction, evaluated as Lentz does, for x >= a + 1. */
static double above_by_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, value = d;
    for (int i = 1; i < 10000; i++) {
        double numerator = -i * (i - a);
        b += 2;
        d = 1 / (b + numerator * d);
        c = b + numerator / c;
        value *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return head(a, x) * a * value;
}

double gamma_below(double a, double x)
{
    if (x <= 0)
        return 0;
    return x < a + 1 ? below_by_series(a, x) : 1 - above_by_fraction(a, x);
}

/* Newton in log x, where the distribution is smooth for small a too, kept inside a bracket
 * that every step narrows. */
double gamma_quantile(double a, double p)
{
    /* P(a, x) <= x^a / Gamma(a + 1), so this is below the quantile, and close to it when
     * the quantile is small. */
    double low = (log(p) + log_gamma(a + 1)) / a;
    if (low < log(DBL_MIN))
        return 0;
    double high = log(a + 1);
    while (gamma_below(a, exp(high)) < p)
        high += 1;
    double u = low;
    for (int i = 0; i < 200; i++) {
        double x = exp(u), miss = gamma_below(a, x) - p;
        *(miss < 0 ? &low : &high) = u;
        double next = u - miss / (a * head(a, x));
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - u) <= 2 * DBL_EPSILON * (1 + fabs(u)))
            break;
        u = next;
    }
    return exp(u);
}

/* The mean of the rates up to a cut x / alpha is P(alpha + 1, x). */
void gamma_rates(double *rate, int n, double alpha)
{
    double before = 0;
    for (int i = 0; i < n; i++) {
        double upto = i == n - 1 ? 1 : gamma_below(alpha + 1, gamma_quantile(alpha, (i + 1.0) / n));
        rate[i] = n * (upto - before);
        before = upto;
    }
}

/* d P(a, x) / d a divided by head(a, x), from the derivative of every term of the series:
 * (log x - psi(a + 1)) sum t_k - sum t_k (1/(a+1) + .. + 1/(a+k)). The series converges for every
 * x, and the two parts do not cancel where P is not close to 1. */
static double below_slope(double a, double x)
{
    double sum = 1, harmonic = 0, falling = 0, term = 1;
    for (double k = a + 1; term > sum * (DBL_EPSILON / 4); k++) {
        term *= x / k;
        harmonic += 1 / k;
        sum += term;
        falling += term * harmonic;
    }
    return (log(x) - digamma(a + 1)) * sum - falling;
}

/* The quantile x(alpha) moves by x' = -(dP(alpha, x)/dalpha) / density(x), so that P(alpha + 1, x)
 * changes by its own derivative by the shape and by density(alpha + 1, x) x'. With h = head(alpha,
 * x), head(alpha + 1, x) = h x / (alpha + 1), density(alpha, x) = h alpha / x and density(alpha +
 * 1, x) = h: all is h x times a difference that stays precise when x is tiny. */
void gamma_rate_slopes(double *slope, int n, double alpha)
{
    double before = 0;
    for (int i = 0; i < n; i++) {
        const double x = i == n - 1 ? 0 : gamma_quantile(alpha, (i + 1.0) / n);
        double upto = 0; /* of the last cut, which is always 1, and of those that underflow */
        if (x > 0)
            upto = head(alpha, x) * x *
                   (below_slope(alpha + 1, x) / (alpha + 1) - below_slope(alpha, x) / alpha);
        slope[i] = n * (upto - before);
        before = upto;
    }
}
