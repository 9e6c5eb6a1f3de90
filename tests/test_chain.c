/* The chain over topologies against enumeration: detailed balance outcome by outcome, and the
 * frequencies of its states. */
#include "support/check.h"
#include "support/exact.h"
#include "support/memory.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_solver.h"
#include "chain/tree_chains.h"
#include "density/clade/clade_density.h"
#include "subst/simulate.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAXA = 8, MOST_NODES = 2 * MOST_TAXA - 2, MOST_TREES = 945, MOST_CHOICES = 8 };

#ifdef ART_SANITIZED /* ten times slower: less of the same */
enum { SAMPLES = 1000, FREQUENCY_TAXA = 6, LEAST_CLASSES = 5 };
#else
enum { SAMPLES = 5000, FREQUENCY_TAXA = 7, LEAST_CLASSES = 8 };
#endif

#define RATE       10.0
#define START      0.1
#define EXACT_MODE 1e-12 /* nats: what is left of such a fit is rounding */

/* Data on which many trees are plausible, and g of all of them. */
typedef struct bench {
    problem p;
    branch_posterior data;
    int n_taxa, trees;
    double g[MOST_TREES];
    double probability[MOST_TREES]; /* exp g, normalised */
} bench;

static void normalise_at(bench *b, double beta)
{
    double top = -HUGE_VAL, sum = 0;
    for (int i = 0; i < b->trees; i++)
        top = fmax(top, b->g[i]);
    for (int i = 0; i < b->trees; i++)
        sum += b->probability[i] = exp(beta * (b->g[i] - top));
    for (int i = 0; i < b->trees; i++)
        b->probability[i] /= sum;
}

/* The alignment is the tree's own and has each of the sites one to three times. */
static void bench_with(bench *b, int n_taxa, int sites, const char *model, branch_prior prior)
{
    subst_model m = model_of(model, NULL);
    memset(b, 0, sizeof *b);
    b->n_taxa = n_taxa;
    b->trees = exact_trees(n_taxa);
    b->p = problem_random(n_taxa, (size_t)sites, 1, 7);
    check_status(simulate_sites(b->p.alignment.state, b->p.decision, b->p.length, n_taxa, &m,
                                (size_t)sites, 3, NULL));
    check_status(branch_posterior_init(&b->data, &b->p.alignment, NULL, &m, prior));
    branch_solver *s;
    check_status(branch_solver_create(&s, &b->data));
    for (int i = 0; i < b->trees; i++) {
        int32_t decision[MOST_TAXA];
        double length[MOST_NODES];
        exact_tree(decision, i, n_taxa);
        for (int e = 0; e < MOST_NODES; e++)
            length[e] = START;
        branch_solver_set(s, decision, length);
        check_status(branch_solver_mode(s, EXACT_MODE));
        b->g[i] = s->laplace;
    }
    branch_solver_free(s);
    normalise_at(b, 1);
}

static void bench_init(bench *b, int n_taxa, int sites, const char *model)
{
    bench_with(b, n_taxa, sites, model, branch_prior_exponential(RATE));
}

static void bench_free(bench *b)
{
    branch_posterior_free(&b->data);
    problem_free(&b->p);
}

static void start(tree_chain *c, const bench *b, int tree)
{
    int32_t decision[MOST_TAXA];
    double length[MOST_NODES];
    exact_tree(decision, tree, b->n_taxa);
    for (int e = 0; e < MOST_NODES; e++)
        length[e] = START;
    check_status(tree_chain_start(c, decision, length));
}

/* Choices that go through all outcomes, the last one fastest. */
typedef struct script {
    int pick[MOST_CHOICES], count[MOST_CHOICES];
    int at, length;
} script;

static int choose_next(void *context, const double *probability, int count)
{
    script *s = context;
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += probability[i];
    check_near(sum, 1, 1e-12); /* a few roundings */
    assert_true(s->at < MOST_CHOICES);
    if (s->at == s->length)
        s->pick[s->length++] = 0;
    s->count[s->at] = count;
    return s->pick[s->at++];
}

/* Whether there is a next one. */
static int script_next(script *s)
{
    s->length = s->at;
    s->at = 0;
    while (s->length && s->pick[s->length - 1] + 1 == s->count[s->length - 1])
        s->length--;
    if (!s->length)
        return 0;
    s->pick[s->length - 1]++;
    return 1;
}

/* The whole transition matrix of one kind of step, flow[i][j] = P(i -> j), i != j. */
typedef struct transitions {
    tree_chain *chain;
    const bench *b;
    chain_kind kind;
    int radius;
    double *flow;        /* [trees][trees] */
    double worst_error;  /* of g of the states that were reached .. */
    double error;        /* .. and its mean, by the flow of the posterior */
    double worst, total; /* violations of detailed balance: the largest, and all of them together */
    int pairs;
} transitions;

/* at: the node below an inner branch, or the number of a part. */
static void from_state(transitions *x, int i, int32_t at, double weight)
{
    int32_t decision[MOST_TAXA];
    double cbrt_length[MOST_NODES], curvature[MOST_NODES], all = 0;
    chain_state here = {decision, cbrt_length, curvature, 0, 0, 0, 0, {0}};
    tree_chain_save(&here, x->chain);
    script s = {0};
    do {
        chain_proposal p;
        if (x->kind == CHAIN_INTERCHANGE)
            tree_chain_interchange(x->chain, &p, at, choose_next, &s);
        else
            tree_chain_subtree(x->chain, &p, at, x->radius, choose_next, &s);
        all += exp(p.log_forward);
        tree_chain_settle(x->chain, &p, 1);
        tree_chain_number(x->chain);
        const int j = exact_index(tree_chain_decision(x->chain), x->b->n_taxa);
        assert_int_equal(p.moved, i != j);
        const double off = fabs(tree_chain_laplace(x->chain) - x->b->g[j]);
        const double flow = weight * exp(p.log_forward + fmin(0, p.log_ratio));
        x->worst_error = fmax(x->worst_error, off);
        if (p.moved) {
            x->flow[i * x->b->trees + j] += flow;
            x->error += x->b->probability[i] * flow * off;
        }
        check_status(tree_chain_load(x->chain, &here));
    } while (script_next(&s));
    check_near(all, 1, 1e-9); /* every outcome once: the probabilities are 1 together */
}

static void from_tree(transitions *x, int i)
{
    const int32_t n_taxa = x->b->n_taxa, parts = 3 * n_taxa - 6;
    if (x->kind == CHAIN_SUBTREE) {
        for (int32_t part = 0; part < parts; part++)
            from_state(x, i, part, 1.0 / parts);
        return;
    }
    int32_t decision[MOST_TAXA];
    topology t;
    exact_tree(decision, i, n_taxa);
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, decision);
    for (int32_t v = n_taxa; v < topology_nodes(n_taxa); v++)
        if (topology_has_nni(&t, v))
            from_state(x, i, v, 1.0 / (n_taxa - 3));
    topology_free(&t);
}

/* Compares pi(i) P(i -> j) with pi(j) P(j -> i), in units of the larger one, where that is more
 * than 1e-12. */
static void weigh_flows(transitions *x)
{
    const bench *b = x->b;
    double all = 0;
    for (int i = 0; i < b->trees; i++)
        for (int j = 0; j < i; j++) {
            const double there = b->probability[i] * x->flow[i * b->trees + j];
            const double back = b->probability[j] * x->flow[j * b->trees + i];
            const double larger = fmax(there, back);
            if (larger < 1e-12)
                continue;
            x->pairs++;
            x->total += fabs(there - back);
            all += larger;
            x->worst = fmax(x->worst, fabs(there - back) / larger);
        }
    x->total /= all;
    x->error /= 2 * all;
}

/* All transitions of one kind; flow is freed. */
static transitions all_transitions(bench *b, const chain_settings *set, chain_kind kind,
                                   double beta)
{
    transitions x = {.b = b, .kind = kind, .radius = set->radius};
    x.flow = calloc((size_t)b->trees * (size_t)b->trees, sizeof *x.flow);
    assert_non_null(x.flow);
    check_status(tree_chain_create(&x.chain, &b->data, set));
    normalise_at(b, beta);
    for (int i = 0; i < b->trees; i++) {
        start(x.chain, b, i);
        tree_chain_set_beta(x.chain, beta);
        from_tree(&x, i);
    }
    weigh_flows(&x);
    tree_chain_free(x.chain);
    free(x.flow);
    return x;
}

/* With exact modes detailed balance holds to rounding: errors of a mode of 1e-12 nats are 1e-6 in
 * lengths, and so in the curvatures that are part of g and of scores. One of 1e-5 is a score
 * whose branch needed a second Newton step in one of two fits and not in the other. */
static void detailed_balance(void **state)
{
    (void)state;
    static const char *const models[] = {"JC", "HKY{2.5}+F{0.3,0.15,0.2,0.35}+G2{0.5}"};
    for (int k = 0; k < 2; k++)
        for (int kind = CHAIN_INTERCHANGE; kind <= CHAIN_SUBTREE; kind++)
            for (int hot = 0; hot < 2; hot++) {
                bench b;
                bench_init(&b, 6, 10, models[k]);
                chain_settings set = chain_defaults();
                set.local = 0;
                set.tolerance = EXACT_MODE;
                set.radius = 2; /* so that the places there and back are not the same */
                transitions x = all_transitions(&b, &set, (chain_kind)kind, hot ? 0.3 : 1);
                assert_true(x.pairs >
                            (kind == CHAIN_SUBTREE ? 400 : 300)); /* 315 trees are neighbours */
                check_near(x.worst, 0, 1e-4);
                check_near(x.total, 0, 1e-6);
                check_near(x.worst_error, 0, 1e-5);
                bench_free(&b);
            }
}

/* The same with a prior that couples all branches, for fits of all branches and, as by default, of
 * those near a change: measured 0.003 and 0.006 there. */
static void detailed_balance_of_coupled_branches(void **state)
{
    (void)state;
    static const double parameters[][4] = {{1, 0.1, 1, 1}, {2, 1, 1.5, 0.6}};
    for (int k = 0; k < 2; k++)
        for (int kind = CHAIN_INTERCHANGE; kind <= CHAIN_SUBTREE; kind++) {
            const double *p = parameters[k];
            bench b;
            bench_with(&b, 6, 10, "JC", branch_prior_gamma_dirichlet(p[0], p[1], p[2], p[3]));
            chain_settings set = chain_defaults();
            set.local = 0;
            set.tolerance = EXACT_MODE;
            set.radius = 2;
            transitions x = all_transitions(&b, &set, (chain_kind)kind, 1);
            assert_true(x.pairs >
                        (kind == CHAIN_SUBTREE ? 400 : 300)); /* 315 trees are neighbours */
            check_near(x.worst, 0, 1e-4);
            check_near(x.total, 0, 1e-6);
            check_near(x.worst_error, 0, 1e-5);
            set = chain_defaults();
            set.tolerance = EXACT_MODE;
            x = all_transitions(&b, &set, (chain_kind)kind, 1);
            check_near(x.total, 0, 0.01);
            check_near(x.error, 0, 0.02);
            bench_free(&b);
        }
}

/* With fits near a change the violation is that of exp(error of g); both become small with the
 * tolerance. Twenty sites leave branches all but undetermined: single trees of little weight, and
 * scores of a branch that needs a second Newton step only sometimes, may be much further off. */
static void detailed_balance_of_local_fits(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 6, 10, "JC");
    static const double near[] = {1e-10, 1e-6, 1e-4, 1e-3, 1e-2};
    static const double total[] = {1e-6, 1e-4, 1e-3, 2e-3, 4e-3};
    static const double error[] = {1e-5, 1e-3, 5e-3, 0.01, 0.02};
    for (int k = 0; k < 5; k++)
        for (int kind = CHAIN_INTERCHANGE; kind <= CHAIN_SUBTREE; kind++) {
            chain_settings set = chain_defaults();
            set.tolerance = EXACT_MODE;
            set.near = near[k];
            transitions x = all_transitions(&b, &set, (chain_kind)kind, 1);
            check_near(x.total, 0, total[k]);
            check_near(x.error, 0, error[k]);
        }
    bench_free(&b);
}

/* A density over all trees that is not the posterior. */
static double density_log_q(void *context, const int32_t *decision)
{
    const bench *b = context;
    const double trees = b->trees;
    return log(2 * (1.0 + exact_index(decision, b->n_taxa)) / (trees * (trees + 1)));
}

static int density_propose(void *context, int32_t *decision, double *log_q, rng *r)
{
    const bench *b = context;
    int i = 0;
    double u = rng_uniform(r);
    for (; i + 1 < b->trees; i++) {
        exact_tree(decision, i, b->n_taxa);
        if ((u -= exp(density_log_q(context, decision))) < 0)
            break;
    }
    exact_tree(decision, i, b->n_taxa);
    *log_q = density_log_q(context, decision);
    return ART_OK;
}

static void detailed_balance_of_jumps(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 5, 10, "JC");
    tree_chain *c;
    chain_settings set = chain_defaults();
    set.tolerance = EXACT_MODE;
    set.jumps = (chain_jumps){density_propose, density_log_q, NULL, &b};
    check_status(tree_chain_create(&c, &b.data, &set));
    double flow[15][15];
    for (int i = 0; i < b.trees; i++)
        for (int j = 0; j < b.trees; j++) {
            int32_t decision[MOST_TAXA];
            chain_proposal p;
            start(c, &b, i);
            exact_tree(decision, j, b.n_taxa);
            const double log_q = density_log_q(&b, decision);
            tree_chain_jump(c, &p, decision, log_q);
            tree_chain_settle(c, &p, 1);
            tree_chain_number(c);
            assert_int_equal(p.moved, i != j);
            assert_int_equal(exact_index(tree_chain_decision(c), b.n_taxa), j);
            flow[i][j] = b.probability[i] * exp(log_q + fmin(0, p.log_ratio));
        }
    for (int i = 0; i < b.trees; i++)
        for (int j = 0; j < i; j++)
            check_close(flow[i][j], flow[j][i], 1e-5); /* errors of g */
    tree_chain_free(c);
    bench_free(&b);
}

/* Samples of a chain at its temperature 0. */
typedef struct samples {
    const bench *b;
    int count, room;
    int *tree;
} samples;

static int take_sample(void *context, const chain_record *state)
{
    samples *s = context;
    if (state->temperature == 0 && s->count < s->room)
        s->tree[s->count++] = exact_index(state->decision, s->b->n_taxa);
    return 0;
}

/* 1 + 2 sum of autocorrelations, those of all trees' indicators together: what is left, at a lag,
 * of the chance to be in the same tree. Summed by pairs of lags while they are positive. Of
 * ladders, which take turns, only those of the same one are compared. */
static double correlation_time(const samples *s, int ladders)
{
    double seen[MOST_TREES] = {0}, same = 0, sum = 0;
    for (int i = 0; i < s->count; i++)
        seen[s->tree[i]] += 1.0 / s->count;
    for (int i = 0; i < s->b->trees; i++)
        same += seen[i] * seen[i];
    for (int lag = 1; lag + 1 < s->count / ladders; lag += 2) {
        double pair = 0;
        for (int k = lag * ladders; k <= (lag + 1) * ladders; k += ladders) {
            double hits = 0;
            for (int i = 0; i + k < s->count; i++)
                hits += s->tree[i] == s->tree[i + k];
            pair += (hits / (s->count - k) - same) / (1 - same);
        }
        if (pair <= 0)
            break;
        sum += pair;
    }
    return 1 + 2 * sum;
}

/* Chi-square of the counts, trees expected less than 5 times taken together, over what it is for
 * samples that are correlated as these are. */
static void check_frequencies(const samples *s, int ladders)
{
    const bench *b = s->b;
    const double time = correlation_time(s, ladders);
    assert_true(time < 3); /* else the samples were not thinned as they should be */
    double seen[MOST_TREES] = {0}, chi = 0, rest_seen = 0, rest = 0;
    int classes = 0;
    for (int i = 0; i < s->count; i++)
        seen[s->tree[i]]++;
    for (int i = 0; i < b->trees; i++) {
        const double expected = b->probability[i] * s->count;
        if (expected < 5) {
            rest += expected;
            rest_seen += seen[i];
            continue;
        }
        classes++;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    if (rest > 5) {
        classes++;
        chi += (rest_seen - rest) * (rest_seen - rest) / rest;
    }
    const double degrees = classes - 1;
    assert_true(classes >= LEAST_CLASSES);
    /* four standard deviations; the seed is fixed, so this does not fail by chance */
    check_near(chi / time, degrees, 4 * sqrt(2 * degrees));
}

/* Runs ladders of chains from the best tree and compares. (Interchanges alone do not leave the peak
 * of a tree that was drawn at random.) */
static void run_and_check(const bench *b, const chains_settings *set, int count)
{
    samples s = {b, 0, count, calloc((size_t)count, sizeof(int))};
    tree_chains *x;
    int32_t decision[MOST_TAXA];
    double length[MOST_NODES];
    assert_non_null(s.tree);
    int best = 0;
    for (int i = 1; i < b->trees; i++)
        best = b->g[i] > b->g[best] ? i : best;
    exact_tree(decision, best, b->n_taxa);
    for (int e = 0; e < MOST_NODES; e++)
        length[e] = START;
    check_status(tree_chains_create(&x, &b->data, set, NULL));
    for (int i = 0; i < tree_chains_count(x); i++)
        check_status(tree_chains_start(x, i, decision, length));
    check_status(tree_chains_run(x, 50, NULL, NULL, NULL));
    check_status(tree_chains_run(x, count / set->ladders, take_sample, &s, NULL));
    assert_int_equal(s.count, count);
    check_frequencies(&s, set->ladders);
    tree_chains_free(x);
    free(s.tree);
}

static void frequencies(void **state)
{
    (void)state;
    static const int SITES[] = {[5] = 30, [6] = 10, [7] = 16}; /* many trees matter, not alike */
    for (int n_taxa = 5; n_taxa <= FREQUENCY_TAXA; n_taxa++) {
        bench b;
        bench_init(&b, n_taxa, SITES[n_taxa], n_taxa == 6 ? "K80{2.5}+G2{0.5}" : "JC");
        /* the two kinds each alone, and all together */
        for (int kinds = 0; kinds < 3; kinds++) {
            chains_settings set = {chain_defaults(), 5, .ladders = 1, .temperatures = 1};
            set.chain.local = n_taxa != 5;
            set.chain.block = n_taxa == 7 ? 20 : 12;
            set.chain.subtrees = kinds == 0 ? 0 : kinds == 1 ? 1 : 0.3;
            set.chain.jump = kinds == 2 ? 0.1 : 0;
            set.chain.jumps = (chain_jumps){density_propose, density_log_q, NULL, &b};
            run_and_check(&b, &set, SAMPLES);
        }
        bench_free(&b);
    }
}

/* Parts from a density of clades. */
typedef struct clades {
    clade_density *density;
    clade_scratch scratch;
} clades;

static bool redraw_part(void *context, topology *t, int32_t v, double *log_ratio, rng *r)
{
    clades *c = context;
    return clade_density_redraw(t, v, log_ratio, c->density, r, &c->scratch);
}

static void frequencies_with_redrawn_parts(void **state)
{
    (void)state;
    bench b;
    clades c;
    rng r = rng_at(2, RNG_TEST, 0, 0);
    const clade_smoothing smoothing = clade_smoothing_estimated();
    bench_init(&b, 6, 10, "JC");
    check_status(clade_density_create(&c.density, b.n_taxa, CLADE_CCD2));
    for (int i = 0; i < 20; i++) { /* not the posterior: half of them are any trees */
        int32_t decision[MOST_TAXA];
        int tree = (int)rng_below(&r, (uint32_t)b.trees);
        for (int other = 0; i % 2 && other < b.trees; other++)
            tree = b.g[other] > b.g[tree] ? other : tree;
        exact_tree(decision, tree, b.n_taxa);
        check_status(clade_density_add(c.density, decision, 1));
    }
    check_status(clade_density_fit(c.density, &smoothing));
    check_status(clade_scratch_init(&c.scratch, c.density));
    chains_settings set = {chain_defaults(), 5, .ladders = 1, .temperatures = 1};
    set.chain.block = 50;
    set.chain.subtrees = 0;
    set.chain.redraw = 1; /* nothing else */
    set.chain.jumps = (chain_jumps){.redraw = redraw_part, .context = &c};
    run_and_check(&b, &set, SAMPLES);
    set.chain.redraw = 0.3;
    run_and_check(&b, &set, SAMPLES);
    clade_scratch_free(&c.scratch);
    clade_density_free(c.density);
    bench_free(&b);
}

static void tempering_leaves_the_cold_chains_right(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 6, 14, "JC");
    chains_settings set = {chain_defaults(), 6, .ladders = 2, .temperatures = 3, .heat = 0.5};
    set.chain.block = 6;
    run_and_check(&b, &set, SAMPLES);
    bench_free(&b);
}

/* A course of ladders on more taxa, as numbers. */
enum { N = 14, EDGES = 2 * N - 3, LADDERS = 2, STEPS = 3, CHAINS = LADDERS * STEPS };

typedef struct course {
    int count;
    double number[4096 * 4];
} course;

static int record_course(void *context, const chain_record *state)
{
    course *k = context;
    double sum = state->chain + 10 * state->temperature;
    for (int e = 0; e < EDGES; e++)
        sum += (e + 1) * state->length[e];
    for (int i = 0; i < N - 3; i++)
        k->number[k->count++] = state->decision[i];
    k->number[k->count++] = sum;
    k->number[k->count++] = state->laplace;
    return 0;
}

static tree_chains *ladders(const branch_posterior *data, const problem *p, pool *threads)
{
    tree_chains *x;
    chains_settings set = {chain_defaults(), 9, LADDERS, STEPS, 0.4};
    set.chain.block = 5;
    set.chain.near = 1; /* so that some blocks do not stand */
    check_status(tree_chains_create(&x, data, &set, threads));
    if (threads)
        check_status(tree_chains_start_all(x, p->decision, p->length));
    for (int i = 0; i < CHAINS && !threads; i++)
        check_status(tree_chains_start(x, i, p->decision + i * (N - 3), p->length + i * EDGES));
    return x;
}

static void same_on_any_threads_and_resumed(void **state)
{
    (void)state;
    problem p = problem_random(N, 60, CHAINS, 3);
    subst_model m = model_of("HKY{2.5}+F{0.3,0.15,0.2,0.35}", NULL);
    branch_posterior data;
    check_status(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    pool *three;
    check_status(pool_create(&three, 3));
    static course one, other, resumed;
    tree_chains *x = ladders(&data, &p, NULL), *y = ladders(&data, &p, three);
    one.count = other.count = resumed.count = 0;
    check_status(tree_chains_run(x, 40, record_course, &one, NULL));
    check_status(tree_chains_run(y, 15, record_course, &other, NULL));
    chains_state saved;
    check_status(chains_state_init(&saved, &data, CHAINS));
    tree_chains_save(&saved, y);
    check_status(tree_chains_run(y, 25, record_course, &other, NULL));
    assert_int_equal(one.count, other.count);
    assert_memory_equal(one.number, other.number, (size_t)one.count * sizeof(double));
    int64_t returned = 0;
    for (int i = 0; i < CHAINS; i++)
        returned += tree_chain_counts(tree_chains_at(x, i))->returned;
    assert_true(returned > 0); /* the test sees that too */
    tree_chains *z = ladders(&data, &p, NULL);
    check_status(tree_chains_load(z, &saved));
    check_status(tree_chains_run(z, 25, record_course, &resumed, NULL));
    const int from = one.count / 40 * 15;
    assert_int_equal(resumed.count, one.count - from);
    assert_memory_equal(one.number + from, resumed.number, (size_t)resumed.count * sizeof(double));
    chains_state end;
    check_status(chains_state_init(&end, &data, CHAINS));
    tree_chains_save(&end, z);
    tree_chains_save(&saved, x);
    assert_true(saved.exchanged > 0 && saved.exchanged < saved.exchanges);
    assert_int_equal(saved.exchanged, end.exchanged);
    for (int i = 0; i < CHAINS; i++)
        assert_memory_equal(&saved.chain[i].counts, &end.chain[i].counts, sizeof(chain_counts));

    saved.chain[1].cbrt_length[3] = -1;
    assert_int_equal(tree_chains_load(z, &saved), ART_ERR_USAGE);
    saved.chain[1].cbrt_length[3] = 0.1;
    saved.temperature[0] = saved.temperature[1];
    assert_int_equal(tree_chains_load(z, &saved), ART_ERR_USAGE);
    chains_state_free(&saved);
    chains_state_free(&end);
    tree_chains_free(x);
    tree_chains_free(y);
    tree_chains_free(z);
    pool_free(three);
    branch_posterior_free(&data);
    problem_free(&p);
}

/* Every allocation may fail; after create there is none. */
static void memory(void **state)
{
    (void)state;
    problem p = problem_random(N, 60, CHAINS, 3);
    subst_model m = model_of("JC", NULL);
    branch_posterior data;
    check_status(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    const chains_settings set = {chain_defaults(), 1, .ladders = 1, .temperatures = 2, .heat = 0.5};
    for (long k = 1;; k++) {
        tree_chains *x;
        memory_fail_at(k);
        const int status = tree_chains_create(&x, &data, &set, NULL);
        memory_fail_at(0);
        if (status != ART_OK) {
            assert_int_equal(status, ART_ERR_NOMEM);
            assert_null(x);
            continue;
        }
        assert_true(k > 30);
        const long before = memory_count();
        for (int i = 0; i < 2; i++)
            check_status(tree_chains_start(x, i, p.decision + i * (N - 3), p.length + i * EDGES));
        check_status(tree_chains_run(x, 3, NULL, NULL, NULL));
        assert_int_equal(memory_count(), before);
        tree_chains_free(x);
        break;
    }
    for (long k = 1; k < 8; k++) {
        chains_state s;
        memory_fail_at(k);
        assert_int_equal(chains_state_init(&s, &data, 2), ART_ERR_NOMEM);
        memory_fail_at(0);
    }
    branch_posterior_free(&data);
    problem_free(&p);
}

/* Blocks for which there is no time are there, and the chains stay where they are. */
static void blocks_without_time(void **state)
{
    (void)state;
    problem p = problem_random(N, 60, CHAINS, 3);
    subst_model m = model_of("JC", NULL);
    branch_posterior data;
    check_status(
        branch_posterior_init(&data, &p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    tree_chains *x = ladders(&data, &p, NULL);
    static course before, after;
    interrupt stop;
    interrupt_init(&stop);
    check_status(tree_chains_run(x, 1, record_course, &before, &stop));
    const int64_t steps = tree_chain_counts(tree_chains_at(x, 0))->steps;
    assert_true(steps > 0);
    interrupt_ask(&stop);
    check_status(tree_chains_run(x, 3, record_course, &after, &stop));
    assert_int_equal(after.count, 3 * before.count);
    const chain_counts *n = tree_chain_counts(tree_chains_at(x, 0));
    assert_int_equal(n->steps, steps);
    assert_int_equal(n->blocks, 4);
    tree_chains_free(x);
    branch_posterior_free(&data);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detailed_balance),
        cmocka_unit_test(detailed_balance_of_coupled_branches),
        cmocka_unit_test(detailed_balance_of_local_fits),
        cmocka_unit_test(detailed_balance_of_jumps),
        cmocka_unit_test(frequencies),
        cmocka_unit_test(frequencies_with_redrawn_parts),
        cmocka_unit_test(tempering_leaves_the_cold_chains_right),
        cmocka_unit_test(same_on_any_threads_and_resumed),
        cmocka_unit_test(memory),
        cmocka_unit_test(blocks_without_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
