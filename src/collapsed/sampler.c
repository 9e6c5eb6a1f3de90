#include "collapsed/sampler_state.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOB_DRAWS = 128,    /* lengths that one job draws, at most */
    CHUNK_DRAWS = 1024, /* lengths that are drawn in a piece of work */
    SCORE_BATCH = 500,  /* trees that the network draws at a time */
    SCREENED = 256,     /* trees outside that are looked at in a piece of work */
};

/* Draws of a pass from the two strata. */
static int table_draws(const tree_sampler *s)
{
    return SAMPLER_REPEATS * s->k_table;
}

static int network_draws(const tree_sampler *s)
{
    return SAMPLER_REPEATS * s->k_network;
}

static int n_free(const tree_sampler *s)
{
    return s->c->problem->free.n_free;
}

static int create_memory(tree_sampler *s)
{
    const size_t trees = s->c->table.count, edges = s->c->table.n_edges;
    const size_t n_decisions = s->c->table.n_decisions, k = (size_t)s->set.particles;
    const size_t network = (size_t)network_draws(s);
    s->log_p = mem_zeros(trees, sizeof *s->log_p);
    s->estimate = mem_zeros(trees, sizeof *s->estimate);
    s->place = mem_zeros(k, sizeof *s->place);
    s->pick = mem_zeros((size_t)table_draws(s), sizeof *s->pick);
    s->drawn = mem_zeros(network * n_decisions, sizeof *s->drawn);
    s->log_q = mem_zeros(network, sizeof *s->log_q);
    s->outside_draw = mem_zeros(network, sizeof *s->outside_draw);
    s->guess = mem_zeros(edges, sizeof *s->guess);
    s->draw_group = mem_zeros(CHUNK_DRAWS, sizeof *s->draw_group);
    s->job = mem_zeros(CHUNK_DRAWS, sizeof *s->job);
    s->mode = mem_zeros(CHUNK_DRAWS * edges, sizeof *s->mode);
    s->length = mem_zeros(CHUNK_DRAWS * edges, sizeof *s->length);
    s->log_weight = mem_zeros(2 * CHUNK_DRAWS, sizeof *s->log_weight);
    s->parameter = mem_zeros(CHUNK_DRAWS * (size_t)n_free(s) + 1, sizeof *s->parameter);
    if (!s->log_p || !s->estimate || !s->place || !s->pick || !s->drawn || !s->log_q ||
        !s->outside_draw || !s->guess || !s->draw_group || !s->job || !s->mode || !s->length ||
        !s->log_weight || !s->parameter)
        return ART_ERR_NOMEM;
    s->log_likelihood = s->log_weight + CHUNK_DRAWS;
    int status =
        particles_init(&s->batch, SAMPLER_REPEATS * s->set.particles, s->c->table.n_taxa, 0);
    return status ? status : particles_add_parameters(&s->batch, n_free(s));
}

void tree_sampler_forget(tree_sampler *s, size_t i)
{
    const tree_table *t = &s->c->table;
    s->log_p[i] = t->log_evidence[i] - s->log_sum;
    s->estimate[i] = (tree_estimate){.tree = i, .full = NAN, .laplace = t->laplace[i]};
}

int tree_sampler_create(tree_sampler **out, rounds *c, const taxa *names, double network)
{
    const sampler_settings *settings = &c->set.sampler;
    *out = NULL;
    const int wanted = (int)ceil(network * settings->particles);
    const int k_network = wanted < settings->particles ? wanted : settings->particles - 1;
    if (k_network < 1 || c->table.count == 0 || settings->outside_draws < 1 ||
        settings->outside_draws > CHUNK_DRAWS || settings->single_draws < 1 ||
        settings->single_draws > settings->outside_draws)
        return ART_ERR_USAGE;
    tree_sampler *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    s->c = c;
    s->set = *settings;
    s->seed = c->set.seed;
    s->k_network = k_network;
    s->k_table = settings->particles - k_network;
    int status = create_memory(s);
    if (!status)
        status =
            posterior_init(&s->posterior, names, settings->sample, ROWS_BY_WEIGHT, true, s->seed);
    if (!status && n_free(s))
        status = posterior_set_parameters(&s->posterior, &c->problem->free);
    if (status) {
        tree_sampler_free(s);
        return status;
    }
    s->log_sum = tree_table_log_sum(&c->table, 0, 0);
    for (size_t i = 0; i < c->table.count; i++)
        tree_sampler_forget(s, i);
    *out = s;
    return ART_OK;
}

void tree_sampler_free(tree_sampler *s)
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
    free(s->draw_group);
    free(s->job);
    free(s->mode);
    free(s->length);
    free(s->log_weight);
    free(s->parameter);
    free(s->weight);
    particles_free(&s->batch);
    posterior_free(&s->posterior);
    free(s);
}

void tree_sampler_pick(tree_sampler *s)
{
    rng stream = rng_at(s->seed, RNG_POSTERIOR, (uint32_t)s->passes, 0);
    const int count = table_draws(s);
    const size_t last = s->c->table.count - 1;
    const double offset = rng_uniform(&stream);
    double sum = exp(s->log_p[0]);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        while (at < last && sum < (i + offset) / count)
            sum += exp(s->log_p[++at]);
        s->pick[i] = (int64_t)at;
    }
    for (int i = 0; i < s->set.particles; i++) {
        const uint32_t j = rng_below(&stream, (uint32_t)i + 1);
        s->place[i] = s->place[j];
        s->place[j] = i;
    }
}

/* Where draw i of a stratum stands in the batch; the table's come first, dealt to the repeats in
 * turn. */
static int place_of(const tree_sampler *s, int i, int is_outside)
{
    const int turn = (is_outside ? s->k_table : 0) + i / SAMPLER_REPEATS;
    return i % SAMPLER_REPEATS * s->set.particles + s->place[turn];
}

static void begin(tree_sampler *s, sampler_stage stage)
{
    s->stage = stage;
    s->next = 0;
}

/* Lists the draws of the network outside the table; the others have no weight. */
static void list_outside(tree_sampler *s)
{
    const tree_table *t = &s->c->table;
    s->n_outside = s->kept = 0;
    for (int i = 0; i < network_draws(s); i++) {
        s->batch.log_weight[place_of(s, i, 1)] = -HUGE_VAL;
        if (tree_table_find(t, s->drawn + (size_t)i * t->n_decisions) < 0)
            s->outside_draw[s->n_outside++] = i;
    }
}

static int draw_trees(tree_sampler *s)
{
    topology_model *trees = s->c->trees;
    const size_t first = (size_t)s->next;
    const int left = network_draws(s) - s->next, n = left < SCORE_BATCH ? left : SCORE_BATCH;
    if (s->next == 0) {
        tree_sampler_pick(s);
        tree_search_guess(s->c->search, s->guess);
    }
    int status =
        topology_model_sample(trees, s->drawn + first * s->c->table.n_decisions, s->log_q + first,
                              n, s->seed, RNG_EVIDENCE, (uint32_t)s->passes, (uint32_t)s->next);
    s->next += n;
    if (!status && n == left) {
        list_outside(s);
        begin(s, SAMPLER_SCREEN);
    }
    return status;
}

/* The diagonal approximation for n trees outside: s->job[i] for outside_draw[first + i]. */
static void judge(tree_sampler *s, int first, int n)
{
    const tree_table *t = &s->c->table;
    for (int i = 0; i < n; i++) {
        s->job[i] = (evidence_job){
            .decision = s->drawn + (size_t)s->outside_draw[first + i] * t->n_decisions,
            .length = s->mode + (size_t)i * t->n_edges,
            .tolerance = s->set.judged,
            .shape = EVIDENCE_DIAGONAL,
        };
        memcpy(s->job[i].length, s->guess, t->n_edges * sizeof *s->guess);
    }
    evidence_batch_run(s->c->team, s->job, n, NULL);
}

/* Of the trees outside that will have light weights only as many are kept, by chance, as make up
 * for the others; log_q becomes that of the draws that are kept. Shortens the list outside_draw. */
static void screen(tree_sampler *s)
{
    const tree_table *t = &s->c->table;
    const double all =
        tree_table_log_sum(t, 0, 0) - t->offset + log((double)s->k_network / s->set.particles);
    const int first = s->next, left = s->n_outside - first, n = left < SCREENED ? left : SCREENED;
    judge(s, first, n);
    for (int i = 0; i < n; i++) {
        const int draw = s->outside_draw[first + i];
        const double weight = exp(s->job[i].laplace - all - s->log_q[draw]);
        const double chance = s->job[i].status ? 1 : fmin(1, weight / s->set.light);
        rng stream = rng_at(s->seed, RNG_SCREEN, (uint32_t)s->passes, (uint32_t)draw);
        if (rng_uniform(&stream) >= chance)
            continue;
        s->log_q[draw] += log(chance);
        s->outside_draw[s->kept++] = draw;
    }
    s->next += n;
    if (n == left)
        begin(s, SAMPLER_TABLE);
}

/* Draw i of an draw_group, as a number of its stratum. */
static int draw_of(const tree_sampler *s, const draw_group *e, int i)
{
    return e->tree < 0 ? s->outside_draw[e->first + i] : e->first + i;
}

static int lengths_of(const draw_group *e)
{
    return e->n * e->lengths;
}

static void prepare(tree_sampler *s, int number, const draw_group *e, int at, rng stream)
{
    const tree_table *t = &s->c->table;
    const size_t n_decisions = t->n_decisions;
    evidence_job *job = &s->job[number];
    *job = (evidence_job){
        .decision = e->tree < 0 ? s->drawn + (size_t)draw_of(s, e, 0) * n_decisions
                                : tree_table_decision(t, (size_t)e->tree),
        .length = s->mode + (size_t)number * t->n_edges,
        .tolerance = s->set.tolerance,
        .shape =
            n_free(s) && lengths_of(e) >= LENGTH_SKEWED_DRAWS ? EVIDENCE_SKEWED : EVIDENCE_FULL,
        .draws = lengths_of(e),
        .stream = stream,
        .out = {s->length + (size_t)at * t->n_edges, s->log_weight + at, s->log_likelihood + at,
                s->parameter + (size_t)at * (size_t)n_free(s)},
    };
    if (e->tree < 0)
        memcpy(job->length, s->guess, t->n_edges * sizeof *s->guess);
    else
        tree_table_lengths(job->length, t, (size_t)e->tree);
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

/* The results of one draw_group become particles. */
static void collect(tree_sampler *s, const draw_group *e, const evidence_job *job, int at)
{
    const tree_table *t = &s->c->table;
    const size_t edges = t->n_edges, n_decisions = t->n_decisions;
    const size_t n_parameters = (size_t)n_free(s);
    const branch_posterior *problem = s->c->problem;
    particles *p = &s->batch;
    for (int i = 0; i < e->n; i++) {
        const int draw = draw_of(s, e, i);
        const size_t to = (size_t)place_of(s, draw, e->tree < 0);
        double log_weight = -HUGE_VAL;
        int from = at + i * e->lengths;
        if (!job->status)
            from += choose_length(&log_weight, s->log_weight + from, e->lengths,
                                  rng_at(s->seed, RNG_POSTERIOR, (uint32_t)s->passes,
                                         1 + (uint32_t)place_of(s, draw, e->tree < 0)));
        const double *length = s->length + (size_t)from * edges;
        memcpy(p->decision + to * n_decisions, job->decision, n_decisions * sizeof *p->decision);
        memcpy(p->length + to * edges, length, edges * sizeof *length);
        const double *z = s->parameter + (size_t)from * n_parameters;
        memcpy(p->parameter + to * n_parameters, z, n_parameters * sizeof *z);
        p->log_q[to] = e->tree < 0 ? s->log_q[draw] + log((double)s->k_network / s->set.particles)
                                   : s->log_p[e->tree] + log((double)s->k_table / s->set.particles);
        p->log_weight[to] = -HUGE_VAL;
        s->failed += job->status != ART_OK;
        if (!isfinite(log_weight))
            continue;
        p->value[to] = s->log_likelihood[from];
        p->log_prior[to] = log_prior(job->decision, length, t->n_taxa, problem->prior) +
                           block_parameters_stated_prior(&problem->free, z);
        p->log_weight[to] = log_weight - log_topologies(t->n_taxa) - p->log_q[to];
        p->log_b[to] = p->value[to] + p->log_prior[to] - p->log_q[to] - p->log_weight[to];
    }
}

/* What an draw_group says of its tree. */
static void note(tree_sampler *s, const draw_group *e, const evidence_job *job)
{
    if (e->tree < 0 || job->status)
        return;
    tree_estimate *estimate = &s->estimate[e->tree];
    log_mean_merge(&estimate->draws, &job->weights);
    estimate->full = job->full_laplace;
    if (s->c->table.mark[e->tree] & TREE_UNFITTED) {
        s->c->table.mark[e->tree] &= (uint8_t)~TREE_UNFITTED;
        tree_table_update(&s->c->table, (size_t)e->tree, job->length, job->laplace);
    }
}

/* Errands up to CHUNK_DRAWS lengths, from the next draw of the stratum on; returns how many. */
static int next_groups(tree_sampler *s, int count, int is_outside)
{
    int n = 0, draws = 0;
    while (s->next < count && draws + s->set.outside_draws <= CHUNK_DRAWS) {
        draw_group *e = &s->draw_group[n++];
        *e = (draw_group){is_outside ? -1 : s->pick[s->next], s->next, 1, 1};
        const int left = CHUNK_DRAWS - draws, most = left < JOB_DRAWS ? left : JOB_DRAWS;
        while (++s->next < count && !is_outside && e->n < most && s->pick[s->next] == e->tree)
            e->n++;
        e->lengths = is_outside ? s->set.outside_draws : e->n == 1 ? s->set.single_draws : 1;
        draws += lengths_of(e);
    }
    return n;
}

static void draw_lengths(tree_sampler *s, int count, int is_outside)
{
    const int n = next_groups(s, count, is_outside);
    for (int i = 0, at = 0; i < n; at += lengths_of(&s->draw_group[i++]))
        prepare(s, i, &s->draw_group[i], at,
                rng_at(s->seed, RNG_EVIDENCE_BRANCH, (uint32_t)s->passes,
                       (uint32_t)(2 * s->draw_group[i].first + is_outside)));
    evidence_batch_run(s->c->team, s->job, n, NULL);
    for (int i = 0, at = 0; i < n; at += lengths_of(&s->draw_group[i++])) {
        collect(s, &s->draw_group[i], &s->job[i], at);
        note(s, &s->draw_group[i], &s->job[i]);
    }
}

int tree_sampler_room(tree_sampler *s, int passes)
{
    const size_t all = (size_t)passes * (size_t)s->batch.k;
    double *grown = mem_resize(s->weight, 2 * all, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    s->weight = grown;
    return ART_OK;
}

/* What was drawn joins that of the passes before. */
static int end_pass(tree_sampler *s)
{
    const size_t k = (size_t)s->batch.k;
    int status = tree_sampler_room(s, s->passes + 1);
    if (!status)
        status = posterior_add(&s->posterior, &s->batch);
    if (status)
        return status;
    memcpy(s->weight + (size_t)s->passes * k, s->batch.log_weight, k * sizeof *s->weight);
    for (size_t i = 0; i < k; i++)
        log_mean_add(&s->mean, s->batch.log_weight[i]);
    for (int i = 0; i < network_draws(s); i++)
        log_mean_add(&s->outside, s->batch.log_weight[place_of(s, i, 1)]);
    s->passes++;
    begin(s, SAMPLER_DRAW);
    return ART_OK;
}

int tree_sampler_advance(tree_sampler *s)
{
    switch (s->stage) {
    case SAMPLER_DRAW:
        return draw_trees(s);
    case SAMPLER_SCREEN:
        screen(s);
        return ART_OK;
    case SAMPLER_TABLE:
        draw_lengths(s, table_draws(s), 0);
        if (s->next == table_draws(s))
            begin(s, SAMPLER_OUTSIDE);
        return ART_OK;
    case SAMPLER_OUTSIDE:
        draw_lengths(s, s->kept, 1);
        return s->next == s->kept ? end_pass(s) : ART_OK;
    }
    return ART_OK;
}
