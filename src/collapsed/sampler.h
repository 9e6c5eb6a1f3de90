/* sampler.h: the answer of collapsed inference (rounds.h): evidence and posterior by
 * importance sampling, unbiased whatever the table and the network are.
 *
 * The trees are two strata. Those of the table are drawn from its distribution p, all others
 * from the network q; a draw of q that falls into the table has weight 0, for its stratum is
 * covered. Lengths come from the proposal r of their tree (branch/topology_evidence.h); outside,
 * one of several draws that get their mean weight, and trees that will have light weights are
 * kept with a chance, by which their weights are divided. With a K and b K of K draws for the two
 * strata,
 *
 *     log weight = log p(data, tree, lengths) - log r(lengths | tree)
 *                  - log(a p(tree)) or - log(b q(tree)),
 *
 * and the mean weight is the evidence. Draws from the table are systematic, one in each of
 * equal steps of its cumulative distribution: less noise than independent ones, so that the
 * standard errors, which are those of independent draws, are on the safe side.
 *
 * What a tree's draws say of its evidence is blended with Laplace's approximations
 * (blend.h): the topology probabilities that are reported.
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

/* Passes that are done, and whether no other has begun. */
int tree_sampler_passes(const tree_sampler *s);
bool tree_sampler_between(const tree_sampler *s);

/* Draws dealt with so far, more or less, for showing. */
double tree_sampler_draws(const tree_sampler *s);

/* Of the log evidence, so far; +inf before the first pass. */
double tree_sampler_error(const tree_sampler *s);

/* Pareto k of all weights so far (importance_weights.h). O(draws log draws). */
double tree_sampler_pareto(tree_sampler *s);

/* Between passes, the draws of the last one: [SAMPLER_REPEATS K], those of weight 0 (-inf) among
 * them. */
const particles *tree_sampler_particles(const tree_sampler *s);

/* What the answer rests on. */
typedef struct sampler_facts {
    int passes;
    int64_t outside_trees; /* that were drawn */
    table_improvement blend;
} sampler_facts;

/* Ends it: the table has no lengths afterwards. The posterior takes over what was gathered; free it
 * with posterior_free. */
int tree_sampler_finish(tree_sampler *s, evidence *e, posterior *p, sampler_facts *facts);

/* Everything the next piece depends on, beside what rounds_fields has, as fields of a saved state.
 * Loading is for a sampler that was just made, from a table that was loaded before. */
int tree_sampler_fields(tree_sampler *s, saved_state *to);

#endif
