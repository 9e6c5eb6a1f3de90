/* sample.h: the files that hold a posterior sample, in which all rows have equal weight.
 *
 *     <prefix>.trees        NEXUS, one tree per row with branch lengths and [&W weight]
 *     <prefix>.trace.tsv    one line per row, for Tracer: state, log-likelihood, prior, tree
 *                           length, parameters that all models have, log q; of an average the
 *                           number of the model in <prefix>.models.tsv */
#ifndef RESULTS_SAMPLE_H
#define RESULTS_SAMPLE_H

#include "base/diag.h"
#include "results/posterior.h"
#include "tree/rooting.h"

extern const char *const SAMPLE_SUFFIXES[]; /* the suffixes above, NULL at the end */

/* p is finished (posterior_finish) and has branch lengths. The trees are rooted at r, if it is not
 * NULL. */
int sample_write(const char *prefix, const posterior *p, const rooting *r, diag *d);

#endif
