/* Problems of several blocks: an alignment that is cut into blocks stays the same problem, and
 * blocks with models and rates of their own are what their formulas say. */
#include "support/check.h"
#include "support/exact.h"
#include "support/models.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "branch/branch_hessian.h"
#include "branch/branch_moves.h"
#include "branch/climb.h"
#include "branch/length_scale.h"
#include "branch/parameter_mode.h"
#include "branch/topology_evidence.h"
#include "branch/tree_optimum.h"
#include "collapsed/final_sampling.h"
#include "collapsed/parameter_stage.h"
#include "collapsed/sampler_state.h"
#include "lik/likelihood.h"
#include "subst/simulate.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE 10.0

enum { MOST_BLOCKS = 12 };

/* The columns from .. to - 1 of an alignment. */
static alignment cut(const alignment *a, size_t from, size_t to)
{
    alignment out = {.n_taxa = a->n_taxa, .n_patterns = to - from, .n_sites = to - from};
    const size_t n = out.n_patterns;
    out.state = malloc((size_t)a->n_taxa * n);
    out.weight = malloc(n * sizeof *out.weight);
    for (size_t i = 0; i < (size_t)a->n_taxa; i++)
        memcpy(out.state + i * n, a->state + i * a->n_patterns + from, n);
    memcpy(out.weight, a->weight + from, n * sizeof *out.weight);
    return out;
}

/* An alignment in K blocks. */
typedef struct blocks {
    problem data;
    int n_blocks;
    alignment part[MOST_BLOCKS];
    free_model model[MOST_BLOCKS];
    block_source source[MOST_BLOCKS];
    branch_posterior p;
} blocks;

/* Cuts b->data, the first columns[0] of its columns for block 0 and so on, and makes the problem
 * with these models, multipliers (NULL for 1 each) and prior. */
static void blocks_make(blocks *b, int n_blocks, const size_t *columns, const char *const *model,
                        const double *multiplier, bool multipliers_free, branch_prior prior)
{
    size_t from = 0;
    b->n_blocks = n_blocks;
    for (int k = 0; k < n_blocks; k++) {
        b->part[k] = cut(&b->data.alignment, from, from + columns[k]);
        b->model[k] = free_model_of(model[k]);
        b->source[k] = (block_source){&b->part[k], &b->model[k], multiplier ? multiplier[k] : 1};
        from += columns[k];
    }
    assert_int_equal(from, b->data.alignment.n_patterns);
    check_status(
        branch_posterior_init_blocks(&b->p, b->source, n_blocks, multipliers_free, NULL, prior));
}

static void blocks_free(blocks *b)
{
    branch_posterior_free(&b->p);
    for (int k = 0; k < b->n_blocks; k++) {
        free(b->part[k].state);
        free(b->part[k].weight);
    }
    problem_free(&b->data);
}

/* One problem, whole and in two or three blocks of sizes that do not fill their tiles. */
typedef struct pair {
    branch_posterior whole;
    blocks cut;
    int n_taxa;
} pair;

static void pair_init(pair *x, const char *model, int n_taxa, int n_blocks, branch_prior prior,
                      uint32_t seed)
{
    static const size_t COLUMNS[][3] = {{37, 203}, {70, 129, 41}};
    const char *const models[] = {model, model, model};
    const free_model f = free_model_of(model);
    memset(x, 0, sizeof *x);
    x->n_taxa = n_taxa;
    x->cut.data = problem_random(n_taxa, 240, 1, seed);
    check_status(branch_posterior_init_free(&x->whole, &x->cut.data.alignment, NULL, &f, prior));
    blocks_make(&x->cut, n_blocks, COLUMNS[n_blocks - 2], models, NULL, false, prior);
    assert_int_equal(x->cut.p.n_blocks, n_blocks);
    check_near(x->cut.p.n_sites, x->whole.n_sites, 0);
}

static void pair_free(pair *x)
{
    branch_posterior_free(&x->whole);
    blocks_free(&x->cut);
}

static const branch_posterior *member(const pair *x, int i)
{
    return i ? &x->cut.p : &x->whole;
}

/* What both have, with the tolerance of sums in another order: values of thousands, to 1e-12. */
static void check_same(double a, double b)
{
    check_near(a, b, 1e-11 * (1 + fabs(b)));
}

static const char *const FIXED[] = {"JC", "JC+I{0.2}+G3{0.7}",
                                    "HKY{2.5}+F{0.3,0.15,0.2,0.35}+I{0.1}+G4{0.5}"};
enum { N_FIXED = sizeof FIXED / sizeof *FIXED };

/* Likelihood, derivatives by every branch, the Hessian; 150 taxa have their partials scaled. */
static void derivatives_of_a_cut_alignment(void **state)
{
    (void)state;
    static const int TAXA[] = {9, 150};
    for (int i = 0; i < 2 * N_FIXED; i++) {
        const int n_taxa = TAXA[i % 2];
        pair x;
        pair_init(&x, FIXED[i / 2], n_taxa, 2 + i / 2 % 2, branch_prior_exponential(RATE), 5);
        const int edges = x.whole.n_edges;
        const size_t size = (size_t)(edges * edges + 3 * edges) * sizeof(double);
        double *numbers[2], value[2];
        for (int m = 0; m < 2; m++) {
            const branch_posterior *p = member(&x, m);
            double *hessian = numbers[m] = malloc(size), *gradient = hessian + edges * edges;
            double *slope = gradient + edges, out[2];
            branch_solver *s;
            branch_hessian *h;
            check_status(branch_solver_create(&s, p));
            check_status(branch_hessian_create(&h, p));
            branch_solver_set(s, x.cut.data.decision, x.cut.data.length);
            value[m] = branch_solver_value(s);
            branch_solver_refresh(s);
            branch_hessian_compute(h, gradient, hessian, s);
            for (int e = 0; e < edges; e++) {
                branch_solver_slopes(out, s, edge_node(e, n_taxa));
                slope[2 * e] = out[0];
                slope[2 * e + 1] = out[1];
            }
            branch_hessian_free(h);
            branch_solver_free(s);
        }
        check_same(value[1], value[0]);
        for (size_t k = 0; k < size / sizeof(double); k++)
            check_near(numbers[1][k], numbers[0][k], 1e-9 * (1 + fabs(numbers[0][k])));
        for (int m = 0; m < 2; m++)
            free(numbers[m]);
        pair_free(&x);
    }
}

/* Modes, their diagonal and full Laplace approximations, and draws from one stream. */
static void evidence_of_a_cut_alignment(void **state)
{
    (void)state;
    for (int k = 0; k < N_FIXED; k++) {
        pair x;
        pair_init(&x, FIXED[k], 9, 2 + k % 2, branch_prior_exponential(RATE), 6);
        double mode[2][64];
        topology_evidence *t[2];
        log_mean mean[2] = {{0}};
        for (int m = 0; m < 2; m++) {
            for (int e = 0; e < x.whole.n_edges; e++)
                mode[m][e] = 0.1;
            check_status(topology_evidence_create(&t[m], member(&x, m)));
            check_status(topology_evidence_mode(t[m], x.cut.data.decision, mode[m], 1e-10));
            check_status(topology_evidence_proposal(t[m], EVIDENCE_FULL));
            topology_evidence_sample(t[m], &mean[m], (length_draws){0}, 200,
                                     rng_at(3, RNG_TEST, 1, 1));
        }
        for (int e = 0; e < x.whole.n_edges; e++)
            check_near(mode[1][e], mode[0][e], 1e-9);
        check_near(t[1]->laplace, t[0]->laplace, 1e-8);
        check_near(t[1]->full_laplace, t[0]->full_laplace, 1e-8);
        check_near(log_mean_value(&mean[1]), log_mean_value(&mean[0]), 1e-7);
        topology_evidence_free(t[0]);
        topology_evidence_free(t[1]);
        pair_free(&x);
    }
}

typedef struct scores {
    int count;
    struct {
        int32_t v, w;
        double score;
    } move[4096];
} scores;

static void add_score(void *context, int32_t v, int32_t w, double score)
{
    scores *s = context;
    assert_true(s->count < 4096);
    s->move[s->count].v = v;
    s->move[s->count].w = w;
    s->move[s->count++].score = score;
}

/* Scores of all moves, with independent lengths and with a prior that couples them. Of a fit that
 * ends a step earlier or later by rounding scores would differ by 1e-6. */
static void moves_of_a_cut_alignment(void **state)
{
    (void)state;
    const branch_prior prior[] = {branch_prior_exponential(RATE),
                                  branch_prior_gamma_dirichlet(1, 0.1, 1, 1)};
    scores *found = malloc(2 * sizeof *found);
    for (int k = 0; k < N_FIXED; k++) {
        pair x;
        pair_init(&x, FIXED[k], 9, 2 + k % 2, prior[k % 2], 7);
        memset(found, 0, 2 * sizeof *found);
        for (int m = 0; m < 2; m++) {
            branch_solver *s;
            branch_moves *moves;
            check_status(branch_solver_create(&s, member(&x, m)));
            check_status(branch_moves_create(&moves, member(&x, m), 5));
            branch_solver_set(s, x.cut.data.decision, x.cut.data.length);
            check_status(branch_solver_mode(s, 1e-10));
            check_status(branch_solver_inspect(s));
            branch_moves_begin(moves, s);
            for (int32_t v = 0; v < topology_nodes(9); v++)
                for (int which = 0; topology_has_nni(&s->tree, v) && which < 2; which++)
                    add_score(&found[m], v, which, branch_moves_nni(moves, v, which, -HUGE_VAL));
            branch_moves_spr(moves, -HUGE_VAL, add_score, &found[m]);
            branch_moves_free(moves);
            branch_solver_free(s);
        }
        assert_int_equal(found[0].count, found[1].count);
        assert_true(found[0].count > 100);
        for (int i = 0; i < found[0].count; i++) {
            assert_int_equal(found[0].move[i].v, found[1].move[i].v);
            assert_int_equal(found[0].move[i].w, found[1].move[i].w);
            check_near(found[1].move[i].score, found[0].move[i].score, 1e-6);
        }
        pair_free(&x);
    }
    free(found);
}

/* A climb, which rests on local fits, ends at the same tree. */
static void climbs_of_a_cut_alignment(void **state)
{
    (void)state;
    const climb_settings set = climb_defaults();
    for (int k = 0; k < N_FIXED; k++) {
        pair x;
        pair_init(&x, FIXED[k], 12, 2 + k % 2, branch_prior_exponential(RATE), 8);
        int32_t decision[2][12];
        double length[2][64], value[2];
        for (int m = 0; m < 2; m++) {
            branch_solver *s;
            branch_moves *moves;
            climb *c;
            check_status(branch_solver_create(&s, member(&x, m)));
            check_status(branch_moves_create(&moves, member(&x, m), 6));
            check_status(climb_create(&c, s, moves, &set));
            memcpy(decision[m], x.cut.data.decision, 9 * sizeof **decision);
            for (int e = 0; e < x.whole.n_edges; e++)
                length[m][e] = 0.1;
            climb_tree t = {decision[m], length[m], 0};
            check_status(climb_run(c, &t, NULL));
            value[m] = t.laplace;
            climb_free(c);
            branch_moves_free(moves);
            branch_solver_free(s);
        }
        assert_memory_equal(decision[0], decision[1], 9 * sizeof **decision);
        check_near(value[1], value[0], 1e-6);
        pair_free(&x);
    }
}

/* Blocks that differ: JC, a model with fixed and free parameters, one with all free. */
static const char *const MIXED[] = {"JC", "HKY{2}+G4", "GTR+I+G4"};
static const double MULTIPLIER[] = {0.5, 1.3, 2.1};
static const size_t COLUMNS[] = {50, 90, 70};
enum { N_MIXED = 3, MOST_FREE = 20 };

static void mixed_init(blocks *b, int n_taxa, bool multipliers_free, branch_prior prior)
{
    memset(b, 0, sizeof *b);
    b->data = problem_random(n_taxa, 210, 1, 9);
    blocks_make(b, N_MIXED, COLUMNS, MIXED, MULTIPLIER, multipliers_free, prior);
    assert_int_equal(b->p.free.n_free, 0 + 4 + 10 + (multipliers_free ? 2 : 0));
}

static void some_z(double *z, const branch_posterior *p, uint32_t number)
{
    rng stream = rng_at(2, RNG_TEST, 78, number);
    block_parameters_start(z, &p->free);
    for (int k = 0; k < p->free.n_free; k++)
        z[k] *= exp(0.2 * rng_normal(&stream)); /* cube roots stay positive */
}

/* The log-likelihood by the reference, block by block, at lengths m_k b. */
static double reference_value(const blocks *b, const double *length, const double *z)
{
    double own[512], value, sum = 0;
    for (int k = 0; k < b->n_blocks; k++) {
        const parameter_block *parameters = &b->p.free.block[k];
        const double multiplier = block_parameters_multiplier(&b->p.free, z, k);
        subst_model m;
        free_model_at(&m, &b->model[k], z + parameters->first);
        for (int e = 0; e < b->p.n_edges; e++)
            own[e] = multiplier * length[e];
        check_status(likelihood_ref(&value, NULL, &b->part[k], NULL, &m, b->data.decision, own));
        sum += value;
    }
    return sum;
}

/* f(x, z) */
static double reference_density(const blocks *b, const double *x, const double *z)
{
    double length[512], sum = block_parameters_log_prior(&b->p.free, z);
    for (int e = 0; e < b->p.n_edges; e++) {
        length[e] = length_scale_length(x[e]);
        sum += log(RATE) - RATE * length[e] + length_scale_log_jacobian(x[e]);
    }
    return sum + reference_value(b, length, z);
}

static void likelihoods_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        blocks b;
        mixed_init(&b, 9, i, branch_prior_exponential(RATE));
        for (int level = CPU_GENERIC; level <= (int)cpu_best(); level++) {
            branch_posterior view;
            branch_solver *s;
            double z[MOST_FREE];
            check_status(branch_posterior_view(&view, &b.p));
            branch_posterior_use(&view, (cpu_level)level);
            some_z(z, &b.p, (uint32_t)level);
            branch_posterior_move(&view, z);
            for (int k = 0; k < N_MIXED && !i; k++)
                check_near(view.block[k].multiplier, MULTIPLIER[k], 0);
            check_status(branch_solver_create(&s, &view));
            branch_solver_set(s, b.data.decision, b.data.length);
            check_same(branch_solver_value(s), reference_value(&b, b.data.length, z));
            branch_solver_free(s);
            branch_posterior_view_free(&view);
        }
        blocks_free(&b);
    }
}

/* Signed differences of the reference density in every branch, every parameter of every block and
 * the multipliers. The error of a central difference with step h is h^2 times the third
 * derivative, of the order of the number of sites. */
static void gradients_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        blocks b;
        parameter_mode *q;
        mixed_init(&b, 9, i, branch_prior_exponential(RATE));
        check_status(parameter_mode_create(&q, &b.p));
        const int edges = b.p.n_edges, n = b.p.free.n_free;
        double x[64], z[MOST_FREE], by_x[64], by_z[MOST_FREE];
        for (int e = 0; e < edges; e++)
            x[e] = length_scale_x(b.data.length[e] * (1 + 0.3 * (e % 3)) + 0.001);
        some_z(z, &b.p, 50);
        branch_posterior_move(&q->view, z);
        branch_solver_set(q->solver, b.data.decision, b.data.length);
        branch_solver_move(q->solver, x);
        parameter_mode_gradient(q, by_x, by_z, z);
        const double h = 1e-5;
        for (int k = 0; k < edges + n; k++) {
            double *at = k < edges ? &x[k] : &z[k - edges], before = *at, side[2];
            for (int j = 0; j < 2; j++) {
                *at = j ? before - h : before + h;
                side[j] = reference_density(&b, x, z);
            }
            *at = before;
            const double by = k < edges ? by_x[k] : by_z[k - edges];
            check_near(by, (side[0] - side[1]) / (2 * h), 1e-5 * (1 + fabs(by)));
        }
        parameter_mode_free(q);
        blocks_free(&b);
    }
}

/* The same where partials are scaled: 150 taxa on long branches. */
static void gradients_add_up_with_scaling(void **state)
{
    (void)state;
    blocks b;
    parameter_mode *q;
    mixed_init(&b, 150, true, branch_prior_exponential(RATE));
    check_status(parameter_mode_create(&q, &b.p));
    const int edges = b.p.n_edges, n = b.p.free.n_free;
    double *x = malloc(2 * (size_t)edges * sizeof *x), *by_x = x + edges;
    double z[MOST_FREE], by_z[MOST_FREE];
    for (int e = 0; e < edges; e++)
        x[e] = length_scale_x(0.5 + 0.1 * (e % 5));
    some_z(z, &b.p, 51);
    branch_posterior_move(&q->view, z);
    branch_solver_set(q->solver, b.data.decision, b.data.length);
    branch_solver_move(q->solver, x);
    parameter_mode_gradient(q, by_x, by_z, z);
    assert_true(q->solver->down[q->solver->tree.child[0][0]].shifted);
    const double h = 1e-5;
    for (int k = 0; k < edges + n; k += k < edges ? 17 : 1) {
        double *at = k < edges ? &x[k] : &z[k - edges], before = *at, side[2];
        for (int j = 0; j < 2; j++) {
            *at = j ? before - h : before + h;
            branch_posterior_move(&q->view, z);
            branch_solver_move(q->solver, x);
            side[j] = branch_solver_density(q->solver, branch_solver_value(q->solver)) +
                      block_parameters_log_prior(&b.p.free, z);
        }
        *at = before;
        const double by = k < edges ? by_x[k] : by_z[k - edges];
        check_near(by, (side[0] - side[1]) / (2 * h), 1e-4 * (1 + fabs(by)));
    }
    free(x);
    parameter_mode_free(q);
    blocks_free(&b);
}

/* The joint Hessian: by two lengths (exact), by a length and a parameter and by two parameters
 * (differences of gradients), against second differences of the reference density. Those have an
 * error of rounding, 1e-12 / h^2, and of h^2 times fourth derivatives. */
static void second_derivatives_add_up(void **state)
{
    (void)state;
    blocks b;
    parameter_mode *q;
    branch_hessian *h;
    mixed_init(&b, 6, true, branch_prior_exponential(RATE));
    check_status(parameter_mode_create(&q, &b.p));
    check_status(branch_hessian_create(&h, &q->view));
    enum { EDGES = 9, ALL = EDGES + MOST_FREE };
    const int n = b.p.free.n_free, all = EDGES + n;
    double at[ALL], *x = at, *z = at + EDGES, gradient[EDGES], hessian[EDGES * EDGES];
    double mixed[MOST_FREE * EDGES], own[MOST_FREE * MOST_FREE];
    assert_int_equal(b.p.n_edges, EDGES);
    for (int e = 0; e < EDGES; e++)
        x[e] = length_scale_x(0.05 + 0.03 * (e % 4));
    some_z(z, &b.p, 52);
    branch_posterior_move(&q->view, z);
    branch_solver_set(q->solver, b.data.decision, b.data.length);
    branch_solver_move(q->solver, x);
    branch_solver_refresh(q->solver);
    branch_hessian_compute(h, gradient, hessian, q->solver);
    for (int e = 0; e < EDGES; e++) {
        double out[2];
        branch_solver_slopes(out, q->solver, edge_node(e, 6));
        check_close(length_scale_first(x[e], out[0] - RATE), gradient[e], 1e-9);
        check_close(length_scale_second(x[e], out[0] - RATE, out[1]), hessian[e * (EDGES + 1)],
                    1e-9);
    }
    parameter_mode_second(q, mixed, own, z);
    const double step = 1e-3;
    for (int i = 0; i < all; i++)
        for (int j = 0; j <= i; j++) {
            double difference = 0, before[2] = {at[i], at[j]};
            for (int side = 0; side < 4; side++) {
                at[i] += side & 1 ? -step : step;
                at[j] += side & 2 ? -step : step;
                const double sign = side == 0 || side == 3 ? 1 : -1;
                difference += sign * reference_density(&b, x, z) / (4 * step * step);
                at[j] = before[1];
                at[i] = before[0];
            }
            const double second = i < EDGES   ? hessian[i * EDGES + j]
                                  : j < EDGES ? mixed[(i - EDGES) * EDGES + j]
                                              : own[(i - EDGES) * n + j - EDGES];
            check_near(second, difference, 2e-3 * (1 + fabs(second)) + 0.02);
        }
    branch_hessian_free(h);
    parameter_mode_free(q);
    blocks_free(&b);
}

/* log of the evidence of a tree with the multipliers of two blocks fixed at z. */
static double evidence_at(const blocks *b, double z, uint32_t number)
{
    branch_posterior fixed;
    topology_evidence *t;
    log_mean mean = {0};
    double length[8];
    block_source source[2] = {b->source[0], b->source[1]};
    for (int k = 0; k < 2; k++)
        source[k].multiplier = block_parameters_multiplier(&b->p.free, &z, k);
    check_status(branch_posterior_init_blocks(&fixed, source, 2, false, NULL, b->p.prior));
    assert_int_equal(fixed.free.n_free, 0);
    check_status(topology_evidence_create(&t, &fixed));
    for (int e = 0; e < fixed.n_edges; e++)
        length[e] = 0.1;
    check_status(topology_evidence_mode(t, b->data.decision, length, 1e-8));
    check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
    topology_evidence_sample(t, &mean, (length_draws){0}, 4000, rng_at(4, RNG_TEST, 10, number));
    topology_evidence_free(t);
    branch_posterior_free(&fixed);
    return log_mean_value(&mean);
}

/* Four taxa, two blocks, the ratio of their rates free: the evidence against quadrature over it,
 * at each node by sampling lengths. The trapezoidal rule over 12 standard deviations has no error
 * that shows; the nodes' errors average out to below 0.002. */
static void evidence_equals_quadrature_over_the_multiplier(void **state)
{
    (void)state;
    enum { NODES = 49 };
    static const char *const MODEL[] = {"JC", "K80{3}+G4{0.5}"};
    static const size_t SITES[] = {80, 120};
    blocks b = {.data = problem_random(4, 200, 1, 12)};
    const subst_model truth = model_of("JC", NULL);
    for (int e = 0; e < b.data.n_edges; e++)
        b.data.length[e] = 0.05 + 0.05 * e;
    check_status(simulate_sites(b.data.alignment.state, b.data.decision, b.data.length, 4, &truth,
                                200, 3, NULL));
    blocks_make(&b, 2, SITES, MODEL, NULL, true, branch_prior_exponential(RATE));
    assert_int_equal(b.p.free.n_free, 1);
    double length[8], z, spread, value[NODES], top = -HUGE_VAL, sum = 0;
    parameter_mode *q;
    topology_evidence *t;
    log_mean mean = {0};
    for (int e = 0; e < b.p.n_edges; e++)
        length[e] = 0.1;
    check_status(parameter_mode_create(&q, &b.p));
    block_parameters_start(&z, &b.p.free);
    check_status(parameter_mode_find(q, b.data.decision, length, &z, b.p.spread, 1e-8));
    check_status(parameter_mode_spread(q, &spread));
    branch_posterior_recentre(&b.p, &z, &spread);
    const double step = 12 * sqrt(spread) / (NODES - 1);
    for (int i = 0; i < NODES; i++) {
        const double at = z + (i - NODES / 2) * step;
        value[i] =
            at > 0 ? evidence_at(&b, at, (uint32_t)i) + block_parameters_log_prior(&b.p.free, &at)
                   : -HUGE_VAL;
        top = fmax(top, value[i]);
    }
    for (int i = 0; i < NODES; i++)
        sum += exp(value[i] - top) * step;
    check_status(topology_evidence_create(&t, &b.p));
    check_status(topology_evidence_mode(t, b.data.decision, length, 1e-8));
    for (int shape = EVIDENCE_DIAGONAL; shape <= EVIDENCE_SKEWED; shape++) {
        check_status(topology_evidence_proposal(t, (evidence_shape)shape));
        mean = (log_mean){0};
        topology_evidence_sample(t, &mean, (length_draws){0}, 20000,
                                 rng_at(6, RNG_TEST, (uint32_t)shape, 3));
        assert_true(log_mean_error(&mean) < (shape == EVIDENCE_DIAGONAL ? 0.2 : 0.02));
        check_near(log_mean_value(&mean), top + log(sum), 4 * log_mean_error(&mean) + 0.002);
    }
    check_near(t->full_laplace, top + log(sum), 0.3);
    topology_evidence_free(t);
    parameter_mode_free(q);
    blocks_free(&b);
}

/* The maximum likelihood and the mode are where the gradient vanishes, with the value that the
 * reference gives; free multipliers gain on equal ones. */
static void optima_of_several_blocks(void **state)
{
    (void)state;
    double best[2];
    for (int i = 0; i < 2; i++)
        for (int kind = OPTIMUM_LIKELIHOOD; kind <= OPTIMUM_POSTERIOR; kind++) {
            blocks b = {.data = problem_random(7, 210, 1, 10)};
            blocks_make(&b, N_MIXED, COLUMNS, MIXED, NULL, i, branch_prior_exponential(RATE));
            tree_optimum *t;
            parameter_mode *q;
            double z[MOST_FREE], by_x[16], by_z[MOST_FREE];
            optimum_job job = {.decision = b.data.decision, .length = b.data.length, .z = z};
            check_status(tree_optimum_create(&t, &b.p, (optimum_kind)kind, NULL));
            tree_optimum_run(t, &job, 1);
            check_status(job.status);
            check_near(job.log_likelihood, reference_value(&b, job.length, z), 1e-7);
            if (kind == OPTIMUM_LIKELIHOOD) {
                best[i] = job.log_likelihood;
            } else {
                check_status(parameter_mode_create(&q, &b.p));
                branch_posterior_move(&q->view, z);
                branch_solver_set(q->solver, job.decision, job.length);
                parameter_mode_gradient(q, by_x, by_z, z);
                for (int e = 0; e < b.p.n_edges; e++) /* 1e-7 nats, second derivatives of 1e4 */
                    check_near(by_x[e], 0, 0.05);
                for (int k = 0; k < b.p.free.n_free; k++)
                    check_near(by_z[k], 0, 0.05);
                parameter_mode_free(q);
            }
            tree_optimum_free(t);
            blocks_free(&b);
        }
    assert_true(best[1] > best[0]);
}

/* Eleven blocks with all parameters free: 120 coordinates. In so many the proposal at the joint
 * mode is a rough one, but its draws are worth something, and Laplace's approximation is near. */
static void many_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 11, SITES = 200, FREE = BLOCKS * 10 + BLOCKS - 1, DRAWS = 2000 };
    const char *model[BLOCKS];
    size_t columns[BLOCKS];
    for (int k = 0; k < BLOCKS; k++) {
        model[k] = "GTR+I+G4";
        columns[k] = SITES;
    }
    blocks b = {.data = problem_random(6, BLOCKS * SITES, 1, 14)};
    const subst_model truth =
        model_of("GTR{1.2,3.1,0.8,0.9,4.2,1}+F{0.3,0.15,0.2,0.35}+I{0.2}+G4{0.7}", NULL);
    check_status(simulate_sites(b.data.alignment.state, b.data.decision, b.data.length, 6, &truth,
                                BLOCKS * SITES, 3, NULL));
    blocks_make(&b, BLOCKS, columns, model, NULL, true, branch_prior_exponential(RATE));
    assert_int_equal(b.p.free.n_free, FREE);
    double *z = malloc((FREE * 2 + FREE * FREE) * sizeof *z), *by_z = z + FREE;
    double *spread = by_z + FREE, length[16], by_x[16];
    parameter_mode *q;
    for (int e = 0; e < b.p.n_edges; e++)
        length[e] = 0.1;
    block_parameters_start(z, &b.p.free);
    check_status(parameter_mode_create(&q, &b.p));
    check_status(parameter_mode_find(q, b.data.decision, length, z, b.p.spread, 1e-6));
    parameter_mode_gradient(q, by_x, by_z, z);
    for (int k = 0; k < FREE; k++) /* 1e-6 nats, second derivatives of some hundred */
        check_near(by_z[k], 0, 0.05);
    check_status(parameter_mode_spread(q, spread));
    branch_posterior_recentre(&b.p, z, spread);
    topology_evidence *t;
    log_mean mean = {0};
    check_status(topology_evidence_create(&t, &b.p));
    check_status(topology_evidence_mode(t, b.data.decision, length, 1e-4));
    check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
    topology_evidence_sample(t, &mean, (length_draws){0}, DRAWS, rng_at(6, RNG_TEST, 8, 3));
    assert_true(log_mean_ess(&mean) > 0.01 * DRAWS);
    check_near(t->full_laplace, log_mean_value(&mean), 3);
    topology_evidence_free(t);
    parameter_mode_free(q);
    free(z);
    blocks_free(&b);
}

/* The first stage of inference finds the joint mode of a problem with blocks. */
static void the_first_stage_takes_blocks(void **state)
{
    (void)state;
    blocks b;
    parameter_stage *s;
    parameter_mode *q;
    const collapsed_settings set = collapsed_defaults(1);
    double z[MOST_FREE], by_x[64], by_z[MOST_FREE];
    mixed_init(&b, 8, true, branch_prior_exponential(RATE));
    check_status(parameter_stage_create(&s, &b.p, &b.data.alignment, NULL, &set.search, 1));
    while (!s->is_done)
        check_status(parameter_stage_advance(s, NULL));
    memcpy(z, b.p.centre, (size_t)b.p.free.n_free * sizeof *z);
    check_status(parameter_mode_create(&q, &b.p));
    branch_posterior_move(&q->view, z);
    branch_solver_set(q->solver, s->best.decision, s->best.length);
    parameter_mode_gradient(q, by_x, by_z, z);
    for (int k = 0; k < b.p.free.n_free; k++) /* 1e-4 nats, second derivatives of a thousand */
        check_near(by_z[k], 0, 0.5);
    parameter_mode_free(q);
    parameter_stage_free(s);
    blocks_free(&b);
}

/* log of the sum over all topologies of five taxa, of their evidence with equal prior
 * probabilities, and its standard error. */
static double evidence_of_all(const branch_posterior *p, double *error)
{
    const int trees = exact_trees(5);
    double value[15], top = -HUGE_VAL, sum = 0, variance = 0;
    topology_evidence *t;
    check_status(topology_evidence_create(&t, p));
    for (int i = 0; i < trees; i++) {
        int32_t decision[2];
        double length[7];
        log_mean mean = {0};
        exact_tree(decision, i, 5);
        for (int e = 0; e < p->n_edges; e++)
            length[e] = 0.1;
        check_status(topology_evidence_mode(t, decision, length, 1e-6));
        check_status(topology_evidence_proposal(t, EVIDENCE_FULL));
        topology_evidence_sample(t, &mean, (length_draws){0}, 4000,
                                 rng_at(9, RNG_TEST, 11, (uint32_t)i));
        value[i] = log_mean_value(&mean);
        *error = fmax(*error, log_mean_error(&mean));
        top = fmax(top, value[i]);
    }
    for (int i = 0; i < trees; i++)
        sum += exp(value[i] - top);
    for (int i = 0; i < trees; i++)
        variance += pow(exp(value[i] - top) / sum * *error, 2);
    *error = sqrt(variance);
    topology_evidence_free(t);
    return top + log(sum / trees);
}

/* A run from the first stage to the answer: the evidence of all topologies, and a posterior that
 * has the parameters of all blocks by their names. */
static void a_run_with_blocks(void **state)
{
    (void)state;
    enum { PASSES = 3, N_TAXA = 5 };
    static const char *const MODEL[] = {"K80", "JC+G4{0.5}"};
    static const char *const NAME[] = {"TL", "kappa{1}", "m{1}", "m{2}"};
    static const size_t SITES[] = {120, 80};
    collapsed_settings set = collapsed_defaults(5);
    set.fit.steps = 100;
    set.rounds.rounds = 1;
    set.seed = 6;
    set.error = 1e-9;
    set.sampler.particles = 1000;
    set.final.passes = PASSES;
    blocks b = {.data = problem_random(N_TAXA, 200, 1, 15)};
    blocks_make(&b, 2, SITES, MODEL, NULL, true, branch_prior_exponential(RATE));
    parameter_stage *stage;
    check_status(
        parameter_stage_create(&stage, &b.p, &b.data.alignment, NULL, &set.search, set.seed));
    while (!stage->is_done)
        check_status(parameter_stage_advance(stage, NULL));
    topology_model *trees;
    rounds *c;
    tree_sampler *s;
    evidence found;
    posterior draws;
    sampler_facts facts;
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < N_TAXA; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        check_status(taxa_add(&names, name, strlen(name)));
    }
    check_status(make_artreeformer(&trees, N_TAXA, 8, 2, NULL));
    trees->ops->initialise(trees, 5);
    check_status(rounds_create(&c, &b.p, &b.data.alignment, NULL, trees, &set, NULL));
    while (c->stage != ROUNDS_DONE)
        check_status(rounds_advance(c, NULL));
    rounds_use_averaged_weights(c);
    check_status(tree_sampler_create(&s, c, &names, final_network_share(c)));
    while (tree_sampler_passes(s) < PASSES)
        check_status(tree_sampler_advance(s));
    check_status(tree_sampler_finish(s, &found, &draws, &facts));
    double error = 0;
    const double expected = evidence_of_all(&b.p, &error);
    assert_true(found.log_evidence_se < 0.05);
    check_near(found.log_evidence, expected, 4 * hypot(error, found.log_evidence_se));
    assert_int_equal(draws.n_columns, 4);
    for (int k = 0; k < 4; k++) {
        char name[PARAMETER_NAME_SIZE];
        posterior_column_name(name, &draws, k);
        assert_string_equal(name, NAME[k]);
    }
    const double mean = b.p.free.block[0].share * weighted_mean(&draws.column[2]) +
                        b.p.free.block[1].share * weighted_mean(&draws.column[3]);
    check_near(mean, 1, 1e-12);
    for (int i = 0; i < draws.count; i++)
        check_near(b.p.free.block[0].share * posterior_row_value(&draws, i, 2) +
                       b.p.free.block[1].share * posterior_row_value(&draws, i, 3),
                   1, 1e-12);
    posterior_free(&draws);
    tree_sampler_free(s);
    rounds_free(c);
    trees->ops->free(trees);
    taxa_free(&names);
    parameter_stage_free(stage);
    blocks_free(&b);
}

/* A block of which nothing is known leaves everything as it is. */
static void a_block_without_data(void **state)
{
    (void)state;
    static const size_t COUNTS[] = {60, 20};
    static const char *const MODEL[] = {"HKY{2}+F{0.3,0.2,0.2,0.3}+I{0.1}+G4{0.5}", "JC"};
    blocks b = {.data = problem_random(6, 80, 1, 16)};
    double value[2], hessian[2][81], gradient[9];
    for (size_t i = 0; i < 6; i++)
        memset(b.data.alignment.state + i * 80 + 60, STATE_GAP, 20);
    blocks_make(&b, 2, COUNTS, MODEL, NULL, false, branch_prior_exponential(RATE));
    branch_posterior alone;
    check_status(branch_posterior_init_free(&alone, &b.part[0], NULL, &b.model[0], b.p.prior));
    assert_int_equal(b.p.block[1].n_patterns, 0);
    for (int m = 0; m < 2; m++) {
        const branch_posterior *p = m ? &b.p : &alone;
        branch_solver *s;
        branch_hessian *h;
        check_status(branch_solver_create(&s, p));
        check_status(branch_hessian_create(&h, p));
        branch_solver_set(s, b.data.decision, b.data.length);
        check_status(branch_solver_mode(s, 1e-8));
        value[m] = s->laplace;
        branch_solver_refresh(s);
        branch_hessian_compute(h, gradient, hessian[m], s);
        branch_hessian_free(h);
        branch_solver_free(s);
    }
    check_near(value[1], value[0], 0);
    assert_memory_equal(hessian[0], hessian[1], sizeof hessian[0]);
    branch_posterior_free(&alone);
    blocks_free(&b);
}

static void what_is_no_problem(void **state)
{
    (void)state;
    const branch_prior prior = branch_prior_exponential(RATE);
    problem five = problem_random(5, 10, 1, 1), six = problem_random(6, 10, 1, 1);
    const free_model f = free_model_of("JC");
    branch_posterior p;
    block_source source[] = {{&five.alignment, &f, 1}, {&six.alignment, &f, 1}};
    assert_int_equal(branch_posterior_init_blocks(&p, source, 0, false, NULL, prior),
                     ART_ERR_USAGE);
    assert_int_equal(branch_posterior_init_blocks(&p, source, 2, false, NULL, prior),
                     ART_ERR_USAGE);
    source[1].alignment = &five.alignment;
    check_status(branch_posterior_init_blocks(&p, source, 2, false, NULL, prior));
    branch_posterior_free(&p);
    static const double BAD[] = {0, -1, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        source[1].multiplier = BAD[i];
        assert_int_equal(branch_posterior_init_blocks(&p, source, 2, i % 2, NULL, prior),
                         ART_ERR_USAGE);
    }
    problem_free(&five);
    problem_free(&six);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_a_cut_alignment),
        cmocka_unit_test(evidence_of_a_cut_alignment),
        cmocka_unit_test(moves_of_a_cut_alignment),
        cmocka_unit_test(climbs_of_a_cut_alignment),
        cmocka_unit_test(likelihoods_add_up),
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(gradients_add_up_with_scaling),
        cmocka_unit_test(second_derivatives_add_up),
        cmocka_unit_test(evidence_equals_quadrature_over_the_multiplier),
        cmocka_unit_test(optima_of_several_blocks),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(the_first_stage_takes_blocks),
        cmocka_unit_test(a_run_with_blocks),
        cmocka_unit_test(a_block_without_data),
        cmocka_unit_test(what_is_no_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
