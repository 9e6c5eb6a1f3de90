#include "density/branch_model.h"

#include "artreeformer.h"

#include <assert.h>
#include <string.h>

branch_config branch_config_default(const branch_kind *kind)
{
    assert(kind);
    branch_config c = {.kind = kind};
    config_defaults(c.value, kind->keys);
    return c;
}

int branch_config_set(branch_config *c, const char *name, double value)
{
    assert(c && c->kind && name);
    const int at = config_find(c->kind->keys, name);
    if (at < 0)
        return ART_ERR_USAGE;
    c->value[at] = value;
    return ART_OK;
}

double branch_config_get(const branch_config *c, const char *name)
{
    assert(c && c->kind && name);
    const int at = config_find(c->kind->keys, name);
    assert(at >= 0);
    return c->value[at];
}

const branch_kind *branch_kind_find(const branch_kind *kinds, const char *name)
{
    assert(kinds && name);
    for (; kinds->name; kinds++)
        if (strcmp(kinds->name, name) == 0)
            return kinds;
    return NULL;
}

int branch_model_create(branch_model **out, const branch_config *config, int n_taxa, pool *threads)
{
    assert(out && config && config->kind && config->kind->create);
    *out = NULL;
    if (n_taxa < 3 || config_check(config->value, config->kind->keys, (diag_place){0}, NULL))
        return ART_ERR_USAGE;
    int status = config->kind->create(out, config, n_taxa, threads);
    if (status)
        return status;
    const branch_model_ops *o = (*out)->ops;
    assert(o->sample && o->score && o->reference && o->free && (*out)->n_taxa == n_taxa);
    (void)o;
    (*out)->config = *config;
    return ART_OK;
}

void branch_model_free(branch_model *m)
{
    if (m)
        m->ops->free(m);
}

const char *branch_model_name(const branch_model *m)
{
    assert(m && m->config.kind);
    return m->config.kind->name;
}

bool branch_model_can(const branch_model *m, branch_ability what)
{
    assert(m);
    switch (what) {
    case BRANCH_GRADIENT:
        return m->ops->gradient != NULL;
    case BRANCH_BACKWARD:
        return m->ops->backward != NULL;
    }
    return false;
}

int branch_model_sample(branch_model *m, double *length, double *log_q, const int32_t *decision,
                        int k, uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first)
{
    assert(m && length && log_q && decision && k >= 0);
    return m->ops->sample(m, length, log_q, decision, k, seed, purpose, step, first);
}

int branch_model_score(branch_model *m, double *log_q, const double *length,
                       const int32_t *decision, int k)
{
    assert(m && log_q && length && decision && k >= 0);
    return m->ops->score(m, log_q, length, decision, k);
}

int branch_model_reference(branch_model *m, double *log_q, const double *length,
                           const int32_t *decision)
{
    assert(m && log_q && length && decision);
    return m->ops->reference(m, log_q, length, decision);
}

int branch_model_gradient(branch_model *m, double *log_q, const double *length,
                          const int32_t *decision, const double *coefficient, int k)
{
    assert(m && length && decision && coefficient && k >= 0);
    return m->ops->gradient ? m->ops->gradient(m, log_q, length, decision, coefficient, k)
                            : ART_ERR_UNSUPPORTED;
}

int branch_model_backward(branch_model *m, const double *dlength, const double *dlog_q)
{
    assert(m && dlength && dlog_q);
    return m->ops->backward ? m->ops->backward(m, dlength, dlog_q) : ART_ERR_UNSUPPORTED;
}

void branch_model_initialise(branch_model *m, uint64_t seed)
{
    assert(m);
    if (m->ops->initialise)
        m->ops->initialise(m, seed);
}

void branch_model_changed(branch_model *m)
{
    assert(m);
    if (m->ops->changed)
        m->ops->changed(m);
}
