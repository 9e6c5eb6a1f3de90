/* marginal.h: the marginal posterior density of the tree length or of a parameter, from the rows of
 * the sample, as a curve.
 *
 *     marginal m;
 *     status = marginal_of(&m, &posterior, column);
 *     if (!status && marginal_has_curve(&m))
 *         svg_marginal(&out, &m);
 *
 * Rows are smoothed with a normal kernel, which is reflected at the bounds of the parameter: all
 * are at least 0; exchange rates, frequencies and pinvar are at most 1. In an average over models
 * some models have a fixed value, such as a pinvar of 0 without +I: the curve is of the others. */
#ifndef RESULTS_MARGINAL_H
#define RESULTS_MARGINAL_H

#include "results/posterior.h"

enum { MARGINAL_POINTS = 81 };

typedef struct marginal {
    double from, to;                 /* the ends of the axis */
    double low, high;                /* 95 % HPD interval of what the curve is of */
    double density[MARGINAL_POINTS]; /* at equal distances from one end to the other, relative to
                                        the highest; 0 if there is no curve */
    double fixed_share;              /* of the rows whose model has a fixed value */
    double fixed_value;              /* which it is; NaN if models differ in it */
} marginal;

/* Column k of the posterior (posterior.h), which is finished. ART_ERR_NOMEM. */
int marginal_of(marginal *out, const posterior *p, int column);

/* Whether the rows vary. */
bool marginal_has_curve(const marginal *m);

#endif
