#include "subst/simulate.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tree/topology.h"

#include <stdlib.h>

/* The steps of RNG_SIMULATE's streams; the index counts sites. */
enum { STREAM_TOPOLOGY, STREAM_LENGTHS, STREAM_SITES, STREAM_PARAMETERS };

enum { CHUNK = 256 }; /* sites per task */

void simulate_topology(int32_t *decision, int32_t n_taxa, uint64_t seed)
{
    rng r = rng_at(seed, RNG_SIMULATE, STREAM_TOPOLOGY, 0);
    for (int32_t n = 3; n < n_taxa; n++)
        decision[n - 3] = (int32_t)rng_below(&r, (uint32_t)topology_edges(n));
}

void simulate_lengths(double *length, int32_t n_taxa, double mean, uint64_t seed)
{
    rng r = rng_at(seed, RNG_SIMULATE, STREAM_LENGTHS, 0);
    for (int32_t e = 0; e < topology_edges(n_taxa); e++)
        length[e] = rng_exponential(&r) * mean;
}

void simulate_prior_lengths(double *length, const int32_t *decision, int32_t n_taxa,
                            branch_prior prior, uint64_t seed)
{
    rng r = rng_at(seed, RNG_SIMULATE, STREAM_LENGTHS, 0);
    branch_prior_draw(length, topology_edges(n_taxa), decisions_top_edge(decision, n_taxa), prior,
                      &r);
}

void simulate_parameters(double *z, const free_model *f, uint64_t seed)
{
    rng r = rng_at(seed, RNG_SIMULATE, STREAM_PARAMETERS, 0);
    free_model_draw(z, f, &r);
}

/* Where a base leads to: the cumulative probabilities of A, C and G; T is the rest. */
typedef double cumulative[3];

static void accumulate(cumulative out, const double p[4])
{
    out[0] = p[0];
    out[1] = out[0] + p[1];
    out[2] = out[1] + p[2];
}

static int draw(rng *r, const cumulative c)
{
    double u = rng_uniform(r);
    return (u >= c[0]) + (u >= c[1]) + (u >= c[2]);
}

typedef struct simulation {
    topology tree;
    const subst_model *model;
    int32_t *order; /* [2N-3] nodes other than taxon 0, parents before children */
    cumulative root;
    cumulative (*step)[4]; /* [n_categories][2N-2][4]: by category, lower node and upper base */
    uint8_t *base;         /* [threads][2N-2] the bases of one site */
    uint8_t *state;
    size_t n_sites;
    uint64_t seed;
} simulation;

static void simulate_site(simulation *s, uint8_t *base, size_t site)
{
    const subst_model *m = s->model;
    int32_t nodes = topology_nodes(s->tree.n_taxa);
    rng r = rng_at(s->seed, RNG_SIMULATE, STREAM_SITES, (uint32_t)site);
    double u = rng_uniform(&r) - m->p_invariant;
    int category = (int)(u / m->category_weight);
    if (category >= m->n_categories) /* rounding at u = 1 */
        category = m->n_categories - 1;
    base[0] = (uint8_t)draw(&r, s->root);
    for (int32_t i = 0; i < nodes - 1; i++) {
        int32_t node = s->order[i];
        int above = base[s->tree.parent[node]];
        base[node] =
            (uint8_t)(u < 0
                          ? above
                          : draw(&r,
                                 s->step[(size_t)category * (size_t)nodes + (size_t)node][above]));
    }
    for (int32_t i = 0; i < s->tree.n_taxa; i++)
        s->state[(size_t)i * s->n_sites + site] = (uint8_t)(1 << base[i]);
}

static void simulate_chunk(void *context, int task, int worker)
{
    simulation *s = context;
    uint8_t *base = s->base + (size_t)worker * (size_t)topology_nodes(s->tree.n_taxa);
    size_t from = (size_t)task * CHUNK, to = from + CHUNK;
    for (size_t site = from; site < to && site < s->n_sites; site++)
        simulate_site(s, base, site);
}

static void fill_steps(simulation *s, const double *length)
{
    const subst_model *m = s->model;
    int32_t nodes = topology_nodes(s->tree.n_taxa);
    accumulate(s->root, m->frequency);
    for (int k = 0; k < m->n_categories; k++)
        for (int32_t node = 1; node < nodes; node++) {
            double p[4][4];
            double t = length[node_edge(node, s->tree.n_taxa)];
            subst_model_transition(p, m, m->category_rate[k] * t);
            for (int from = 0; from < 4; from++)
                accumulate(s->step[(size_t)k * (size_t)nodes + (size_t)node][from], p[from]);
        }
}

int simulate_sites(uint8_t *state, const int32_t *decision, const double *length, int32_t n_taxa,
                   const subst_model *model, size_t n_sites, uint64_t seed, pool *threads)
{
    simulation s = {.model = model, .state = state, .n_sites = n_sites, .seed = seed};
    int status = topology_init(&s.tree, n_taxa);
    if (status != ART_OK)
        return status;
    topology_build(&s.tree, decision);
    size_t nodes = (size_t)topology_nodes(n_taxa);
    s.order = mem_zeros(nodes, sizeof *s.order);
    s.step = mem_zeros((size_t)model->n_categories * nodes, sizeof *s.step);
    s.base = mem_zeros((size_t)pool_threads(threads), nodes);
    if (!s.order || !s.step || !s.base) {
        status = ART_ERR_NOMEM;
        goto out;
    }
    topology_postorder(s.order, &s.tree);
    for (size_t i = 0, j = nodes - 2; i < j; i++, j--) {
        int32_t swap = s.order[i];
        s.order[i] = s.order[j];
        s.order[j] = swap;
    }
    fill_steps(&s, length);
    pool_run(threads, (int)((n_sites + CHUNK - 1) / CHUNK), simulate_chunk, &s);
out:
    free(s.base);
    free(s.step);
    free(s.order);
    topology_free(&s.tree);
    return status;
}
