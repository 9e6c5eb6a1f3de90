#include "infer/table_sampler.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "infer/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOB_DRAWS = 128,    /* lengths that one job draws, at most */
    CHUNK_DRAWS = 1024, /* lengths that are drawn between two looks at stop */
    SCORE_BATCH = 500,  /* trees that the network draws at a time */
    SCREENED = 256,     /* trees outside that are looked at between two looks at stop */
    OUTSIDE_DRAWS = 16, /* lengths for a tree outside .. */
    SINGLE_DRAWS = 8,   /* .. or drawn once: finding its mode costs more than they do */
};

static const double LEAST_NETWORK = 0.1, MOST_NETWORK = 0.6;
static const double LIGHT = 0.1;  /* a weight, over the mean of all, that is not worth the work */
static const double JUDGED = 0.1; /* tolerance of the mode for seeing that */

/* Consecutive draws of one tree: where their results go. */
typedef struct errand {
    int64_t tree; /* of the table; -1 outside, where every draw is an errand */
    int first, n; /* draws of the stratum, in its order */
    int lengths;  /* drawn for each of them, of which one stands for all */
} errand;

struct table_sampler {
    collapsed *c;
    sampler_settings set;
    int k_table, k_network;  /* of a repeat */
    double *log_p;           /* [trees] the table's distribution */
    tree_estimate *estimate; /* [trees] */
    posterior posterior;
    double *weight; /* [passes][repeats][K] */
    int passes;
    log_mean mean; /* of all weights */
    log_mean outside;
    int64_t failed;
    /* The pass. */
    particles batch;   /* [repeats K], by repeat */
    int32_t *place;    /* [K] a permutation: where a draw stands in its repeat */
    int64_t *pick;     /* [repeats k_table] trees of the table */
    int32_t *drawn;    /* [repeats k_network][N-3] of the network */
    double *log_q;     /* [repeats k_network] */
    int *outside_draw; /* [repeats k_network] the numbers of those outside the table */
    double *guess;     /* [E] lengths for trees outside */
    errand *errand;
    evidence_job *job;
    double *mode;                        /* [CHUNK_DRAWS][E] */
    double *length;                      /* [CHUNK_DRAWS][E] */
    double *log_weight, *log_likelihood; /* [CHUNK_DRAWS] */
};

double table_sampler_share(const collapsed *c)
{
    const double outside = c->n_rounds ? c->round[c->n_rounds - 1].spread : 0;
    const double share = outside > 0 ? outside / (outside + c->inside) : 0;
    return fmax(LEAST_NETWORK, fmin(share, MOST_NETWORK));
}

static int create_memory(table_sampler *s)
{
    const size_t trees = s->c->table.count, edges = s->c->table.n_edges;
    const size_t n_decisions = s->c->table.n_decisions, k = (size_t)s->set.particles;
    const size_t network = SAMPLER_REPEATS * (size_t)s->k_network;
    s->log_p = mem_zeros(trees, sizeof *s->log_p);
    s->estimate = mem_zeros(trees, sizeof *s->estimate);
    s->place = mem_zeros(k, sizeof *s->place);
    s->pick = mem_zeros(SAMPLER_REPEATS * (size_t)s->k_table, sizeof *s->pick);
    s->drawn = mem_zeros(network * n_decisions, sizeof *s->drawn);
    s->log_q = mem_zeros(network, sizeof *s->log_q);
    s->outside_draw = mem_zeros(network, sizeof *s->outside_draw);
    s->guess = mem_zeros(edges, sizeof *s->guess);
    s->errand = mem_zeros(CHUNK_DRAWS, sizeof *s->errand);
    s->job = mem_zeros(CHUNK_DRAWS, sizeof *s->job);
    s->mode = mem_zeros(CHUNK_DRAWS * edges, sizeof *s->mode);
    s->length = mem_zeros(CHUNK_DRAWS * edges, sizeof *s->length);
    s->log_weight = mem_zeros(2 * CHUNK_DRAWS, sizeof *s->log_weight);
    if (!s->log_p || !s->estimate || !s->place || !s->pick || !s->drawn || !s->log_q ||
        !s->outside_draw || !s->guess || !s->errand || !s->job || !s->mode || !s->length ||
        !s->log_weight)
        return ART_ERR_NOMEM;
    s->log_likelihood = s->log_weight + CHUNK_DRAWS;
    return particles_init(&s->batch, SAMPLER_REPEATS * s->set.particles, s->c->table.n_taxa, 0);
}

int table_sampler_create(table_sampler **out, collapsed *c, const taxa *names,
                         const sampler_settings *settings)
{
    *out = NULL;
    const int wanted = (int)ceil(settings->network * settings->particles);
    const int network = wanted < settings->particles ? wanted : settings->particles - 1;
    if (network < 1 || c->table.count == 0)
        return ART_ERR_USAGE;
    table_sampler *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->c = c;
    s->set = *settings;
    s->k_network = network;
    s->k_table = settings->particles - network;
    int status = create_memory(s);
    if (!status)
        status = posterior_init(&s->posterior, names, settings->sample, ROWS_BY_WEIGHT, true,
                                settings->seed);
    if (status) {
        table_sampler_free(s);
        return status;
    }
    const double all = topology_table_log_sum(&c->table, 0, 0);
    for (size_t i = 0; i < c->table.count; i++) {
        s->log_p[i] = c->table.g[i] - all;
        s->estimate[i] = (tree_estimate){.tree = i, .full = NAN, .laplace = c->table.laplace[i]};
    }
    *out = s;
    return ART_OK;
}

void table_sampler_free(table_sampler *s)
{
    if (!s)
        return;
    free(s->log_p);
    free(s->estimate);
    free(s->place);
    free(s->pick);
    free(s->drawn);
    free(s->log_q);
    free(s->outside_draw);
    free(s->guess);
    free(s->errand);
    free(s->job);
    free(s->mode);
    free(s->length);
    free(s->log_weight);
    free(s->weight);
    particles_free(&s->batch);
    posterior_free(&s->posterior);
    free(s);
}

/* The trees of the table, in steps of its cumulative distribution, and the places. */
static void pick_trees(table_sampler *s, rng *stream)
{
    const int count = SAMPLER_REPEATS * s->k_table;
    const size_t last = s->c->table.count - 1;
    const double offset = rng_uniform(stream);
    double sum = exp(s->log_p[0]);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        while (at < last && sum < (i + offset) / count)
            sum += exp(s->log_p[++at]);
        s->pick[i] = (int64_t)at;
    }
    for (int i = 0; i < s->set.particles; i++) {
        const uint32_t j = rng_below(stream, (uint32_t)i + 1);
        s->place[i] = s->place[j];
        s->place[j] = i;
    }
}

/* Where draw i of a stratum stands in the batch; the table's come first, dealt to the repeats in
 * turn. */
static int place_of(const table_sampler *s, int i, int is_outside)
{
    const int turn = (is_outside ? s->k_table : 0) + i / SAMPLER_REPEATS;
    return i % SAMPLER_REPEATS * s->set.particles + s->place[turn];
}

/* Draws from the network and lists those outside the table. Returns how many. */
static int draw_outside(table_sampler *s, uint32_t pass, int *status)
{
    topology_model *trees = s->c->trees;
    const size_t n_decisions = s->c->table.n_decisions;
    const int count = SAMPLER_REPEATS * s->k_network;
    int outside = 0;
    for (int first = 0; first < count && !*status; first += SCORE_BATCH)
        *status =
            trees->ops->sample(trees, s->drawn + (size_t)first * n_decisions, s->log_q + first,
                               count - first < SCORE_BATCH ? count - first : SCORE_BATCH,
                               s->set.seed, RNG_EVIDENCE, pass, (uint32_t)first);
    for (int i = 0; i < count && !*status; i++) {
        s->batch.weight[place_of(s, i, 1)] = -HUGE_VAL;
        if (topology_table_find(&s->c->table, s->drawn + (size_t)i * n_decisions) < 0)
            s->outside_draw[outside++] = i;
    }
    return outside;
}

/* The diagonal approximation for n trees outside: s->job[i] for outside_draw[first + i]. */
static void judge(table_sampler *s, int first, int n)
{
    const topology_table *t = &s->c->table;
    for (int i = 0; i < n; i++) {
        s->job[i] = (evidence_job){
            .decision = s->drawn + (size_t)s->outside_draw[first + i] * t->n_decisions,
            .length = s->mode + (size_t)i * t->n_edges,
            .tolerance = JUDGED,
            .shape = EVIDENCE_DIAGONAL,
        };
        memcpy(s->job[i].length, s->guess, t->n_edges * sizeof *s->guess);
    }
    evidence_team_run(s->c->team, s->job, n);
}

/* Of the trees outside that will have light weights only as many are kept, by chance, as make up
 * for the others; log_q becomes that of the draws that are kept. Shortens the list outside_draw. */
static int screen(table_sampler *s, int *count, uint32_t pass, sampler_stop *stop, void *context)
{
    const topology_table *t = &s->c->table;
    const double all =
        topology_table_log_sum(t, 0, 0) - t->offset + log((double)s->k_network / s->set.particles);
    int kept = 0;
    for (int first = 0; first < *count; first += SCREENED) {
        const int n = *count - first < SCREENED ? *count - first : SCREENED;
        if (stop && stop(context))
            return ART_ERR_STOPPED;
        judge(s, first, n);
        for (int i = 0; i < n; i++) {
            const int draw = s->outside_draw[first + i];
            const double weight = exp(s->job[i].laplace - all - s->log_q[draw]);
            const double chance = s->job[i].status ? 1 : fmin(1, weight / LIGHT);
            rng stream = rng_at(s->set.seed, RNG_SCREEN, pass, (uint32_t)draw);
            if (rng_uniform(&stream) >= chance)
                continue;
            s->log_q[draw] += log(chance);
            s->outside_draw[kept++] = draw;
        }
    }
    *count = kept;
    return ART_OK;
}

/* Draw i of an errand, as a number of its stratum. */
static int draw_of(const table_sampler *s, const errand *e, int i)
{
    return e->tree < 0 ? s->outside_draw[e->first + i] : e->first + i;
}

static int lengths_of(const errand *e)
{
    return e->n * e->lengths;
}

static void prepare(table_sampler *s, int number, const errand *e, int at, rng stream)
{
    const topology_table *t = &s->c->table;
    const size_t n_decisions = t->n_decisions;
    evidence_job *job = &s->job[number];
    *job = (evidence_job){
        .decision = e->tree < 0 ? s->drawn + (size_t)draw_of(s, e, 0) * n_decisions
                                : topology_table_decision(t, (size_t)e->tree),
        .length = s->mode + (size_t)number * t->n_edges,
        .tolerance = BRANCH_TOLERANCE,
        .shape = EVIDENCE_FULL,
        .draws = lengths_of(e),
        .stream = stream,
        .out = {s->length + (size_t)at * t->n_edges, s->log_weight + at, s->log_likelihood + at},
    };
    if (e->tree < 0)
        memcpy(job->length, s->guess, t->n_edges * sizeof *s->guess);
    else
        topology_table_lengths(job->length, t, (size_t)e->tree);
}

/* Of n drawn lengths one is chosen in proportion to the weights, and gets their mean: as good as
 * all of them. Returns which. */
static int choose_length(double *log_weight, const double *drawn, int n, rng stream)
{
    log_mean mean = {0};
    for (int i = 0; i < n; i++)
        log_mean_add(&mean, drawn[i]);
    *log_weight = log_mean_value(&mean);
    double left = n * rng_uniform(&stream);
    int i = 0;
    for (; i + 1 < n && isfinite(*log_weight); i++)
        if ((left -= exp(drawn[i] - *log_weight)) < 0)
            break;
    return i;
}

/* The results of one errand become particles. */
static void collect(table_sampler *s, const errand *e, const evidence_job *job, int at)
{
    const topology_table *t = &s->c->table;
    const size_t edges = t->n_edges, n_decisions = t->n_decisions;
    const double rate = s->c->problem->prior_rate;
    particles *p = &s->batch;
    for (int i = 0; i < e->n; i++) {
        const int draw = draw_of(s, e, i);
        const size_t to = (size_t)place_of(s, draw, e->tree < 0);
        double log_weight = -HUGE_VAL;
        int from = at + i * e->lengths;
        if (!job->status)
            from += choose_length(&log_weight, s->log_weight + from, e->lengths,
                                  rng_at(s->set.seed, RNG_POSTERIOR, (uint32_t)s->passes,
                                         1 + (uint32_t)place_of(s, draw, e->tree < 0)));
        const double *length = s->length + (size_t)from * edges;
        memcpy(p->decision + to * n_decisions, job->decision, n_decisions * sizeof *p->decision);
        memcpy(p->length + to * edges, length, edges * sizeof *length);
        p->log_q[to] = e->tree < 0 ? s->log_q[draw] + log((double)s->k_network / s->set.particles)
                                   : s->log_p[e->tree] + log((double)s->k_table / s->set.particles);
        p->weight[to] = -HUGE_VAL;
        s->failed += job->status != ART_OK;
        if (!isfinite(log_weight))
            continue;
        p->value[to] = s->log_likelihood[from];
        p->log_prior[to] = log_prior(length, t->n_taxa, rate);
        p->weight[to] = log_weight - log_topologies(t->n_taxa) - p->log_q[to];
        p->log_b[to] = p->value[to] + p->log_prior[to] - p->log_q[to] - p->weight[to];
    }
}

/* What an errand says of its tree. */
static void note(table_sampler *s, const errand *e, const evidence_job *job)
{
    if (e->tree < 0 || job->status)
        return;
    tree_estimate *estimate = &s->estimate[e->tree];
    log_mean_merge(&estimate->draws, &job->weights);
    if (job->shape == EVIDENCE_FULL)
        estimate->full = job->full_laplace;
    if (s->c->table.mark[e->tree] & TABLE_ROUGH) {
        s->c->table.mark[e->tree] &= (uint8_t)~TABLE_ROUGH;
        topology_table_update(&s->c->table, (size_t)e->tree, job->length, job->laplace);
    }
}

/* Errands up to CHUNK_DRAWS lengths, from draw *next of a stratum on; returns how many. */
static int next_errands(table_sampler *s, int *next, int count, int is_outside)
{
    int n = 0, draws = 0;
    while (*next < count && draws + OUTSIDE_DRAWS <= CHUNK_DRAWS) {
        errand *e = &s->errand[n++];
        *e = (errand){is_outside ? -1 : s->pick[*next], *next, 1, 1};
        const int left = CHUNK_DRAWS - draws, most = left < JOB_DRAWS ? left : JOB_DRAWS;
        while (++*next < count && !is_outside && e->n < most && s->pick[*next] == e->tree)
            e->n++;
        e->lengths = is_outside ? OUTSIDE_DRAWS : e->n == 1 ? SINGLE_DRAWS : 1;
        draws += lengths_of(e);
    }
    return n;
}

/* All draws of a stratum. */
static int run_stratum(table_sampler *s, int count, int is_outside, uint32_t pass,
                       sampler_stop *stop, void *context)
{
    for (int next = 0; next < count;) {
        if (stop && stop(context))
            return ART_ERR_STOPPED;
        const int n = next_errands(s, &next, count, is_outside);
        for (int i = 0, at = 0; i < n; at += lengths_of(&s->errand[i++]))
            prepare(s, i, &s->errand[i], at,
                    rng_at(s->set.seed, RNG_EVIDENCE_BRANCH, pass,
                           (uint32_t)(2 * s->errand[i].first + is_outside)));
        evidence_team_run(s->c->team, s->job, n);
        for (int i = 0, at = 0; i < n; at += lengths_of(&s->errand[i++])) {
            collect(s, &s->errand[i], &s->job[i], at);
            note(s, &s->errand[i], &s->job[i]);
        }
    }
    return ART_OK;
}

/* The weights of the pass beside those of the passes before. */
static int keep_weights(table_sampler *s)
{
    const size_t k = (size_t)s->batch.k, before = (size_t)s->passes * k;
    double *grown = mem_resize(s->weight, 2 * (before + k), sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    s->weight = grown;
    memcpy(grown + before, s->batch.weight, k * sizeof *grown);
    for (size_t i = 0; i < k; i++)
        log_mean_add(&s->mean, s->batch.weight[i]);
    for (int i = 0; i < SAMPLER_REPEATS * s->k_network; i++)
        log_mean_add(&s->outside, s->batch.weight[place_of(s, i, 1)]);
    s->passes++;
    return ART_OK;
}

int table_sampler_pass(table_sampler *s, sampler_stop *stop, void *context)
{
    int status = ART_OK;
    const uint32_t pass = (uint32_t)s->passes;
    rng stream = rng_at(s->set.seed, RNG_POSTERIOR, pass, 0);
    pick_trees(s, &stream);
    explorer_guess(s->c->explorer, s->guess);
    int outside = draw_outside(s, pass, &status);
    if (!status)
        status = screen(s, &outside, pass, stop, context);
    if (!status)
        status = run_stratum(s, SAMPLER_REPEATS * s->k_table, 0, pass, stop, context);
    if (!status)
        status = run_stratum(s, outside, 1, pass, stop, context);
    if (!status)
        status = keep_weights(s);
    return status ? status : posterior_add(&s->posterior, &s->batch);
}

double table_sampler_error(const table_sampler *s)
{
    return log_mean_error(&s->mean);
}

double table_sampler_pareto(table_sampler *s)
{
    const int n = s->passes * s->batch.k; /* keep_weights left as much room behind them */
    return weights_pareto_k(s->weight, s->weight + n, n);
}

const particles *table_sampler_particles(const table_sampler *s)
{
    return &s->batch;
}

/* The probabilities that are reported: the blended ones of the table, importance weights
 * outside. */
static int report(table_sampler *s, double outside, sampler_facts *facts)
{
    const topology_table *t = &s->c->table;
    tree_set *raw = &s->posterior.trees, better;
    split_table *splits = &s->posterior.splits;
    const double all = topology_table_log_sum(t, 0, 0), total = raw->total;
    int status = tree_set_init(&better, &raw->taxa);
    topology_table_forget_lengths(&s->c->table); /* the set of trees takes as much */
    split_table_reset(splits);
    for (size_t i = 0; i < t->count && !status; i++) {
        const double p = exp(t->g[i] - all) * (1 - outside);
        const double error = t->error[i] < 0 ? facts->blend.diagonal.error : (double)t->error[i];
        status = tree_set_add(&better, topology_table_decision(t, i), p);
        if (!status)
            status = split_table_add_uncertain(splits, topology_table_decision(t, i), NULL, p,
                                               p * error * p * error);
    }
    for (size_t i = 0; i < raw->count && !status; i++) {
        const int32_t *decision = tree_set_decision(raw, i);
        if (topology_table_find(t, decision) >= 0)
            continue;
        facts->outside_trees++;
        status = tree_set_add(&better, decision, raw->weight[i] / total);
        if (!status)
            status = split_table_add(splits, decision, NULL, raw->weight[i] / total);
    }
    tree_set_free(raw);
    *raw = better;
    return status;
}

/* That tree i of the table was in none of the passes, over that it was in one. */
static double odds_against(const table_sampler *s, size_t i)
{
    const double wanted = exp(s->log_p[i]) * SAMPLER_REPEATS * s->k_table; /* draws in a pass */
    const double never = pow(1 - fmin(wanted, 1), s->passes);
    return never / (1 - never);
}

int table_sampler_finish(table_sampler *s, evidence *e, posterior *p, sampler_facts *facts)
{
    const size_t trees = s->c->table.count;
    size_t n = 0;
    memset(p, 0, sizeof *p);
    *facts = (sampler_facts){.passes = s->passes};
    if (s->passes == 0 || !(s->mean.sum > 0))
        return ART_ERR_NUMERIC;
    evidence_summarise(e, s->weight, s->set.particles, s->passes * SAMPLER_REPEATS);
    e->log_evidence = e->log_mean_weight;
    e->log_evidence_se = table_sampler_error(s);
    /* b K draws of K: their mean weight times b is their part of the evidence */
    const double share = (double)s->k_network / s->set.particles;
    e->outside = share * exp(log_mean_value(&s->outside) - e->log_evidence);
    e->outside_se = e->outside > 0 ? e->outside * log_mean_error(&s->outside) : 0;
    e->failed = s->failed;
    for (size_t i = 0; i < trees; i++)
        if (s->estimate[i].draws.count) {
            s->estimate[n] = s->estimate[i];
            s->estimate[n++].stands_for = odds_against(s, i);
        }
    int status = n ? table_blend(&facts->blend, &s->c->table, s->estimate, n) : ART_ERR_NUMERIC;
    facts->blend.trees = n;
    if (!status)
        status = report(s, e->outside, facts);
    if (!status)
        status = posterior_finish(&s->posterior);
    if (!status) {
        *p = s->posterior;
        memset(&s->posterior, 0, sizeof s->posterior);
    }
    return status;
}
