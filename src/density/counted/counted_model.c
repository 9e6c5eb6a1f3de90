#include "density/counted/counted_model.h"

#include "artreeformer.h"
#include "base/key_table.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char TREES[] = "tree.counted.trees", COUNTS[] = "tree.counted.counts",
                  OBSERVATIONS[] = "tree.counted.observations";

/* Of a weight in a file; more than half of the last digit, because the sum is rounded too. */
static const double ROUNDING = 0.6e-6;

/* Up to here, whole numbers can be told from others in spite of that. */
static const double SMALL_SAMPLE = 2000;

/* Beyond this a count is as good as exact, and its square far from overflow. */
static const double MOST_OBSERVATIONS = 1e15;

enum { LEAST_SINGLETONS = 5 }; /* the error of an estimate from so many is half of it */

enum { SCORE_BATCH = 1000 }; /* trees that are scored at once */

/* The stream from which trees of the sample are drawn is that of the network's draw with another
 * purpose, which nobody else has (base/rng.h numbers them from 0). */
static const uint32_t SECOND_STREAM = 0x80000000u;

typedef struct counted {
    topology_model base; /* its parameters are those of the network */
    topology_model *network;
    double strength;
    key_table trees;     /* decisions [N-3] of the sample's trees; none before it is filled */
    double *count;       /* [trees] */
    double observations; /* all counts together, those of trees that are not kept too */
    double *log_q;       /* [trees] of the model, once it is settled */
    double *cumulative;  /* [trees] of g / G */
    double share_kept;   /* of what the network has outside of the sample: u / (1 - S) */
    bool is_settled;     /* these three belong to the parameters */
} counted;

static counted *self(topology_model *m)
{
    return (counted *)m;
}

/* The most that trees outside of the sample have together: Good and Turing's estimate. */
static double most_outside(const counted *c)
{
    double once = 0, rest = c->observations; /* the rest are not in the table */
    for (size_t i = 0; i < c->trees.count; i++) {
        once += c->count[i] < 1.5;
        rest -= c->count[i];
    }
    return (once + 1 + fmax(rest, 0)) / (c->observations + 1);
}

/* g of a tree of the sample, whose probability is r in the network. */
static double blend(const counted *c, size_t i, double r)
{
    const double n = c->count[i], k = c->strength;
    return (n * n / c->observations + k * r) / (n + k);
}

/* From log r in log_q to log q, and the cumulative probabilities. Sums in the order of the trees.
 */
static void correct(counted *c)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < c->trees.count; i++) {
        const double r = exp(c->log_q[i]);
        all += r;
        c->cumulative[i] = sum += blend(c, i, r);
    }
    const double outside = fmax(1 - all, 0), most = most_outside(c); /* all is rounded */
    const double kept = fmin(outside, most);
    for (size_t i = 0; i < c->trees.count; i++) {
        const double r = exp(c->log_q[i]);
        c->log_q[i] = log((1 - kept) * (blend(c, i, r) / sum));
        c->cumulative[i] /= sum;
    }
    c->share_kept = outside > most ? most / outside : 1;
}

static int settle(counted *c)
{
    const int32_t *decision = (const int32_t *)(const void *)c->trees.key;
    const size_t n = (size_t)c->base.n_taxa - 3;
    int status = c->trees.count ? ART_OK : ART_ERR_USAGE;
    for (size_t i = 0; i < c->trees.count && !status && !c->is_settled; i += SCORE_BATCH) {
        const size_t left = c->trees.count - i;
        status = topology_model_score(c->network, c->log_q + i, decision + i * n,
                                      left < SCORE_BATCH ? (int)left : SCORE_BATCH);
    }
    if (!status && !c->is_settled)
        correct(c);
    c->is_settled = !status;
    return status;
}

static int model_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    counted *c = self(m);
    const size_t n = (size_t)m->n_taxa - 3;
    int status = settle(c);
    if (!status)
        status = topology_model_score(c->network, log_q, decision, k);
    for (size_t i = 0; i < (size_t)k && !status; i++) {
        const int64_t at = key_table_find(&c->trees, decision + i * n);
        log_q[i] = at < 0 ? log_q[i] + log(c->share_kept) : c->log_q[at];
    }
    m->work = c->network->work;
    return status;
}

/* The first tree whose cumulative probability exceeds u. */
static size_t pick_tree(const counted *c, double u)
{
    size_t low = 0, high = c->trees.count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int model_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                        uint32_t purpose, uint32_t step, uint32_t first)
{
    counted *c = self(m);
    const size_t n = (size_t)m->n_taxa - 3;
    int status = settle(c);
    if (!status)
        status = topology_model_sample(c->network, decision, log_q, k, seed, purpose, step, first);
    for (size_t i = 0; i < (size_t)k && !status; i++) {
        int32_t *tree = decision + i * n;
        rng r = rng_at(seed, purpose ^ SECOND_STREAM, step, first + (uint32_t)i);
        const bool is_new = key_table_find(&c->trees, tree) < 0;
        if (is_new && rng_uniform(&r) < c->share_kept) {
            log_q[i] += log(c->share_kept);
            continue;
        }
        const size_t at = pick_tree(c, rng_uniform(&r));
        memcpy(tree, key_table_at(&c->trees, at), n * sizeof *tree);
        log_q[i] = c->log_q[at];
    }
    m->work = c->network->work;
    return status;
}

/* By the definition, with the network's reference for every tree of the sample. */
static int model_reference(topology_model *m, double *log_q, const int32_t *decision)
{
    counted *c = self(m);
    double own, all = 0, sum = 0;
    if (c->trees.count == 0)
        return ART_ERR_USAGE;
    int status = topology_model_reference(c->network, &own, decision);
    for (size_t i = 0; i < c->trees.count && !status; i++) {
        double other;
        status = topology_model_reference(c->network, &other, key_table_at(&c->trees, i));
        all += exp(other);
        sum += blend(c, i, exp(other));
    }
    if (status)
        return status;
    const int64_t at = key_table_find(&c->trees, decision);
    const double outside = fmax(1 - all, 0), u = fmin(outside, most_outside(c));
    *log_q = at >= 0       ? log((1 - u) * blend(c, (size_t)at, exp(own)) / sum)
             : u < outside ? own + log(u / outside)
                           : own;
    return ART_OK;
}

/* Room for the trees of the sample. */
static int reserve(counted *c, size_t count)
{
    int status = c->trees.count ? ART_ERR_USAGE : key_table_reserve(&c->trees, count);
    if (status)
        return status;
    c->count = mem_zeros(count, sizeof *c->count);
    c->log_q = mem_zeros(count, sizeof *c->log_q);
    c->cumulative = mem_zeros(count, sizeof *c->cumulative);
    return c->count && c->log_q && c->cumulative ? ART_OK : ART_ERR_NOMEM;
}

/* Equal trees are added up; trees that were not seen do not count. */
static void add_tree(counted *c, const int32_t *decision, double count)
{
    if (!(count > 0))
        return;
    c->count[key_table_put(&c->trees, decision)] += count;
}

static int model_fit_begin(topology_model *m, const int32_t *decision, const double *weight,
                           size_t count)
{
    counted *c = self(m);
    const size_t kept = count < COUNTED_TREES ? count : COUNTED_TREES;
    const double observations = counted_observations(weight, count);
    double sum = 0;
    int status = reserve(c, kept);
    for (size_t i = 0; i < count; i++)
        sum += weight[i];
    for (size_t i = 0; i < kept && !status; i++)
        add_tree(c, decision + i * (size_t)(m->n_taxa - 3), weight[i] / sum * observations);
    c->observations = observations;
    c->is_settled = false;
    if (!status && topology_model_can(c->network, TOPOLOGY_TABLES))
        status = topology_model_fit_begin(c->network, decision, weight, count);
    return status;
}

static int model_fit_step(topology_model *m, double *objective, bool *is_done)
{
    *objective = (double)NAN;
    *is_done = true;
    return settle(self(m));
}

static int model_save(const topology_model *m, safetensors *s)
{
    const counted *c = (const counted *)m;
    const size_t trees = c->trees.count, n = (size_t)m->n_taxa - 3;
    if (trees == 0)
        return ART_ERR_USAGE;
    int status = safetensors_add(s, TREES, TENSOR_I32, 2, (size_t[]){trees, n}, c->trees.key);
    if (!status)
        status = safetensors_add(s, COUNTS, TENSOR_F64, 1, (size_t[]){trees}, c->count);
    if (!status)
        status = safetensors_add(s, OBSERVATIONS, TENSOR_F64, 1, (size_t[]){1}, &c->observations);
    return status ? status : topology_model_save_structure(c->network, s);
}

static int refuse(diag *d, diag_place place, const char *name, const char *what)
{
    return diag_error(d, ART_ERR_MISMATCH, place, "tensor '%s' %s", name, what);
}

/* A tensor of numbers; NULL, with a message, if it is not there or has another size. */
static const double *find_numbers(safetensors *s, const char *name, size_t count, diag_place place,
                                  diag *d)
{
    const tensor *t = safetensors_use(s, name);
    if (t && t->dtype == TENSOR_F64 && t->rank == 1 && t->shape[0] == count)
        return t->data;
    refuse(d, place, name, t ? "does not have the size that the trees ask for" : "is missing");
    return NULL;
}

static int model_load(topology_model *m, safetensors *s, diag_place place, diag *d)
{
    counted *c = self(m);
    const size_t n = (size_t)m->n_taxa - 3;
    const tensor *trees = safetensors_use(s, TREES);
    if (!trees || trees->dtype != TENSOR_I32 || trees->rank != 2 || trees->shape[0] == 0 ||
        trees->shape[1] != n)
        return refuse(d, place, TREES, trees ? "is not a table of trees" : "is missing");
    const size_t rows = trees->shape[0];
    const int32_t *decision = trees->data;
    const double *count = find_numbers(s, COUNTS, rows, place, d);
    const double *observations = count ? find_numbers(s, OBSERVATIONS, 1, place, d) : NULL;
    if (!observations)
        return ART_ERR_MISMATCH;
    if (!decisions_are_trees(decision, rows, m->n_taxa))
        return refuse(d, place, TREES, "has a row that is not a tree");
    int status = reserve(c, rows);
    double sum = 0;
    for (size_t i = 0; i < rows && !status; i++) {
        if (!(count[i] > 0))
            return refuse(d, place, COUNTS, "has a number that is not above 0");
        add_tree(c, decision + i * n, count[i]);
        sum += count[i];
    }
    if (!status && c->trees.count != rows)
        return refuse(d, place, TREES, "has a tree twice");
    /* sums are rounded */
    if (!status && !(sum <= MOST_OBSERVATIONS && *observations >= sum * (1 - 1e-9) &&
                     *observations <= MOST_OBSERVATIONS))
        return refuse(d, place, OBSERVATIONS, "is less than the counts, or too large");
    c->observations = *observations;
    c->is_settled = false;
    return status ? status : topology_model_load_structure(c->network, s, place, d);
}

static void model_changed(topology_model *m)
{
    self(m)->is_settled = false;
    topology_model_changed(self(m)->network);
}

static void model_initialise(topology_model *m, uint64_t seed)
{
    self(m)->is_settled = false;
    topology_model_initialise(self(m)->network, seed);
}

static int model_freeze(topology_model *m, size_t max_bytes)
{
    return topology_model_freeze(self(m)->network, max_bytes);
}

static int model_set_embedding(topology_model *m, int method)
{
    self(m)->is_settled = false;
    return topology_model_set_embedding(self(m)->network, method);
}

static void model_free(topology_model *m)
{
    counted *c = self(m);
    topology_model_free(c->network); /* with the parameters */
    key_table_free(&c->trees);
    free(c->count);
    free(c->log_q);
    free(c->cumulative);
    free(c);
}

/* Those of a network with one way to compute embeddings, and of one with several. */
#define COMMON_OPS                                                                    \
    .sample = model_sample, .score = model_score, .reference = model_reference,       \
    .free = model_free, .initialise = model_initialise, .changed = model_changed,     \
    .freeze = model_freeze, .fit_begin = model_fit_begin, .fit_step = model_fit_step, \
    .save_structure = model_save, .load_structure = model_load

static const topology_model_ops OPS = {COMMON_OPS};
static const topology_model_ops EMBEDDING_OPS = {COMMON_OPS, .set_embedding = model_set_embedding};

int counted_model_create(topology_model **out, topology_model *network, double strength)
{
    counted *c = mem_zeros(1, sizeof *c);
    *out = NULL;
    if (!c) {
        topology_model_free(network);
        return ART_ERR_NOMEM;
    }
    c->base.ops = topology_model_can(network, TOPOLOGY_EMBEDDING) ? &EMBEDDING_OPS : &OPS;
    c->base.n_taxa = network->n_taxa;
    c->base.params = network->params;
    c->network = network;
    c->strength = strength;
    key_table_init(&c->trees, ((size_t)network->n_taxa - 3) * sizeof(int32_t));
    *out = &c->base;
    return ART_OK;
}

/* Whether all n w are whole numbers, as far as six digits tell, and not 0. */
static bool are_counts(const double *weight, size_t count, double sum, double n)
{
    for (size_t i = 0; i < count; i++) {
        const double number = n * weight[i] / sum;
        if (number > 0 && (fabs(number - round(number)) > 2 * ROUNDING * n || round(number) < 1))
            return false;
    }
    return true;
}

double counted_observations(const double *weight, size_t count)
{
    double sum = 0, least = HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        sum += weight[i];
        least = weight[i] > 0 ? fmin(least, weight[i]) : least;
    }
    const double first = floor(1 / (least / sum + ROUNDING));
    for (double n = fmax(first, 1); n <= SMALL_SAMPLE; n++)
        if (are_counts(weight, count, sum, n))
            return n;
    return fmin(sum / least, MOST_OBSERVATIONS);
}

double counted_unseen(const double *weight, size_t count)
{
    const double n = counted_observations(weight, count);
    double sum = 0, once = 0;
    for (size_t i = 0; i < count; i++)
        sum += weight[i];
    for (size_t i = 0; i < count; i++) {
        const double seen = n * weight[i] / sum;
        once += seen > 0.5 && seen < 1.5;
    }
    return (once < LEAST_SINGLETONS ? 0.5 : once) / n;
}
