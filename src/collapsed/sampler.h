/* sampler.h: the final estimates of collapsed inference (rounds.h): evidence and posterior by
 * importance sampling, unbiased for any table and any network.
 *
 * The trees form two strata. Those of the table are drawn from its distribution p, all others from
 * the network q; a draw of q that is in the table has weight 0, because that stratum is already
 * covered. Lengths come from the proposal r of their tree (branch/topology_evidence.h); outside the
 * table, one of several draws represents all with their mean weight, and trees that will have small
 * weights are kept with a certain probability, by which their weights are divided. With a K and b K
 * of K draws for the two strata,
 *
 *     log weight = log p(data, tree, lengths) - log r(lengths | tree)
 *                  - log(a p(tree)) or - log(b q(tree)),
 *
 * and the mean weight is the evidence. Draws from the table are systematic, one in each of equal
 * intervals of its cumulative distribution. They have less noise than independent draws, so the
 * standard errors, which are those of independent draws, are conservative.
 *
 * The estimate of a tree's evidence from its draws is combined with the Laplace approximations
 * (blend.h); this gives the reported topology probabilities.
 *
 *     tree_sampler *s;
 *     status = tree_sampler_create(&s, c, &names, network);
 *     while (!tree_sampler_between(s) || tree_sampler_error(s) > wanted)
 *         status = tree_sampler_advance(s);                  a second of work, more or less
 *     status = tree_sampler_finish(s, &evidence, &posterior, &facts);
 *     tree_sampler_free(s); */
#ifndef COLLAPSED_SAMPLER_H
#define COLLAPSED_SAMPLER_H

#include "collapsed/rounds.h"
#include "train/evidence.h"
#include "results/posterior.h"

typedef struct tree_sampler tree_sampler;

/* With the seed and the parts `sampler` and `blend` of c's settings; `network` is b, the table gets
 * 1 - b. c is borrowed, must be settled (rounds_use_averaged_weights), and its table gets better
 * lengths and g. */
int tree_sampler_create(tree_sampler **out, rounds *c, const taxa *names, double network);
void tree_sampler_free(tree_sampler *s); /* NULL is fine */

/* A piece of a pass. */
int tree_sampler_advance(tree_sampler *s);

/* The number of complete passes, and whether no other has begun. */
int tree_sampler_passes(const tree_sampler *s);
bool tree_sampler_between(const tree_sampler *s);

/* Approximate number of draws so far, for display. */
double tree_sampler_draws(const tree_sampler *s);

/* Of the log evidence, so far; +inf before the first pass. */
double tree_sampler_error(const tree_sampler *s);

/* Pareto k of all weights so far (importance_weights.h). O(draws log draws). */
double tree_sampler_pareto(tree_sampler *s);

/* The number of independent draws that all are worth, by their weights. O(draws). */
double tree_sampler_ess(const tree_sampler *s);

/* Between passes, the draws of the last one: [SAMPLER_REPEATS K], including those of weight 0
 * (-inf). */
const particles *tree_sampler_particles(const tree_sampler *s);

/* Facts about the sampling. */
typedef struct sampler_facts {
    int passes;
    int64_t outside_trees; /* that were drawn */
    table_improvement blend;
} sampler_facts;

/* Ends the sampling: the table has no lengths afterwards. The posterior takes ownership of the
 * collected draws; free it with posterior_free. */
int tree_sampler_finish(tree_sampler *s, evidence *e, posterior *p, sampler_facts *facts);

/* Everything the next piece depends on, in addition to rounds_fields, as fields of a saved state.
 * Load only into a newly created sampler, after its table has been loaded. */
int tree_sampler_fields(tree_sampler *s, saved_state *to);

#endif
