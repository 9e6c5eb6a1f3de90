#include "train/variational_task.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/best_trees.h"
#include "density/distinct.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>

typedef struct variational {
    task base;
    particle_source source;
    particles draws;
    distinct topologies; /* of the draws */
    estimator kind;
    double *share; /* [K] */
    double *dlogq; /* [K] */
    best_trees best;
} variational;

/* The slopes become d loss / d length at fixed log q: -share * d log target / d length. */
static int branch_gradient(variational *v, double anneal)
{
    const branch_prior prior = v->source.prior;
    const int n_taxa = v->draws.n_taxa, edges = topology_edges(n_taxa);
    for (ptrdiff_t i = 0; i < v->draws.k; i++) {
        double *slope = v->draws.slope + i * edges;
        const double *length = v->draws.length + i * edges;
        const int32_t top = decisions_top_edge(v->draws.decision + i * (n_taxa - 3), n_taxa);
        double total = 0;
        for (int e = 0; e < edges; e++)
            total += length[e];
        const double shared = branch_prior_total_first(prior, total, edges);
        for (int e = 0; e < edges; e++) {
            const branch_place place = branch_place_of(edge_is_external(e, top));
            const double first = branch_prior_first(prior, length[e], place) + shared;
            slope[e] = -v->share[i] * (anneal * slope[e] + first);
        }
    }
    return branch_model_backward(v->base.branches, v->draws.slope, v->share);
}

static int variational_step(task *t, task_step *out, uint32_t step, double anneal)
{
    variational *v = (variational *)t;
    particles *p = &v->draws;
    int status =
        particles_draw(p, &v->source, (particle_stream){RNG_TOPOLOGY, RNG_BRANCH, step, 0});
    if (status)
        return status;
    particles_weigh(p, anneal);
    double bound = objective_gradient(v->share, v->dlogq, p->log_weight, p->k, v->kind);
    *out = (task_step){.loss = -bound, .best = -INFINITY, .trees = p->k};
    distinct_set(&v->topologies, p->decision, p->k);
    out->distinct = v->topologies.count;
    for (int i = 0; i < p->k; i++) {
        out->best = fmax(out->best, p->value[i]);
        best_trees_add(&v->best, p->value[i], p->decision + (size_t)i * (size_t)(p->n_taxa - 3));
    }
    if (!isfinite(bound))
        return ART_OK; /* the loop's policy decides; there is no gradient to add */
    status = topology_model_gradient(t->trees, NULL, p->decision, v->dlogq, p->k);
    if (!status && t->branches)
        status = branch_gradient(v, anneal);
    return status;
}

static int variational_verify(task *t, diag *d)
{
    variational *v = (variational *)t;
    target *goal = v->source.goal;
    double fast, plain;
    int status = task_verify_tree(t, v->draws.decision, v->draws.length, d);
    if (status)
        return status;
    goal->ops->evaluate(goal, &fast, NULL, v->draws.decision, v->draws.length, 1);
    status = goal->ops->reference(goal, &plain, v->draws.decision, v->draws.length);
    /* sums of a few thousand terms in double */
    return status ? status
                  : task_agree("the target of a sampled tree", fast, plain, 1e-9 * fabs(plain), d);
}

static int variational_fields(task *t, saved_state *s)
{
    return best_trees_fields(&((variational *)t)->best, s);
}

static void variational_free(task *t)
{
    variational *v = (variational *)t;
    particles_free(&v->draws);
    distinct_free(&v->topologies);
    best_trees_free(&v->best);
    free(v->share);
    free(v->dlogq);
    free(v);
}

static const task_ops OPS = {variational_step, variational_verify, variational_fields,
                             variational_free};

int variational_create(task **out, const particle_source *source, int k, estimator kind)
{
    *out = NULL;
    if (k < (kind == ESTIMATOR_RWS ? 1 : 2))
        return ART_ERR_USAGE;
    if (!topology_model_can(source->trees, TOPOLOGY_GRADIENT) ||
        (source->branches && !branch_model_can(source->branches, BRANCH_BACKWARD)))
        return ART_ERR_UNSUPPORTED;
    variational *v = mem_zeros(1, sizeof *v);
    if (!v)
        return ART_ERR_NOMEM;
    int n_taxa = source->goal->n_taxa;
    v->base = (task){&OPS, source->trees, source->branches};
    v->source = *source;
    v->kind = kind;
    v->share = mem_zeros((size_t)k, sizeof *v->share);
    v->dlogq = mem_zeros((size_t)k, sizeof *v->dlogq);
    if (particles_init(&v->draws, k, n_taxa, source->branches != NULL) ||
        distinct_reserve(&v->topologies, k, n_taxa) || best_trees_init(&v->best, n_taxa) ||
        !v->share || !v->dlogq) {
        variational_free(&v->base);
        return ART_ERR_NOMEM;
    }
    *out = &v->base;
    return ART_OK;
}

double variational_best(const task *t)
{
    return ((const variational *)t)->best.value;
}

int variational_best_trees(const task *t, const int32_t **decision)
{
    const variational *v = (const variational *)t;
    *decision = key_table_at(&v->best.trees, 0);
    return (int)v->best.trees.count;
}
