/* network_fit.h: the network q fitted to the table of topologies, by weighted maximum likelihood.
 *
 * Every round continues the fit of the last one, until the divergence KL(table || q) reaches its
 * target or no longer decreases; at the end the network may be polished: fitted further with larger
 * batches and a learning rate that is reduced when the divergence does not decrease. A moving
 * average of the weights is also kept; divergences are measured with it.
 *
 *     network_fit f;
 *     network_fit_init(&f, q, &settings, threads);
 *     status = network_fit_begin(&f, &table, false);
 *     while (!over)
 *         status = network_fit_step(&f, false, &over, d);
 *     network_fit_free(&f);
 *
 * The table may grow between network_fit_begin and the last step, but no tree may be removed. */
#ifndef COLLAPSED_NETWORK_FIT_H
#define COLLAPSED_NETWORK_FIT_H

#include "collapsed/fit_targets.h"
#include "collapsed/settings.h"
#include "train/trainer.h"

#include <stdbool.h>

typedef struct network_fit {
    topology_model *q; /* borrowed; holds the last weights, not their average */
    network_fit_settings set;
    affordable_settings affordable;
    uint64_t seed;
    pool *threads;
    fit_targets targets;
    task *job;         /* NULL before the first fit */
    trainer *trainer;  /* the same */
    int64_t before;    /* its steps when this fit began */
    bool polishing;    /* this fit */
    double rate;       /* of polishing, before it falls with the steps */
    double fit_kl;     /* the last divergence measured; +inf before the first */
    double gap_before; /* the divergence it is compared with */
    real *best;        /* [parameters] that had .. */
    double best_gap;   /* .. the smallest divergence during polishing; NULL before */
} network_fit;

/* Uses the seed, the part `fit` and the affordable sizes. q (initialised) and threads are borrowed.
 */
void network_fit_init(network_fit *f, topology_model *q, const collapsed_settings *settings,
                      pool *threads);
void network_fit_free(network_fit *f); /* safe on a zeroed one */

/* Steps made in all fits. */
int64_t network_fit_steps(const network_fit *f);

/* Begins a fit, or polishing, to the current table. */
int network_fit_begin(network_fit *f, const tree_table *t, bool polishing);

/* One step. It is the last, and *over becomes true, if the fit has reached its target, no longer
 * improves, or has to finish now; the divergence is then known. */
int network_fit_step(network_fit *f, bool finish_now, bool *over, diag *d);

/* Exchanges the weights with their average; a second call undoes it. */
void network_fit_swap(network_fit *f);

/* Everything the next step depends on, as fields of a saved state. The table must be loaded
 * before. */
int network_fit_fields(network_fit *f, const tree_table *t, saved_state *s);

#endif
