/* svg.h: drawings for the HTML report, as <svg> elements inside a page. Colours and fonts are set
 * by the page: the elements have the classes "branch", "axis", "grid", "trace", "density", "name",
 * "support", "label". */
#ifndef RESULTS_SVG_H
#define RESULTS_SVG_H

#include "results/marginal.h"
#include "results/trace.h"
#include "tree/consensus.h"

/* The tree with its root at the left, supports in percent on internal branches, a scale bar if
 * lengths are known; lengths and standard deviations are shown when the mouse is over a branch. */
int svg_tree(buffer *out, const consensus *c, const taxa *names);

/* A number against the steps of training, as a line through at least two points. The axis begins at
 * the lowest decile of the values, so that the first steps do not compress the rest. */
int svg_trace(buffer *out, const trace *t);

/* A small curve of a marginal density, which has one, over an axis with the ends of the 95 %
 * interval. */
void svg_marginal(buffer *out, const marginal *m);

#endif
