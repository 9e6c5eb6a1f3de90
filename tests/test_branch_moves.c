#include "support/check.h"
#include "support/problem.h"

#include "branch/branch_moves.h"
#include "branch/length_scale.h"
#include "subst/simulate.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 10, NODES = 2 * N - 2, EDGES = 2 * N - 3, SITES = 200, RADIUS = 2 * N };

#define RATE 10.0

/* Data drawn from a model on a tree, solvers for the tree and for its neighbours. */
typedef struct bench {
    problem p;
    branch_posterior data;
    branch_solver *tree, *neighbour;
    branch_moves *moves;
} bench;

static void bench_init(bench *b, const char *model)
{
    subst_model m = model_of(model, NULL);
    b->p = problem_random(N, SITES, 1, 41);
    check_status(
        simulate_sites(b->p.alignment.state, b->p.decision, b->p.length, N, &m, SITES, 1, NULL));
    check_status(
        branch_posterior_init(&b->data, &b->p.alignment, NULL, &m, branch_prior_exponential(RATE)));
    check_status(branch_solver_create(&b->tree, &b->data));
    check_status(branch_solver_create(&b->neighbour, &b->data));
    check_status(branch_moves_create(&b->moves, &b->data, RADIUS));
    branch_solver_set(b->tree, b->p.decision, b->p.length);
    check_status(branch_solver_mode(b->tree, 1e-8));
    double laplace = b->tree->laplace;
    check_status(branch_solver_inspect(b->tree));
    check_near(b->tree->laplace, laplace, 1e-3); /* curvatures of one step later */
    branch_moves_begin(b->moves, b->tree);
}

static void bench_free(bench *b)
{
    branch_moves_free(b->moves);
    branch_solver_free(b->tree);
    branch_solver_free(b->neighbour);
    branch_posterior_free(&b->data);
    problem_free(&b->p);
}

/* Gives the neighbour solver the tree t with lengths by node; decision gets its key. */
static void set_neighbour(bench *b, int32_t *decision, const topology *t, const double *length)
{
    int32_t edge[NODES], scratch[6 * N];
    double by_edge[EDGES];
    topology_decisions(decision, edge, t, scratch);
    for (int32_t v = 1; v < NODES; v++)
        by_edge[edge[v]] = length[v];
    branch_solver_set(b->neighbour, decision, by_edge);
}

/* An interchange's score is the diagonal Laplace approximation at the lengths that are handed
 * out, with the curvatures of the branches that did not change; and the whole fit can only
 * gain on it. */
static void interchanges(void **state)
{
    (void)state;
    for (int k = 0; k < N_ALL_MODELS; k += 2) {
        bench b;
        bench_init(&b, ALL_MODELS[k]);
        topology *t = &b.tree->tree;
        int count = 0, near = 0, nearly = 0;
        for (int32_t v = 0; v < NODES; v++)
            for (int which = 0; topology_has_nni(t, v) && which < 2; which++, count++) {
                double length[NODES], out[2], expected = 0;
                int32_t decision[N];
                double score = branch_moves_nni(b.moves, v, which, -HUGE_VAL);
                int32_t node[NNI_BRANCHES];
                double fitted[NNI_BRANCHES];
                branch_moves_fitted(node, fitted, b.moves);
                for (int32_t u = 1; u < NODES; u++)
                    length[u] = length_scale_length(b.tree->branch[u].cbrt_length);
                for (int i = 0; i < NNI_BRANCHES; i++)
                    length[node[i]] = fitted[i];
                topology_nni(t, v, which);
                set_neighbour(&b, decision, t, length);
                branch_solver *s = b.neighbour;
                branch_solver_refresh(s);
                expected = branch_solver_density(s, branch_solver_value(s));
                int32_t edge[NODES], scratch[6 * N];
                topology_decisions(decision, edge, t, scratch);
                for (int32_t u = 1; u < NODES; u++) {
                    int32_t there = edge_node(edge[u], N);
                    double x = s->branch[there].cbrt_length, old = b.tree->branch[u].cbrt_length;
                    branch_solver_slopes(out, s, there);
                    double curvature =
                        -6 * x * (out[0] - RATE) - 9 * pow(x, 4) * out[1] + 2 / (x * x);
                    expected +=
                        0.5 * log(2 * M_PI / (x == old ? b.tree->branch[u].curvature : curvature));
                }
                topology_nni(t, v, which);
                /* Its curvatures are those before the last steps, and of branches whose
                 * neighbours moved since; by more where the tree is a bad one. */
                check_near(score, expected, 0.2 + 0.01 * (b.tree->laplace - expected));
                double density = branch_solver_density(s, branch_solver_value(s));
                check_status(branch_solver_mode(s, 1e-8));
                assert_true(s->log_density >= density);
                assert_true(s->laplace > score - 0.2);
                near += b.tree->laplace - s->laplace < 40;
                nearly += b.tree->laplace - s->laplace < 40 && s->laplace < score + 1.5;
            }
        assert_int_equal(count, 2 * (N - 3));
        assert_true(2 * nearly >= near); /* for most, the other branches add little */
        bench_free(&b);
    }
}

/* A cutoff that is out of reach ends the work early, with an answer below it. */
static void hopeless_interchanges(void **state)
{
    (void)state;
    bench b;
    int decided = 0;
    bench_init(&b, "JC");
    for (int32_t v = N; v < NODES; v++)
        if (topology_has_nni(&b.tree->tree, v)) {
            double whole = branch_moves_nni(b.moves, v, 0, -HUGE_VAL);
            double part = branch_moves_nni(b.moves, v, 0, 0);
            assert_true(part < 0 && part <= whole + 0.5);
            check_near(branch_moves_rough(b.moves), part, 0);
            /* the slack decides: just enough, and a little less */
            const double gap = whole - 1e-6 - part;
            if (gap <= 0.01) /* nothing was gained by the other branches */
                continue;
            b.data.set.nni_slack = gap + 1e-3;
            check_near(branch_moves_nni(b.moves, v, 0, whole - 1e-6), whole, 0);
            b.data.set.nni_slack = gap - 1e-3;
            check_near(branch_moves_nni(b.moves, v, 0, whole - 1e-6), part, 0);
            b.data.set = branch_defaults();
            decided++;
        }
    assert_true(decided > 0);
    bench_free(&b);
}

/* The trees that a visit found, as keys with their best score. */
typedef struct found {
    bench *b;
    int count;
    int32_t decision[4 * N * N][N];
    double score[4 * N * N];
    double gained; /* most, by fitting the halves of the branch that a subtree is put into */
} found;

static int find(const found *f, const int32_t *decision)
{
    int i = 0;
    while (i < f->count && memcmp(f->decision[i], decision, (N - 3) * sizeof *decision) != 0)
        i++;
    return i;
}

static void keep(void *context, int32_t v, int32_t w, double score)
{
    found *f = context;
    topology *t = &f->b->tree->tree;
    int32_t decision[N], scratch[6 * N];
    double length[NODES] = {0};
    assert_true(topology_has_spr(t, v, w));
    topology_spr(t, length, v, w);
    topology_decisions(decision, NULL, t, scratch);
    topology_build(t, f->b->p.decision);
    int i = find(f, decision);
    if (i == f->count) {
        memcpy(f->decision[f->count++], decision, (N - 3) * sizeof *decision);
        f->score[i] = score;
    }
    f->score[i] = fmax(f->score[i], score);
    f->gained = fmax(f->gained, score - branch_moves_rough(f->b->moves));
}

/* Every subtree move is scored, near what the whole fit gives, and with a cutoff those above
 * it are found and no others. */
static void subtree_moves(void **state)
{
    (void)state;
    static found all, some;
    for (int k = 0; k < N_ALL_MODELS; k += 6) {
        bench b;
        bench_init(&b, ALL_MODELS[k]);
        all.b = some.b = &b;
        all.count = some.count = 0;
        all.gained = 0;
        int near = 0, nearly = 0;
        branch_moves_spr(b.moves, -HUGE_VAL, keep, &all);
        /* All neighbours by subtree moves but the interchanges. */
        int expected = 2 * (N - 3) * (2 * N - 7);
        for (int32_t v = 0; v < NODES; v++)
            for (int which = 0; topology_has_nni(&b.tree->tree, v) && which < 2; which++) {
                int32_t decision[N], scratch[6 * N];
                topology_nni(&b.tree->tree, v, which);
                topology_decisions(decision, NULL, &b.tree->tree, scratch);
                topology_nni(&b.tree->tree, v, which);
                expected -= find(&all, decision) == all.count;
            }
        assert_int_equal(all.count, expected);
        assert_true(all.gained > 0 && all.gained < SITES);
        const double cutoff = b.tree->laplace - 40;
        branch_moves_spr(b.moves, cutoff, keep, &some);
        for (int i = 0; i < some.count; i++)
            assert_true(some.score[i] >= cutoff && find(&all, some.decision[i]) < all.count);
        for (int i = 0; i < all.count; i++) {
            double length[EDGES];
            for (int e = 0; e < EDGES; e++)
                length[e] = 0.1;
            branch_solver_set(b.neighbour, all.decision[i], length);
            check_status(branch_solver_mode(b.neighbour, 1e-6));
            double below = b.tree->laplace - b.neighbour->laplace;
            if (below < 40) { /* farther out there may be several modes */
                assert_true(b.neighbour->laplace > all.score[i] - 0.5);
                near++;
                nearly += b.neighbour->laplace < all.score[i] + 5;
            }
            if (all.score[i] >= cutoff)
                assert_true(find(&some, all.decision[i]) < some.count);
        }
        assert_true(2 * nearly >= near); /* for most, the other branches add little */
        bench_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interchanges),
        cmocka_unit_test(hopeless_interchanges),
        cmocka_unit_test(subtree_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
