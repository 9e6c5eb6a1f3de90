#include "branch/tree_optimum.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/parameter_likelihood.h"
#include "branch/parameter_mode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUGH  1e-3 /* tolerance of the searches that are compared, in nats */
#define SAME   0.02 /* nats that fits of the lengths of one maximum may differ by */
#define LONGER 8.0  /* times the lengths, to look for a long tree from */
#define EQUAL  0.1  /* length where nothing is known */
#define LEAST  1e-6 /* lengths to start with: from 0 the way is long .. */
#define MOST   10.0 /* .. and from where all is saturated there is none */

/* Rates among sites to start from: alpha; p_invariant as a share of that of free_model_start, which
 * is half of the constant sites. */
static const double UNEQUAL[] = {0.1, 0.1};
static const double EVEN[] = {10.0, 1.8};

typedef struct worker {
    parameter_likelihood *likelihood; /* one of the two is NULL */
    parameter_mode *mode;
    double *length;  /* [E] of the search under way */
    double *z;       /* [p] */
    double *inverse; /* [p][p] what the best one has learned of the likelihood */
} worker;

struct tree_optimum {
    const branch_posterior *problem;
    pool *threads;
    worker *worker; /* [threads] */
    optimum_job *job;
};

static int worker_init(worker *w, const branch_posterior *p, optimum_kind kind)
{
    const size_t edges = (size_t)p->n_edges, n = (size_t)p->free.n_free;
    w->length = mem_zeros(edges + n + n * n, sizeof *w->length);
    if (!w->length)
        return ART_ERR_NOMEM;
    w->z = w->length + edges;
    w->inverse = w->z + n;
    return kind == OPTIMUM_LIKELIHOOD ? parameter_likelihood_create(&w->likelihood, p)
                                      : parameter_mode_create(&w->mode, p);
}

int tree_optimum_create(tree_optimum **out, const branch_posterior *problem, optimum_kind kind,
                        pool *threads)
{
    *out = NULL;
    tree_optimum *t = mem_zeros(1, sizeof *t);
    if (!t)
        return ART_ERR_NOMEM;
    int status = ART_ERR_NOMEM;
    t->problem = problem;
    t->threads = threads;
    t->worker = mem_zeros((size_t)pool_threads(threads), sizeof *t->worker);
    if (!t->worker)
        goto out;
    for (int i = 0; i < pool_threads(threads); i++)
        if ((status = worker_init(&t->worker[i], problem, kind)))
            goto out;
    *out = t;
    return ART_OK;
out:
    tree_optimum_free(t);
    return status;
}

void tree_optimum_free(tree_optimum *t)
{
    if (!t)
        return;
    for (int i = 0; t->worker && i < pool_threads(t->threads); i++) {
        parameter_likelihood_free(t->worker[i].likelihood);
        parameter_mode_free(t->worker[i].mode);
        free(t->worker[i].length);
    }
    free(t->worker);
    free(t);
}

/* to = from, parameters [p]; what the search has learned of them [p][p]. */
static void copy_parameters(double *to, const double *from, const branch_posterior *p)
{
    if (p->free.n_free)
        memcpy(to, from, (size_t)p->free.n_free * sizeof *to);
}

static void copy_learned(double *to, const double *from, const branch_posterior *p)
{
    const size_t n = (size_t)p->free.n_free;
    memcpy(to, from, n * n * sizeof *to);
}

/* The result of the worker is that of the job if it is better. */
static void compare(worker *w, optimum_job *job, const branch_posterior *p, double value,
                    double log_likelihood)
{
    if (!job->status && !(value > job->value))
        return;
    job->status = ART_OK;
    job->value = value;
    job->log_likelihood = log_likelihood;
    memcpy(job->length, w->length, (size_t)p->n_edges * sizeof *w->length);
    copy_parameters(job->z, w->z, p);
    if (w->likelihood)
        copy_learned(w->inverse, w->likelihood->inverse, p);
}

/* Fits the lengths at w->z, from w->length; returns what is maximised there, NaN if nothing was
 * found. */
static double fit(worker *w, optimum_job *job, const branch_posterior *p)
{
    if (w->likelihood) {
        parameter_likelihood *q = w->likelihood;
        if (parameter_likelihood_fit(q, job->decision, w->length, w->z, ROUGH))
            return (double)NAN;
        compare(w, job, p, q->log_likelihood, q->log_likelihood);
        return q->log_likelihood;
    }
    branch_solver *s = w->mode->solver;
    branch_posterior_move(&w->mode->view, w->z);
    branch_solver_set(s, job->decision, w->length);
    if (branch_solver_mode(s, ROUGH))
        return (double)NAN;
    branch_solver_lengths(w->length, s);
    const double value = s->log_density + block_parameters_log_prior(&p->free, w->z);
    compare(w, job, p, value, s->log_likelihood);
    return value;
}

/* Searches for both, from w->length and w->z. */
static void search(worker *w, optimum_job *job, const branch_posterior *p, double tolerance)
{
    if (w->likelihood) {
        parameter_likelihood *q = w->likelihood;
        if (!parameter_likelihood_find(q, job->decision, w->length, w->z, tolerance))
            compare(w, job, p, q->log_likelihood, q->log_likelihood);
        return;
    }
    parameter_mode *q = w->mode;
    if (!parameter_mode_find(q, job->decision, w->length, w->z, p->spread, tolerance))
        compare(w, job, p, q->log_density, q->solver->log_likelihood);
}

/* `factor` times the lengths of the job, and its parameters. */
static void take(worker *w, const optimum_job *job, const branch_posterior *p, double factor)
{
    for (int e = 0; e < p->n_edges; e++)
        w->length[e] =
            isnan(job->length[e]) ? EQUAL : fmin(fmax(factor * job->length[e], LEAST), MOST);
    copy_parameters(w->z, job->z, p);
}

/* From the best so far, with other rates among sites. */
static void search_rates(worker *w, optimum_job *job, const branch_posterior *p,
                         const double rates[2], double factor)
{
    take(w, job, p, factor);
    for (int k = 0; k < p->n_blocks; k++) {
        const free_model *f = &p->free.block[k].model;
        const int first = p->free.block[k].first;
        subst_model m;
        if (!f->alpha_free)
            continue;
        free_model_at(&m, f, job->z + first);
        m.alpha = rates[0];
        if (f->p_invariant_free)
            m.p_invariant = fmin(rates[1] * f->fixed.p_invariant, 0.9);
        free_model_coordinates(w->z + first, f, &m);
    }
    search(w, job, p, ROUGH);
}

/* Fits the lengths from w->length at the parameters of the start and, if that leads to a maximum
 * that is not among seen [n], searches from there. */
static void search_lengths(worker *w, optimum_job *job, const branch_posterior *p, double *seen,
                           int n)
{
    block_parameters_start(w->z, &p->free);
    seen[n] = fit(w, job, p);
    int is_new = !isnan(seen[n]);
    for (int i = 0; i < n; i++)
        is_new &= !(fabs(seen[i] - seen[n]) < SAME);
    if (is_new)
        search(w, job, p, ROUGH);
}

/* Whether a block has a free alpha and, if so asked, a free p_invariant too. */
static int has_rates(const branch_posterior *p, int with_invariant)
{
    int found = 0;
    for (int k = 0; k < p->n_blocks; k++) {
        const free_model *f = &p->free.block[k].model;
        found |= f->alpha_free && (f->p_invariant_free || !with_invariant);
    }
    return found;
}

static void run_job(void *context, int task, int index)
{
    static const double EQUAL_LENGTHS[] = {EQUAL, LEAST, MOST};
    enum { N_EQUAL = sizeof EQUAL_LENGTHS / sizeof *EQUAL_LENGTHS };
    tree_optimum *t = context;
    const branch_posterior *p = t->problem;
    optimum_job *job = &t->job[task];
    worker *w = &t->worker[index];
    double seen[N_EQUAL + 2];
    if (w->likelihood)
        parameter_likelihood_forget(w->likelihood);
    take(w, job, p, 1);
    job->status = ART_ERR_NUMERIC; /* until there is something */
    search_lengths(w, job, p, seen, 0);
    for (int i = 0; i < N_EQUAL; i++) {
        for (int e = 0; e < p->n_edges; e++)
            w->length[e] = EQUAL_LENGTHS[i];
        search_lengths(w, job, p, seen, i + 1);
    }
    if (job->status)
        return;
    take(w, job, p, LONGER);
    search_lengths(w, job, p, seen, N_EQUAL + 1);
    if (has_rates(p, 0))
        search_rates(w, job, p, UNEQUAL, LONGER);
    if (has_rates(p, 1))
        search_rates(w, job, p, EVEN, 1);
    memcpy(w->length, job->length, (size_t)p->n_edges * sizeof *w->length);
    copy_parameters(w->z, job->z, p);
    if (w->likelihood)
        copy_learned(w->likelihood->inverse, w->inverse, p);
    search(w, job, p, OPTIMUM_TOLERANCE);
}

void tree_optimum_run(tree_optimum *t, optimum_job *job, int count)
{
    t->job = job;
    pool_run(t->threads, count, run_job, t);
}
