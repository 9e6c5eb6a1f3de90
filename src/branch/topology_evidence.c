#include "branch/topology_evidence.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int topology_evidence_create(topology_evidence **out, const branch_posterior *p)
{
    *out = NULL;
    topology_evidence *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    const size_t edges = (size_t)p->n_edges;
    int status;
    if ((status = branch_solver_create(&t->solver, p)) ||
        (status = branch_hessian_create(&t->hessian, p)) ||
        (status = length_proposal_init(&t->gauss, p->n_edges)))
        goto out;
    t->second = mem_zeros(edges * (edges + 4), sizeof *t->second);
    status = t->second ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    t->mode = t->second + edges * edges;
    t->curvature = t->mode + edges;
    t->draw = t->curvature + edges;
    t->scratch = t->draw + edges;
    *out = t;
    return ART_OK;
out:
    topology_evidence_free(t);
    return status;
}

void topology_evidence_free(topology_evidence *t)
{
    if (!t)
        return;
    branch_solver_free(t->solver);
    branch_hessian_free(t->hessian);
    length_proposal_free(&t->gauss);
    free(t->second);
    free(t);
}

size_t topology_evidence_memory(const branch_posterior *p)
{
    const size_t edges = (size_t)p->n_edges;
    return branch_solver_memory(p) + branch_hessian_memory(p) +
           (2 * edges + 5) * edges * sizeof(double);
}

int topology_evidence_mode(topology_evidence *t, const int32_t *decision, double *length,
                           double tolerance)
{
    branch_solver *s = t->solver;
    branch_solver_set(s, decision, length);
    int status = branch_solver_mode(s, tolerance);
    if (status)
        return status;
    branch_solver_lengths(length, s);
    for (int e = 0; e < s->problem->n_edges; e++) {
        int32_t v = edge_node(e, s->problem->n_taxa);
        t->mode[e] = s->branch[v].cbrt_length;
        t->curvature[e] = s->branch[v].curvature;
    }
    t->log_density = s->log_density;
    t->laplace = s->laplace;
    return ART_OK;
}

void topology_evidence_proposal(topology_evidence *t, evidence_shape shape)
{
    if (shape == EVIDENCE_DIAGONAL) {
        length_proposal_set_diagonal(&t->gauss, t->mode, t->curvature);
        return;
    }
    branch_solver_move(t->solver, t->mode); /* draws may have moved it */
    branch_solver_refresh(t->solver);
    branch_hessian_compute(t->hessian, t->scratch, t->second, t->solver);
    length_proposal_set(&t->gauss, t->mode, t->second, t->curvature);
    t->full_laplace = t->log_density - t->gauss.log_peak;
}

/* Draws x from the proposal, normal distribution and prior mixed; returns its log density there,
 * -inf if some x is not positive. */
static double propose(topology_evidence *t, rng *stream)
{
    const branch_posterior *p = t->solver->problem;
    const int edges = p->n_edges;
    const double part = p->set.prior_draws / edges;
    double normal;
    if (rng_uniform(stream) < part) {
        length_prior_draw(t->draw, edges, p->prior, stream);
        normal = length_proposal_log_density(&t->gauss, t->draw);
    } else {
        normal = length_proposal_draw(t->draw, &t->gauss, stream, t->scratch);
        for (int e = 0; e < edges; e++)
            if (!(t->draw[e] > 0))
                return -HUGE_VAL;
    }
    const double a = log1p(-part) + normal;
    const double b = log(part) + length_prior_log_joint(p->prior, t->draw, edges);
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

void topology_evidence_sample(topology_evidence *t, log_mean *m, length_draws out, int draws,
                              rng stream)
{
    branch_solver *s = t->solver;
    const int edges = s->problem->n_edges;
    for (int i = 0; i < draws; i++) {
        const double proposed = propose(t, &stream);
        double likelihood = -HUGE_VAL, weight = -HUGE_VAL;
        if (isfinite(proposed)) {
            branch_solver_move(s, t->draw);
            likelihood = branch_solver_value(s);
            weight = branch_solver_density(s, likelihood) - proposed;
        } else {
            memset(t->draw, 0, (size_t)edges * sizeof *t->draw);
        }
        log_mean_add(m, weight);
        if (out.log_weight)
            out.log_weight[i] = weight;
        if (out.log_likelihood)
            out.log_likelihood[i] = likelihood;
        for (int e = 0; out.length && e < edges; e++)
            out.length[(ptrdiff_t)i * edges + e] = length_scale_length(t->draw[e]);
    }
}
