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
 *     table_sampler *s;
 *     status = table_sampler_create(&s, c, &names, &settings);
 *     while (!table_sampler_between(s) || table_sampler_error(s) > wanted)
 *         status = table_sampler_advance(s);                  a second of work, more or less
 *     status = table_sampler_finish(s, &evidence, &posterior, &facts);
 *     table_sampler_free(s); */
#ifndef COLLAPSED_SAMPLER_H
#define COLLAPSED_SAMPLER_H

#include "collapsed/rounds.h"
#include "train/evidence.h"
#include "results/posterior.h"

typedef struct sampler_settings {
    int particles;  /* K of a repeat */
    int sample;     /* draws that are kept */
    double network; /* b; the table gets 1 - b */
    uint64_t seed;
} sampler_settings;

typedef struct table_sampler table_sampler;

/* c is borrowed, must be settled (collapsed_settle), and its table gets better lengths and g. */
int table_sampler_create(table_sampler **out, collapsed *c, const taxa *names,
                         const sampler_settings *settings);
void table_sampler_free(table_sampler *s); /* NULL is fine */

enum { SAMPLER_REPEATS = 10 }; /* of a pass */

/* A piece of a pass. */
int table_sampler_advance(table_sampler *s);

/* Passes that are done, and whether no other has begun. */
int table_sampler_passes(const table_sampler *s);
bool table_sampler_between(const table_sampler *s);

/* Draws dealt with so far, more or less, for showing. */
double table_sampler_draws(const table_sampler *s);

/* Of the log evidence, so far; +inf before the first pass. */
double table_sampler_error(const table_sampler *s);

/* Pareto k of all weights so far (importance_weights.h). O(draws log draws). */
double table_sampler_pareto(table_sampler *s);

/* Between passes, the draws of the last one: [SAMPLER_REPEATS K], those of weight 0 (-inf) among
 * them. */
const particles *table_sampler_particles(const table_sampler *s);

/* What the answer rests on. */
typedef struct sampler_facts {
    int passes;
    int64_t outside_trees; /* that were drawn */
    table_improvement blend;
} sampler_facts;

/* Ends it: the table has no lengths afterwards. The posterior takes over what was gathered; free it
 * with posterior_free. */
int table_sampler_finish(table_sampler *s, evidence *e, posterior *p, sampler_facts *facts);

/* Everything the next piece depends on, beside what collapsed_save has, as tensors of a checkpoint.
 * Loading is for a sampler that was just made, from a table that was loaded before. */
int table_sampler_save(table_sampler *s, safetensors *to);
int table_sampler_load(table_sampler *s, safetensors *from, const char *file, diag *d);

/* Whether a checkpoint has a sampler. */
bool table_sampler_is_saved(const safetensors *from);

#endif
