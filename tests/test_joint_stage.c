/* Chains over topologies with their lengths as a part of inference: the posterior that they give
 * against the exact one, on any number of threads, saved and loaded. */
#include "support/check.h"
#include "support/exact.h"
#include "support/memory.h"
#include "support/problem.h"
#include "support/state.h"

#include "artreeformer.h"
#include "collapsed/joint_stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, D = N - 3, E = 2 * N - 3, CHAINS = 4, TREES = 15, ROWS = 200 };

#define RATE 10.0

typedef struct bench {
    small_alignment data;
    branch_posterior problem;
    taxa names;
    joint_stage_settings set;
} bench;

static void bench_init(bench *b, const char *model)
{
    const free_model m = free_model_of(model);
    small_alignment_init(&b->data, N, (const char *[]){"AAGC", "AACT", "CATT", "CGTT", "GAAT"});
    check_status(branch_posterior_init_free(&b->problem, &b->data.a, NULL, &m,
                                            branch_prior_exponential(RATE)));
    taxa_init(&b->names);
    for (int i = 0; i < N; i++)
        check_status(taxa_add(&b->names, b->data.a.name[i], strlen(b->data.a.name[i])));
    b->set = collapsed_defaults(1).joint;
    b->set.chain.block = 20;
    b->set.least_whole = 0; /* blocks as they are said */
    b->set.least_block = 1;
    b->set.chain.walk = 0.4;
    b->set.chain.subtrees = 0.5;
    b->set.chain.radius = 2;
    b->set.rounds.most = 3;
}

static void bench_free(bench *b)
{
    branch_posterior_free(&b->problem);
    taxa_free(&b->names);
}

static joint_stage *begin(const bench *b, pool *threads)
{
    joint_stage *s;
    double length[CHAINS * E];
    int32_t decision[CHAINS * D];
    check_status(joint_stage_create(&s, &b->problem, &b->set, 4, threads));
    assert_int_equal(b->set.chains, CHAINS);
    for (int e = 0; e < CHAINS * E; e++)
        length[e] = 0.1;
    for (int i = 0; i < CHAINS; i++)
        exact_tree(decision + i * D, 3 * i, N);
    check_status(joint_stage_start(s, decision, length));
    return s;
}

static void run_to_end(joint_stage *s)
{
    while (!s->rounds.is_done)
        check_status(joint_stage_advance(s, NULL));
}

/* The rows are states, in their order and each at most once; they and the mean of the tree length
 * are worth less than their number. */
static void check_rows(const posterior *p, const joint_stage *s, const evidence *e)
{
    const chain_states *x = &s->states;
    const size_t first = chain_states_first(x), each = x->count - first;
    size_t row = 0;
    for (size_t c = 0; c < CHAINS; c++)
        for (size_t i = 0; i < each; i++) {
            const size_t at = chain_states_at(x, (int)c, first + i);
            row += row < (size_t)p->count &&
                   memcmp(p->length + row * E, x->length + at * E, E * sizeof *x->length) == 0;
        }
    assert_int_equal(row, p->count);
    assert_true(p->sample_ess <= p->count && p->sample_ess <= e->ess);
    const double sd = weighted_deviation(&p->column[0]), error = weighted_mean_error(&p->column[0]);
    assert_true(error > 1.2 * sd / sqrt((double)(CHAINS * each)));
}

/* Probabilities of trees and splits, with errors that hold. */
static void posterior_is_exact(void **state)
{
    bench b;
    posterior p;
    evidence e;
    double exact[TREES];
    (void)state;
    bench_init(&b, "JC");
    b.set.rounds.first_blocks = 1000;
    b.set.chain.block = 1;  /* so that states depend on each other */
    b.set.rounds.asdsf = 0; /* all rounds */
    exact_posterior(exact, &b.data.a, RATE);
    joint_stage *s = begin(&b, NULL);
    run_to_end(s);
    assert_int_equal(s->rounds.count, 3);
    assert_int_equal(s->rounds.blocks, 4000);
    check_status(joint_stage_finish(s, &b.names, ROWS, &e, &p));
    assert_true(isnan(e.log_evidence) && e.ess > 400);
    assert_int_equal(p.count, ROWS);
    check_rows(&p, s, &e);
    for (int t = 0; t < TREES; t++) {
        int32_t decision[D];
        exact_tree(decision, t, N);
        const int64_t at = tree_set_find(&p.trees, decision);
        const double found = at < 0 ? 0 : p.trees.weight[at];
        check_near(found, exact[t], 4 * sqrt((exact[t] * (1 - exact[t]) + 1e-4) / e.ess));
    }
    check_near(p.trees.share, 1, 1e-3); /* hardly a tree was met once */
    for (size_t i = 0; i < p.splits.count; i++) {
        const uint64_t *bits = split_table_bits(&p.splits, i);
        if (split_is_trivial(bits, N))
            continue;
        double truth = 0;
        split_table one;
        for (int t = 0; t < TREES; t++) {
            int32_t decision[D];
            exact_tree(decision, t, N);
            check_status(split_table_init(&one, N));
            check_status(split_table_add(&one, decision, NULL, 1));
            truth += split_table_find(&one, bits) >= 0 ? exact[t] : 0;
            split_table_free(&one);
        }
        const double error = split_frequency_error(&p.splits, i);
        assert_true(error > 0 && error < 0.05);
        check_near(split_frequency(&p.splits, i), truth, 4 * error);
        assert_true(p.splits.mean[i] > 0);
    }
    posterior_free(&p);
    joint_stage_free(s);
    bench_free(&b);
}

static void check_same_states(const joint_stage *a, const joint_stage *b)
{
    const chain_states *x = &a->states, *y = &b->states;
    assert_int_equal(a->rounds.blocks, b->rounds.blocks);
    assert_int_equal(x->count, y->count);
    for (int c = 0; c < x->n_chains; c++) {
        const size_t at = chain_states_at(x, c, 0);
        assert_memory_equal(x->decision + at * D, y->decision + at * D,
                            x->count * D * sizeof *x->decision);
        assert_memory_equal(x->value + at, y->value + at, x->count * sizeof *x->value);
        assert_memory_equal(x->length + at * E, y->length + at * E,
                            x->count * E * sizeof *x->length);
        assert_memory_equal(x->parameter + at * x->n_free, y->parameter + at * x->n_free,
                            x->count * x->n_free * sizeof *x->parameter);
    }
    assert_memory_equal(a->rounds.round, b->rounds.round, sizeof a->rounds.round);
}

/* The same bytes on two threads, and after being saved and loaded in the middle of a round; states
 * are thinned on the way. */
static void goes_on_the_same(void **state)
{
    bench b;
    pool *threads;
    (void)state;
    bench_init(&b, "HKY+G4");
    b.set.rounds.first_blocks = 64;
    b.set.room.least = b.set.room.most = 48;
    b.set.ess = 1e9;
    check_status(pool_create(&threads, 2));
    joint_stage *one = begin(&b, NULL), *two = begin(&b, threads), *loaded;
    check_status(joint_stage_create(&loaded, &b.problem, &b.set, 4, NULL));
    while (one->rounds.blocks < 40)
        check_status(joint_stage_advance(one, NULL));
    saved_state file = {0};
    check_status(joint_stage_fields(one, &file));
    state_turn(&file, NULL);
    check_status(joint_stage_fields(loaded, &file));
    check_status(saved_state_end(&file));
    saved_state_free(&file);
    run_to_end(one);
    run_to_end(two);
    run_to_end(loaded);
    assert_int_equal(one->states.every, 8); /* 256 blocks in room for 48 */
    check_same_states(one, two);
    check_same_states(one, loaded);
    joint_stage_free(one);
    joint_stage_free(two);
    joint_stage_free(loaded);
    pool_free(threads);
    bench_free(&b);
}

/* A block that a stop cuts short ends the piece of work. */
static void a_stop_ends_the_piece(void **state)
{
    bench b;
    interrupt stop;
    (void)state;
    bench_init(&b, "JC");
    interrupt_init(&stop);
    joint_stage *s = begin(&b, NULL);
    check_status(joint_stage_advance(s, &stop)); /* not due: many blocks */
    const int64_t before = s->rounds.blocks;
    assert_true(before > 8 && before < b.set.rounds.first_blocks + 1);
    if (before == b.set.rounds.first_blocks)
        check_status(joint_stage_advance(s, &stop)); /* the round ends */
    interrupt_ask(&stop);
    check_status(joint_stage_advance(s, &stop));
    assert_int_equal(s->rounds.blocks, before + 1);
    assert_int_equal(s->states.count, before + 1);
    joint_stage_free(s);
    bench_free(&b);
}

/* Asked to finish, it ends its round at once, and has results. */
static void finishes_early(void **state)
{
    bench b;
    posterior p;
    evidence e;
    (void)state;
    bench_init(&b, "JC");
    b.set.rounds.first_blocks = 100000;
    joint_stage *s = begin(&b, NULL);
    s->rounds.finish_now = true;
    run_to_end(s);
    assert_int_equal(s->rounds.count, 1);
    assert_true(s->states.count >= b.set.rounds.shortest && s->rounds.blocks < 100000);
    check_status(joint_stage_finish(s, &b.names, ROWS, &e, &p));
    assert_int_equal(p.count, ROWS);
    posterior_free(&p);
    joint_stage_free(s);
    bench_free(&b);
}

/* Chains that agree about trees and likelihoods are seen to differ in a parameter, and in length.
 */
static void every_number_is_compared(void **state)
{
    bench b;
    (void)state;
    bench_init(&b, "HKY+G4");
    joint_stage *s = begin(&b, NULL);
    run_to_end(s);
    chain_states *x = &s->states;
    chain_round before = {0}, after = {0}, longer = {0};
    check_status(chain_round_compare(&before, x, N));
    for (size_t i = 0; i < x->count; i++)
        x->parameter[chain_states_at(x, 1, i) * x->n_free + x->n_free - 1] += 100;
    check_status(chain_round_compare(&after, x, N));
    assert_true(before.r_hat < 2 && after.r_hat > 2);
    check_near(after.asdsf, before.asdsf, 0);
    for (size_t i = 0; i < x->count; i++) {
        x->parameter[chain_states_at(x, 1, i) * x->n_free + x->n_free - 1] -= 100;
        x->length[chain_states_at(x, 1, i) * E] += 100;
    }
    check_status(chain_round_compare(&longer, x, N));
    assert_true(longer.r_hat > 2);
    joint_stage_free(s);
    bench_free(&b);
}

static void sizes_of_blocks(void **state)
{
    (void)state;
    const joint_stage_settings set = collapsed_defaults(1).joint;
    static const int count[] = {4, 16, 50, 100, 400, 800, 100000};
    static const int steps[] = {16, 16, 50, 100, 100, 50, 16};
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        assert_int_equal(joint_stage_block(&set, count[i]), steps[i]);
}

static void bad_settings_and_no_memory(void **state)
{
    bench b;
    joint_stage *s;
    (void)state;
    bench_init(&b, "HKY+G4");
    b.set.chains = 1;
    assert_int_equal(joint_stage_create(&s, &b.problem, &b.set, 1, NULL), ART_ERR_USAGE);
    b.set.chains = 2;
    const long before = memory_count();
    check_status(joint_stage_create(&s, &b.problem, &b.set, 1, NULL));
    const long all = memory_count() - before;
    joint_stage_free(s);
    for (long k = 1; k <= all; k++) {
        memory_fail_at(k);
        assert_int_equal(joint_stage_create(&s, &b.problem, &b.set, 1, NULL), ART_ERR_NOMEM);
        assert_null(s);
    }
    memory_fail_at(0);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posterior_is_exact),
        cmocka_unit_test(goes_on_the_same),
        cmocka_unit_test(finishes_early),
        cmocka_unit_test(a_stop_ends_the_piece),
        cmocka_unit_test(every_number_is_compared),
        cmocka_unit_test(sizes_of_blocks),
        cmocka_unit_test(bad_settings_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
