#include "branch/branch_posterior.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "lik/pattern_symmetry.h"
#include "lik/site_patterns.h"
#include "lik/vec4.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill_tips(branch_posterior *p, const site_patterns *s)
{
    for (int i = 0; i < p->n_taxa; i++) {
        const uint8_t *state = s->state + (size_t)i * s->count;
        double *tip = p->tip + (size_t)i * p->tiles * 4 * TILE;
        for (size_t k = 0; k < p->tiles * TILE; k++)
            for (int base = 0; base < 4; base++) /* padding may be anything */
                tip[(k / TILE * 4 + (size_t)base) * TILE + k % TILE] =
                    k < s->count ? state[k] >> base & 1 : 1;
    }
}

/* p_invariant times the frequency of the bases that all taxa may share. */
static void fill_invariant(branch_posterior *p, const site_patterns *s)
{
    for (size_t k = 0; k < s->count; k++) {
        int common = STATE_ANY;
        for (int i = 0; i < s->n_taxa; i++)
            common &= s->state[(size_t)i * s->count + k];
        for (int base = 0; base < 4; base++)
            if (common >> base & 1)
                p->invariant[k] += p->model.p_invariant * p->model.frequency[base];
    }
}

int branch_posterior_init(branch_posterior *p, const alignment *a, const int *taxon,
                          const subst_model *model, double prior_rate)
{
    memset(p, 0, sizeof *p);
    if (a->n_taxa < 3 || !(prior_rate > 0) || !isfinite(prior_rate))
        return ART_ERR_USAGE;
    site_patterns patterns = {0};
    int status = site_patterns_build(&patterns, a, taxon, false);
    if (status || (status = site_patterns_fold(&patterns, model)))
        goto out;
    const int categories = model->n_categories;
    p->n_taxa = a->n_taxa;
    p->n_edges = topology_edges(a->n_taxa);
    p->prior_rate = prior_rate;
    p->model = *model;
    p->set = branch_defaults();
    p->n_patterns = patterns.count;
    p->tiles = (patterns.count + TILE - 1) / TILE;
    p->terms = categories * (model->is_jc ? 1 : 3);
    p->edge_terms = categories * (int)mat4_terms(model->is_jc);
    p->partial = p->tiles * (size_t)categories * 4 * TILE;
    branch_posterior_use(p, cpu_best());
    status = ART_ERR_NOMEM;
    p->tip = mem_aligned((size_t)p->n_taxa * p->tiles, 4 * TILE * sizeof *p->tip);
    p->weight = mem_aligned(p->tiles, TILE * sizeof *p->weight);
    if (model->p_invariant > 0)
        p->invariant = mem_aligned(p->tiles, TILE * sizeof *p->invariant);
    if (!p->tip || !p->weight || (model->p_invariant > 0 && !p->invariant))
        goto out;
    fill_tips(p, &patterns);
    if (p->invariant)
        fill_invariant(p, &patterns);
    for (size_t k = 0; k < patterns.count; k++)
        p->n_sites += p->weight[k] = patterns.weight[k];
    status = ART_OK;
out:
    site_patterns_free(&patterns);
    if (status)
        branch_posterior_free(p);
    return status;
}

void branch_posterior_free(branch_posterior *p)
{
    free(p->tip);
    free(p->weight);
    free(p->invariant);
    memset(p, 0, sizeof *p);
}

void branch_posterior_use(branch_posterior *p, cpu_level level)
{
    p->kernel = partial_kernels_at(level, p->model.is_jc);
}

void branch_transition(double *transition, const branch_posterior *p, double b)
{
    const subst_model *m = &p->model;
    for (int c = 0; c < m->n_categories; c++) {
        double t = m->category_rate[c] * b;
        if (m->is_jc) {
            double grown = expm1(-4.0 / 3.0 * t);
            *transition++ = 1 + grown;
            *transition++ = -0.25 * grown;
        } else {
            double matrix[4][4];
            subst_model_transition(matrix, m, t);
            memcpy(transition, matrix, sizeof matrix);
            transition += MATRIX_TERMS;
        }
    }
}

void branch_transition_slope(double *transition, const branch_posterior *p, double b)
{
    const subst_model *m = &p->model;
    for (int c = 0; c < m->n_categories; c++) {
        double rate = m->category_rate[c], t = rate * b;
        if (m->is_jc) {
            double e = -4.0 / 3.0 * rate * exp(-4.0 / 3.0 * t);
            *transition++ = e;
            *transition++ = -0.25 * e;
        } else {
            double matrix[4][4];
            subst_model_derivative(matrix, m, t);
            for (int i = 0; i < MATRIX_TERMS; i++)
                *transition++ = rate * matrix[i / 4][i % 4];
        }
    }
}

void branch_growth(double *value, double *first, double *second, const branch_posterior *p,
                   double b)
{
    const subst_model *m = &p->model;
    const int per_category = m->is_jc ? 1 : 3;
    for (int k = 0; k < p->terms; k++) {
        double lambda = m->is_jc ? -4.0 / 3.0 : m->eigenvalue[1 + k % per_category];
        double mu = lambda * m->category_rate[k / per_category];
        double grown = expm1(mu * b);
        value[k] = grown;
        first[k] = mu * (1 + grown);
        second[k] = mu * mu * (1 + grown);
    }
}
