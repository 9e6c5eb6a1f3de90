#include "density/topology_model.h"

#include "artreeformer.h"
#include "tree/topology.h"

#include <assert.h>
#include <math.h>
#include <string.h>

topology_config topology_config_default(const topology_kind *kind)
{
    assert(kind);
    topology_config c = {.kind = kind};
    config_defaults(c.value, kind->keys);
    return c;
}

int topology_config_set(topology_config *c, const char *name, double value)
{
    assert(c && c->kind && name);
    const int at = config_find(c->kind->keys, name);
    if (at < 0)
        return ART_ERR_USAGE;
    c->value[at] = value;
    return ART_OK;
}

double topology_config_get(const topology_config *c, const char *name)
{
    assert(topology_config_has(c, name));
    return c->value[config_find(c->kind->keys, name)];
}

bool topology_config_has(const topology_config *c, const char *name)
{
    assert(c && c->kind && name);
    return config_find(c->kind->keys, name) >= 0;
}

const topology_kind *topology_kind_find(const topology_kind *kinds, const char *name)
{
    assert(kinds && name);
    for (; kinds->name; kinds++)
        if (strcmp(kinds->name, name) == 0)
            return kinds;
    return NULL;
}

/* Whether the operations are a model's. */
static bool ops_are_complete(const topology_model_ops *o)
{
    const bool tables = o && o->fit_begin;
    return o && o->sample && o->score && o->reference && o->free && (!o->flatten || o->freeze) &&
           tables == (o->save_structure != NULL) && tables == (o->load_structure != NULL) &&
           (!tables || o->fit_step || o->gradient);
}

int topology_model_create(topology_model **out, const topology_config *config, int n_taxa,
                          pool *threads)
{
    assert(out && config && config->kind && config->kind->create);
    *out = NULL;
    if (n_taxa < 3 || config_check(config->value, config->kind->keys, (diag_place){0}, NULL))
        return ART_ERR_USAGE;
    int status = config->kind->create(out, config, n_taxa, threads);
    if (status)
        return status;
    assert(*out && ops_are_complete((*out)->ops) && (*out)->n_taxa == n_taxa);
    (*out)->config = *config;
    return ART_OK;
}

void topology_model_free(topology_model *m)
{
    if (m)
        m->ops->free(m);
}

const char *topology_model_name(const topology_model *m)
{
    assert(m && m->config.kind);
    return m->config.kind->name;
}

bool topology_model_can(const topology_model *m, topology_ability what)
{
    assert(m);
    switch (what) {
    case TOPOLOGY_GRADIENT:
        return m->ops->gradient != NULL;
    case TOPOLOGY_CACHE:
        return m->ops->freeze != NULL;
    case TOPOLOGY_FLATTEN:
        return m->ops->flatten != NULL;
    case TOPOLOGY_EMBEDDING:
        return m->ops->set_embedding != NULL;
    case TOPOLOGY_TABLES:
        return m->ops->fit_begin != NULL;
    case TOPOLOGY_STEPS:
        return m->ops->fit_step != NULL;
    }
    return false;
}

int topology_model_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                          uint32_t purpose, uint32_t step, uint32_t first)
{
    assert(m && decision && log_q && k >= 0);
    return m->ops->sample(m, decision, log_q, k, seed, purpose, step, first);
}

int topology_model_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    assert(m && log_q && decision && k >= 0);
    return m->ops->score(m, log_q, decision, k);
}

int topology_model_reference(topology_model *m, double *log_q, const int32_t *decision)
{
    assert(m && log_q && decision);
    return m->ops->reference(m, log_q, decision);
}

int topology_model_gradient(topology_model *m, double *log_q, const int32_t *decision,
                            const double *coefficient, int k)
{
    assert(m && decision && coefficient && k >= 0);
    return m->ops->gradient ? m->ops->gradient(m, log_q, decision, coefficient, k)
                            : ART_ERR_UNSUPPORTED;
}

void topology_model_initialise(topology_model *m, uint64_t seed)
{
    assert(m);
    if (m->ops->initialise)
        m->ops->initialise(m, seed);
}

void topology_model_changed(topology_model *m)
{
    assert(m);
    if (m->ops->changed)
        m->ops->changed(m);
}

int topology_model_freeze(topology_model *m, size_t max_bytes)
{
    assert(m);
    return m->ops->freeze ? m->ops->freeze(m, max_bytes) : ART_OK;
}

int topology_model_flatten(topology_model *m, double power)
{
    assert(m && power > 0 && power <= 1);
    if (!m->ops->flatten)
        return ART_ERR_UNSUPPORTED;
    m->ops->flatten(m, power);
    return ART_OK;
}

int topology_model_set_embedding(topology_model *m, int method)
{
    assert(m && method >= 0);
    return m->ops->set_embedding ? m->ops->set_embedding(m, method) : ART_ERR_UNSUPPORTED;
}

int topology_model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                             size_t count)
{
    assert(m && decision && weight);
    if (!m->ops->fit_begin)
        return ART_ERR_UNSUPPORTED;
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(weight[i] >= 0) || !isfinite(weight[i]))
            return ART_ERR_USAGE;
        total += weight[i];
    }
    return total > 0 && decisions_are_trees(decision, count, m->n_taxa)
               ? m->ops->fit_begin(m, decision, weight, count)
               : ART_ERR_USAGE;
}

int topology_model_fit_step(topology_model *m, double *objective, bool *is_done)
{
    assert(m && objective && is_done);
    return m->ops->fit_step ? m->ops->fit_step(m, objective, is_done) : ART_ERR_UNSUPPORTED;
}

int topology_model_save_structure(const topology_model *m, safetensors *s)
{
    assert(m && s);
    return m->ops->save_structure ? m->ops->save_structure(m, s) : ART_OK;
}

int topology_model_load_structure(topology_model *m, safetensors *s, diag_place place, diag *d)
{
    assert(m && s);
    return m->ops->load_structure ? m->ops->load_structure(m, s, place, d) : ART_OK;
}
