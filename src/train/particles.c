#include "train/particles.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int particles_init(particles *p, int k, int n_taxa, int with_slope)
{
    memset(p, 0, sizeof *p);
    size_t room = (size_t)k, n = (size_t)n_taxa;
    p->k = k;
    p->n_taxa = n_taxa;
    p->decision = mem_zeros(room * (n - 3), sizeof *p->decision);
    p->length = mem_zeros(room * (2 * n - 3), sizeof *p->length);
    p->slope = with_slope ? mem_zeros(room * (2 * n - 3), sizeof *p->slope) : NULL;
    p->log_q = mem_zeros(5 * room, sizeof *p->log_q);
    p->part = mem_zeros(room, sizeof *p->part);
    if (!p->decision || !p->length || (with_slope && !p->slope) || !p->log_q || !p->part)
        return ART_ERR_NOMEM;
    p->log_b = p->log_q + room;
    p->value = p->log_q + 2 * room;
    p->log_prior = p->log_q + 3 * room;
    p->log_weight = p->log_q + 4 * room;
    return ART_OK;
}

void particles_free(particles *p)
{
    free(p->decision);
    free(p->length);
    free(p->slope);
    free(p->log_q);
    free(p->part);
    free(p->parameter);
    memset(p, 0, sizeof *p);
}

int particles_add_parameters(particles *p, int n_free)
{
    p->n_free = n_free;
    p->parameter = mem_zeros((size_t)p->k * (size_t)n_free + 1, sizeof *p->parameter);
    return p->parameter ? ART_OK : ART_ERR_NOMEM;
}

double log_topologies(int n_taxa)
{
    double sum = 0;
    for (int n = 3; n < n_taxa; n++)
        sum += log(2 * n - 3);
    return sum;
}

double log_prior(const int32_t *decision, const double *length, int n_taxa, branch_prior prior)
{
    return branch_prior_log_joint(prior, length, topology_edges(n_taxa),
                                  decisions_top_edge(decision, n_taxa)) -
           log_topologies(n_taxa);
}

int particles_draw(particles *p, const particle_source *source, particle_stream stream)
{
    int status = topology_model_sample(source->trees, p->decision, p->log_q, p->k, source->seed,
                                       stream.tree_purpose, stream.step, stream.first);
    if (!status && source->branches) {
        status =
            branch_model_sample(source->branches, p->length, p->log_b, p->decision, p->k,
                                source->seed, stream.branch_purpose, stream.step, stream.first);
        const size_t decisions = (size_t)p->n_taxa - 3, edges = (size_t)topology_edges(p->n_taxa);
        for (size_t i = 0; i < (size_t)p->k; i++)
            p->log_prior[i] = log_prior(p->decision + i * decisions, p->length + i * edges,
                                        p->n_taxa, source->prior);
    }
    if (!status)
        source->goal->ops->evaluate(source->goal, p->value, p->slope, p->decision, p->length, p->k);
    return status;
}

void particles_weigh(particles *p, double anneal)
{
    for (int i = 0; i < p->k; i++)
        p->log_weight[i] = anneal * p->value[i] + p->log_prior[i] - p->log_q[i] - p->log_b[i];
}
