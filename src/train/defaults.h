/* defaults.h: default training schedules, for the program and the library. The sizes of networks
 * are in density/factory.h. */
#ifndef TRAIN_DEFAULTS_H
#define TRAIN_DEFAULTS_H

/* Of topologies and lengths learned together. */
enum {
    VBPI_STEPS = 50000,
    VBPI_ANNEAL = 25000,
    VBPI_PARTICLES = 10,
    VBPI_DECAY_EVERY = 5000,
};
#define VBPI_TREE_RATE   1e-4
#define VBPI_BRANCH_RATE 3e-3

/* Of a density of given trees. */
enum { FIT_STEPS = 20000, FIT_BATCH = 10, FIT_DECAY_EVERY = 1000, FIT_AVERAGE_FROM = 1000 };

/* Of maximum parsimony by annealed inference; otherwise as a density of given trees. */
enum { PARSIMONY_ANNEAL = 10000 };

#define FIT_RATE      1e-3
#define FIT_AVERAGE   0.9995

#define DEFAULT_DECAY 0.75

#endif
