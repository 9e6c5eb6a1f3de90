#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/models.h"
#include "support/problem.h"
#include "support/state.h"

#include "artreeformer.h"
#include "collapsed/sampler_state.h"
#include "collapsed/final_sampling.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE 10.0

enum { HIDDEN = 8, HEADS = 2, MOST_TREES = 105 };

/* A run on an alignment, with a small network. */
typedef struct bench {
    branch_posterior problem;
    pool *threads;
    topology_model *trees;
    taxa names;
    rounds *c;
} bench;

static collapsed_settings quick(void)
{
    collapsed_settings set = collapsed_defaults(5);
    set.table.capacity = 10000;
    set.fit.steps = 150;
    set.rounds.draws = 512;
    set.rounds.rounds = 3;
    set.fit.polish = 0.05;
    set.fit.polish_batch = 32;
    return set;
}

static void bench_init(bench *b, const alignment *a, const collapsed_settings *set, int n_threads)
{
    subst_model m = model_of("JC", NULL);
    check_status(branch_posterior_init(&b->problem, a, NULL, &m, branch_prior_exponential(RATE)));
    check_status(pool_create(&b->threads, n_threads));
    check_status(make_artreeformer(&b->trees, a->n_taxa, HIDDEN, HEADS, b->threads));
    b->trees->ops->initialise(b->trees, 5);
    taxa_init(&b->names);
    for (int i = 0; i < a->n_taxa; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        check_status(taxa_add(&b->names, name, strlen(name)));
    }
    check_status(rounds_create(&b->c, &b->problem, a, NULL, b->trees, set, b->threads));
}

static void bench_free(bench *b)
{
    rounds_free(b->c);
    taxa_free(&b->names);
    b->trees->ops->free(b->trees);
    pool_free(b->threads);
    branch_posterior_free(&b->problem);
}

static void run_rounds(bench *b)
{
    while (b->c->stage != ROUNDS_DONE)
        check_status(rounds_advance(b->c, NULL));
}

typedef struct result {
    evidence evidence;
    posterior posterior;
    sampler_facts facts;
} result;

/* What the answer is to be like, with a seed of its own. */
static void plan_answer(bench *b, int k, int64_t passes, double error, size_t cache)
{
    collapsed_settings *set = &b->c->set;
    set->seed = 6;
    set->error = error;
    set->sampler.particles = k;
    set->sampler.sample = 100;
    set->final.passes = passes;
    set->final.cache = cache;
}

static void answer_with(result *r, bench *b, int passes, int k, double network)
{
    tree_sampler *s;
    plan_answer(b, k, passes, 1e-9, 1 << 20);
    rounds_use_averaged_weights(b->c);
    check_status(tree_sampler_create(&s, b->c, &b->names, network));
    while (tree_sampler_passes(s) < passes)
        check_status(tree_sampler_advance(s));
    check_status(tree_sampler_finish(s, &r->evidence, &r->posterior, &r->facts));
    tree_sampler_free(s);
}

static void answer_usual(result *r, bench *b, int passes, int k)
{
    answer_with(r, b, passes, k, final_network_share(b->c));
}

/* Evidence within four of its stated errors, topology probabilities as enumeration has them. */
static void check_exact(const alignment *a, double most_variation)
{
    double exact[MOST_TREES], variation = 0;
    const double log_evidence = exact_posterior(exact, a, RATE);
    const collapsed_settings set = quick();
    bench b;
    result r;
    bench_init(&b, a, &set, 1);
    run_rounds(&b);
    answer_usual(&r, &b, 3, 1000);
    assert_true(r.evidence.log_evidence_se < 0.02);
    assert_true(r.evidence.lower_bound_k < r.evidence.log_evidence);
    check_near(r.evidence.log_evidence, log_evidence, 4 * r.evidence.log_evidence_se);
    for (int i = 0; i < exact_trees(a->n_taxa); i++) {
        int32_t decision[4];
        exact_tree(decision, i, a->n_taxa);
        const int64_t at = tree_set_find(&r.posterior.trees, decision);
        variation += fabs((at < 0 ? 0 : r.posterior.trees.weight[at]) - exact[i]) / 2;
    }
    assert_true(variation < most_variation);
    posterior_free(&r.posterior);
    bench_free(&b);
}

static void small_cases_are_exact(void **state)
{
    (void)state;
    small_alignment four, five, six;
    small_alignment_init(
        &four, 4, (const char *[]){"AAGTCGATTAC", "AAGTCGCTTAC", "AATTCGATTAC", "AATTCAATTAC"});
    check_exact(&four.a, 0.01);
    small_alignment_init(&five, 5,
                         (const char *[]){"AAGTCA", "AAGTCA", "CCGTGA", "CCTTCA", "CCTTCT"});
    check_exact(&five.a, 0.02);
    small_alignment_init(&six, 6, (const char *[]){"AAGT", "AAGT", "CCGT", "CCTT", "CCTA", "ACTA"});
    check_exact(&six.a, 0.03);
}

/* Saturated data, where the normal distribution at the mode misses most of the posterior. */
static void few_sites_have_finite_weights(void **state)
{
    (void)state;
    small_alignment four;
    small_alignment_init(&four, 4, (const char *[]){"ACGT", "CATG", "GTAC", "TGCA"});
    check_exact(&four.a, 0.02);
}

static void compare_runs(const bench *a, const bench *b)
{
    const tree_table *x = &a->c->table, *y = &b->c->table;
    assert_int_equal(x->count, y->count);
    assert_memory_equal(x->decision, y->decision, x->count * x->n_decisions * sizeof *x->decision);
    assert_memory_equal(x->log_evidence, y->log_evidence, x->count * sizeof *x->log_evidence);
    assert_memory_equal(x->error, y->error, x->count * sizeof *x->error);
    assert_memory_equal(a->trees->params.value, b->trees->params.value,
                        a->trees->params.total * sizeof *a->trees->params.value);
    assert_int_equal(a->c->n_rounds, b->c->n_rounds);
    assert_memory_equal(a->c->round, b->c->round, (size_t)a->c->n_rounds * sizeof *a->c->round);
}

static void simulated(problem *p, int n_taxa, size_t sites, uint32_t seed)
{
    subst_model m = model_of("JC", NULL);
    *p = problem_random(n_taxa, sites, 1, seed);
    check_status(
        simulate_sites(p->alignment.state, p->decision, p->length, n_taxa, &m, sites, seed, NULL));
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    problem p;
    simulated(&p, 9, 60, 31);
    const collapsed_settings set = quick();
    bench b[2];
    result r[2];
    for (int k = 0; k < 2; k++) {
        bench_init(&b[k], &p.alignment, &set, k ? 3 : 1);
        run_rounds(&b[k]);
    }
    compare_runs(&b[0], &b[1]);
    for (int k = 0; k < 2; k++)
        answer_usual(&r[k], &b[k], 1, 200);
    check_near(r[0].evidence.log_evidence, r[1].evidence.log_evidence, 0);
    assert_int_equal(r[0].posterior.count, r[1].posterior.count);
    assert_memory_equal(r[0].posterior.length, r[1].posterior.length,
                        (size_t)r[0].posterior.count * 15 * sizeof(double));
    for (int k = 0; k < 2; k++) {
        posterior_free(&r[k].posterior);
        bench_free(&b[k]);
    }
    problem_free(&p);
}

static const char STATE[] = "state.safetensors";

/* Through a file, as a killed run would; a may be NULL. */
static void save_state(bench *b, final_sampling *a)
{
    saved_state s = {0};
    bool has_answer = a != NULL;
    check_status(rounds_fields(b->c, &s));
    state_bool(&s, "has_answer", &has_answer);
    if (a)
        check_status(final_sampling_fields(a, &s));
    check_status(saved_state_write(&s, STATE, NULL));
    saved_state_free(&s);
}

static void load_state(bench *b, final_sampling **a, branch_model *lengths)
{
    saved_state s;
    bool has_answer = false;
    check_status(saved_state_read(&s, STATE, NULL));
    check_status(rounds_fields(b->c, &s));
    state_bool(&s, "has_answer", &has_answer);
    assert_true(has_answer == (a != NULL));
    if (a) {
        check_status(final_sampling_create(a, b->c, lengths, &b->names));
        check_status(final_sampling_fields(*a, &s));
    }
    check_status(saved_state_end(&s));
    saved_state_free(&s);
}

/* A run that is saved and loaded into another process's memory again and again ends as one
 * that is not. */
static void a_resumed_run_is_the_same(void **state)
{
    (void)state;
    problem p;
    simulated(&p, 9, 60, 32);
    const collapsed_settings set = quick();
    bench straight, slot[2], *broken = &slot[0]; /* a run points into its bench: none is moved */
    bench_init(&straight, &p.alignment, &set, 1);
    run_rounds(&straight);
    bench_init(broken, &p.alignment, &set, 2);
    int seen[ROUNDS_DONE] = {0}, work = 0;
    while (broken->c->stage != ROUNDS_DONE) {
        if (work++ % 7 == 0 || seen[broken->c->stage] == 0) {
            bench *next = broken == &slot[0] ? &slot[1] : &slot[0];
            seen[broken->c->stage]++;
            bench_init(next, &p.alignment, &set, 1);
            save_state(broken, NULL);
            load_state(next, NULL, NULL);
            bench_free(broken);
            broken = next;
        }
        check_status(rounds_advance(broken->c, NULL));
    }
    for (int k = 0; k < ROUNDS_DONE; k++)
        assert_true(seen[k] > 0);
    compare_runs(&straight, broken);
    bench_free(&straight);
    bench_free(broken);
    problem_free(&p);
}

static void compare_answers(const answer *x, const answer *y)
{
    const posterior *p = &x->posterior, *q = &y->posterior;
    assert_memory_equal(&x->evidence, &y->evidence, offsetof(evidence, unfinished));
    assert_int_equal(x->facts.passes, y->facts.passes);
    assert_memory_equal(&x->facts.blend, &y->facts.blend, sizeof x->facts.blend);
    assert_int_equal(p->count, q->count);
    assert_memory_equal(p->length, q->length, (size_t)p->count * 15 * sizeof(double));
    assert_memory_equal(p->value, q->value, (size_t)p->count * 3 * sizeof(double));
    assert_int_equal(p->trees.count, q->trees.count);
    assert_memory_equal(p->trees.weight, q->trees.weight, p->trees.count * sizeof(double));
    assert_int_equal(p->splits.count, q->splits.count);
    assert_memory_equal(p->splits.weight, q->splits.weight, p->splits.count * sizeof(double));
    assert_memory_equal(p->splits.squares, q->splits.squares, p->splits.count * sizeof(double));
}

static branch_model *fresh_lengths(bench *b)
{
    branch_model *lengths;
    check_status(make_lognormal(&lengths, b->c->problem->n_taxa, HIDDEN, b->threads));
    lengths->ops->initialise(lengths, 1);
    return lengths;
}

/* Half of the trees count as scored, not fitted. */
static void make_rough(tree_table *t)
{
    double length[15];
    for (size_t i = 0; i < t->count; i += 2) {
        t->mark[i] |= TREE_UNFITTED;
        t->error[i] = -1;
        tree_table_lengths(length, t, i);
        tree_table_update(t, i, length, t->laplace[i] - 0.3);
    }
}

/* The same for the answer: saved and loaded after every piece of two passes, and while lengths
 * are fitted. The table lacks trees that matter and has some that are not fitted. */
static void a_resumed_answer_is_the_same(void **state)
{
    (void)state;
    enum { STRAIGHT, BROKEN };
    problem p;
    answer r[2];
    double value[2];
    simulated(&p, 9, 60, 34);
    collapsed_settings set = quick();
    set.rounds.rounds = set.rounds.draws = 1;
    set.search.window = 6;
    for (int kind = STRAIGHT; kind <= BROKEN; kind++) {
        bench slot[2], *b = &slot[0];
        final_sampling *a;
        int seen[4] = {0}, lengths_seen = 0;
        bench_init(b, &p.alignment, &set, 1 + kind);
        run_rounds(b);
        make_rough(&b->c->table);
        branch_model *lengths = fresh_lengths(b);
        plan_answer(b, 40, 2, 1e-9, 1 << 20);
        check_status(final_sampling_create(&a, b->c, lengths, &b->names));
        while (a->stage != FINAL_DONE) {
            const bool passes = a->stage == FINAL_MODES || a->stage == FINAL_PASSES;
            if (kind == BROKEN && (passes || lengths_seen++ == 3)) {
                bench *next = b == &slot[0] ? &slot[1] : &slot[0];
                save_state(b, a);
                final_sampling_free(a);
                lengths->ops->free(lengths);
                bench_free(b);
                b = next;
                bench_init(b, &p.alignment, &set, 1);
                lengths = fresh_lengths(b);
                plan_answer(b, 40, 2, 1e-9, 1 << 20);
                load_state(b, &a, lengths);
                seen[a->sampler->stage] += passes;
                assert_true(passes || (a->trainer && a->trainer->step == 3));
            }
            check_status(final_sampling_advance(a, NULL));
        }
        for (int i = 0; i < 4 && kind == BROKEN; i++)
            assert_true(seen[i] >= 2);
        check_status(final_sampling_finish(a, &r[kind]));
        value[kind] = lengths->params.value[0];
        final_sampling_free(a);
        lengths->ops->free(lengths);
        bench_free(b);
    }
    compare_answers(&r[STRAIGHT], &r[BROKEN]);
    assert_true(r[STRAIGHT].evidence.outside > 0);
    check_near(value[STRAIGHT], value[BROKEN], 0);
    posterior_free(&r[STRAIGHT].posterior);
    posterior_free(&r[BROKEN].posterior);
    problem_free(&p);
}

/* Loading must say once that this is nothing to go on from. */
static void check_refused(saved_state *s, rounds *c, final_sampling *a)
{
    diag d;
    bool has_answer = false;
    diag_init(&d);
    s->d = &d;
    rounds_fields(c, s);
    state_bool(s, "has_answer", &has_answer);
    if (!s->status)
        final_sampling_fields(a, s);
    assert_int_equal(s->status, ART_ERR_MISMATCH);
    assert_int_equal(d.errors, 1);
    diag_free(&d);
    saved_state_free(s);
}

/* Numbers of a checkpoint that would lead astray, and fields that are not there. */
static void damaged_answers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        size_t at;
        double value;
    } table[] = {
        {"rounds.stage", 0, 6},              /* one that does not exist */
        {"rounds.made", 0, 0},               /* an end without rounds */
        {"rounds.made", 0, 65},              /* more than there can be */
        {"rounds.looked", 0, 2},             /* draws, of which there is one in a round */
        {"rounds.weights.count", 0, -1},     /* draws */
        {"rounds.weights.sum", 0, -1},       /* of positive numbers */
        {"table.decision", 0, 3},            /* an edge that is not there */
        {"table.evicted", 0, -1},            /* trees */
        {"search.starts", 0, -1},            /* climbs */
        {"fit.has_best", 0, 0},              /* polishing without them */
        {"train.step", 0, -1},               /* of the fit */
        {"sampler.stage", 0, 4},             /* one that does not exist */
        {"sampler.stage", 0, 1},             /* one in which fewer draws were kept */
        {"sampler.next", 0, -1},             /* draw */
        {"sampler.next", 0, 1e6},            /* the same */
        {"sampler.kept", 0, 1e6},            /* more than there are outside */
        {"sampler.n_outside", 0, 1e6},       /* more than were drawn */
        {"sampler.mean.count", 0, -1},       /* draws that were weighed */
        {"sampler.outside_draw", 0, -1},     /* one of them */
        {"sampler.outside_draw", 0, 1e6},    /* the same */
        {"sampler.tree.number", 0, 1e6},     /* of a tree */
        {"sampler.tree.number", 0, -1},      /* the same */
        {"sampler.tree.draws.count", 0, -1}, /* its draws */
        {"sampler.drawn", 0, 3},             /* an edge that is not there */
        {"sampler.weight.infinite", 0, 7},   /* no kind of infinity */
        {"batch.decision", 1, -1},           /* an edge again */
        {"posterior.decision", 0, 9},        /* the same */
        {"posterior.count", 0, 101},         /* rows */
        {"posterior.batches", 0, -1},
        {"posterior.total", 0, -1}, /* weight */
        {"trees.decision", 0, 3},   /* an edge again */
        {"trees.total", 0, -1},     /* weight */
        {"trees.added", 0, -1},     /* trees */
        {"splits.bits", 0, 0},      /* no taxa */
        {"splits.bits", 0, 1},      /* taxon 0 */
        {"splits.bits", 0, 1 << 9}, /* a tenth taxon */
        {"final.fits_lengths", 0, 1},
    };
    problem p;
    bench b;
    final_sampling *a;
    collapsed_settings set = quick();
    set.rounds.rounds = set.rounds.draws = 1;
    set.search.window = 4; /* much is outside */
    simulated(&p, 9, 60, 34);
    bench_init(&b, &p.alignment, &set, 1);
    run_rounds(&b);
    branch_model *lengths = fresh_lengths(&b);
    plan_answer(&b, 300, 2, 1e-9, 1 << 20);
    check_status(final_sampling_create(&a, b.c, lengths, &b.names));
    while (tree_sampler_passes(a->sampler) < 1 || a->sampler->stage != SAMPLER_OUTSIDE)
        check_status(final_sampling_advance(a, NULL));
    assert_true(a->sampler->kept > 0 && b.c->fit.polishing);
    save_state(&b, a);
    saved_state s;
    check_status(saved_state_read(&s, STATE, NULL));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        saved_state copy;
        state_damaged(&copy, &s, table[i].field, table[i].at, table[i].value);
        check_refused(&copy, b.c, a);
    }
    for (size_t i = 0; i < s.tensors.count; i++) {
        const char *name = s.tensors.tensor[i].name;
        saved_state copy;
        if (strstr(name, ".infinite"))
            continue; /* then they are 0 */
        state_without(&copy, &s, name);
        check_refused(&copy, b.c, a);
    }
    saved_state_free(&s);
    final_sampling_free(a);
    lengths->ops->free(lengths);
    bench_free(&b);
    problem_free(&p);
}

/* Rounds that leave the table with hardly more than one tree, and a network that knows little. */
static void leave_one_tree(bench *b, const alignment *a)
{
    collapsed_settings set = quick();
    set.search.starts = 1;
    set.search.idle_starts = 0;
    set.search.window = 0; /* nothing but the peak enters */
    set.search.widen = 0;
    set.fit.steps = 1;
    set.rounds.rounds = 1;
    set.rounds.draws = 1;
    bench_init(b, a, &set, 1);
    run_rounds(b);
    assert_true(b->c->table.count <= 3);
}

/* The share of the posterior, by enumeration, that the table has. */
static double exact_inside(const tree_table *t, const double *exact)
{
    double inside = 0;
    for (int i = 0; i < exact_trees(t->n_taxa); i++) {
        int32_t decision[4];
        exact_tree(decision, i, t->n_taxa);
        inside += tree_table_find(t, decision) >= 0 ? exact[i] : 0;
    }
    return inside;
}

/* An alignment on which many trees matter, and its posterior; returns the log evidence. */
static double few_sites(small_alignment *five, double exact[15])
{
    small_alignment_init(five, 5,
                         (const char *[]){"AAGTCA", "AAGTCA", "CCGTGA", "CCTTCA", "CCTTCT"});
    return exact_posterior(exact, &five->a, RATE);
}

/* What the network draws must find and weigh the rest. */
static void draws_make_up_for_the_table(void **state)
{
    (void)state;
    small_alignment five;
    double exact[15];
    const double log_evidence = few_sites(&five, exact);
    bench b;
    result r;
    leave_one_tree(&b, &five.a);
    answer_usual(&r, &b, 3, 2000);
    assert_true(r.evidence.outside > 0.1);
    assert_true(r.evidence.log_evidence_se < 0.05);
    check_near(r.evidence.log_evidence, log_evidence, 4 * r.evidence.log_evidence_se);
    check_near(r.evidence.outside, 1 - exact_inside(&b.c->table, exact),
               4 * r.evidence.outside_se + 0.02);
    posterior_free(&r.posterior);
    bench_free(&b);
}

/* The answer as users get it: a network that is frozen and flattened, passes until the rule says
 * enough. */
static void the_whole_answer(void **state)
{
    (void)state;
    small_alignment five;
    double exact[15];
    const double log_evidence = few_sites(&five, exact);
    const struct {
        double error;
        int64_t most;
        int late; /* asked to finish after so many passes */
        int passes;
    } table[] = {
        {10, 100, 1000, 3}, /* no fewer, for the probabilities of trees */
        {10, 2, 1000, 2},   /* but as many as are allowed */
        {1e-9, 4, 1000, 4}, /* not reached */
        {1e-9, 100, 0, 1},  /* no time */
        {1e-9, 100, 1, 1},  /* no more time */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bench b;
        answer r;
        leave_one_tree(&b, &five.a);
        branch_model *lengths = fresh_lengths(&b);
        final_sampling *a;
        plan_answer(&b, 2000, table[i].most, table[i].error, i << 18);
        check_status(final_sampling_create(&a, b.c, lengths, &b.names));
        while (a->stage != FINAL_DONE) {
            if (tree_sampler_passes(a->sampler) >= table[i].late)
                final_sampling_finish_now(a);
            check_status(final_sampling_advance(a, NULL));
        }
        check_status(final_sampling_finish(a, &r));
        final_sampling_free(a);
        assert_int_equal(r.facts.passes, table[i].passes);
        assert_true(r.evidence.log_evidence_se < 0.05);
        check_near(r.evidence.log_evidence, log_evidence, 4 * r.evidence.log_evidence_se);
        check_near(r.evidence.outside, 1 - exact_inside(&b.c->table, exact),
                   4 * r.evidence.outside_se + 0.02);
        posterior_free(&r.posterior);
        lengths->ops->free(lengths);
        bench_free(&b);
    }
}

/* Clear data, many draws from the network: most have light weights and are dropped, and what is
 * kept makes up for them. */
static void light_draws_are_made_up_for(void **state)
{
    (void)state;
    small_alignment five;
    small_alignment_init(&five, 5,
                         (const char *[]){"AAAAAAAAAAAAGGGGGGGGGGGG", "AAAAAAAAAAAAGGGGGGGGGGGG",
                                          "CCCCCCAAAAAAGGGGGGGGGGGG", "CCCCCCCCCCCCGGGGGGGGGGGG",
                                          "CCCCCCCCCCCCGGGGGGGGGGGG"});
    double exact[15];
    exact_posterior(exact, &five.a, RATE);
    bench b;
    result r;
    leave_one_tree(&b, &five.a);
    answer_with(&r, &b, 10, 2000, 0.9);
    const double outside = 1 - exact_inside(&b.c->table, exact);
    /* of the two, the first says that weights are light, the second that a lack would be seen */
    assert_true(outside < 1e-4);
    assert_true(r.evidence.outside_se < 0.3 * outside);
    check_near(r.evidence.outside, outside, 4 * r.evidence.outside_se);
    posterior_free(&r.posterior);
    bench_free(&b);
}

/* Draws that a full table has no room for are told from those that it takes, and do not pass for
 * nothing. */
static void a_full_table_is_noticed(void **state)
{
    (void)state;
    small_alignment six;
    small_alignment_init(&six, 6, (const char *[]){"AAG", "AAG", "CAG", "CGG", "CGT", "AGT"});
    double exact[MOST_TREES];
    const double log_evidence = exact_posterior(exact, &six.a, RATE);
    collapsed_settings set = quick();
    set.table.capacity = 8;
    set.rounds.draws = 4096;
    bench b;
    bench_init(&b, &six.a, &set, 1);
    run_rounds(&b);
    const round_figures *last = &b.c->round[b.c->n_rounds - 1];
    const double outside = 1 - exact_inside(&b.c->table, exact);
    assert_true(b.c->table.evicted > 0 && outside > 0.1);
    check_near(last->missed, outside, 0.2 * outside);
    assert_true(last->new_mass < 0.1 * outside);
    /* by the diagonal approximation, with the offset of the best trees */
    check_near(last->log_network, log_evidence, 0.1);
    bench_free(&b);
}

static void advance_to(bench *b, rounds_stage stage, int64_t steps)
{
    rounds *c = b->c;
    while (c->stage != stage || network_fit_steps(&c->fit) - c->fit.before < steps) {
        assert_true(c->stage <= stage);
        check_status(rounds_advance(c, NULL));
    }
}

/* Weights that go astray while polishing come back at the next look, and the rate is lower. */
static void polishing_survives_accidents(void **state)
{
    (void)state;
    problem p;
    bench b;
    collapsed_settings set = quick();
    set.fit.polish = 1e-6; /* not reached */
    simulated(&p, 9, 60, 32);
    bench_init(&b, &p.alignment, &set, 1);
    advance_to(&b, ROUNDS_POLISH, 350);
    rounds *c = b.c;
    const double best = c->fit.best_gap, rate = c->fit.rate;
    assert_true(best < c->round[c->n_rounds - 1].fit_kl);
    for (size_t i = 0; i < c->trees->params.total; i++)
        c->trees->params.value[i] *= 5;
    c->trees->ops->changed(c->trees);
    advance_to(&b, ROUNDS_POLISH, 400);
    check_near(c->fit.fit_kl, best, 0);
    check_near(c->fit.rate, 0.6 * rate, 0); /* for this, no window ends at 400 steps */
    rounds_finish_now(c);
    run_rounds(&b);
    for (size_t i = 0; i < c->trees->params.total; i++)
        assert_true(c->fit.trainer->trees.average[i] == c->fit.best[i]);
    bench_free(&b);
    problem_free(&p);
}

/* A run that polishes because of a time limit goes on without one: it does not polish for ever. */
static void polishing_ends_without_its_limit(void **state)
{
    (void)state;
    problem p;
    bench b;
    collapsed_settings set = quick();
    set.fit.polish = 1e-6; /* not reached */
    simulated(&p, 9, 60, 32);
    bench_init(&b, &p.alignment, &set, 1);
    advance_to(&b, ROUNDS_POLISH, 5);
    b.c->fit.set.polish = 0;
    check_status(rounds_advance(b.c, NULL));
    assert_int_equal(b.c->stage, ROUNDS_DONE);
    bench_free(&b);
    problem_free(&p);
}

/* Ended early, at any moment, it still has an answer. */
static void finishing_early_ends_it(void **state)
{
    (void)state;
    problem p;
    simulated(&p, 8, 40, 33);
    const collapsed_settings set = quick();
    for (int after = 0; after < 40; after += 13) {
        bench b;
        result r;
        bench_init(&b, &p.alignment, &set, 1);
        for (int i = 0; i < after; i++)
            check_status(rounds_advance(b.c, NULL));
        rounds_finish_now(b.c);
        int pieces = 0;
        for (; b.c->stage != ROUNDS_DONE; pieces++)
            check_status(rounds_advance(b.c, NULL));
        assert_true(pieces < 12);
        answer_usual(&r, &b, 1, 500);
        assert_true(isfinite(r.evidence.log_evidence));
        posterior_free(&r.posterior);
        bench_free(&b);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_are_exact),
        cmocka_unit_test(few_sites_have_finite_weights),
        cmocka_unit_test(threads_do_not_matter),
        in_scratch_folder(a_resumed_run_is_the_same),
        in_scratch_folder(a_resumed_answer_is_the_same),
        in_scratch_folder(damaged_answers_are_refused),
        cmocka_unit_test(draws_make_up_for_the_table),
        cmocka_unit_test(the_whole_answer),
        cmocka_unit_test(light_draws_are_made_up_for),
        cmocka_unit_test(a_full_table_is_noticed),
        cmocka_unit_test(polishing_survives_accidents),
        cmocka_unit_test(polishing_ends_without_its_limit),
        cmocka_unit_test(finishing_early_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
