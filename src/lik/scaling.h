/* scaling.h: how the pruning engines avoid underflow. Both multiply small values by powers of two,
 * which is exact, and subtract the logarithm of the power from the log-likelihood.
 *
 * likelihood.h multiplies by a fixed factor as often as needed and counts how often; partials.h
 * scales a pattern to about 1 and keeps the exponent, because its partials are combined in many
 * ways afterwards. */
#ifndef LIK_SCALING_H
#define LIK_SCALING_H

/* likelihood.h */
enum { SCALE_BITS = 256 };
#define SCALE_UP    0x1p256  /* factor of one scaling */
#define SCALE_LOW   0x1p-256 /* patterns whose sum over categories and bases is lower are scaled */
#define SCALE_MOST  0x1p768  /* at one node: an entry is below 1 */

/* partials.h */
#define PARTIAL_LOW 0x1p-200 /* the same limit: the product of two partials must not underflow */
enum { PARTIAL_SHIFT_MOST = 900 }; /* 2^900 times the likelihood of an invariant site is finite */

#endif
