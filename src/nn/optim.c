#include "nn/optim.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers per task; a multiple of LANES and of a cache line. LANES sums run side by side so
 * that a compiler may use vectors without changing the order of any sum. */
enum { CHUNK = 1 << 13, LANES = 8 };

#if REAL_IS_DOUBLE
#define real_sqrt sqrt
static const double GRADIENT_LIMIT = 1e150;
#else
#define real_sqrt sqrtf
static const double GRADIENT_LIMIT = 1e18;
#endif

optim_settings optim_defaults(double rate)
{
    return (optim_settings){
        .rate = rate, .decay = 0.75, .every = 20000, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

static int chunks(const optim *o)
{
    return (int)((o->p->total + CHUNK - 1) / CHUNK);
}

/* The numbers of a chunk: from *begin, how many. */
static size_t chunk(const optim *o, int task, size_t *begin)
{
    *begin = (size_t)task * CHUNK;
    return o->p->total - *begin < CHUNK ? o->p->total - *begin : CHUNK;
}

int optim_init(optim *o, params *p, optim_settings settings, pool *team)
{
    memset(o, 0, sizeof *o);
    o->settings = settings;
    o->p = p;
    o->team = team;
    o->mean = params_block(p);
    o->square = params_block(p);
    o->average = settings.average > 0 ? params_block(p) : NULL;
    o->partial = mem_zeros((size_t)chunks(o), sizeof *o->partial);
    if (o->mean && o->square && o->partial && (o->average || settings.average <= 0))
        return ART_OK;
    optim_free(o);
    return ART_ERR_NOMEM;
}

void optim_free(optim *o)
{
    free(o->mean);
    free(o->square);
    free(o->average);
    free(o->partial);
    memset(o, 0, sizeof *o);
}

double optim_rate(const optim_settings *settings, int64_t step)
{
    double rate = settings->rate;
    if (settings->every > 0)
        rate *= pow(settings->decay, (double)(step / settings->every));
    if (settings->cooling > 0 && settings->steps - step < settings->cooling)
        rate *= fmax(0, (double)(settings->steps - step) / (double)settings->cooling);
    return rate;
}

double optim_clip(double norm, double limit)
{
    return limit > 0 && norm > limit ? limit / norm : 1;
}

/* The sum of squares of one chunk. Blocks are padded with zeros to a multiple of a cache line,
 * and so to a multiple of LANES. */
static void norm_task(void *context, int task, int worker)
{
    (void)worker;
    const optim *o = context;
    size_t begin, n = chunk(o, task, &begin);
    const real *g = o->p->grad + begin;
    double sum[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sum[j] += (double)g[i + j] * (double)g[i + j];
    double total = 0;
    for (int j = 0; j < LANES; j++)
        total += sum[j];
    o->partial[task] = total;
}

int optim_norm(optim *o, double *norm)
{
    pool_run(o->team, chunks(o), norm_task, o);
    double sum = 0;
    for (int i = 0; i < chunks(o); i++)
        sum += o->partial[i];
    *norm = sqrt(sum);
    return *norm <= GRADIENT_LIMIT ? ART_OK : ART_ERR_NUMERIC;
}

typedef struct update {
    optim *o;
    real scale, beta1, beta2, rest1, rest2, rate, root, eps; /* rest = 1 - beta */
    real along_mean, along_gradient;                         /* parts of a step */
    real keep, rest;                                         /* of the average */
} update;

static void move_values(real *restrict value, real *restrict mean, real *restrict square,
                        const real *restrict grad, const update *u, size_t n)
{
    const update c = *u;
    for (size_t i = 0; i < n; i++) {
        real g = c.scale * grad[i];
        real m = c.beta1 * mean[i] + c.rest1 * g;
        real v = c.beta2 * square[i] + c.rest2 * g * g;
        mean[i] = m;
        square[i] = v;
        real step = c.along_mean * m + c.along_gradient * g;
        value[i] -= c.rate * step / (real_sqrt(v) * c.root + c.eps);
    }
}

static void update_task(void *context, int task, int worker)
{
    (void)worker;
    const update *u = context;
    const optim *o = u->o;
    size_t begin, n = chunk(o, task, &begin);
    real *value = o->p->value + begin;
    move_values(value, o->mean + begin, o->square + begin, o->p->grad + begin, u, n);
    if (!o->average)
        return;
    real *average = o->average + begin;
    for (size_t i = 0; i < n; i++)
        average[i] = u->keep * average[i] + u->rest * value[i];
}

void optim_update(optim *o, double scale)
{
    const optim_settings *s = &o->settings;
    double rate = optim_rate(s, o->step);
    double t = (double)++o->step;
    double keep = o->step <= s->average_at || o->step == 1 ? 0 : s->average;
    update u = {.o = o,
                .scale = (real)scale,
                .beta1 = (real)s->beta1,
                .beta2 = (real)s->beta2,
                .rest1 = (real)(1 - s->beta1),
                .rest2 = (real)(1 - s->beta2),
                .rate = (real)(rate / (1 - pow(s->beta1, t))),
                .root = (real)(1 / sqrt(1 - pow(s->beta2, t))),
                .eps = (real)s->eps,
                .along_mean = s->nesterov ? (real)s->beta1 : 1,
                .along_gradient = s->nesterov ? (real)(1 - s->beta1) : 0,
                .keep = (real)keep,
                .rest = (real)(1 - keep)};
    pool_run(o->team, chunks(o), update_task, &u);
}

int optim_fields(optim *o, saved_state *s)
{
    const struct {
        const char *name;
        real *block;
    } part[] = {{"mean", o->mean}, {"square", o->square}, {"average", o->average}};
    state_i64_in(s, "step", &o->step, 0, INT64_MAX);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        const size_t before = state_group(s, part[i].name);
        if (part[i].block)
            params_fields(o->p, part[i].block, s);
        state_group_end(s, before);
    }
    return s->status;
}
