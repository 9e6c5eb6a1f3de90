/* workbench.h: what `bench` measures on: an alignment, models with random or trained weights,
 * the targets, and the tasks and trainers that a run would make of them.
 *
 *     workbench w;
 *     status = workbench_open(&w, s, &plan, threads);
 *     ... rows.h
 *     workbench_close(&w); */
#ifndef TIMING_WORKBENCH_H
#define TIMING_WORKBENCH_H

#include "timing/embedding.h"
#include "cli/dataset_options.h"
#include "cli/session.h"
#include "train/trainer.h"
#include "train/variational_task.h"
#include "density/distinct.h"
#include "density/model_file.h"
#include "tree/tree_set.h"

/* What to measure on; texts are borrowed, NULL where not given. */
typedef struct workbench_plan {
    dataset_settings data; /* without an alignment one is simulated */
    int taxa;              /* of a simulated one; a trained model has its own number */
    const char *model;     /* substitution model */
    const char *trained;   /* model file; NULL: random weights */
    const char *trees;     /* trees of the density steps; NULL: draws from the model */
    int particles;
    int evidence_repeats;
    uint64_t seed;
} workbench_plan;

/* Floating-point operations of the matrix products, counted while they are done. */
typedef struct workbench_cost {
    double forward;  /* done in forward passes */
    double backward; /* and in backward passes: edges that hardly matter are not followed back */
    double shared;   /* every distinct partial tree once, every edge followed back */
    double unshared; /* the same for every tree by itself */
} workbench_cost;

enum { DENSITY_BATCHES = 3 }; /* of 10, 100 and 1000 trees */

typedef struct workbench {
    session *session;
    pool *threads;
    const workbench_plan *plan;
    dataset data;
    subst_model model;
    model_file file; /* owns the models */
    topology_model *trees;
    branch_model *branches;
    bool random_lengths; /* then the data weigh little, lest one tree of a step outweigh all */
    target *likelihood, *parsimony;
    particles draws;
    double *coefficient; /* [k]: 1 / k */
    particle_source source;
    task *variational;
    trainer *trainer;
    tree_set sample; /* trees of the density steps */
    task *density[DENSITY_BATCHES];
    trainer *fitting[DENSITY_BATCHES];
    embedding_bench embedding;
    int32_t *many; /* [MODEL_BATCH][N-3]: of frozen sampling */
    double *many_log_q;
    distinct topologies;
    uint32_t step; /* number of the repeat */
    workbench_cost cost;
} workbench;

extern const int DENSITY_BATCH[DENSITY_BATCHES];

/* *w is always safe to close. */
int workbench_open(workbench *w, session *s, const workbench_plan *plan, int threads);
void workbench_close(workbench *w);

/* The hidden size of the topology model. */
int workbench_hidden(const workbench *w);

/* What only some rows need, made when first asked for: trees to embed, and the tasks of density
 * estimation, whose trees take a while to draw with random weights. */
int workbench_embedding(workbench *w);
int workbench_density(workbench *w);

/* Count what the last call of the tree model did: a gradient is two passes by the definition, three
 * if no forward pass has been counted for its trees. And a call of the branch model for so many
 * trees, each distinct one done once. */
void workbench_count_forward(workbench *w);
void workbench_count_gradient(workbench *w, int passes);
void workbench_count_branches(workbench *w, int trees, double distinct_trees, bool with_backward);

/* How many of the particles' trees are distinct. */
int workbench_distinct(workbench *w, const particles *p);

#endif
