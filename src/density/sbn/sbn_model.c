#include "density/sbn/sbn_model.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "density/sbn/sbn.h"
#include "density/support_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char ROOTS[] = "tree.root_probabilities", PAIRS[] = "tree.pair_probabilities";

typedef struct sbn_model {
    support_model base;
    sbn_settings set;
    sbn *tables;
    sbn_scratch *scratch; /* [threads] */
    int n_scratch;
    bool is_stale;       /* params have changed: the probabilities are to be found again */
    sbn_fit *fit;        /* while it is fitted */
    int64_t steps;       /* of EM, so far */
    double objective;    /* of the last one */
    double *probability; /* [entries] for the file; NULL with gradients */
    double *number;      /* [3 entries] logits, counts and gradients in double; NULL without */
} sbn_model;

static sbn_model *self(topology_model *m)
{
    return (sbn_model *)m;
}

/* The logits of params, roots first. */
static void refresh(sbn_model *s)
{
    const params *p = &s->base.base.params;
    const size_t roots = sbn_roots(s->tables), pairs = sbn_pairs(s->tables);
    if (!s->is_stale)
        return;
    for (size_t i = 0; i < roots; i++)
        s->number[i] = (double)params_value(p, 0)[i];
    for (size_t i = 0; i < pairs; i++)
        s->number[roots + i] = (double)params_value(p, 1)[i];
    sbn_softmax(s->tables, s->number);
    s->is_stale = false;
}

static double log_q(support_model *m, const int32_t *decision, int worker)
{
    sbn_model *s = (sbn_model *)m;
    return sbn_log_q(s->tables, decision, &s->scratch[worker]);
}

static void draw(support_model *m, int32_t *decision, rng *r, int worker)
{
    sbn_model *s = (sbn_model *)m;
    sbn_sample(decision, s->tables, r, &s->scratch[worker]);
}

static int model_sample(topology_model *m, int32_t *decision, double *log_q_of, int k,
                        uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first)
{
    if (!self(m)->base.is_filled)
        return ART_ERR_USAGE;
    refresh(self(m));
    return support_sample(m, decision, log_q_of, k, seed, purpose, step, first);
}

static int model_score(topology_model *m, double *log_q_of, const int32_t *decision, int k)
{
    if (!self(m)->base.is_filled)
        return ART_ERR_USAGE;
    refresh(self(m));
    return support_score(m, log_q_of, decision, k);
}

static int model_reference(topology_model *m, double *log_q_of, const int32_t *decision)
{
    sbn_model *s = self(m);
    if (!s->base.is_filled || !decisions_are_trees(decision, 1, m->n_taxa))
        return ART_ERR_USAGE;
    refresh(s);
    int status = sbn_reference(log_q_of, s->tables, decision, log(s->set.floor));
    *log_q_of = support_mix(&s->base, *log_q_of);
    return status;
}

/* One tree after the other, in the order of the batch: the sums have the same bits on any number of
 * threads. */
static int model_gradient(topology_model *m, double *log_q_of, const int32_t *decision,
                          const double *coefficient, int k)
{
    sbn_model *s = self(m);
    if (!s->base.is_filled || !decisions_are_trees(decision, (size_t)k, m->n_taxa))
        return ART_ERR_USAGE;
    refresh(s);
    const size_t roots = sbn_roots(s->tables), entries = sbn_entries(s->tables);
    double *count = s->number + entries, *grad = count + entries;
    memset(count, 0, 2 * entries * sizeof *count);
    const ptrdiff_t n = m->n_taxa - 3;
    for (int i = 0, next; i < k; i = next) {
        const int32_t *at = decision + i * n;
        double sum = 0; /* over equal trees that stand together, as those of a batch do */
        for (next = i; next < k && memcmp(decision + next * n, at, (size_t)n * sizeof *at) == 0;)
            sum += coefficient[next++];
        sbn_scratch *w = &s->scratch[0];
        const double value = sbn_log_q(s->tables, at, w);
        sbn_add_counts(count, sum * support_share(&s->base, value), value, w->entry, w);
        for (int j = i; j < next && log_q_of; j++)
            log_q_of[j] = support_mix(&s->base, value);
    }
    sbn_drop_floored(count, s->tables, log(s->set.floor));
    sbn_softmax_gradient(grad, s->tables, count);
    for (size_t i = 0; i < roots; i++)
        params_grad(&m->params, 0)[i] += (real)grad[i];
    for (size_t i = roots; i < entries; i++)
        params_grad(&m->params, 1)[i - roots] += (real)grad[i];
    return ART_OK;
}

static void model_changed(topology_model *m)
{
    self(m)->is_stale = self(m)->set.gradients && self(m)->base.is_filled;
}

/* Once the tables are there: memory and params of their size. */
static int make_room(sbn_model *s)
{
    topology_model *m = &s->base.base;
    const size_t entries = sbn_entries(s->tables);
    int status = ART_OK;
    if (s->set.gradients) {
        status = params_add(&m->params, "tree.root_logits", sbn_roots(s->tables), 0);
        if (!status)
            status = params_add(&m->params, "tree.pair_logits", sbn_pairs(s->tables), 0);
        if (!status)
            status = params_alloc(&m->params);
        s->number = mem_zeros(3 * entries, sizeof *s->number);
    } else {
        s->probability = mem_zeros(entries, sizeof *s->probability);
    }
    return status ? status : s->number || s->probability ? ART_OK : ART_ERR_NOMEM;
}

/* Probabilities as the file has them, so that a model that was fitted and one that was read are the
 * same to the last bit. */
static void keep_probabilities(sbn_model *s)
{
    for (size_t i = 0; i < sbn_entries(s->tables); i++) {
        s->probability[i] = exp(s->tables->log_p[i]);
        s->tables->log_p[i] = log(s->probability[i]);
    }
}

static void start_logits(sbn_model *s)
{
    const params *p = &s->base.base.params;
    const size_t roots = sbn_roots(s->tables), entries = sbn_entries(s->tables);
    for (size_t i = 0; i < entries; i++) {
        real *logit = i < roots ? params_value(p, 0) + i : params_value(p, 1) + (i - roots);
        *logit = s->set.zero_start ? 0 : (real)s->tables->log_p[i];
    }
}

static int model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                           size_t count)
{
    sbn_model *s = self(m);
    if (s->tables->is_finished)
        return ART_ERR_USAGE;
    int status = ART_OK;
    for (size_t i = 0; i < count && !status; i++)
        if (weight[i] > 0)
            status = sbn_add(s->tables, decision + i * (size_t)(m->n_taxa - 3));
    if (!status)
        status = sbn_finish(s->tables);
    if (!status)
        status = make_room(s);
    if (!status)
        status = sbn_fit_create(&s->fit, s->tables, decision, weight, count,
                                s->set.gradients ? 0 : s->set.alpha);
    if (status)
        return status;
    if (s->set.gradients) {
        start_logits(s);
        sbn_fit_free(s->fit);
        s->fit = NULL;
    }
    s->base.is_filled = true;
    model_changed(m);
    return ART_OK;
}

static int model_fit_step(topology_model *m, double *objective, bool *is_done)
{
    sbn_model *s = self(m);
    if (!s->fit)
        return ART_ERR_USAGE;
    const double before = s->objective;
    *is_done = true;
    *objective = NAN;
    if (s->set.em) {
        sbn_fit_step(s->fit, objective);
        s->objective = *objective;
        *is_done = sbn_fit_stops(s->steps++, *objective, before);
    }
    if (*is_done) {
        keep_probabilities(s);
        sbn_fit_free(s->fit);
        s->fit = NULL;
    }
    return ART_OK;
}

static int model_save(const topology_model *m, safetensors *t)
{
    const sbn_model *s = (const sbn_model *)m;
    if (!s->base.is_filled || s->fit)
        return ART_ERR_USAGE;
    const size_t roots = sbn_roots(s->tables), pairs = sbn_pairs(s->tables);
    int status = sbn_store(s->tables, t);
    if (!status && s->probability)
        status = safetensors_add(t, ROOTS, TENSOR_F64, 1, &roots, s->probability);
    if (!status && s->probability)
        status = safetensors_add(t, PAIRS, TENSOR_F64, 1, &pairs, s->probability + roots);
    return status;
}

/* The probabilities of the entries from `first` on. */
static int load_probabilities(sbn_model *s, safetensors *t, const char *name, size_t first,
                              size_t count, diag_place place, diag *d)
{
    const tensor *is = safetensors_use(t, name);
    if (!is || is->dtype != TENSOR_F64 || is->rank != 1 || is->count != count)
        return diag_error(d, ART_ERR_MISMATCH, place,
                          "tensor '%s' is missing, or does not have %zu numbers of type F64", name,
                          count);
    const double *p = is->data;
    for (size_t i = 0; i < count; i++) {
        if (!(p[i] >= 0 && p[i] <= 1 + 1e-9))
            return diag_error(d, ART_ERR_MISMATCH, place,
                              "tensor '%s', number %zu: %g is not a probability", name, i + 1,
                              p[i]);
        s->probability[first + i] = p[i];
        s->tables->log_p[first + i] = log(p[i]);
    }
    return ART_OK;
}

/* Whether they sum to 1, over the root splits and over the pairs of every parent; or to 0 over
 * those of a parent that has no probability of being reached. */
static int check_sums(const sbn_model *s, diag_place place, diag *d)
{
    const sbn *b = s->tables;
    const size_t roots = sbn_roots(b);
    double total = 0;
    for (size_t i = 0; i < roots; i++)
        total += s->probability[i];
    if (fabs(total - 1) > 1e-9)
        return diag_error(d, ART_ERR_MISMATCH, place, "tensor '%s' sums to %.9g, not to 1", ROOTS,
                          total);
    for (size_t p = 0; p < sbn_parents(b); p++) {
        total = 0;
        for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++)
            total += s->probability[roots + (size_t)b->list[i]];
        if (fabs(total - 1) > 1e-9 && total != 0)
            return diag_error(d, ART_ERR_MISMATCH, place,
                              "tensor '%s': the pairs of parent %zu sum to %.9g, not to 1", PAIRS,
                              p + 1, total);
    }
    return ART_OK;
}

static int model_load(topology_model *m, safetensors *t, diag_place place, diag *d)
{
    sbn_model *s = self(m);
    int status = sbn_load(s->tables, t, place, d);
    if (!status)
        status = make_room(s);
    if (!status && s->probability)
        status = load_probabilities(s, t, ROOTS, 0, sbn_roots(s->tables), place, d);
    if (!status && s->probability)
        status =
            load_probabilities(s, t, PAIRS, sbn_roots(s->tables), sbn_pairs(s->tables), place, d);
    if (!status && s->probability)
        status = check_sums(s, place, d);
    s->base.is_filled = !status;
    return status;
}

static void model_free(topology_model *m)
{
    sbn_model *s = self(m);
    for (int i = 0; i < s->n_scratch; i++)
        sbn_scratch_free(&s->scratch[i]);
    free(s->scratch);
    sbn_fit_free(s->fit);
    sbn_free(s->tables);
    free(s->probability);
    free(s->number);
    params_free(&m->params);
    free(s);
}

static const topology_model_ops TABLES_OPS = {
    .sample = model_sample,
    .score = model_score,
    .reference = model_reference,
    .free = model_free,
    .fit_begin = model_fit_begin,
    .fit_step = model_fit_step,
    .save_structure = model_save,
    .load_structure = model_load,
};

static const topology_model_ops LOGITS_OPS = {
    .sample = model_sample,
    .score = model_score,
    .reference = model_reference,
    .free = model_free,
    .gradient = model_gradient,
    .changed = model_changed,
    .fit_begin = model_fit_begin,
    .save_structure = model_save,
    .load_structure = model_load,
};

int sbn_model_create(topology_model **out, int n_taxa, const sbn_settings *settings, pool *threads)
{
    *out = NULL;
    sbn_model *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    support_model_init(&s->base, settings->gradients ? &LOGITS_OPS : &TABLES_OPS, n_taxa,
                       settings->smooth, threads);
    s->base.log_q = log_q;
    s->base.draw = draw;
    s->set = *settings;
    s->scratch = mem_zeros((size_t)pool_threads(threads), sizeof *s->scratch);
    int status = s->scratch ? sbn_create(&s->tables, n_taxa) : ART_ERR_NOMEM;
    for (; s->n_scratch < pool_threads(threads) && !status; s->n_scratch += !status) {
        status = sbn_scratch_init(&s->scratch[s->n_scratch], n_taxa);
        s->scratch[s->n_scratch].log_floor = log(settings->floor);
    }
    if (status)
        model_free(&s->base.base);
    else
        *out = &s->base.base;
    return status;
}
