/* optim.h: Adam with a schedule of its rate and a moving average of the weights.
 *
 *     optim o;
 *     status = optim_init(&o, &model->params, optim_defaults(1e-4), team);
 *     each step:
 *         params_clear_grad; backward passes add the gradient of a loss
 *         status = optim_norm(&o, &norm);          ART_ERR_NUMERIC: do not update
 *         optim_update(&o, optim_clip(norm, 100));
 *     optim_free(&o);
 *
 * Checking and updating are two calls so that, with several sets of parameters, none is changed
 * unless all gradients are finite. Nothing is allocated after optim_init. Work is divided into
 * chunks of fixed size, so the results do not depend on the number of threads. */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include "base/pool.h"
#include "nn/params.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct optim_settings {
    double rate;        /* of the first step */
    double decay;       /* the rate is multiplied by it .. */
    int64_t every;      /* .. each time this many steps are done; 0 for never */
    int64_t steps;      /* from the last `cooling` of these steps on .. */
    int64_t cooling;    /* .. the rate also falls to 0, linearly; 0: it does not */
    double beta1;       /* of the mean of gradients */
    bool nesterov;      /* steps along the mean as the same gradient once more would leave it */
    double beta2;       /* of the mean of their squares */
    double eps;         /* added to the root of the second */
    double average;     /* decay of the moving average per step; 0 for no average */
    int64_t average_at; /* up to this step the average is a copy of the weights */
} optim_settings;

typedef struct optim {
    optim_settings settings;
    params *p; /* not owned */
    pool *team;
    int64_t step;    /* updates done */
    real *mean;      /* [p->total], of the gradients */
    real *square;    /* [p->total], of their squares */
    real *average;   /* [p->total], of the weights; NULL if there is none */
    double *partial; /* one per chunk */
} optim;

/* Betas 0.9 and 0.999, eps 1e-8, rate times 0.75 every 20,000 steps, no average. */
optim_settings optim_defaults(double rate);

/* p (allocated) and team (may be NULL) must outlive o. The average begins as a copy of the
 * values at the first update. */
int optim_init(optim *o, params *p, optim_settings settings, pool *team);
void optim_free(optim *o); /* safe on a zeroed one */

/* rate * decay^floor(step / every) * min(1, (steps - step) / cooling), the last factor at least 0:
 * the rate of the update that follows step updates. */
double optim_rate(const optim_settings *settings, int64_t step);

/* The 2-norm of p->grad, summed in double. ART_ERR_NUMERIC if a gradient is NaN or infinite, or so
 * large (beyond 1e18 in float) that its square would overflow. */
int optim_norm(optim *o, double *norm);

/* The factor that reduces a norm to limit: 1 if the norm is below it, or if limit is 0. */
double optim_clip(double norm, double limit);

/* One update with g = scale * p->grad, as torch's Adam does it; t counts from 1:
 *     mean   = beta1 mean + (1 - beta1) g            square = beta2 square + (1 - beta2) g^2
 *     value -= rate / (1 - beta1^t) * step / (sqrt(square) / sqrt(1 - beta2^t) + eps)
 * where step is the mean, or with nesterov beta1 mean + (1 - beta1) g;
 * then, if there is an average: a copy of value while t <= average_at, and after that
 *     average = a average + (1 - a) value. */
void optim_update(optim *o, double scale);

/* The fields "step", "mean.NAME", "square.NAME", "average.NAME" of a saved state; the parameters
 * themselves are saved by the caller. */
int optim_fields(optim *o, saved_state *s);

#endif
