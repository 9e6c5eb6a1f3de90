#include "density/lognormal/branch_lognormal.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "density/lognormal/branch_net.h"
#include "density/lognormal/branch_ref.h"
#include "density/distinct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters: N taxa, E = 2N-3 edges, k trees of a batch, D distinct ones.
 * The gradient is summed over at most GROUPS groups of distinct trees (tree d is in group
 * d mod GROUPS) and then over the groups, in order: neither depends on threads. */
enum { GROUPS = 32, CHUNK = 4096 };

static const double SHIFT = -2, HALF_LOG_2PI = 0.91893853320467274178;

/* The trees of the last call and what was found for them. */
typedef struct batch {
    int room;            /* trees that the arrays hold */
    int k;               /* 0 if there is nothing to go back from */
    int sampled;         /* noise and length are those of the call */
    distinct trees;      /* D = trees.count */
    double *mean;        /* [D][E], clamped */
    double *log_std;     /* [D][E] */
    unsigned char *held; /* [D][E] bits: the mean, the log_std was clamped */
    double (*dout)[2];   /* [D][E] the gradient with respect to (mean, log_std) */
    double *noise;       /* [k][E] eps */
    double *length;      /* [k][E] */
} batch;

enum { MEAN_HELD = 1, LOG_STD_HELD = 2 };

typedef struct lognormal {
    branch_model base;
    branch_net net;
    pool *team;
    int stale; /* the network's weights are not those of params */
    batch batch;
    int kept; /* number of distinct trees whose forward pass may be kept */
    int works;
    branch_work *work; /* [works] one per kept tree, at least one per thread */
    int groups;
    real **sheet; /* [groups] sheets */
} lognormal;

static lognormal *of(branch_model *m)
{
    return (lognormal *)(void *)m;
}

/* Room */

static void batch_free(batch *b)
{
    distinct_free(&b->trees);
    free(b->mean);
    free(b->log_std);
    free(b->held);
    free(b->dout);
    free(b->noise);
    free(b->length);
    memset(b, 0, sizeof *b);
}

/* Room for k trees on n taxa, whatever they are. */
static int batch_reserve(batch *b, int k, int n_taxa)
{
    if (b->room && k <= b->room)
        return ART_OK;
    const int room = k > 1 ? k : 1;
    const size_t edges = (size_t)room * (size_t)topology_edges(n_taxa);
    batch_free(b);
    b->mean = mem_zeros(edges, sizeof *b->mean);
    b->log_std = mem_zeros(edges, sizeof *b->log_std);
    b->held = mem_zeros(edges, sizeof *b->held);
    b->dout = mem_zeros(edges, sizeof *b->dout);
    b->noise = mem_zeros(edges, sizeof *b->noise);
    b->length = mem_zeros(edges, sizeof *b->length);
    if (!b->mean || !b->log_std || !b->held || !b->dout || !b->noise || !b->length ||
        distinct_reserve(&b->trees, room, n_taxa) != ART_OK) {
        batch_free(b);
        return ART_ERR_NOMEM;
    }
    b->room = room;
    return ART_OK;
}

static int reserve_works(lognormal *m, int count)
{
    if (count <= m->works)
        return ART_OK;
    branch_work *grown = mem_resize(m->work, (size_t)count, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    m->work = grown;
    while (m->works < count) {
        int status = branch_work_init(&m->work[m->works], &m->net);
        if (status) {
            branch_work_free(&m->work[m->works]);
            return status;
        }
        m->works++;
    }
    return ART_OK;
}

static int reserve_groups(lognormal *m, int count)
{
    if (count <= m->groups)
        return ART_OK;
    real **grown = mem_resize(m->sheet, (size_t)count, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    m->sheet = grown;
    while (m->groups < count) {
        m->sheet[m->groups] = params_block(&m->net.sheet);
        if (!m->sheet[m->groups])
            return ART_ERR_NOMEM;
        m->groups++;
    }
    return ART_OK;
}

static int at_most(int n, int limit)
{
    return n < limit ? n : limit;
}

/* Forward */

/* Brings x into [low, high]; true if it was not there. NaN becomes low: it must not reach a
 * draw. */
static int clamp(double *x, double low, double high)
{
    if (*x >= low && *x <= high)
        return 0;
    *x = *x > high ? high : low;
    return 1;
}

static unsigned char clamp_moments(double *mean, double *log_std)
{
    int held = clamp(mean, BRANCH_MEAN_MIN, BRANCH_MEAN_MAX) ? MEAN_HELD : 0;
    if (clamp(log_std, BRANCH_LOG_STD_MIN, BRANCH_LOG_STD_MAX))
        held |= LOG_STD_HELD;
    return (unsigned char)held;
}

/* The room that distinct tree d is evaluated in. */
static branch_work *work_of(lognormal *m, int d, int worker)
{
    return &m->work[m->batch.trees.count <= m->kept ? d : worker];
}

static void forward_task(void *context, int task, int worker)
{
    lognormal *m = context;
    batch *b = &m->batch;
    const int edges = topology_edges(m->base.n_taxa);
    branch_work *w = work_of(m, task, worker);
    branch_net_forward(w, &m->net, b->trees.decision + (ptrdiff_t)task * (m->base.n_taxa - 3));
    for (int e = 0; e < edges; e++) {
        const ptrdiff_t at = (ptrdiff_t)task * edges + e;
        b->mean[at] = (double)w->out[2 * e];
        b->log_std[at] = (double)w->out[2 * e + 1];
        b->held[at] = clamp_moments(&b->mean[at], &b->log_std[at]);
    }
}

/* Evaluates the network on the distinct trees of a batch. What is reserved depends on k alone,
 * not on how many of the trees are distinct. */
static int forward(lognormal *m, const int32_t *decision, int k)
{
    m->batch.k = m->batch.sampled = 0;
    int works = at_most(k, m->kept), threads = pool_threads(m->team);
    int status = k < 0 ? ART_ERR_USAGE : batch_reserve(&m->batch, k, m->base.n_taxa);
    if (status == ART_OK)
        status = reserve_works(m, works > threads ? works : threads);
    if (status)
        return status;
    if (m->stale)
        branch_net_fold(&m->net);
    m->stale = 0;
    distinct_set(&m->batch.trees, decision, k);
    m->batch.k = k;
    pool_run(m->team, m->batch.trees.count, forward_task, m);
    return ART_OK;
}

/* A call on its way through the team. */
typedef struct draw {
    lognormal *m;
    double *length, *log_q;
    const double *given; /* score: the lengths */
    uint64_t seed;
    uint32_t purpose, step, first;
} draw;

static void sample_task(void *context, int task, int worker)
{
    (void)worker;
    const draw *c = context;
    batch *b = &c->m->batch;
    const int edges = topology_edges(c->m->base.n_taxa);
    const ptrdiff_t at = (ptrdiff_t)task * edges, from = (ptrdiff_t)b->trees.of[task] * edges;
    rng r = rng_at(c->seed, c->purpose, c->step, c->first + (uint32_t)task);
    double log_q = 0;
    for (int e = 0; e < edges; e++) {
        double eps = rng_normal(&r), log_std = b->log_std[from + e];
        double log_length = b->mean[from + e] + SHIFT + exp(log_std) * eps;
        b->noise[at + e] = eps;
        c->length[at + e] = b->length[at + e] = exp(log_length);
        log_q -= 0.5 * eps * eps + log_std + HALF_LOG_2PI + log_length;
    }
    c->log_q[task] = log_q;
}

static int sample(branch_model *base, double *length, double *log_q, const int32_t *decision, int k,
                  uint64_t seed, uint32_t purpose, uint32_t step, uint32_t first)
{
    lognormal *m = of(base);
    int status = forward(m, decision, k);
    if (status)
        return status;
    draw c = {m, length, log_q, NULL, seed, purpose, step, first};
    pool_run(m->team, k, sample_task, &c);
    m->batch.sampled = 1;
    return ART_OK;
}

/* eps of a log length. */
static double noise_of(double log_length, double mean, double log_std)
{
    return (log_length - mean - SHIFT) * exp(-log_std);
}

/* log q of lengths [edges] given the parameters of their tree. */
static double log_density(const double *length, const double *mean, const double *log_std,
                          int edges)
{
    double log_q = 0;
    for (int e = 0; e < edges; e++) {
        if (!(length[e] > 0) || isinf(length[e]))
            return -HUGE_VAL;
        double log_length = log(length[e]);
        double eps = noise_of(log_length, mean[e], log_std[e]);
        log_q -= 0.5 * eps * eps + log_std[e] + HALF_LOG_2PI + log_length;
    }
    return log_q;
}

static void score_task(void *context, int task, int worker)
{
    (void)worker;
    const draw *c = context;
    const batch *b = &c->m->batch;
    const int edges = topology_edges(c->m->base.n_taxa);
    const ptrdiff_t from = (ptrdiff_t)b->trees.of[task] * edges;
    c->log_q[task] =
        log_density(c->given + (ptrdiff_t)task * edges, b->mean + from, b->log_std + from, edges);
}

static int score(branch_model *base, double *log_q, const double *length, const int32_t *decision,
                 int k)
{
    lognormal *m = of(base);
    int status = forward(m, decision, k);
    if (status)
        return status;
    draw c = {.m = m, .log_q = log_q, .given = length};
    pool_run(m->team, k, score_task, &c);
    return ART_OK;
}

int branch_lognormal_moments(branch_model *base, double *mean, double *log_std,
                             const int32_t *decision, int k)
{
    lognormal *m = of(base);
    int status = forward(m, decision, k);
    if (status)
        return status;
    const batch *b = &m->batch;
    const size_t edges = (size_t)topology_edges(base->n_taxa), bytes = edges * sizeof *mean;
    for (int i = 0; i < k; i++) {
        memcpy(mean + (size_t)i * edges, b->mean + (size_t)b->trees.of[i] * edges, bytes);
        memcpy(log_std + (size_t)i * edges, b->log_std + (size_t)b->trees.of[i] * edges, bytes);
    }
    return ART_OK;
}

/* Backward */

static void backward_task(void *context, int task, int worker)
{
    lognormal *m = context;
    const batch *b = &m->batch;
    const int n = m->base.n_taxa, edges = topology_edges(n);
    real *sheet = m->sheet[task];
    memset(sheet, 0, m->net.sheet.total * sizeof *sheet);
    for (int d = task; d < b->trees.count; d += GROUPS) {
        branch_work *w = work_of(m, d, worker);
        if (b->trees.count > m->kept)
            branch_net_forward(w, &m->net, b->trees.decision + (ptrdiff_t)d * (n - 3));
        for (int e = 0; e < edges; e++) {
            w->dout[2 * e] = (real)b->dout[(ptrdiff_t)d * edges + e][0];
            w->dout[2 * e + 1] = (real)b->dout[(ptrdiff_t)d * edges + e][1];
        }
        branch_net_backward(sheet, w, &m->net);
    }
}

/* Adds the groups, in order, into the first one. */
static void reduce_task(void *context, int task, int worker)
{
    (void)worker;
    lognormal *m = context;
    const int groups = at_most(m->batch.trees.count, GROUPS);
    size_t begin = (size_t)task * CHUNK, end = begin + CHUNK;
    if (end > m->net.sheet.total)
        end = m->net.sheet.total;
    real *sum = m->sheet[0];
    for (int g = 1; g < groups; g++) {
        const real *part = m->sheet[g];
        for (size_t i = begin; i < end; i++)
            sum[i] += part[i];
    }
}

/* Gets ready to collect the gradient with respect to the outputs. */
static int begin_backward(lognormal *m)
{
    if (m->stale)
        return ART_ERR_USAGE;
    const size_t edges = (size_t)topology_edges(m->base.n_taxa);
    memset(m->batch.dout, 0, (size_t)m->batch.trees.count * edges * sizeof *m->batch.dout);
    return reserve_groups(m, at_most(m->batch.k, GROUPS));
}

/* Tree i of the batch adds to the gradient of its topology's outputs at one edge. */
static void collect(batch *b, int i, size_t e, size_t edges, double dmean, double dlog_std)
{
    const size_t at = (size_t)b->trees.of[i] * edges + e;
    if (!(b->held[at] & MEAN_HELD))
        b->dout[at][0] += dmean;
    if (!(b->held[at] & LOG_STD_HELD))
        b->dout[at][1] += dlog_std;
}

static void end_backward(lognormal *m)
{
    if (m->batch.k == 0)
        return;
    const int chunks = (int)((m->net.sheet.total + CHUNK - 1) / CHUNK);
    pool_run(m->team, at_most(m->batch.trees.count, GROUPS), backward_task, m);
    pool_run(m->team, chunks, reduce_task, m);
    branch_net_unfold(&m->base.params, &m->net, m->sheet[0]);
}

int branch_lognormal_moments_backward(branch_model *base, const double *dmean,
                                      const double *dlog_std)
{
    lognormal *m = of(base);
    const size_t edges = (size_t)topology_edges(base->n_taxa);
    int status = begin_backward(m);
    if (status)
        return status;
    for (int i = 0; i < m->batch.k; i++)
        for (size_t e = 0; e < edges; e++)
            collect(&m->batch, i, e, edges, dmean[(size_t)i * edges + e],
                    dlog_std[(size_t)i * edges + e]);
    end_backward(m);
    return ART_OK;
}

/* With x = log length = mean - 2 + s eps and s = exp(log_std), at fixed eps:
 *     d length / d mean = length         d length / d log_std = length s eps
 *     d log_q  / d mean = -1             d log_q  / d log_std = -1 - s eps */
static int backward(branch_model *base, const double *dlength, const double *dlog_q)
{
    lognormal *m = of(base);
    batch *b = &m->batch;
    const size_t edges = (size_t)topology_edges(base->n_taxa);
    int status = b->sampled ? begin_backward(m) : ART_ERR_USAGE;
    if (status)
        return status;
    for (int i = 0; i < b->k; i++)
        for (size_t e = 0; e < edges; e++) {
            const size_t at = (size_t)i * edges + e;
            const double log_std = b->log_std[(size_t)b->trees.of[i] * edges + e];
            const double dx = dlength[at] * b->length[at] - dlog_q[i];
            collect(b, i, e, edges, dx, dx * exp(log_std) * b->noise[at] - dlog_q[i]);
        }
    end_backward(m);
    return ART_OK;
}

/* d log_q / d mean = eps / s,  d log_q / d log_std = eps^2 - 1, at fixed length. */
static int gradient(branch_model *base, double *log_q, const double *length,
                    const int32_t *decision, const double *coefficient, int k)
{
    lognormal *m = of(base);
    batch *b = &m->batch;
    const size_t edges = (size_t)topology_edges(base->n_taxa);
    int status = forward(m, decision, k);
    if (!status)
        status = begin_backward(m);
    if (status)
        return status;
    for (int i = 0; i < k; i++) {
        const double *x = length + (size_t)i * edges;
        const double *mean = b->mean + (size_t)b->trees.of[i] * edges;
        const double *log_std = b->log_std + (size_t)b->trees.of[i] * edges;
        const double value = log_density(x, mean, log_std, (int)edges);
        if (log_q)
            log_q[i] = value;
        for (size_t e = 0; e < edges && isfinite(value); e++) {
            const double eps = noise_of(log(x[e]), mean[e], log_std[e]);
            collect(b, i, e, edges, coefficient[i] * eps * exp(-log_std[e]),
                    coefficient[i] * (eps * eps - 1));
        }
    }
    end_backward(m);
    return ART_OK;
}

/* The model */

/* A Linear's weight and bias are uniform in +-1/sqrt(fan in), LayerNorm is 1 and 0. */
static void initialise(branch_model *base, uint64_t seed)
{
    params *p = &base->params;
    for (int i = 0; i < BRANCH_TENSORS; i++) {
        const int is_gain = i == BRANCH_CONV0_GAIN || i == BRANCH_CONV1_GAIN;
        const int is_shift = i == BRANCH_CONV0_SHIFT || i == BRANCH_CONV1_SHIFT;
        const int at = branch_entry(p, i);
        if (at < 0)
            continue;
        const int weight = p->entry[at].rank == 2 ? at : at - 1; /* a bias follows its weight */
        rng r = rng_at(seed, RNG_INIT, (uint32_t)i, 1);          /* index 0 is the tree model's */
        for (size_t j = 0; j < p->entry[at].size; j++) {
            double fan_in = (double)p->entry[weight].shape[1];
            params_value(p, at)[j] = is_gain    ? 1
                                     : is_shift ? 0
                                                : (real)((2 * rng_uniform(&r) - 1) / sqrt(fan_in));
        }
    }
    of(base)->stale = 1;
}

static void changed(branch_model *base)
{
    of(base)->stale = 1;
}

static int plain(branch_model *base, double *log_q, const double *length, const int32_t *decision)
{
    const int n = base->n_taxa, edges = topology_edges(n);
    double *mean = mem_zeros((size_t)edges, sizeof *mean);
    double *log_std = mem_zeros((size_t)edges, sizeof *log_std);
    int status = mean && log_std ? ART_OK : ART_ERR_NOMEM;
    if (status == ART_OK)
        status =
            branch_plain_moments(mean, log_std, &base->params, n, of(base)->net.hidden, decision);
    for (int e = 0; e < edges && status == ART_OK; e++)
        clamp_moments(&mean[e], &log_std[e]);
    if (status == ART_OK)
        *log_q = log_density(length, mean, log_std, edges);
    free(mean);
    free(log_std);
    return status;
}

static void free_model(branch_model *base)
{
    if (!base)
        return;
    lognormal *m = of(base);
    for (int i = 0; i < m->works; i++)
        branch_work_free(&m->work[i]);
    for (int i = 0; i < m->groups; i++)
        free(m->sheet[i]);
    free(m->work);
    free(m->sheet);
    batch_free(&m->batch);
    branch_net_free(&m->net);
    params_free(&base->params);
    free(m);
}

static const branch_model_ops OPS = {
    .sample = sample,
    .score = score,
    .gradient = gradient,
    .backward = backward,
    .initialise = initialise,
    .changed = changed,
    .reference = plain,
    .free = free_model,
};

static int create(branch_model **out, int n_taxa, int hidden, bool with_norm, pool *team)
{
    *out = NULL;
    if (n_taxa < 3 || hidden < 1)
        return ART_ERR_USAGE;
    if (n_taxa > TOPOLOGY_MAX_TAXA || hidden > BRANCH_HIDDEN_MAX)
        return ART_ERR_LIMIT;
    lognormal *m = mem_zeros(1, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    m->base = (branch_model){.ops = &OPS, .n_taxa = n_taxa};
    m->team = team;
    m->stale = 1;
    int status = branch_net_tensors(&m->base.params, n_taxa, hidden, with_norm);
    if (status == ART_OK)
        status = params_alloc(&m->base.params);
    if (status == ART_OK)
        status = branch_net_init(&m->net, &m->base.params, n_taxa, hidden);
    if (status) {
        free_model(&m->base);
        return status;
    }
    size_t affordable = BRANCH_KEPT_BYTES / branch_work_bytes(&m->net);
    m->kept = affordable < BRANCH_KEPT ? (int)affordable : BRANCH_KEPT;
    *out = &m->base;
    return ART_OK;
}

int branch_lognormal_create(branch_model **out, int n_taxa, int hidden, pool *team)
{
    return create(out, n_taxa, hidden, true, team);
}

int branch_lognormal_create_plain(branch_model **out, int n_taxa, int hidden, pool *team)
{
    return create(out, n_taxa, hidden, false, team);
}
