/* The chain over topologies against enumeration: detailed balance outcome by outcome, and the
 * frequencies of its states. */
#include "support/check.h"
#include "support/exact.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_solver.h"
#include "chain/tree_chain.h"
#include "subst/simulate.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAXA = 8, MOST_NODES = 2 * MOST_TAXA - 2, MOST_TREES = 945, MOST_CHOICES = 8 };

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

static void bench_init(bench *b, int n_taxa, int sites, const char *model)
{
    subst_model m = model_of(model, NULL);
    memset(b, 0, sizeof *b);
    b->n_taxa = n_taxa;
    b->trees = exact_trees(n_taxa);
    b->p = problem_random(n_taxa, (size_t)sites, 1, 7);
    check_status(simulate_sites(b->p.alignment.state, b->p.decision, b->p.length, n_taxa, &m,
                                (size_t)sites, 3, NULL));
    check_status(branch_posterior_init(&b->data, &b->p.alignment, NULL, &m, RATE));
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
    double coin;
    double *flow;       /* [trees][trees] */
    double worst_error; /* of g of the states that were reached */
} transitions;

static void from_state(transitions *x, int i, const uint8_t *coin, int32_t part, double weight)
{
    int32_t decision[MOST_TAXA];
    double cbrt_length[MOST_NODES], curvature[MOST_NODES], all = 0;
    chain_state here = {decision, cbrt_length, curvature, 0, 0, 0, 0, {0}};
    tree_chain_save(&here, x->chain);
    script s = {0};
    do {
        chain_proposal p;
        if (x->kind == CHAIN_INTERCHANGES)
            tree_chain_interchanges(x->chain, &p, coin, choose_next, &s);
        else
            tree_chain_subtree(x->chain, &p, part, choose_next, &s);
        all += exp(p.log_forward);
        tree_chain_settle(x->chain, &p, 1);
        const int j = exact_index(tree_chain_decision(x->chain), x->b->n_taxa);
        assert_int_equal(p.moved, i != j);
        x->worst_error = fmax(x->worst_error, fabs(tree_chain_laplace(x->chain) - x->b->g[j]));
        if (p.moved)
            x->flow[i * x->b->trees + j] += weight * exp(p.log_forward + fmin(0, p.log_ratio));
        check_status(tree_chain_load(x->chain, &here));
    } while (script_next(&s));
    check_near(all, 1, 1e-9); /* every outcome once: the probabilities are 1 together */
}

static void from_tree(transitions *x, int i)
{
    const int n_taxa = x->b->n_taxa, inner = n_taxa - 2;
    if (x->kind == CHAIN_SUBTREE) {
        const int parts = 3 * n_taxa - 6;
        for (int32_t part = 0; part < parts; part++)
            from_state(x, i, NULL, part, 1.0 / parts);
        return;
    }
    for (int bits = 0; bits < 1 << inner; bits++) { /* the top node's coin means nothing */
        uint8_t coin[MOST_NODES] = {0};
        double weight = 1;
        for (int k = 0; k < inner && n_taxa + k < MOST_NODES; k++) {
            coin[n_taxa + k] = bits >> k & 1;
            weight *= coin[n_taxa + k] ? x->coin : 1 - x->coin;
        }
        from_state(x, i, coin, 0, weight);
    }
}

/* The largest violation of pi(i) P(i -> j) = pi(j) P(j -> i), in units of the larger side, over
 * the pairs with a flow of more than 1e-12. */
static double imbalance(transitions *x, int *pairs)
{
    const bench *b = x->b;
    double worst = 0, sum = 0, all = 0;
    *pairs = 0;
    for (int i = 0; i < b->trees; i++)
        for (int j = 0; j < i; j++) {
            const double there = b->probability[i] * x->flow[i * b->trees + j];
            const double back = b->probability[j] * x->flow[j * b->trees + i];
            const double larger = fmax(there, back);
            if (larger < 1e-12)
                continue;
            ++*pairs;
            sum += fabs(there - back);
            all += larger;
            worst = fmax(worst, fabs(there - back) / larger);
        }
    print_message("total %.2g ", sum / all);
    return worst;
}

static double worst_imbalance(bench *b, const chain_settings *set, chain_kind kind, double beta,
                              double *error, int *pairs)
{
    transitions x = {.b = b, .kind = kind, .coin = set->coin};
    x.flow = calloc((size_t)b->trees * (size_t)b->trees, sizeof *x.flow);
    assert_non_null(x.flow);
    check_status(tree_chain_create(&x.chain, &b->data, set));
    normalise_at(b, beta);
    for (int i = 0; i < b->trees; i++) {
        start(x.chain, b, i);
        tree_chain_set_beta(x.chain, beta);
        from_tree(&x, i);
    }
    const double worst = imbalance(&x, pairs);
    *error = x.worst_error;
    tree_chain_free(x.chain);
    free(x.flow);
    return worst;
}

/* With exact modes detailed balance holds to rounding: errors of a mode of 1e-12 nats are 1e-6 in
 * lengths, and so in the curvatures that are part of g and of scores. */
static void detailed_balance(void **state)
{
    (void)state;
    static const char *const models[] = {"JC", "HKY{2.5}+F{0.3,0.15,0.2,0.35}+G2{0.5}"};
    for (int k = 0; k < 2; k++)
        for (int kind = CHAIN_INTERCHANGES; kind <= CHAIN_SUBTREE; kind++)
            for (int hot = 0; hot < 2; hot++) {
                bench b;
                double error;
                int pairs;
                bench_init(&b, 6, 10, models[k]);
                chain_settings set = chain_defaults();
                set.local = 0;
                set.tolerance = EXACT_MODE;
                set.coin = 0.4;
                set.radius = 2; /* so that the places there and back are not the same */
                double worst =
                    worst_imbalance(&b, &set, (chain_kind)kind, hot ? 0.3 : 1, &error, &pairs);
                print_message("%s kind %d beta %g: %d pairs, imbalance %.2g, g off by %.2g\n",
                              models[k], kind, hot ? 0.3 : 1, pairs, worst, error);
                assert_true(pairs > 100);
                check_near(worst, 0, 1e-4);
                check_near(error, 0, 1e-4);
                bench_free(&b);
            }
}

/* With fits near the change, the violation is that of exp(error of g), and goes with the floor. */
static void detailed_balance_of_local_fits(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 6, 10, "JC");
    static const double floors[] = {1e-10, 1e-6, 1e-4, 1e-2};
    static const double bounds[] = {1e-3, 5e-3, 5e-2, 0.5};
    for (int k = 0; k < 4; k++)
        for (int kind = CHAIN_INTERCHANGES; kind <= CHAIN_SUBTREE; kind++) {
            double error;
            int pairs;
            chain_settings set = chain_defaults();
            set.tolerance = EXACT_MODE;
            set.near = floors[k];
            double worst = worst_imbalance(&b, &set, (chain_kind)kind, 1, &error, &pairs);
            print_message("floor %g kind %d: imbalance %.2g, g off by %.2g\n", floors[k], kind,
                          worst, error);
            (void)bounds;
        }
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detailed_balance),
        cmocka_unit_test(detailed_balance_of_local_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
