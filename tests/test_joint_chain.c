/* The chain over topologies with their branch lengths against exact posteriors: without data it has
 * to draw from the prior, with a few sites from what quadrature says. */
#include "support/check.h"
#include "support/exact.h"
#include "support/memory.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_solver.h"
#include "chain/convergence.h"
#include "chain/joint_chain.h"
#include "subst/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAXA = 24, MOST_EDGES = 2 * MOST_TAXA - 3, MOST_TREES = 105 };

#ifdef ART_SANITIZED /* ten times slower: less of the same */
enum { SAMPLES = 1000 };
#else
enum { SAMPLES = 6000 };
#endif

#define RATE   10.0
#define ERRORS 4.0 /* standard errors; seeds are fixed, so nothing fails by chance */

/* The mean of x [n], whose values are correlated, must be as expected. */
static void check_mean(const double *x, int n, double expected)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    const double ess = series_ess(x, (size_t)n);
    assert_true(ess > 40); /* else it says nothing */
    check_near(mean, expected, ERRORS * sqrt(variance / ess));
}

static void start(joint_chain *c, int n_taxa)
{
    int32_t decision[MOST_TAXA];
    double length[MOST_EDGES];
    balanced(decision, n_taxa);
    for (int e = 0; e < 2 * n_taxa - 3; e++)
        length[e] = 0.1;
    check_status(joint_chain_start(c, decision, length));
}

/* ---- without data ---- */

/* What is looked at: topologies, and sums over external and internal branches. */
typedef struct looks {
    double *split;               /* [SAMPLES] whether the tree is number 0 .. */
    double *number;              /* .. and the number over that of all */
    double *external, *internal; /* lengths of such branches, together */
    double *logs;                /* of all lengths */
} looks;

static void look(looks *l, int i, const joint_chain *c, int n_taxa)
{
    double length[MOST_EDGES];
    topology t;
    const int tree = exact_index(joint_chain_decision(c), n_taxa);
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, joint_chain_decision(c));
    joint_chain_lengths(length, c);
    l->split[i] = tree == 0;
    l->number[i] = (tree + 0.5) / exact_trees(n_taxa);
    l->external[i] = l->internal[i] = l->logs[i] = 0;
    for (int e = 0; e < 2 * n_taxa - 3; e++) {
        double *sum = topology_is_external(&t, edge_node(e, n_taxa)) ? l->external : l->internal;
        sum[i] += length[e];
        l->logs[i] += log(length[e]);
    }
    topology_free(&t);
}

static void draws_from_prior(joint_settings set, branch_prior prior, const double expected[3])
{
    enum { N = 6 };
    small_alignment data;
    branch_posterior p;
    joint_chain *c;
    double *memory = calloc(5 * SAMPLES, sizeof *memory);
    looks l = {memory, memory + SAMPLES, memory + 2 * SAMPLES, memory + 3 * SAMPLES,
               memory + 4 * SAMPLES};
    const subst_model model = model_of("JC", NULL);
    assert_non_null(memory);
    small_alignment_init(&data, N, (const char *[]){"-", "-", "-", "-", "-", "-"});
    check_status(branch_posterior_init(&p, &data.a, NULL, &model, prior));
    check_status(joint_chain_create(&c, &p, &set));
    start(c, N);
    for (int i = 0; i < SAMPLES; i++) {
        check_status(joint_chain_block(c, 5, 0, NULL));
        look(&l, i, c, N);
    }
    check_mean(l.split, SAMPLES, 1.0 / MOST_TREES);
    check_mean(l.number, SAMPLES, 0.5);
    check_mean(l.external, SAMPLES, expected[0]);
    check_mean(l.internal, SAMPLES, expected[1]);
    check_mean(l.logs, SAMPLES, expected[2]);
    joint_chain_free(c);
    branch_posterior_free(&p);
    free(memory);
}

/* Walks alone, subtree moves alone with several radii, both. */
static void prior_is_drawn(void **state)
{
    static const joint_settings SET[] = {
        {.block = 10, .walk = 0.6, .subtrees = 0, .radius = 1},
        {.block = 20, .walk = 0.2, .subtrees = 1, .radius = 1},
        {.block = 20, .walk = 0.2, .subtrees = 1, .radius = 2},
        {.block = 20, .walk = 0.2, .subtrees = 0.7, .radius = 3},
    };
    /* the mean of the logarithm of an exponential variable of mean 1 is minus Euler's constant */
    const double independent[] = {0.6, 0.3, 9 * (-0.57721566490153286 - log(RATE))};
    (void)state;
    for (size_t i = 0; i < sizeof SET / sizeof SET[0]; i++)
        draws_from_prior(SET[i], branch_prior_exponential(RATE), independent);
}

/* digamma, by its recurrence and series. */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 20; x++)
        sum -= 1 / x;
    return sum + log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
}

/* Lengths that depend on each other and on where the branch is. */
static void coupled_prior_is_drawn(void **state)
{
    const double shape = 3, rate = 2, a = 0.8, ratio = 1.5;
    const double all = 6 * a + 3 * a * ratio, mean = shape / rate;
    const double expected[] = {mean * 6 * a / all, mean * 3 * a * ratio / all,
                               9 * (digamma(shape) - log(rate) - digamma(all)) + 6 * digamma(a) +
                                   3 * digamma(a * ratio)};
    const branch_prior prior = branch_prior_gamma_dirichlet(shape, rate, a, ratio);
    (void)state;
    draws_from_prior((joint_settings){.block = 20, .walk = 0.6, .radius = 1}, prior, expected);
    draws_from_prior((joint_settings){.block = 40, .walk = 0.6, .subtrees = 1, .radius = 2}, prior,
                     expected);
}

/* Parameters without data: their priors. */
static void parameters_are_drawn(void **state)
{
    enum { N = 4, COLUMNS = 6 };
    small_alignment data;
    branch_posterior p;
    joint_chain *c;
    double *memory = calloc((COLUMNS + 1) * SAMPLES, sizeof *memory), value[COLUMNS];
    const free_model model = free_model_of("HKY+G4");
    const joint_settings set = {
        .block = 1, .walk = 0.6, .subtrees = 0.5, .radius = 1, .parameters = 100};
    (void)state;
    assert_non_null(memory);
    small_alignment_init(&data, N, (const char *[]){"-", "-", "-", "-"});
    check_status(
        branch_posterior_init_free(&p, &data.a, NULL, &model, branch_prior_exponential(RATE)));
    assert_int_equal(block_parameters_columns(&p.free), COLUMNS);
    check_status(joint_chain_create(&c, &p, &set));
    start(c, N);
    for (int i = 0; i < SAMPLES; i++) {
        double length[MOST_EDGES];
        check_status(joint_chain_block(c, 6, 0, NULL));
        block_parameters_values(value, &p.free, joint_chain_parameters(c));
        memory[i] = value[0] / (1 + value[0]); /* kappa, then frequencies, then alpha */
        for (int k = 1; k < COLUMNS; k++)
            memory[k * SAMPLES + i] = value[k];
        joint_chain_lengths(length, c);
        for (int e = 0; e < 2 * N - 3; e++)
            memory[COLUMNS * SAMPLES + i] += length[e];
    }
    check_mean(memory, SAMPLES, 0.5);
    for (int k = 1; k < 5; k++)
        check_mean(memory + k * SAMPLES, SAMPLES, 0.25);
    check_mean(memory + 5 * SAMPLES, SAMPLES, 1);
    check_mean(memory + 6 * SAMPLES, SAMPLES, 0.5);
    joint_chain_free(c);
    branch_posterior_free(&p);
    free(memory);
}

/* ---- with data ---- */

static void posterior_is_drawn(void **state)
{
    enum { N = 5, TREES = 15 };
    static const joint_settings SET[] = {
        {.block = 20, .walk = 0.4, .subtrees = 0, .radius = 1},
        {.block = 20, .walk = 0.2, .subtrees = 1, .radius = 2},
        {.block = 20, .walk = 0.2, .subtrees = 0.5, .radius = 2},
    };
    small_alignment data;
    branch_posterior p;
    double exact[TREES], *memory = calloc(SAMPLES, sizeof *memory);
    int *tree = calloc(SAMPLES, sizeof *tree);
    const subst_model model = model_of("JC", NULL);
    (void)state;
    assert_true(memory && tree);
    small_alignment_init(&data, N, (const char *[]){"AAGC", "AACT", "CATT", "CGTT", "GAAT"});
    exact_posterior(exact, &data.a, RATE);
    check_status(branch_posterior_init(&p, &data.a, NULL, &model, branch_prior_exponential(RATE)));
    for (size_t k = 0; k < sizeof SET / sizeof SET[0]; k++) {
        joint_chain *c;
        check_status(joint_chain_create(&c, &p, &SET[k]));
        start(c, N);
        for (int i = 0; i < SAMPLES; i++) {
            check_status(joint_chain_block(c, 7, (uint32_t)k, NULL));
            tree[i] = exact_index(joint_chain_decision(c), N);
        }
        int checked = 0;
        for (int t = 0; t < TREES; t++) {
            for (int i = 0; i < SAMPLES; i++)
                memory[i] = tree[i] == t;
            if (exact[t] < 0.01)
                continue;
            check_mean(memory, SAMPLES, exact[t]);
            checked++;
        }
        assert_true(checked >= 5);
        joint_chain_free(c);
    }
    branch_posterior_free(&p);
    free(memory);
    free(tree);
}

/* A problem of the usual kind: rates that differ, frequencies, free parameters. */
typedef struct usual {
    problem p;
    branch_posterior data;
} usual;

static void usual_init(usual *u, int n_taxa, const char *model)
{
    const free_model m = free_model_of(model);
    u->p = problem_random(n_taxa, 60, 1, 7);
    check_status(branch_posterior_init_free(&u->data, &u->p.alignment, NULL, &m,
                                            branch_prior_gamma_dirichlet(1, 0.1, 1, 1)));
}

static void usual_free(usual *u)
{
    branch_posterior_free(&u->data);
    problem_free(&u->p);
}

/* Partials that are kept over many changes, and the likelihood that comes of them, are those of the
 * tree; f too. */
static void likelihood_is_kept(void **state)
{
    usual u;
    joint_chain *c;
    branch_solver *s;
    branch_posterior view;
    double length[MOST_EDGES];
    joint_settings set = joint_defaults();
    (void)state;
    set.block = 15;
    set.walk = 0.3;
    usual_init(&u, MOST_TAXA, "HKY+G4");
    check_status(branch_posterior_view(&view, &u.data));
    check_status(branch_solver_create(&s, &view));
    check_status(joint_chain_create(&c, &u.data, &set));
    check_status(joint_chain_start(c, u.p.decision, u.p.length));
    for (int i = 0; i < 30; i++) {
        check_status(joint_chain_block(c, 8, 0, NULL));
        branch_posterior_move(&view, joint_chain_parameters(c));
        joint_chain_lengths(length, c);
        branch_solver_set(s, joint_chain_decision(c), length);
        const double value = branch_solver_value(s);
        check_near(joint_chain_log_likelihood(c), value, 1e-10 * fabs(value)); /* roundings */
        check_near(joint_chain_log_density(c), branch_solver_density(s, value), 1e-9 * fabs(value));
    }
    const joint_counts *n = joint_chain_counts(c);
    for (int k = 0; k < JOINT_KINDS; k++)
        assert_true(n->accepted[k] > 0 && n->accepted[k] < n->tried[k]);
    assert_true(n->moved > 0);
    joint_chain_free(c);
    branch_solver_free(s);
    branch_posterior_view_free(&view);
    usual_free(&u);
}

typedef struct kept {
    int32_t decision[MOST_TAXA];
    double cbrt_length[MOST_EDGES], parameter[16];
    joint_state state;
} kept;

static void save(kept *k, const joint_chain *c)
{
    memset(k, 0, sizeof *k);
    k->state = (joint_state){
        .decision = k->decision, .cbrt_length = k->cbrt_length, .parameter = k->parameter};
    joint_chain_save(&k->state, c);
}

static void check_same(const kept *a, const kept *b)
{
    assert_memory_equal(a->decision, b->decision, sizeof a->decision);
    assert_memory_equal(a->cbrt_length, b->cbrt_length, sizeof a->cbrt_length);
    assert_memory_equal(a->parameter, b->parameter, sizeof a->parameter);
    assert_memory_equal(&a->state.log_likelihood, &b->state.log_likelihood, sizeof(double));
    assert_memory_equal(&a->state.counts, &b->state.counts, sizeof a->state.counts);
}

/* A chain that was saved goes on as if it had not been. */
static void goes_on_the_same(void **state)
{
    usual u;
    joint_chain *a, *b;
    kept middle, end, again;
    joint_settings set = joint_defaults();
    (void)state;
    set.block = 10;
    usual_init(&u, 12, "GTR+I+G4");
    check_status(joint_chain_create(&a, &u.data, &set));
    check_status(joint_chain_create(&b, &u.data, &set));
    check_status(joint_chain_start(a, u.p.decision, u.p.length));
    for (int i = 0; i < 5; i++)
        check_status(joint_chain_block(a, 9, 3, NULL));
    save(&middle, a);
    for (int i = 0; i < 5; i++)
        check_status(joint_chain_block(a, 9, 3, NULL));
    save(&end, a);
    check_status(joint_chain_load(b, &middle.state));
    for (int i = 0; i < 5; i++)
        check_status(joint_chain_block(b, 9, 3, NULL));
    save(&again, b);
    check_same(&end, &again);
    middle.cbrt_length[3] = -1;
    assert_int_equal(joint_chain_load(b, &middle.state), ART_ERR_USAGE);
    middle.cbrt_length[3] = 0.1;
    middle.decision[2] = 99;
    assert_int_equal(joint_chain_load(b, &middle.state), ART_ERR_USAGE);
    joint_chain_free(a);
    joint_chain_free(b);
    usual_free(&u);
}

static void bad_settings_and_no_memory(void **state)
{
    usual u;
    joint_chain *c;
    joint_settings set = joint_defaults();
    (void)state;
    usual_init(&u, 8, "HKY+G4");
    set.radius = 9;
    assert_int_equal(joint_chain_create(&c, &u.data, &set), ART_ERR_USAGE);
    set = joint_defaults();
    set.subtrees = 1.5;
    assert_int_equal(joint_chain_create(&c, &u.data, &set), ART_ERR_USAGE);
    set = joint_defaults();
    const long before = memory_count();
    check_status(joint_chain_create(&c, &u.data, &set));
    const long all = memory_count() - before;
    joint_chain_free(c);
    for (long k = 1; k <= all; k++) {
        memory_fail_at(k);
        assert_int_equal(joint_chain_create(&c, &u.data, &set), ART_ERR_NOMEM);
        assert_null(c);
    }
    memory_fail_at(0);
    usual_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prior_is_drawn),
        cmocka_unit_test(coupled_prior_is_drawn),
        cmocka_unit_test(parameters_are_drawn),
        cmocka_unit_test(posterior_is_drawn),
        cmocka_unit_test(likelihood_is_kept),
        cmocka_unit_test(goes_on_the_same),
        cmocka_unit_test(bad_settings_and_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
