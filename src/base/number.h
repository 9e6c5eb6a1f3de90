/* number.h: strict parsing of numbers.
 *
 * The whole token must be the number: no blanks, no hexadecimal, no "nan" or "inf", no trailing
 * letters, and '.' is the decimal point in every locale. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* [+-]digits. ART_ERR_INPUT if the n bytes at text do not have this form, ART_ERR_LIMIT if the
 * number does not fit in 64 bits. */
int number_int(int64_t *out, const char *text, size_t n);

/* The same, and also with commas between groups of three digits: 1,234,567, as format_count writes
 * numbers. */
int number_grouped(int64_t *out, const char *text, size_t n);

/* [+-]digits[.digits][e[+-]digits], with digits on at least one side of the point; correctly
 * rounded. ART_ERR_INPUT if it does not have this form, ART_ERR_LIMIT if it is too large for a
 * double; numbers that are too small become 0 or subnormal. A few nanoseconds for up to 15
 * digits. */
int number_double(double *out, const char *text, size_t n);

#endif
