/* exponential.h: the exponential of negative numbers, for kernel files: written so that loops over
 * it become vector code. */
#ifndef NN_EXPONENTIAL_H
#define NN_EXPONENTIAL_H

#include "base/real.h"

#include <math.h>
#include <stdint.h>

/* x where it is negative, else 0; and exp(x) - 1 for such x. Without branches or comparisons,
 * so that loops over them become short vector code.
 *
 * Float: x = k ln 2 + r with |r| <= ln 2 / 2, then 2^k (exp(r) - 1) + (2^k - 1). The
 * polynomial r + r^2 (c_0 + .. + c_4 r^4) interpolates exp(r) - 1 at Chebyshev points; it is
 * within 2.6e-8 relative, below rounding, and the total error is at most 2 ulp. What is below
 * -87 is taken for -87, where the result is -1 and 2^k still a normal number: as an unsigned
 * number, the pattern of a negative float grows with its size. */
#if REAL_IS_DOUBLE
static inline real negative_part(real x)
{
    return x < 0 ? x : 0;
}

static inline real expm1_negative(real x)
{
    return expm1(x);
}
#else
typedef union float_bits {
    float f;
    uint32_t u;
} float_bits;

static inline real negative_part(real x)
{
    float_bits v = {x};
    v.u &= (uint32_t)((int32_t)v.u >> 31);
    return v.f;
}

static inline real expm1_negative(real x)
{
    const float magic = 0x1.8p23f; /* adding it leaves the rounded integer in the low bits */
    const float_bits lowest = {-87.0f};
    float_bits v = {x}, scale;
    v.u = v.u < lowest.u ? v.u : lowest.u;
    scale.f = v.f * 0x1.715476p0f + magic;
    const float k = scale.f - magic;
    float r = v.f - k * 0x1.62e4p-1f;
    r = r - k * 0x1.7f7d1cp-20f;
    float p = 0x1.6d110ap-10f;
    p = p * r + 0x1.120b6ep-7f;
    p = p * r + 0x1.55551ap-5f;
    p = p * r + 0x1.5554dcp-3f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    scale.u = (scale.u + 127u) << 23;
    return scale.f * p + (scale.f - 1.0f);
}
#endif

#endif
