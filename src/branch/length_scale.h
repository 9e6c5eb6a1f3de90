/* length_scale.h: the scale on which the posterior of a branch length is nearly normal:
 *
 *     x = b^(1/3),   b = x^3,   db/dx = 3 x^2,   d^2b/dx^2 = 6 x
 *
 * Posteriors of branch lengths are nearly gamma distributions, and the cube root of a gamma
 * variable is nearly normal (Wilson and Hilferty 1931). A log density g of b becomes, as a density
 * of x,
 *
 *     f(x)   = g(b) + log db/dx
 *     f'(x)  = db/dx g'(b) + (log db/dx)'
 *     f''(x) = d^2b/dx^2 g'(b) + (db/dx)^2 g''(b) + (log db/dx)''
 *
 * Only this file and length_prior.c depend on the choice of the scale. Variables called
 * `cbrt_length` hold an x. Every x and b is positive. */
#ifndef BRANCH_LENGTH_SCALE_H
#define BRANCH_LENGTH_SCALE_H

#include <math.h>

static inline double length_scale_x(double b)
{
    return cbrt(b);
}

static inline double length_scale_length(double x)
{
    return x * x * x;
}

/* The x of `factor` times the length of x. */
static inline double length_scale_resize(double x, double factor)
{
    return x * cbrt(factor);
}

/* `factor` times the length of x, rounded as a product from left to right. */
static inline double length_scale_multiple(double factor, double x)
{
    return factor * x * x * x;
}

/* db/dx */
static inline double length_scale_slope(double x)
{
    return 3 * x * x;
}

/* (db/dx)^2 */
static inline double length_scale_slope_square(double x)
{
    return 9 * x * x * x * x;
}

/* d^2b/dx^2 */
static inline double length_scale_curvature(double x)
{
    return 6 * x;
}

/* The density of x where that of b is p: p db/dx. */
static inline double length_scale_density(double p, double x)
{
    return 3 * p * x * x;
}

/* log (b^power db/dx) */
static inline double length_scale_power_density(double power, double x)
{
    return log(3.0) + (3 * power + 2) * log(x);
}

/* log db/dx and its first two derivatives with respect to x. */
static inline double length_scale_log_jacobian(double x)
{
    return log(length_scale_slope(x));
}

static inline double length_scale_log_jacobian_first(double x)
{
    return 2 / x;
}

static inline double length_scale_log_jacobian_second(double x)
{
    return -2 / (x * x);
}

/* f' and f'' of the opening comment, with first = g'(b) and second = g''(b). */
static inline double length_scale_first(double x, double first)
{
    return length_scale_slope(x) * first + length_scale_log_jacobian_first(x);
}

static inline double length_scale_second(double x, double first, double second)
{
    return length_scale_curvature(x) * first + length_scale_slope_square(x) * second +
           length_scale_log_jacobian_second(x);
}

#endif
