#include "train/target.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/likelihood.h"

#include <stdlib.h>

typedef struct likelihood_target {
    target base;
    likelihood *engine;
    const alignment *data;
    const int *taxon;
    const subst_model *model;
} likelihood_target;

typedef struct parsimony_target {
    target base;
    parsimony *engine;
    const alignment *data;
    const int *taxon;
    parsimony_gap gap;
    int room;
    int64_t *score; /* [room] */
} parsimony_target;

static void likelihood_evaluate(target *t, double *value, double *gradient, const int32_t *decision,
                                const double *length, int k)
{
    likelihood_batch(((likelihood_target *)t)->engine, value, gradient, decision, length, k);
}

static int likelihood_check(target *t, double *value, const int32_t *decision, const double *length)
{
    likelihood_target *self = (likelihood_target *)t;
    return likelihood_ref(value, NULL, self->data, self->taxon, self->model, decision, length);
}

static void likelihood_target_free(target *t)
{
    likelihood_free(((likelihood_target *)t)->engine);
    free(t);
}

static const target_ops LIKELIHOOD_OPS = {likelihood_evaluate, likelihood_check,
                                          likelihood_target_free};

int target_likelihood(target **out, const alignment *a, const int *taxon, const subst_model *model,
                      int k, pool *threads)
{
    *out = NULL;
    likelihood_target *self = mem_zeros(1, sizeof *self);
    if (!self)
        return ART_ERR_NOMEM;
    self->base = (target){&LIKELIHOOD_OPS, a->n_taxa, 1};
    self->data = a;
    self->taxon = taxon;
    self->model = model;
    int status = likelihood_create(&self->engine, a, taxon, model, k, threads);
    if (status)
        target_free(&self->base);
    else
        *out = &self->base;
    return status;
}

static void parsimony_evaluate(target *t, double *value, double *gradient, const int32_t *decision,
                               const double *length, int k)
{
    (void)gradient, (void)length;
    parsimony_target *self = (parsimony_target *)t;
    for (int first = 0; first < k; first += self->room) {
        int part = k - first < self->room ? k - first : self->room;
        parsimony_batch(self->engine, self->score,
                        decision + (size_t)first * (size_t)(t->n_taxa - 3), part);
        for (int i = 0; i < part; i++)
            value[first + i] = -(double)self->score[i];
    }
}

static int parsimony_check(target *t, double *value, const int32_t *decision, const double *length)
{
    (void)length;
    parsimony_target *self = (parsimony_target *)t;
    int64_t score;
    int status = parsimony_ref(&score, self->data, self->taxon, self->gap, decision);
    *value = -(double)score;
    return status;
}

static void parsimony_target_free(target *t)
{
    parsimony_target *self = (parsimony_target *)t;
    parsimony_free(self->engine);
    free(self->score);
    free(self);
}

static const target_ops PARSIMONY_OPS = {parsimony_evaluate, parsimony_check,
                                         parsimony_target_free};

int target_parsimony(target **out, const alignment *a, const int *taxon, parsimony_gap gap, int k,
                     pool *threads)
{
    *out = NULL;
    parsimony_target *self = mem_zeros(1, sizeof *self);
    if (!self)
        return ART_ERR_NOMEM;
    self->base = (target){&PARSIMONY_OPS, a->n_taxa, 0};
    self->data = a;
    self->taxon = taxon;
    self->gap = gap;
    self->room = k;
    self->score = mem_zeros((size_t)k, sizeof *self->score);
    int status =
        self->score ? parsimony_create(&self->engine, a, taxon, gap, threads) : ART_ERR_NOMEM;
    if (status)
        target_free(&self->base);
    else
        *out = &self->base;
    return status;
}

void target_free(target *t)
{
    if (t)
        t->ops->free(t);
}
