/* network_fit.h: the network q fitted to the table of topologies, by weighted maximum likelihood.
 *
 * In every round from where the last one left it, until the gap KL(table || q) is as wanted or
 * does not fall any more; in the end it may be polished, in larger batches and with a rate that
 * falls where the gap does not. An average of the weights is kept beside them; gaps are its.
 *
 *     network_fit f;
 *     network_fit_init(&f, q, &settings, threads);
 *     status = network_fit_begin(&f, &table, false);
 *     while (!over)
 *         status = network_fit_step(&f, false, &over, d);
 *     network_fit_free(&f);
 *
 * The table may grow between network_fit_begin and the last step, but what it had must stay. */
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
    double fit_kl;     /* the last that was measured; +inf before */
    double gap_before; /* the one that it is compared with */
    real *best;        /* [parameters] that had .. */
    double best_gap;   /* .. the least gap while polishing; NULL before */
} network_fit;

/* Uses the seed, the part `fit` and the affordable sizes. q (initialised) and threads are borrowed.
 */
void network_fit_init(network_fit *f, topology_model *q, const collapsed_settings *settings,
                      pool *threads);
void network_fit_free(network_fit *f); /* safe on a zeroed one */

/* Steps made in all fits. */
int64_t network_fit_steps(const network_fit *f);

/* A fit, or polishing, to the table as it is now. */
int network_fit_begin(network_fit *f, const tree_table *t, bool polishing);

/* One step. It is the last, and *over true, if the fit is as good as wanted, does not get better,
 * or there is hurry; then the gap is known. */
int network_fit_step(network_fit *f, bool hurry, bool *over, diag *d);

/* Exchanges the weights with their average; call it twice to come back. */
void network_fit_swap(network_fit *f);

/* Everything the next step depends on, as fields of a saved state. The table must be loaded
 * before. */
int network_fit_fields(network_fit *f, const tree_table *t, saved_state *s);

#endif
