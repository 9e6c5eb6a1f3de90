/* tree_proposal.h: draws of topologies from a density of clades (density/clade/clade_density.h),
 * by many threads at once: a proposal for importance sampling and for the jumps of chains.
 *
 *     tree_proposal *p;
 *     status = tree_proposal_create(&p, n_taxa, decision, count, callers);
 *     log_q = tree_proposal_sample(p, drawn, &stream);
 *     log_q = tree_proposal_log_q(p, decision);
 *     tree_proposal_free(p);
 *
 * After creation everything is read only but for scratch memory, of which every call takes a piece
 * that no other is using. Results do not depend on which. */
#ifndef COLLAPSED_TREE_PROPOSAL_H
#define COLLAPSED_TREE_PROPOSAL_H

#include "base/pool.h"
#include "base/rng.h"
#include "density/clade/clade_density.h"

typedef struct tree_proposal tree_proposal;

/* Fits a smoothed CCD2 to decision [count][N-3], all of the same weight. `callers` calls may be
 * made at the same time. */
int tree_proposal_create(tree_proposal **out, int32_t n_taxa, const int32_t *decision, size_t count,
                         int callers);
void tree_proposal_free(tree_proposal *p); /* NULL is fine */

const clade_density *tree_proposal_density(const tree_proposal *p);

/* A tree drawn with r into decision [N-3]; returns its log q. */
double tree_proposal_sample(tree_proposal *p, int32_t *decision, rng *r);

double tree_proposal_log_q(tree_proposal *p, const int32_t *decision);

/* Draws again what is below the inner node v of *t, as clade_density_redraw. */
bool tree_proposal_redraw(tree_proposal *p, topology *t, int32_t v, double *log_ratio, rng *r);

#endif
