#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"
#include "support/state.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/chain_answer.h"
#include "collapsed/chain_splits.h"
#include "collapsed/chain_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE 10.0

enum { MOST_TREES = 105, MOST_PICKS = 400 };

/* Chains and their answer on an alignment. */
typedef struct bench {
    branch_posterior problem;
    pool *threads;
    evidence_batch *team;
    taxa names;
    collapsed_settings set;
    chain_stage *chains;
    chain_answer *answer;
    const interrupt *stop; /* of all pieces of work; NULL at first */
} bench;

static collapsed_settings quick(void)
{
    collapsed_settings set = collapsed_defaults(5);
    set.sampler.sample = 100;
    set.chains.rounds.first_blocks = 16;
    set.chains.rounds.most = 4;
    set.chains.room.most = 64;
    set.chains.pilot_draws = 64;
    set.chains.error = 1e-9; /* all rounds */
    set.answer.draws = 1000;
    set.answer.passes = 2;
    set.answer.evaluated = 400;
    return set;
}

static void bench_init(bench *b, const alignment *a, const collapsed_settings *set, int n_threads)
{
    subst_model m = model_of("JC", NULL);
    memset(b, 0, sizeof *b);
    b->set = *set;
    check_status(branch_posterior_init(&b->problem, a, NULL, &m, branch_prior_exponential(RATE)));
    check_status(pool_create(&b->threads, n_threads));
    check_status(evidence_batch_create(&b->team, &b->problem, b->threads));
    taxa_init(&b->names);
    for (int i = 0; i < a->n_taxa; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        check_status(taxa_add(&b->names, name, strlen(name)));
    }
    check_status(
        chain_stage_create(&b->chains, &b->problem, &set->chains, set->seed, b->team, b->threads));
}

/* Every chain begins at another tree. */
static void start(bench *b)
{
    const int chains = b->set.chains.chains, n = b->problem.n_taxa - 3;
    double *length = mem_zeros((size_t)(chains * b->problem.n_edges), sizeof *length);
    int32_t *decision = mem_zeros((size_t)(chains * n), sizeof *decision);
    for (int i = 0; i < chains * b->problem.n_edges; i++)
        length[i] = 0.1;
    for (int i = 0; i < chains; i++)
        for (int k = 0; k < n; k++)
            decision[i * n + k] = (i + k) % (2 * k + 3);
    check_status(chain_stage_start(b->chains, decision, length));
    free(length);
    free(decision);
}

static void bench_free(bench *b)
{
    chain_answer_free(b->answer);
    chain_stage_free(b->chains);
    evidence_batch_free(b->team);
    taxa_free(&b->names);
    pool_free(b->threads);
    branch_posterior_free(&b->problem);
}

/* A piece of work; whether there is more to do. */
static bool advance(bench *b)
{
    if (!b->chains->rounds.is_done)
        check_status(chain_stage_advance(b->chains, b->stop));
    else if (!b->answer)
        check_status(chain_answer_create(&b->answer, b->chains, &b->names, &b->set));
    else
        check_status(chain_answer_advance(b->answer, b->stop));
    return !b->answer || b->answer->stage != CHAIN_ANSWER_DONE;
}

typedef struct result {
    evidence evidence;
    posterior posterior;
    chain_check check;
} result;

static void finish(result *r, bench *b)
{
    check_status(chain_answer_finish(b->answer, &r->evidence, &r->posterior, &r->check));
    /* Draws and states are worth at most their number, however small the error. */
    assert_true(r->evidence.ess > 0 && r->evidence.ess <= (double)r->evidence.total);
}

static void run(result *r, bench *b)
{
    start(b);
    while (advance(b))
        continue;
    finish(r, b);
}

static bool has_split(const int32_t *decision, const uint64_t *bits, int n_taxa)
{
    split_table one;
    check_status(split_table_init(&one, n_taxa));
    check_status(split_table_add(&one, decision, NULL, 1));
    const bool has = split_table_find(&one, bits) >= 0;
    split_table_free(&one);
    return has;
}

/* The exact probability of a split. */
static double exact_split(const uint64_t *bits, const double *exact, int n_taxa)
{
    double sum = 0;
    for (int i = 0; i < exact_trees(n_taxa); i++) {
        int32_t decision[EXACT_TAXA];
        exact_tree(decision, i, n_taxa);
        sum += has_split(decision, bits, n_taxa) ? exact[i] : 0;
    }
    return sum;
}

/* Evidence, splits and trees as enumeration and quadrature have them, within the stated errors. */
static void check_exact(const alignment *a, uint64_t seed)
{
    double exact[MOST_TREES];
    const double log_evidence = exact_posterior(exact, a, RATE);
    collapsed_settings set = quick();
    set.seed = seed;
    set.chains.rounds.first_blocks = 64;
    set.chains.room.most = 1024;
    bench b;
    result r;
    bench_init(&b, a, &set, 1);
    run(&r, &b);
    assert_true(r.evidence.log_evidence_se < 0.1);
    check_near(r.evidence.log_evidence, log_evidence, 4 * r.evidence.log_evidence_se);
    const split_table *s = &r.posterior.splits;
    for (size_t i = 0; i < s->count; i++) {
        if (split_is_trivial(split_table_bits(s, i), s->n_taxa))
            continue;
        const double error = split_frequency_error(s, i);
        assert_true(error > 0 && error < 0.1);
        check_near(split_frequency(s, i), exact_split(split_table_bits(s, i), exact, a->n_taxa),
                   4.5 * error);
    }
    for (int i = 0; i < exact_trees(a->n_taxa); i++) {
        int32_t decision[EXACT_TAXA];
        exact_tree(decision, i, a->n_taxa);
        const int64_t at = tree_set_find(&r.posterior.trees, decision);
        if (exact[i] > 0.01) /* as good as the approximation of a tree's evidence by 48 draws */
            check_near(tree_set_probability(&r.posterior.trees, (size_t)at) / exact[i], 1, 0.35);
    }
    verdict v;
    verdict_init(&v);
    chain_verdict(&v, &r.check, chain_rounds_last(&b.chains->rounds), &r.evidence, &set, false,
                  true);
    assert_int_equal(v.converged, v.asdsf <= set.judgement.asdsf); /* nothing else is amiss */
    set.judgement.asdsf = 0.05;                                    /* the chains are short */
    verdict_init(&v);
    chain_verdict(&v, &r.check, chain_rounds_last(&b.chains->rounds), &r.evidence, &set, false,
                  true);
    assert_true(v.converged);
    posterior_free(&r.posterior);
    bench_free(&b);
}

static void small_cases_are_exact(void **state)
{
    (void)state;
    small_alignment five, six, same;
    small_alignment_init(&five, 5,
                         (const char *[]){"AAGTCGA", "AAGTCGC", "AATTCGA", "AATTCAA", "CATTCGA"});
    small_alignment_init(&six, 6,
                         (const char *[]){"AAGTC", "AAGTC", "AATTC", "AATTA", "CATTC", "CAGTA"});
    small_alignment_init(&same, 6, (const char *[]){"AG", "AG", "AG", "AG", "AG", "AG"});
#ifdef ART_SANITIZED /* ten times slower: less of the same */
    enum { SEEDS = 1 };
#else
    enum { SEEDS = 2 };
#endif
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        check_exact(&five.a, seed);
        check_exact(&six.a, seed);
        check_exact(&same.a, seed);
    }
}

/* By how much corrections of all uncertain splits change these, over the corrections themselves. */
static double part_that_counts(const chain_answer *a, const double *correction)
{
    const int n_taxa = a->chains->problem->n_taxa;
    static const double none[MOST_PICKS] = {0};
    split_table before, after, with;
    double shift = 0, whole = 0;
    check_status(split_table_init(&before, n_taxa));
    check_status(split_table_init(&after, n_taxa));
    const double stays = 0.01;
    check_status(chain_splits_estimate(&before, a, none, 100, 0));
    check_status(chain_splits_estimate(&after, a, correction, 100, 0));
    check_status(split_table_init(&with, n_taxa));
    check_status(chain_splits_estimate(&with, a, none, 100, stays));
    for (size_t i = 0; i < before.count; i++) {
        const uint64_t *bits = split_table_bits(&before, i);
        const double p = split_frequency(&before, i);
        const int64_t at = split_table_find(&after, bits);
        double raw = 0;
        for (size_t k = 0; k < a->next; k++)
            if (has_split(chain_answer_tree(a, (size_t)a->pick[k].tree).decision, bits, n_taxa))
                raw += correction[k];
        if (p < 0.1 || p > 0.9)
            continue;
        shift += fabs(split_frequency(&after, (size_t)at) - p);
        whole += fabs(raw);
        const double error = split_frequency_error(&before, i);
        assert_true(split_frequency_error(&after, (size_t)at) >= error);
        check_near(pow(split_frequency_error(&with, (size_t)split_table_find(&with, bits)), 2),
                   error * error + stays * p * (1 - p), 1e-12);
    }
    split_table_free(&with);
    split_table_free(&before);
    split_table_free(&after);
    return shift / whole;
}

/* The variance of the mean of u that stays if all trees are picked: that of u between trees, by its
 * definition, over the number of trees that draws and states are worth. */
static double variance_that_stays(const chain_answer *a, const chain_check *check)
{
    double mean = 0, all = 0, own = 0, n = 0;
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const double stands = chain_answer_tree(a, (size_t)t->tree).weight / t->inclusion;
        mean += stands * exp(t->log_ratio);
        n += stands;
    }
    mean /= n;
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const double stands = chain_answer_tree(a, (size_t)t->tree).weight / t->inclusion;
        const double u = exp(t->log_ratio) / mean;
        all += stands / n * pow(u - 1, 2);
        own += stands / n * t->variance * u * u;
    }
    return fmax(all - own, 0) / (check->draw_ess + check->state_ess);
}

/* The variance of the mean of u by the choice of the trees and by their lengths, by its definition.
 */
static double variance_of_picks(const chain_answer *a)
{
    double mean = 0, n = 0, sum = 0;
    const double m = (double)a->next;
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const double stands = chain_answer_tree(a, (size_t)t->tree).weight / t->inclusion;
        mean += stands * exp(t->log_ratio);
        n += stands;
    }
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const double stands = chain_answer_tree(a, (size_t)t->tree).weight / t->inclusion;
        sum += pow(stands / n * (exp(t->log_ratio) * n / mean - 1), 2);
    }
    return sum * m / (m - 1);
}

/* How many different draws and states are picked. */
static size_t trees_picked(const chain_answer *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->next; i++) {
        size_t k = 0;
        while (k < i && a->pick[k].tree != a->pick[i].tree)
            k++;
        n += k == i;
    }
    return n;
}

/* The probability of a tree that was picked, by its definition: the mean over all times that it was
 * picked. */
static double probability_of_pick(const chain_answer *a, size_t pick)
{
    const int32_t *first = chain_answer_tree(a, (size_t)a->pick[pick].tree).decision;
    double sum = 0, times = 0, all = 0, stands_for_all = 0;
    for (size_t i = 0; i < a->next; i++) {
        const picked_tree *t = &a->pick[i];
        const pooled_tree from = chain_answer_tree(a, (size_t)t->tree);
        all += from.weight / t->inclusion * exp(t->log_ratio);
        stands_for_all += from.weight / t->inclusion;
        if (memcmp(from.decision, first, chain_answer_decisions(a) * sizeof *first))
            continue;
        sum += t->times * exp(from.laplace + t->log_ratio - a->bridge.log_sum);
        times += t->times;
    }
    return sum / times * stands_for_all / all;
}

/* The effective number of the states used, of all chains, by that of the states compared. */
static double effective_states(const chain_answer *a)
{
    const chain_round *last = chain_rounds_last(&a->chains->rounds);
    const double used = (double)(chain_answer_trees(a) - a->n_draws);
    return fmax(
        1, fmin(used, chain_round_ess(last) * used / (last->states * a->chains->states.n_chains)));
}

/* The probabilities of the trees that were picked are as by their definition. */
static void check_picked_trees(const result *r, const chain_answer *a)
{
    const tree_set *trees = &r->posterior.trees;
    for (size_t i = 0; i < a->next; i++) {
        const int64_t at =
            tree_set_find(trees, chain_answer_tree(a, (size_t)a->pick[i].tree).decision);
        check_near(trees->weight[at] / trees->total * trees->share, probability_of_pick(a, i),
                   1e-12);
    }
}

/* With few topologies each is picked many times; its estimates count together. */
static void estimates_of_a_tree_are_averaged(void **state)
{
    (void)state;
    problem data = problem_random(6, 20, 1, 1);
    collapsed_settings set = quick();
    set.answer.evaluated = set.answer.least_evaluated = 40;
    set.answer.pick_passes = 3;
    set.error = 1e-9;
    bench b;
    result r;
    bench_init(&b, &data.alignment, &set, 1);
    run(&r, &b);
    const chain_answer *a = b.answer;
    size_t again = 0; /* picks of a topology that was picked before, as another draw or state */
    for (size_t i = 1; i < a->next; i++)
        for (size_t k = 0; k < i; k++)
            again += !memcmp(chain_answer_tree(a, (size_t)a->pick[i].tree).decision,
                             chain_answer_tree(a, (size_t)a->pick[k].tree).decision,
                             chain_answer_decisions(a) * sizeof(int32_t));
    assert_true(again > 0);
    check_picked_trees(&r, a);
    posterior_free(&r.posterior);
    bench_free(&b);
    problem_free(&data);
}

/* More trees are picked until their lengths have half of the variance that is wanted, or often
 * enough; the standard error is smaller for it, and the evidence the same within the errors. */
static void trees_are_picked_until_they_are_enough(void **state)
{
    (void)state;
    problem data = problem_random(12, 20, 1, 1);
    result once, often;
    for (int i = 0; i < 3; i++) {
        collapsed_settings set = quick();
        set.answer.evaluated = set.answer.least_evaluated = 8;
        set.answer.pick_passes = i == 0 ? 1 : i == 1 ? 5 : 100;
        set.error = i == 2 ? 0.5 : 1e-9;
        bench b;
        result r;
        bench_init(&b, &data.alignment, &set, 1);
        run(&r, &b);
        const chain_answer *a = b.answer;
        assert_int_equal(a->next, a->n_picks);
        if (i == 2)
            assert_int_equal(a->passes, 1); /* an error of 0.35 is soon there */
        else
            assert_true(a->passes == set.answer.pick_passes ||
                        log_mean_error(&a->ratio) <= a->bridge.error / 2);
        const double stays = variance_that_stays(a, &r.check);
        check_near(r.check.state_ess, effective_states(a), 1e-9 * r.check.state_ess);
        check_near(pow(r.check.ratio_error, 2), variance_of_picks(a) + stays,
                   1e-9 * pow(r.check.ratio_error, 2));
        check_picked_trees(&r, a);
        if (i == 1) {
            assert_true(a->passes > 1 && a->n_picks > 8 && stays > 0 && !a->is_cut);
            assert_true(trees_picked(a) > a->n_picks / 2); /* others in every pass */
        }
        if (i == 2)
            posterior_free(&r.posterior);
        else
            *(i ? &often : &once) = r;
        bench_free(&b);
    }
    assert_true(often.check.ratio_error < 0.7 * once.check.ratio_error);
    check_near(often.evidence.log_evidence, once.evidence.log_evidence,
               4 * once.evidence.log_evidence_se);
    posterior_free(&once.posterior);
    posterior_free(&often.posterior);
    problem_free(&data);
}

/* Corrections that are nothing but chance count little, those of one sign for a split in full. */
static void corrections_count_by_what_they_are_worth(void **state)
{
    (void)state;
    small_alignment six;
    small_alignment_init(&six, 6,
                         (const char *[]){"AAGTC", "AAGTC", "AATTC", "AATTA", "CATTC", "CAGTA"});
    collapsed_settings set = quick();
    set.answer.pick_passes = 1;
    static double chance[MOST_PICKS], meant[MOST_PICKS];
    bench b;
    rng r = rng_at(8, RNG_TEST, 0, 0);
    bench_init(&b, &six.a, &set, 1);
    start(&b);
    while (advance(&b))
        continue;
    const chain_answer *a = b.answer;
    const double n = (double)a->next;
    assert_true(a->next > 50 && a->next <= MOST_PICKS);
    const uint64_t pair = 1 << 4 | 1 << 5; /* a split that half of the trees have, or less */
    double sum = 0, share = 0;
    for (size_t i = 0; i < a->next; i++) {
        const int32_t *decision = chain_answer_tree(a, (size_t)a->pick[i].tree).decision;
        sum += chance[i] = rng_normal(&r) / n;
        share += meant[i] = has_split(decision, &pair, 6) / n;
    }
    assert_true(share > 0.05 && share < 0.95);
    for (size_t i = 0; i < a->next; i++) {
        chance[i] -= sum / n;
        meant[i] = 0.4 * (meant[i] - share / n);
    }
    assert_true(part_that_counts(a, chance) < 0.6);
    assert_true(part_that_counts(a, meant) > 0.9);
    bench_free(&b);
}

static void check_same(const result *x, const result *y)
{
    const posterior *p = &x->posterior, *q = &y->posterior;
    assert_true(x->evidence.log_evidence == y->evidence.log_evidence);
    assert_true(x->evidence.log_evidence_se == y->evidence.log_evidence_se);
    assert_int_equal(p->count, q->count);
    assert_int_equal(p->trees.count, q->trees.count);
    assert_int_equal(p->splits.count, q->splits.count);
    const size_t edges = 2 * (size_t)p->trees.taxa.count - 3;
    assert_memory_equal(p->length, q->length, (size_t)p->count * edges * sizeof *p->length);
    assert_memory_equal(p->trees.weight, q->trees.weight, p->trees.count * sizeof(double));
    for (size_t i = 0; i < p->splits.count; i++)
        assert_true(split_frequency(&p->splits, i) == split_frequency(&q->splits, i) &&
                    split_frequency_error(&p->splits, i) == split_frequency_error(&q->splits, i));
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    problem data = problem_random(12, 20, 1, 1);
    const collapsed_settings set = quick();
    result one, three;
    bench b;
    bench_init(&b, &data.alignment, &set, 1);
    run(&one, &b);
    bench_free(&b);
    bench_init(&b, &data.alignment, &set, 3);
    run(&three, &b);
    bench_free(&b);
    check_same(&one, &three);
    posterior_free(&one.posterior);
    posterior_free(&three.posterior);
    problem_free(&data);
}

static void save(saved_state *s, bench *b)
{
    bool has_answer = b->answer != NULL;
    *s = (saved_state){0};
    state_bool(s, "has_answer", &has_answer);
    check_status(chain_stage_fields(b->chains, s));
    if (has_answer)
        check_status(chain_answer_fields(b->answer, s));
    state_turn(s, NULL);
}

static void load(bench *b, saved_state *s)
{
    bool has_answer = false;
    state_bool(s, "has_answer", &has_answer);
    check_status(chain_stage_fields(b->chains, s));
    if (has_answer) {
        check_status(chain_answer_create(&b->answer, b->chains, &b->names, &b->set));
        check_status(chain_answer_fields(b->answer, s));
    }
    check_status(saved_state_end(s));
    saved_state_free(s);
}

/* A run that is saved after every piece of work, and goes on in other memory. */
static void a_resumed_run_is_the_same(void **state)
{
    (void)state;
    problem data = problem_random(10, 15, 1, 2);
    collapsed_settings set = quick();
    set.chains.rounds.first_blocks = 64;
    set.answer.draws = 300;
    set.answer.evaluated = set.answer.least_evaluated = 4;
    set.answer.pick_passes = 3;
    set.error = 1e-9;
    result straight, resumed;
    bench b, next;
    bench_init(&b, &data.alignment, &set, 1);
    run(&straight, &b);
    bench_free(&b);
    bench_init(&b, &data.alignment, &set, 1);
    start(&b);
    int pieces = 0;
    while (advance(&b)) {
        saved_state s;
        save(&s, &b);
        bench_init(&next, &data.alignment, &set, 2);
        load(&next, &s);
        bench_free(&b);
        b = next;
        pieces++;
    }
    assert_true(pieces > 8);
    assert_true(b.answer->passes > 1);
    finish(&resumed, &b);
    bench_free(&b);
    check_same(&straight, &resumed);
    posterior_free(&straight.posterior);
    posterior_free(&resumed.posterior);
    problem_free(&data);
}

/* Chains that have done some pieces of work. */
static void begin(bench *b, const problem *data, const collapsed_settings *set, int pieces)
{
    bench_init(b, &data->alignment, set, 1);
    start(b);
    for (int i = 0; i < pieces; i++)
        advance(b);
}

/* However early it is asked to finish, there is a result; and the verdict says what it is worth. */
static void finishing_early(void **state)
{
    (void)state;
    problem data = problem_random(20, 12, 1, 3);
    const collapsed_settings set = quick();
    for (int pieces = 0; pieces < 6; pieces++) {
        bench b;
        result r;
        begin(&b, &data, &set, pieces);
        for (bool more = true; more;) {
            b.chains->rounds.finish_now = true;
            if (b.answer)
                chain_answer_end_lengths(b.answer);
            more = advance(&b);
        }
        finish(&r, &b);
        assert_true(isfinite(r.evidence.log_evidence));
        verdict v;
        verdict_init(&v);
        chain_verdict(&v, &r.check, chain_rounds_last(&b.chains->rounds), &r.evidence, &set, true,
                      true);
        if (pieces == 0)
            assert_false(v.converged); /* 16 states of each chain say nothing */
        posterior_free(&r.posterior);
        bench_free(&b);
    }
    problem_free(&data);
}

/* However early its time is over, there is a result. */
static void finishing_without_time(void **state)
{
    (void)state;
    problem data = problem_random(20, 12, 1, 3);
    const collapsed_settings set = quick();
    interrupt stop;
    interrupt_init(&stop);
    interrupt_ask(&stop);
    for (int pieces = 0; pieces < 8; pieces++) {
        bench b;
        result r;
        begin(&b, &data, &set, pieces);
        b.chains->rounds.finish_now = true;
        b.stop = &stop;
        while (advance(&b))
            ;
        finish(&r, &b);
        assert_true(isfinite(r.evidence.log_evidence));
        if (pieces == 0) { /* what there must be */
            assert_int_equal(b.answer->n_draws, 2);
            assert_int_equal(b.answer->next, 2);
        }
        posterior_free(&r.posterior);
        bench_free(&b);
    }
    problem_free(&data);
}

/* Blocks that a stop cuts short do not become states by the hundred: a piece of work ends with the
 * first. */
static void a_stop_ends_the_piece(void **state)
{
    (void)state;
    problem data = problem_random(8, 10, 1, 4);
    const collapsed_settings set = quick();
    bench b;
    interrupt stop;
    interrupt_init(&stop);
    bench_init(&b, &data.alignment, &set, 1);
    start(&b);
    check_status(chain_stage_advance(b.chains, &stop)); /* not due: the whole round, here */
    assert_int_equal(b.chains->rounds.blocks, set.chains.rounds.first_blocks);
    check_status(chain_stage_advance(b.chains, &stop)); /* the round ends */
    interrupt_ask(&stop);
    check_status(chain_stage_advance(b.chains, &stop));
    assert_int_equal(b.chains->rounds.blocks, set.chains.rounds.first_blocks + 1);
    assert_int_equal(b.chains->states.count, set.chains.rounds.first_blocks + 1);
    bench_free(&b);
    problem_free(&data);
}

/* Trees that are as good as impossible are compared with each other. */
static void trees_far_from_the_posterior(void **state)
{
    (void)state;
    problem data = problem_random(20, 12, 1, 3);
    const collapsed_settings set = quick();
    bench b;
    result r;
    bench_init(&b, &data.alignment, &set, 1);
    start(&b);
    while (advance(&b))
        ;
    chain_states *x = &b.chains->states;
    for (size_t i = 0; i < b.answer->n_draws; i++) { /* the weights stay as they are */
        b.answer->laplace[i] -= 5000;                /* exp(-5000) is no number */
        b.answer->log_q[i] -= 5000;
    }
    for (size_t i = 0; i < (size_t)x->n_chains * x->room; i++)
        x->value[i] -= 5000;
    finish(&r, &b);
    assert_true(r.posterior.trees.total > 0);
    check_near(r.posterior.trees.share, 0, 0);
    posterior_free(&r.posterior);
    bench_free(&b);
    problem_free(&data);
}

/* A tree that the chains do not come to is proposed if the search knows it as a peak; also by
 * chains that were saved before they had a density. */
static void peaks_are_proposed(void **state)
{
    (void)state;
    problem data = problem_random(12, 400, 1, 4);
    collapsed_settings set = quick();
    int32_t peak[2][9] = {{0}};
    double log_q[3];
    for (int k = 0; k < 9; k++)
        peak[1][k] = k;
    for (int known = 0; known < 3; known++) {
        bench b[2];
        bench_init(&b[0], &data.alignment, &set, 1);
        bench_init(&b[1], &data.alignment, &set, 1);
        if (known)
            check_status(chain_stage_set_peaks(b[0].chains, peak[0], 2));
        start(&b[0]);
        check_status(chain_stage_advance(b[0].chains, NULL));
        if (known == 2) { /* the second goes on where the first was saved */
            saved_state s = {0};
            check_status(chain_stage_fields(b[0].chains, &s));
            state_turn(&s, NULL);
            check_status(chain_stage_fields(b[1].chains, &s));
            check_status(saved_state_end(&s));
            saved_state_free(&s);
        }
        chain_stage *x = b[known == 2].chains;
        while (!x->proposal)
            check_status(chain_stage_advance(x, NULL));
        assert_int_equal(x->n_peaks, known ? 2 : 0);
        log_q[known] = tree_proposal_log_q(x->proposal, peak[1]);
        bench_free(&b[0]);
        bench_free(&b[1]);
    }
    assert_true(log_q[1] > log_q[0] + 10);
    check_near(log_q[2], log_q[1], 0);
    problem_free(&data);
}

/* States that are kept are evenly spaced, however many there were. */
static void states_are_thinned(void **state)
{
    (void)state;
    problem data = problem_random(8, 10, 1, 4);
    collapsed_settings set = quick();
    set.chains.room.most = set.chains.room.least = 16;
    bench b;
    bench_init(&b, &data.alignment, &set, 1);
    start(&b);
    while (!b.chains->rounds.is_done)
        check_status(chain_stage_advance(b.chains, NULL));
    const chain_states *x = &b.chains->states;
    assert_true(x->every >= 8 && x->count <= 16 && x->count >= 8);
    assert_int_equal((int64_t)x->count, b.chains->rounds.blocks / x->every);
    assert_true(chain_stage_fresh(b.chains) < x->count);
    bench_free(&b);
    problem_free(&data);
}

/* Where a fit that begins with equal lengths ends a nat above what the chains have of a tree, its
 * share e / (1 + e) is left out, and the verdict says so. */
static void other_modes_are_seen(void **state)
{
    (void)state;
    small_alignment six;
    small_alignment_init(&six, 6,
                         (const char *[]){"AAGTC", "AAGTC", "AATTC", "AATTA", "CATTC", "CAGTA"});
    const collapsed_settings set = quick();
    for (int is_lower = 0; is_lower < 2; is_lower++) {
        bench b;
        bench_init(&b, &six.a, &set, 1);
        start(&b);
        while (advance(&b) && !(b.answer && b.answer->stage == CHAIN_ANSWER_LENGTHS))
            continue;
        chain_answer *a = b.answer;
        double drawn = 0;
        for (size_t i = 0; i < a->n_draws; i++)
            a->laplace[i] -= is_lower;
        for (int i = 0; i < set.modes.trees; i++)
            drawn += (size_t)a->pick[i].tree < a->n_draws;
        while (advance(&b))
            continue;
        assert_true(drawn > 10);
        assert_int_equal(a->modes.looked, set.modes.trees);
        check_near(other_modes_share(&a->modes), is_lower * drawn / set.modes.trees / (1 + exp(-1)),
                   1e-3);
        bench_free(&b);
    }
}

static void verdicts(void **state)
{
    (void)state;
    const collapsed_settings set = collapsed_defaults(1);
    const chain_round good = {.asdsf = 0.01, .r_hat = 1.0, .ess_splits = 500, .ess_between = 500};
    const chain_check fine = {.overlap = 0.5, .pareto_k = 0.3, .ratio_k = 0.2, .tree_error = 0.01};
    const evidence e = {.log_evidence_se = 0.03}, precise = {.log_evidence_se = 0.01};
    const struct {
        chain_round round;
        chain_check check;
        bool is_cut, converged, has_error;
        int warnings;
    } row[] = {
        {good, fine, false, true, true, 1}, /* the error that was asked for is missed */
        {good, fine, true, true, true, 1},
        {{.asdsf = 0.06, .r_hat = 1, .ess_splits = 500, .ess_between = 500},
         fine,
         false,
         false,
         false,
         1},
        {{.asdsf = 0.01, .r_hat = NAN, .ess_splits = 500, .ess_between = 500},
         fine,
         false,
         false,
         false,
         1},
        {{.asdsf = 0.01, .r_hat = 1, .ess_splits = 500, .ess_between = 20},
         fine,
         false,
         false,
         false,
         1},
        {good, {.overlap = 0.001, .ratio_k = 0.2}, false, true, false, 1},
        {good, {.overlap = 0.5, .ratio_k = 0.9}, false, false, false, 1},
        {good, {.overlap = 0.5, .ratio_k = 0.2, .other_modes = 0.06}, false, false, false, 1},
        {good, {.overlap = 0.5, .ratio_k = 0.2, .other_modes = 0.04}, true, true, true, 1},
        {good,
         {.overlap = 0.5, .forward = 1, .forward_error = 0.1, .tree_error = 0.1},
         false,
         false,
         false,
         1},
        {good, /* weights without a variance: too low says nothing .. */
         {.overlap = 0.5, .forward = -1, .forward_error = 0.1, .tree_error = 0.1, .pareto_k = 0.6},
         false,
         true,
         true,
         1},
        {good, /* .. too high does */
         {.overlap = 0.5, .forward = 1, .forward_error = 0.1, .tree_error = 0.1, .pareto_k = 0.6},
         false,
         false,
         false,
         1},
        {good,
         {.overlap = 0.5, .forward = -1, .forward_error = 0.1, .tree_error = 0.1, .pareto_k = 0.4},
         false,
         false,
         false,
         1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        verdict v;
        verdict_init(&v);
        chain_verdict(&v, &row[i].check, &row[i].round, &e, &set, row[i].is_cut, true);
        assert_int_equal(v.converged, row[i].converged);
        assert_int_equal(v.has_evidence_error, row[i].has_error);
        assert_int_equal(v.n_warnings, row[i].warnings);
    }
    verdict v;
    verdict_init(&v);
    chain_verdict(&v, &fine, &good, &precise, &set, true, true);
    assert_true(v.converged && v.has_evidence_error && v.n_warnings == 0);
    for (int may_follow = 0; may_follow < 2; may_follow++) {
        verdict_init(&v);
        modes_verdict(&v, 0.06, &set.modes, may_follow);
        assert_false(v.converged);
        assert_int_equal(strstr(v.warning[0], "Allow more time") != NULL, may_follow);
    }
    for (int is_cut = 0; is_cut < 2; is_cut++) { /* more time is no use to chains that ended */
        const chain_round apart = {.asdsf = 0.06, .r_hat = 2};
        verdict_init(&v);
        chain_verdict(&v, &fine, &apart, &e, &set, is_cut, true);
        joint_verdict(&v, &apart, &e, &set, false, is_cut);
        failed_joint_verdict(&v, &apart, is_cut);
        assert_int_equal(v.n_fatal, 7);
        for (int i = 0; i < v.n_fatal; i++) {
            assert_int_equal(strstr(v.warning[i], "Allow more time.") != NULL, is_cut);
            assert_int_equal(strstr(v.warning[i], "with other seeds.") != NULL, !is_cut);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_are_exact),
        cmocka_unit_test(estimates_of_a_tree_are_averaged),
        cmocka_unit_test(trees_are_picked_until_they_are_enough),
        cmocka_unit_test(corrections_count_by_what_they_are_worth),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_resumed_run_is_the_same),
        cmocka_unit_test(finishing_early),
        cmocka_unit_test(finishing_without_time),
        cmocka_unit_test(a_stop_ends_the_piece),
        cmocka_unit_test(trees_far_from_the_posterior),
        cmocka_unit_test(peaks_are_proposed),
        cmocka_unit_test(states_are_thinned),
        cmocka_unit_test(other_modes_are_seen),
        cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
