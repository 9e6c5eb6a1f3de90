#include "subst/gamma_rates.h"

#include <float.h>
#include <math.h>

/* log Gamma(a); lgamma itself writes a global. */
static double log_gamma(double a)
{
    int sign;
    return lgamma_r(a, &sign);
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
