/* trainer.h: the training loop. It is independent of what is learned: a task (task.h) provides the
 * gradient of a step; the trainer anneals, updates, detects NaN and infinite values, checks itself,
 * and saves and restores everything that the next step depends on.
 *
 *     trainer *t;
 *     status = trainer_create(&t, task, &settings, threads);
 *     status = trainer_fields(t, &checkpoint);              to resume a stopped run
 *     while (t->step < settings.steps) {
 *         status = trainer_advance(t, d);
 *         if (t->step % 1000 == 0)
 *             trainer_report(t, &report);
 *     }
 *     trainer_free(t);
 *
 * Nothing is allocated after trainer_create. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "train/task.h"
#include "nn/optim.h"

/* How the weight of the data rises, from a at step 0, over H steps. */
typedef enum anneal_shape {
    ANNEAL_LINEAR,    /* min(1, a + t / H), as published */
    ANNEAL_GEOMETRIC, /* a^(1 - t / H): as many steps for each factor of ten */
} anneal_shape;

typedef struct train_settings {
    int64_t steps;
    int64_t anneal_steps; /* H */
    double anneal_from;   /* a: ANNEAL_FROM */
    anneal_shape anneal_shape;
    double tree_rate; /* learning rates of the first step */
    double branch_rate;
    double decay;         /* rates are multiplied by it .. */
    int64_t decay_every;  /* .. each time this many steps are done; 0 for never */
    double beta2;         /* of Adam's mean of squares of the gradients: 1 / (1 - beta2) steps */
    bool nesterov;        /* its steps look ahead (nn/optim.h) */
    int64_t cooling;      /* steps at the end over which rates also fall to 0; 0 for none */
    double average;       /* of the moving average of the tree model's weights; 0 for none */
    int64_t average_from; /* step at which averaging starts */
    double clip;          /* maximum norm of a gradient; 0 for no limit */
    int64_t verify_every; /* steps between self-checks; 0 for none */
} train_settings;

/* The published schedule, without annealing. */
train_settings train_defaults(void);

/* Means over the steps since the last report; NaN if all of them were skipped. */
typedef struct train_report {
    int64_t step;
    double objective;     /* bound or mean log q: minus the loss */
    double best;          /* best value of the target since the start; NaN if there is none */
    double gradient_norm; /* of all parameters */
    double rate; /* current learning rate of the tree model (of the branch model if there is no tree
                    model) */
    double anneal;   /* now */
    double distinct; /* trees per step */
    double saved;    /* fraction of the work of the network saved by sharing */
    int64_t skipped; /* steps since the start without update, because of NaN or infinite values */
} train_report;

enum { TRAIN_SKIPS = 20 }; /* this many consecutive steps without update end the run */

/* Sums over the steps since the last report that were not skipped. */
typedef struct train_sums {
    double steps;
    double loss;
    double norm;
    double distinct;
    double work_done; /* work of the network, and what it would be without sharing */
    double work_unshared;
} train_sums;

typedef struct trainer {
    task *job;
    train_settings set;
    int64_t step; /* steps done */
    int64_t
        skipped; /* number of steps without update, and how many of the most recent ones in a row */
    int64_t skipped_in_row;
    optim trees; /* all zero if the task has no such model */
    optim branches;
    optim *part[2]; /* those of the two that exist */
    int parts;
    int64_t cooled_at;     /* the step at which trainer_cool was called; 0 if it was not */
    double last_objective; /* of the last step; NaN if it was skipped, or before the first */
    train_sums sums;
    double best; /* value of the target since the start; -inf before there is one */
} trainer;

/* job and threads are borrowed. */
int trainer_create(trainer **out, task *job, const train_settings *settings, pool *threads);
void trainer_free(trainer *t); /* NULL is fine; the task stays */

/* Performs a step without its update, so that everything is allocated before the first step. It
 * does not change the next step; after the last step it does nothing. */
int trainer_warm(trainer *t);

/* One step. A loss or gradient that is NaN or infinite leaves the parameters unchanged and is
 * counted; TRAIN_SKIPS consecutive ones return ART_ERR_NUMERIC, as does a failed self-check. */
int trainer_advance(trainer *t, diag *d);

/* Ends training early: after a quarter of the steps made so far, over which the rates fall to 0.
 * Does nothing if it would not end earlier. */
void trainer_cool(trainer *t);

/* The weight of the data and the learning rate at the next step. */
double trainer_anneal(const trainer *t);

/* Fills out and starts a new interval. */
void trainer_report(trainer *t, train_report *out);

/* Exchanges the tree model's weights with their moving average; a second call undoes it. There must
 * be an average. */
void trainer_swap_average(trainer *t);

/* Everything the next step depends on, as fields of a saved state: parameters, optimiser, average,
 * counters, and the fields of the task. When saving, the trainer must not advance until the state
 * is freed. */
int trainer_fields(trainer *t, saved_state *s);

#endif
