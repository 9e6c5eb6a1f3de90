/* real.h: the number type of the networks. float in the program; the tests compile the whole
 * library a second time in double, to compare with exact values. Likelihoods, weights and losses
 * are double in both. */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#ifdef ART_DOUBLE
typedef double real;
#define REAL_IS_DOUBLE 1
#else
typedef float real;
#define REAL_IS_DOUBLE 0
#endif

#endif
