#include "density/clade/clade_model.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/clade/clade_parts.h"
#include "density/support_model.h"

#include <stdlib.h>

typedef struct clade_model {
    support_model base;
    clade_density *clades;
    clade_scratch *scratch; /* [threads] */
    int n_scratch;
    clade_saved *saved; /* what the last file points to */
} clade_model;

static clade_model *self(topology_model *m)
{
    return (clade_model *)m;
}

static double log_q(support_model *m, const int32_t *decision, int worker)
{
    clade_model *c = (clade_model *)m;
    return clade_density_log_q(c->clades, decision, &c->scratch[worker]);
}

static void draw(support_model *m, int32_t *decision, rng *r, int worker)
{
    clade_model *c = (clade_model *)m;
    clade_density_sample(decision, c->clades, r, &c->scratch[worker]);
}

/* By the definition, from counts alone: the product over the clades of the tree, each found by the
 * key of its taxa, of the share that its split has of the counts (CCD1), beside its sister (CCD2);
 * or of the frequencies of the clades, over their sum for all trees (CCD0). */
static double log_split(const clade_density *d, const topology *t, const clade_key *key, int32_t v,
                        const double *log_sum)
{
    int32_t up = t->parent[v], x = t->child[v][0], y = t->child[v][1];
    int64_t c = key_table_find(&d->clade_keys, &key[v]);
    int64_t a = key_table_find(&d->clade_keys, &key[x]);
    int64_t b = key_table_find(&d->clade_keys, &key[y]);
    int64_t s = split_find(d, c, a, b);
    if (s < 0)
        return -HUGE_VAL;
    if (d->kind == CLADE_CCD0)
        return log(d->clade[c].weight / d->total) - (up == 0 ? log_sum[c] : 0);
    if (d->kind == CLADE_CCD1 || up == 0 || d->clade[c].size < 3)
        return log(d->split[s].weight / d->clade[c].weight);
    int32_t w = t->child[up][t->child[up][0] == v];
    clade_key above = key_xor(key[v], key[w]);
    int64_t p = key_table_find(&d->clade_keys, &above);
    int64_t context =
        context_of(d, split_find(d, p, c, key_table_find(&d->clade_keys, &key[w])), c);
    double own = 0, all = 0;
    for (size_t i = 0; i < d->pair_keys.count; i++) {
        const clade_pair *pair = key_table_at(&d->pair_keys, i);
        if (pair->context == context) {
            all += d->pair_weight[i];
            own += pair->split == s ? d->pair_weight[i] : 0;
        }
    }
    return all > 0 ? log(own / all) : -HUGE_VAL;
}

/* log of the sum over the trees of a clade of the product of frequencies, log_sum [clades]. */
static void sum_trees(double *log_sum, const clade_density *d)
{
    for (size_t i = 0; i < d->clade_keys.count; i++) {
        uint32_t c = d->by_size[i];
        log_sum[c] = d->clade[c].size == 1 ? 0 : -HUGE_VAL;
        for (size_t s = 0; s < d->split_keys.count; s++)
            if (d->split[s].clade == c)
                log_sum[c] = log_add(log_sum[c], log_sum[d->split[s].part[0]] +
                                                     log_sum[d->split[s].part[1]] +
                                                     log(d->clade[c].weight / d->total));
    }
}

static int model_reference(topology_model *m, double *log_q_of, const int32_t *decision)
{
    clade_model *c = self(m);
    if (!c->base.is_filled || !decisions_are_trees(decision, 1, m->n_taxa))
        return ART_ERR_USAGE;
    const clade_density *d = c->clades;
    clade_scratch *w = &c->scratch[0];
    double *log_sum = mem_zeros(d->clade_keys.count, sizeof *log_sum), sum = 0;
    if (!log_sum)
        return ART_ERR_NOMEM;
    if (d->kind == CLADE_CCD0)
        sum_trees(log_sum, d);
    topology_build(&w->tree, decision);
    topology_postorder(w->order, &w->tree);
    for (int32_t i = 0; i < topology_edges(m->n_taxa); i++) {
        int32_t v = w->order[i];
        w->key[v] = v < m->n_taxa
                        ? clade_key_of_taxon(v)
                        : key_xor(w->key[w->tree.child[v][0]], w->key[w->tree.child[v][1]]);
    }
    for (int32_t v = m->n_taxa; v < topology_nodes(m->n_taxa); v++)
        sum += log_split(d, &w->tree, w->key, v, log_sum);
    free(log_sum);
    *log_q_of = support_mix(&c->base, sum);
    return ART_OK;
}

static int settle(clade_model *c)
{
    int status = clade_density_fit(c->clades, NULL);
    c->base.is_filled = !status;
    return status;
}

static int model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                           size_t count)
{
    clade_model *c = self(m);
    int status = c->base.is_filled ? ART_ERR_USAGE : ART_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = clade_density_add(c->clades, decision + i * (size_t)(m->n_taxa - 3), weight[i]);
    return status ? status : settle(c);
}

static int model_fit_step(topology_model *m, double *objective, bool *is_done)
{
    *objective = NAN;
    *is_done = true;
    return self(m)->base.is_filled ? ART_OK : ART_ERR_USAGE;
}

static int model_save(const topology_model *m, safetensors *s)
{
    const clade_model *c = (const clade_model *)m;
    return c->base.is_filled ? clade_density_store(c->clades, c->saved, s) : ART_ERR_USAGE;
}

static int model_load(topology_model *m, safetensors *s, diag_place place, diag *d)
{
    clade_model *c = self(m);
    int status = clade_density_load(c->clades, s, place, d);
    return status ? status : settle(c);
}

static void model_free(topology_model *m)
{
    clade_model *c = self(m);
    for (int i = 0; i < c->n_scratch; i++)
        clade_scratch_free(&c->scratch[i]);
    free(c->scratch);
    clade_density_free(c->clades);
    if (c->saved)
        clade_saved_free(c->saved);
    free(c->saved);
    params_free(&m->params);
    free(c);
}

static const topology_model_ops OPS = {
    .sample = support_sample,
    .score = support_score,
    .reference = model_reference,
    .free = model_free,
    .fit_begin = model_fit_begin,
    .fit_step = model_fit_step,
    .save_structure = model_save,
    .load_structure = model_load,
};

int clade_model_create(topology_model **out, int n_taxa, clade_kind kind, double smooth,
                       pool *threads)
{
    *out = NULL;
    clade_model *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    support_model_init(&c->base, &OPS, n_taxa, smooth, threads);
    c->base.log_q = log_q;
    c->base.draw = draw;
    c->scratch = mem_zeros((size_t)pool_threads(threads), sizeof *c->scratch);
    c->saved = mem_zeros(1, sizeof *c->saved);
    int status =
        c->scratch && c->saved ? clade_density_create(&c->clades, n_taxa, kind) : ART_ERR_NOMEM;
    for (; c->n_scratch < pool_threads(threads) && !status; c->n_scratch += !status)
        status = clade_scratch_init(&c->scratch[c->n_scratch], c->clades);
    if (status)
        model_free(&c->base.base);
    else
        *out = &c->base.base;
    return status;
}
