/* settings.h: the numbers that were chosen for the work on branch lengths, each with its unit and
 * its reason; what was measured is in docs/constants.md.
 *
 * A problem (branch_posterior.h) carries them, so that everything made for it uses the same:
 *
 *     branch_posterior_init(&problem, ...);        has branch_defaults()
 *     problem.set.nni_slack = 6;                   before anything else is made for it */
#ifndef BRANCH_SETTINGS_H
#define BRANCH_SETTINGS_H

/* Nats that the last sweep of a search for the mode may still promise to gain: good for ranking and
 * for weights, errors of g are below 0.01. The usual argument of branch_solver_mode. */
#define BRANCH_TOLERANCE       1e-3

/* Lengths, in expected changes per site: the search for the mode stays between them. Far beyond
 * what data can say: a branch without a change on n sites has its mode at 2 / (3 (n + prior rate)).
 */
#define BRANCH_SHORTEST        1e-12
#define BRANCH_LONGEST         100.0

/* Free parameters (docs/parameters.md).
 *
 * Variance of each coordinate where nothing is known yet: a factor of 1.25. A search for their mode
 * sets out with it. */
#define PARAMETER_ROUGH        0.05
/* Times the lengths of a tree: a joint fit also starts from so much longer branches, because rates
 * that differ among sites can have a second mode there. */
#define PARAMETER_LONGER       8.0
/* Draws of one tree from which on the parameters' own second derivatives are worth their cost;
 * fewer use those of a reference tree. 0 (always their own) has as many effective draws; other
 * values were not measured. */
#define PARAMETER_OWN_DRAWS    64
/* Of the draws of the parameters of a tree, the share with long tails, and their degrees of
 * freedom: the variance is finite, and little is lost where the posterior is normal. Not measured.
 */
#define PARAMETER_WIDE_SHARE   0.2
#define PARAMETER_WIDE_FREEDOM 4

/* Skewed proposals of lengths (docs/collapsed.md, "Hundreds of branches"; measured with
 * bench_length_proposals).
 *
 * Pairs of places, opposite to each other, where slopes are looked at to find the mean: with 4 the
 * mean is as good as with 64. */
#define LENGTH_PAIRS           4
/* Draws of one tree from which on they are worth their cost with free parameters: a skewed proposal
 * costs as much as 40 to 60. With any number, the draws of DS1 under GTR+G4 took twice as long. */
#define LENGTH_SKEWED_DRAWS    48
/* Share of a branch's x at its mode below which these places do not go: f falls to -inf at 0, which
 * is no part of the skewness. */
#define LENGTH_LEAST_SHARE     0.1
/* Standard deviations by which a branch may be moved and bent: far more is a sign that there is no
 * mode to speak of. What is seen with hundreds of sites is 0.5 and 0.25 at most. */
#define LENGTH_MOST_SHIFT      0.5
#define LENGTH_MOST_SKEW       0.3

typedef struct branch_settings {
    /* The mode (branch_solver.h, branch_edge.h). */
    int sweeps;        /* over all branches, at most: an end where there is no mode to be found */
    double small_step; /* share of x = b^(1/3): a Newton step of less is the last on its branch */
    /* Moves before they are made (branch_moves.h), in nats. */
    double enough;         /* gain on one branch that is not worth another step; far below what
                              decides about a tree */
    double nni_slack;      /* most that fitting the other four branches of an interchange may gain
                              after the middle one; what is farther below is given up */
    double spr_slack;      /* the same for the two halves of the branch that a subtree is put
                              into .. */
    double spr_per_change; /* .. and for each change expected on that branch: a subtree put into
                              its middle gains by moving along it */
    /* Sampling (topology_evidence.h). */
    double prior_draws; /* of E draws of lengths, how many come from the prior: bounds the weights,
                           and so their variance, whatever the data; costs one draw in 2 E */
} branch_settings;

branch_settings branch_defaults(void);

#endif
