/* svg.h: drawings for the HTML report, as <svg> elements that stand inside a page. Colours and
 * fonts are the page's: what is drawn has the classes "branch", "axis", "grid", "trace", "name",
 * "support", "label". */
#ifndef RESULTS_SVG_H
#define RESULTS_SVG_H

#include "results/trace.h"
#include "tree/consensus.h"

/* The tree with its root at the left, supports in percent on inner branches, a scale bar where
 * lengths are known; lengths and deviations are shown when the mouse rests on a branch. */
int svg_tree(buffer *out, const consensus *c, const taxa *names);

/* A number against the steps of training, as a line through at least two points. The axis begins
 * at the tenth part of the values from below, so that the first steps do not flatten the rest. */
int svg_trace(buffer *out, const trace *t);

#endif
