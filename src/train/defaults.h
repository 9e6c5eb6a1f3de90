/* defaults.h: the default schedules of the program and the library, and the published ones; the
 * sizes of networks are in density/factory.h. What was measured about them is in docs/constants.md;
 * collapsed inference has its own (collapsed/settings.h).
 *
 * Steps and rates are those of Adam. A rate is multiplied by the decay after every so many steps.
 */
#ifndef TRAIN_DEFAULTS_H
#define TRAIN_DEFAULTS_H

/* The published schedules (--preset paper): what all have in common, then each task's own.
 * Literals, because the preset gives them to options as text. */
#define PUBLISHED_RATE             0.0001
#define PUBLISHED_BRANCH_RATE      0.001
#define PUBLISHED_SBN_RATE         0.001 /* of subsplit networks, in infer */
#define PUBLISHED_DECAY            0.75
#define PUBLISHED_DECAY_EVERY      20000
#define PUBLISHED_BETA2            0.999
#define PUBLISHED_PARTICLES        10
#define PUBLISHED_STEPS            400000 /* of infer and parsimony */
#define PUBLISHED_ANNEAL           100000 /* steps, of infer */
#define PUBLISHED_PARSIMONY_ANNEAL 200000
#define PUBLISHED_FIT_STEPS        200000
#define PUBLISHED_FIT_BATCH        10
#define PUBLISHED_FIT_AVERAGE      0.9995
#define PUBLISHED_FIT_AVERAGE_FROM 1000

/* Of topologies and lengths learned together: an eighth of the published steps, with the decay and
 * the annealing that belong to that, and a faster branch model. */
enum {
    VBPI_STEPS = 50000,
    VBPI_ANNEAL = 25000, /* steps over which the data's weight rises to 1 */
    VBPI_PARTICLES = PUBLISHED_PARTICLES,
    VBPI_DECAY_EVERY = 5000,
};
#define VBPI_TREE_RATE   PUBLISHED_RATE
#define VBPI_BRANCH_RATE 3e-3
#define VBPI_SBN_RATE    0.01 /* of subsplit networks; a literal as above */

/* Of a density of given trees: few steps with little noise, at a high rate that falls to 0
 * (docs/decisions/fit.md). */
enum {
    FIT_STEPS = 2700,
    FIT_BATCH = 64, /* trees of a step */
    FIT_AVERAGE_FROM = 100,
    FIT_REPORT_EVERY = 100, /* steps between two lines of the log and of the metrics .. */
    FIT_TRUTH_EVERY =
        500, /* .. and between two looks at the divergence from a known distribution */
};
#define FIT_RATE                   2e-3
/* Of the rate, where every step has all trees: at the full rate some steps then go wrong, and a
 * small sample is soon learned by heart. */
#define FIT_RATE_ALL_TREES         0.5
/* The first gradients are a hundred times as large as the last, and must be forgotten soon. */
#define FIT_BETA2                  0.99
/* Norm of a gradient: they are 1 to 3 on the way, 20 at first, and 17 in single steps that would go
 * wrong. */
#define FIT_CLIP                   3.0
#define FIT_COOLING                1.0 /* share of the steps over which the rate falls to 0 */
#define FIT_AVERAGE                0.97
#define PUBLISHED_FIT_REPORT_EVERY 1000 /* not published: what these runs have always had */
#define PUBLISHED_FIT_TRUTH_EVERY  5000

/* Of most parsimonious trees: a tenth of the steps that are published for densities, at ten times
 * the rate. */
enum {
    PARSIMONY_STEPS = 20000,
    PARSIMONY_DECAY_EVERY = 1000,
    PARSIMONY_PARTICLES = PUBLISHED_PARTICLES,
    PARSIMONY_ANNEAL = 10000,
};
#define PARSIMONY_RATE 1e-3

#define DEFAULT_DECAY  PUBLISHED_DECAY

/* Of the evidence by draws: as published, 100 estimates of 1000 draws. */
enum {
    EVALUATION_PARTICLES = 1000,
    EVALUATION_REPEATS = 100,
    EVALUATION_SAMPLE = 1000,    /* draws that are kept */
    EVALUATION_CACHE = 64 << 20, /* bytes for partial trees that are drawn again and again */
};

/* Part of the data's weight at the first step of annealing. */
#define ANNEAL_FROM 0.001

/* Steps between two checks of the trainer of itself. */
enum { VERIFY_EVERY = 1000 };

#endif
