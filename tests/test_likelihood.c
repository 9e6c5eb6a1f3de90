#include "support/check.h"
#include "support/memory.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "lik/likelihood.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value and gradient of all trees of a problem, on a pool, at a level, in given batches. */
static void evaluate(double *value, double *gradient, const problem *p, const int *taxon,
                     const subst_model *m, int threads, int batch, cpu_level level)
{
    pool *team = NULL;
    likelihood *l;
    if (threads > 1)
        check_status(pool_create(&team, threads));
    check_status(likelihood_create(&l, &p->alignment, taxon, m, batch, team));
    likelihood_use(l, level);
    size_t n_decisions = (size_t)p->alignment.n_taxa - 3, n_edges = (size_t)p->n_edges;
    for (int i = 0; i < p->n_trees; i += batch) {
        int n = p->n_trees - i < batch ? p->n_trees - i : batch;
        likelihood_batch(l, value + i, gradient ? gradient + (size_t)i * n_edges : NULL,
                         p->decision + (size_t)i * n_decisions, p->length + (size_t)i * n_edges, n);
    }
    likelihood_free(l);
    pool_free(team);
}

static double value_of(const problem *p, const subst_model *m)
{
    double value;
    evaluate(&value, NULL, p, NULL, m, 1, 1, cpu_best());
    return value;
}

/* The likelihood of one pattern by its definition: the sum over all bases at all inner nodes
 * of the probability of everything. */
static double brute_force(const problem *p, const subst_model *m, size_t pattern)
{
    int n_taxa = p->alignment.n_taxa, n_inner = n_taxa - 2, base[16];
    double total = 0, transition[16][4][4];
    topology t;
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, p->decision);
    for (int c = -1; c < m->n_categories; c++) {
        double rate = c < 0 ? 0 : m->category_rate[c], sum = 0;
        for (int v = 1; v < topology_nodes(n_taxa); v++)
            subst_model_transition(transition[v], m, rate * p->length[node_edge(v, n_taxa)]);
        for (int all = 0; all < 1 << 2 * n_inner; all++) {
            for (int i = 0; i < n_inner; i++)
                base[n_taxa + i] = all >> 2 * i & 3;
            /* A leaf of unknown base: the sum over its bases. */
            double product = 1;
            for (int v = 0; v < topology_nodes(n_taxa); v++) {
                int state = v < n_taxa
                                ? p->alignment.state[(size_t)v * p->alignment.n_patterns + pattern]
                                : 1 << base[v];
                int set = state & STATE_GAP ? STATE_ANY : state;
                int from = base[v == 0 ? t.child[0][0] : t.parent[v] == 0 ? v : t.parent[v]];
                double over = 0;
                for (int s = 0; s < 4; s++)
                    if (set >> s & 1) /* taxon 0 hangs from the topmost node by its edge */
                        over += v == 0             ? transition[t.child[0][0]][from][s]
                                : t.parent[v] == 0 ? m->frequency[s]
                                                   : transition[v][from][s];
                product *= over;
            }
            sum += product;
        }
        total += sum * (c < 0 ? m->p_invariant : m->category_weight);
    }
    topology_free(&t);
    return total;
}

static void equals_the_sum_over_inner_states(void **state)
{
    (void)state;
    for (int n_taxa = 3; n_taxa <= 6; n_taxa++) {
        problem p = problem_random(n_taxa, 5, 1, 1);
        for (int k = 0; k < N_ALL_MODELS; k++) {
            subst_model m = model_of(ALL_MODELS[k], NULL);
            double expected = 0, plain;
            for (size_t i = 0; i < 5; i++)
                expected += p.alignment.weight[i] * log(brute_force(&p, &m, i));
            check_status(
                likelihood_ref(&plain, NULL, &p.alignment, NULL, &m, p.decision, p.length));
            check_close(plain, expected, 1e-12);
            check_close(value_of(&p, &m), expected, 1e-12);
        }
        problem_free(&p);
    }
}

/* One pass over all 4^N patterns of full data: their probabilities sum to 1. */
static void probabilities_of_all_patterns_sum_to_one(void **state)
{
    (void)state;
    for (int n_taxa = 3; n_taxa <= 5; n_taxa++) {
        problem p = problem_random(n_taxa, 1, 1, 2);
        for (int k = 0; k < N_ALL_MODELS; k++) {
            subst_model m = model_of(ALL_MODELS[k], NULL);
            double sum = 0, plain_sum = 0, plain;
            p.alignment.weight[0] = 1;
            for (int all = 0; all < 1 << 2 * n_taxa; all++) {
                for (int i = 0; i < n_taxa; i++)
                    p.alignment.state[i] = (uint8_t)(1 << (all >> 2 * i & 3));
                sum += exp(value_of(&p, &m));
                check_status(
                    likelihood_ref(&plain, NULL, &p.alignment, NULL, &m, p.decision, p.length));
                plain_sum += exp(plain);
            }
            check_near(sum, 1, 1e-12); /* a thousand terms */
            check_near(plain_sum, 1, 1e-12);
        }
        problem_free(&p);
    }
}

/* The tree of a problem with its taxa renumbered (old taxon i becomes number[i]): it hangs
 * from another leaf. decision [N-3] and length [2N-3] describe it, edge[old] is the number of
 * the old edge. */
static void renumber(int32_t *decision, double *length, int32_t *edge, const problem *p,
                     const int *number)
{
    int n_taxa = p->alignment.n_taxa, n_nodes = topology_nodes(n_taxa);
    int32_t(*neighbour)[3] = malloc((size_t)n_nodes * sizeof *neighbour);
    int32_t *scratch = malloc(8 * (size_t)n_taxa * sizeof *scratch), *stack = scratch;
    int *degree = calloc((size_t)n_nodes, sizeof *degree), root = 0, depth = 0;
    int32_t *edge_of = malloc((size_t)n_nodes * sizeof *edge_of);
    topology old, new;
    check_status(topology_init(&old, n_taxa));
    check_status(topology_init(&new, n_taxa));
    topology_build(&old, p->decision);
    while (number[root] != 0)
        root++;
    for (int v = 1; v < n_nodes; v++) {
        int above = old.parent[v];
        neighbour[v][degree[v]++] = above;
        neighbour[above][degree[above]++] = v;
    }
#define NEW(v) ((v) < n_taxa ? number[v] : (v))
    new.parent[0] = -1;
    new.n_leaves = n_taxa;
    new.child[0][0] = neighbour[root][0];
    new.parent[neighbour[root][0]] = 0;
    for (stack[depth++] = neighbour[root][0]; depth > 0;) {
        int v = stack[--depth], k = 0;
        for (int i = 0; i < degree[v]; i++) {
            int w = neighbour[v][i];
            if (NEW(w) == new.parent[NEW(v)])
                continue;
            new.child[NEW(v)][k++] = NEW(w);
            new.parent[NEW(w)] = NEW(v);
            stack[depth++] = w;
        }
    }
    topology_decisions(decision, edge_of, &new, scratch);
    for (int v = 1; v < n_nodes; v++) {
        int above = old.parent[v];
        int lower = new.parent[NEW(v)] == NEW(above) ? NEW(v) : NEW(above);
        edge[node_edge(v, n_taxa)] = edge_of[lower];
        length[edge_of[lower]] = p->length[node_edge(v, n_taxa)];
    }
#undef NEW
    topology_free(&old);
    topology_free(&new);
    free(neighbour);
    free(scratch);
    free(degree);
    free(edge_of);
}

static void does_not_depend_on_the_root(void **state)
{
    (void)state;
    enum { N = 13, EDGES = 2 * N - 3 };
    problem p = problem_random(N, 100, 1, 3);
    rng r = rng_at(3, RNG_TEST, 0, 0);
    for (int k = 0; k < N_ALL_MODELS; k++) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        double value, gradient[EDGES], other_value, other_gradient[EDGES], length[EDGES];
        int32_t decision[N - 3], edge[EDGES];
        int number[N], taxon[N];
        evaluate(&value, gradient, &p, NULL, &m, 1, 1, cpu_best());
        for (int i = 0; i < N; i++) { /* a random permutation, inside out */
            int j = (int)rng_below(&r, (uint32_t)i + 1);
            number[i] = number[j];
            number[j] = i;
        }
        for (int i = 0; i < N; i++)
            taxon[number[i]] = i;
        renumber(decision, length, edge, &p, number);
        problem other = p;
        other.decision = decision;
        other.length = length;
        evaluate(&other_value, other_gradient, &other, taxon, &m, 1, 1, cpu_best());
        check_close(other_value, value, 1e-13);
        for (int e = 0; e < EDGES; e++) /* sums of 200 sites of mixed sign */
            check_near(other_gradient[edge[e]], gradient[e], 1e-11 * (1 + fabs(gradient[e])));
        check_status(likelihood_ref(&other_value, other_gradient, &p.alignment, taxon, &m, decision,
                                    length));
        check_close(other_value, value, 1e-13);
    }
    problem_free(&p);
}

/* Repeats every column as often as its weight says, in random order. */
static alignment spread(const alignment *a, rng *r)
{
    alignment out = {.n_taxa = a->n_taxa};
    for (size_t k = 0; k < a->n_patterns; k++)
        out.n_patterns += a->weight[k];
    size_t *from = malloc(out.n_patterns * sizeof *from), n = 0;
    for (size_t k = 0; k < a->n_patterns; k++)
        for (uint32_t i = 0; i < a->weight[k]; i++, n++) {
            size_t j = rng_below(r, (uint32_t)n + 1);
            from[n] = from[j];
            from[j] = k;
        }
    out.n_sites = n;
    out.state = malloc((size_t)a->n_taxa * n);
    out.weight = malloc(n * sizeof *out.weight);
    for (size_t k = 0; k < n; k++) {
        out.weight[k] = 1;
        for (int i = 0; i < a->n_taxa; i++)
            out.state[(size_t)i * n + k] = a->state[(size_t)i * a->n_patterns + from[k]];
    }
    free(from);
    return out;
}

static void does_not_depend_on_order_or_compression_of_sites(void **state)
{
    (void)state;
    problem p = problem_random(6, 200, 1, 4), q = p;
    rng r = rng_at(4, RNG_TEST, 0, 0);
    q.alignment = spread(&p.alignment, &r);
    for (int k = 0; k < N_ALL_MODELS; k++) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        double value, plain;
        value = value_of(&p, &m);
        check_close(value_of(&q, &m), value, 1e-13);
        check_status(likelihood_ref(&plain, NULL, &q.alignment, NULL, &m, p.decision, p.length));
        check_close(plain, value, 1e-13);
    }
    subst_model jc = model_of("JC", NULL);
    likelihood *l, *m;
    check_status(likelihood_create(&l, &p.alignment, NULL, &jc, 1, NULL));
    check_status(likelihood_create(&m, &q.alignment, NULL, &jc, 1, NULL));
    assert_true(likelihood_patterns(l) < 200); /* some columns are equal, gaps being unknown */
    assert_int_equal(likelihood_patterns(l), likelihood_patterns(m));
    likelihood_free(l);
    likelihood_free(m);
    free(q.alignment.state);
    free(q.alignment.weight);
    problem_free(&p);
}

static void unknown_sites_add_nothing_and_doubled_ones_double(void **state)
{
    (void)state;
    problem p = problem_random(9, 60, 1, 5);
    for (int k = 0; k < N_ALL_MODELS; k++) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        double value = value_of(&p, &m);
        for (size_t i = 0; i < 60; i++)
            p.alignment.weight[i] *= 2;
        assert_true(value_of(&p, &m) == 2 * value);
        for (size_t i = 0; i < 60; i++)
            p.alignment.weight[i] /= 2;
    }
    /* The last column becomes unknown in every way there is. */
    subst_model m = model_of("GTR{1,2,3,4,5,6}+FQ+I{0.2}+G4{0.3}", NULL);
    uint32_t weight = p.alignment.weight[59];
    p.alignment.weight[59] = 0;
    double without = value_of(&p, &m), gradient[15], plain;
    p.alignment.weight[59] = weight;
    for (int i = 0; i < 9; i++)
        p.alignment.state[i * 60 + 59] = i % 2 ? STATE_GAP : STATE_ANY;
    assert_true(value_of(&p, &m) == without);
    check_status(likelihood_ref(&plain, NULL, &p.alignment, NULL, &m, p.decision, p.length));
    check_close(plain, without, 1e-13);
    /* Nothing but unknown sites. */
    memset(p.alignment.state, STATE_ANY, 9 * 60);
    double value;
    evaluate(&value, gradient, &p, NULL, &m, 1, 1, cpu_best());
    assert_true(value == 0);
    for (int e = 0; e < 15; e++)
        assert_true(gradient[e] == 0);
    problem_free(&p);
}

/* Central differences with Richardson extrapolation: the error is O(h^4) and rounding is
 * 1e-16 |value| / h. */
static double difference(problem *p, const subst_model *m, int edge)
{
    double keep = p->length[edge], slope[2];
    for (int i = 0; i < 2; i++) {
        double h = (i ? 5e-4 : 1e-3) * keep, up, down;
        p->length[edge] = keep + h;
        check_status(likelihood_ref(&up, NULL, &p->alignment, NULL, m, p->decision, p->length));
        p->length[edge] = keep - h;
        check_status(likelihood_ref(&down, NULL, &p->alignment, NULL, m, p->decision, p->length));
        slope[i] = (up - down) / (2 * h);
    }
    p->length[edge] = keep;
    return (4 * slope[1] - slope[0]) / 3;
}

static void gradients_are_signed_differences(void **state)
{
    (void)state;
    enum { N = 8, EDGES = 2 * N - 3 };
    problem p = problem_random(N, 30, 1, 6);
    for (int k = 0; k < N_ALL_MODELS; k++) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        double value, gradient[EDGES], plain[EDGES];
        evaluate(&value, gradient, &p, NULL, &m, 1, 1, cpu_best());
        check_status(likelihood_ref(&value, plain, &p.alignment, NULL, &m, p.decision, p.length));
        for (int e = 0; e < EDGES; e++) {
            double expected = difference(&p, &m, e);
            /* |value| is about 500, lengths are above 1e-3: rounding 1e-7. */
            check_near(gradient[e], expected, 1e-6 + 1e-8 * fabs(expected));
            check_near(plain[e], expected, 1e-6 + 1e-8 * fabs(expected));
        }
    }
    problem_free(&p);
}

static void levels_agree_with_the_oracle_at_odd_sizes(void **state)
{
    (void)state;
    static const int sizes[] = {3, 4, 5, 7, 16, 33};
    static const size_t patterns[] = {1, 2, 7, 8, 9, 63, 130, 257, 600};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++)
        for (size_t s = 0; s < sizeof patterns / sizeof patterns[0]; s++) {
            problem p = problem_random(sizes[t], patterns[s], 1, 7);
            double value, plain, *gradient = malloc(2 * (size_t)p.n_edges * sizeof *gradient);
            double *expected = gradient + p.n_edges;
            for (int k = 0; k < N_ALL_MODELS; k += 1 + (int)(t + s) % 3) {
                subst_model m = model_of(ALL_MODELS[k], NULL);
                check_status(
                    likelihood_ref(&plain, expected, &p.alignment, NULL, &m, p.decision, p.length));
                for (int level = CPU_GENERIC; level <= (int)cpu_best(); level++) {
                    evaluate(&value, gradient, &p, NULL, &m, 1, 1, (cpu_level)level);
                    check_close(value, plain, 1e-13);
                    for (int e = 0; e < p.n_edges; e++) /* sums of sites of mixed sign */
                        check_near(gradient[e], expected[e], 1e-11 * (1 + fabs(expected[e])));
                }
            }
            free(gradient);
            problem_free(&p);
        }
}

static void threads_and_batches_change_no_bit(void **state)
{
    (void)state;
    enum { TREES = 70 };
    problem p = problem_random(12, 700, TREES, 8);
    size_t n = (size_t)TREES * (size_t)p.n_edges;
    double *gradient = malloc(2 * n * sizeof *gradient), value[TREES], expected[TREES];
#ifdef ART_SANITIZED
    const int step = 12; /* the models differ in numbers, not in what threads do */
#else
    const int step = 4;
#endif
    for (int k = 0; k < N_ALL_MODELS; k += step) {
        subst_model m = model_of(ALL_MODELS[k], NULL);
        evaluate(expected, gradient + n, &p, NULL, &m, 1, TREES, cpu_best());
        static const int batches[] = {1, 3, 10, 64, TREES};
        for (int threads = 1; threads <= 8; threads *= 2)
            for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
                evaluate(value, gradient, &p, NULL, &m, threads, batches[b], cpu_best());
                assert_memory_equal(value, expected, sizeof value);
                assert_memory_equal(gradient, gradient + n, n * sizeof *gradient);
                evaluate(value, NULL, &p, NULL, &m, threads, batches[b], cpu_best());
                assert_memory_equal(value, expected, sizeof value);
            }
    }
    free(gradient);
    problem_free(&p);
}

/* So many patterns that the padding of 19 blocks could be a whole block. */
static void blocks_are_filled(void **state)
{
    (void)state;
    problem p = problem_random(27, 19 * 121, 1, 14);
    subst_model m = model_of("JC+G4{0.5}", NULL);
    double value, plain;
    evaluate(&value, NULL, &p, NULL, &m, 1, 1, cpu_best());
    check_status(likelihood_ref(&plain, NULL, &p.alignment, NULL, &m, p.decision, p.length));
    check_close(value, plain, 1e-12);
    problem_free(&p);
}

/* So many blocks that a task has several. */
static void many_patterns(void **state)
{
    (void)state;
    problem p = problem_random(6, 40000, 2, 13);
    subst_model jc = model_of("JC", NULL);
    double value[2], gradient[18], other[2], other_gradient[18], plain, expected[9];
    evaluate(value, gradient, &p, NULL, &jc, 1, 2, cpu_best());
    evaluate(other, other_gradient, &p, NULL, &jc, 4, 1, cpu_best());
    assert_memory_equal(value, other, sizeof value);
    assert_memory_equal(gradient, other_gradient, sizeof gradient);
    check_status(likelihood_ref(&plain, expected, &p.alignment, NULL, &jc, p.decision, p.length));
    check_close(value[0], plain, 1e-12);
    for (int e = 0; e < 9; e++)
        check_close(gradient[e], expected[e], 1e-10);
    problem_free(&p);
}

/* The upward pass without any scaling, in long double: one pattern, JC, rate 1. */
static long double unscaled(const problem *p, size_t pattern)
{
    int n_taxa = p->alignment.n_taxa;
    long double(*below)[4] = malloc((size_t)topology_nodes(n_taxa) * sizeof *below);
    int32_t *order = malloc((size_t)p->n_edges * sizeof *order);
    topology t;
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, p->decision);
    topology_postorder(order, &t);
    long double total = 0;
    for (int k = 0; k < p->n_edges; k++) {
        int v = order[k];
        double grown = expm1(-4.0 / 3 * p->length[node_edge(v, n_taxa)]);
        long double lower[4], sum = 0;
        for (int s = 0; s < 4; s++) {
            int set =
                v < n_taxa ? p->alignment.state[(size_t)v * p->alignment.n_patterns + pattern] : 0;
            lower[s] = v >= n_taxa       ? below[t.child[v][0]][s] * below[t.child[v][1]][s]
                       : set & STATE_GAP ? 1
                                         : set >> s & 1;
            sum += lower[s];
        }
        for (int s = 0; s < 4; s++)
            below[v][s] = (1 + grown) * lower[s] - grown / 4 * sum;
    }
    for (int s = 0; s < 4; s++) {
        int set = p->alignment.state[pattern];
        total += set & STATE_GAP || set >> s & 1 ? below[t.child[0][0]][s] / 4 : 0;
    }
    topology_free(&t);
    free(below);
    free(order);
    return total;
}

/* 100 taxa need no scaling; 300 and 1000 do, some patterns more than others. */
static void scaling_changes_nothing(void **state)
{
    (void)state;
    subst_model jc = model_of("JC", NULL);
    static const int sizes[] = {100, 300, 1000};
    for (int t = 0; t < 3; t++) {
        problem p = problem_random(sizes[t], 40, 1, 9);
        long double expected = 0;
        int smallest = 0;
        for (size_t k = 0; k < 40; k++) {
            long double l = unscaled(&p, k);
            int exponent;
            frexpl(l, &exponent);
            smallest = exponent < smallest ? exponent : smallest;
            expected += p.alignment.weight[k] * logl(l);
        }
        assert_true(t == 0 ? smallest > -256 : smallest < -300 * t);
        check_close(value_of(&p, &jc), (double)expected, 1e-13);
        problem_free(&p);
    }
}

static void large_trees_do_not_underflow(void **state)
{
    (void)state;
    static const char *const models[] = {"JC", "GTR{1.2,3.1,0.8,0.9,4.2,1}+FQ+I{0.2}+G4{0.7}"};
    for (int n_taxa = 1000; n_taxa <= 5000; n_taxa += 4000)
        for (int shape = 0; shape < 4; shape++) {
            problem p = problem_random(n_taxa, 9, 1, 10);
            subst_model m = model_of(models[shape % 2], NULL);
            double value, plain, *gradient = malloc(2 * (size_t)p.n_edges * sizeof *gradient);
            double *expected = gradient + p.n_edges;
            if (shape < 2)
                caterpillar(p.decision, n_taxa);
            else
                balanced(p.decision, n_taxa);
            evaluate(&value, gradient, &p, NULL, &m, 2, 1, cpu_best());
            check_status(
                likelihood_ref(&plain, expected, &p.alignment, NULL, &m, p.decision, p.length));
            assert_true(value < -1000 && isfinite(value));
            check_close(value, plain, 1e-12);
            for (int e = 0; e < p.n_edges; e++)
                check_near(gradient[e], expected[e], 1e-10 * (1 + fabs(expected[e])));
            free(gradient);
            problem_free(&p);
        }
}

/* More than TIP_BYTES of leaves: they are expanded block by block. */
static void many_leaves_and_patterns(void **state)
{
    (void)state;
    enum { N = 2000, PATTERNS = 1100 };
    problem p = problem_random(N, PATTERNS, 2, 11);
    subst_model jc = model_of("JC", NULL);
    double value[2], other[2], sum[2] = {0};
    evaluate(value, NULL, &p, NULL, &jc, 2, 2, cpu_best());
    evaluate(other, NULL, &p, NULL, &jc, 1, 2, cpu_best());
    assert_memory_equal(value, other, sizeof value);
    assert_true(likelihood_memory(N, PATTERNS, &jc, 2, 1) < 64u << 20);
    for (size_t from = 0; from < PATTERNS; from += 100) { /* the same in parts that are kept */
        problem q = p;
        q.alignment.n_patterns = 100;
        q.alignment.state = malloc(N * 100);
        q.alignment.weight = p.alignment.weight + from;
        for (size_t i = 0; i < N; i++)
            memcpy(q.alignment.state + i * 100, p.alignment.state + i * PATTERNS + from, 100);
        evaluate(other, NULL, &q, NULL, &jc, 1, 2, cpu_best());
        for (int i = 0; i < 2; i++)
            sum[i] += other[i];
        free(q.alignment.state);
    }
    for (int i = 0; i < 2; i++)
        check_close(value[i], sum[i], 1e-12);
    problem_free(&p);
}

static void short_branches(void **state)
{
    (void)state;
    uint8_t states[3] = {STATE_A, STATE_A, STATE_C};
    uint32_t weight[1] = {1};
    double length[3], value, gradient[3], plain, plain_gradient[3];
    problem p = {.alignment = {.n_taxa = 3, .n_patterns = 1, .state = states, .weight = weight},
                 .n_trees = 1,
                 .n_edges = 3,
                 .decision = (int32_t[1]){0},
                 .length = length};
    subst_model jc = model_of("JC", NULL), k80 = model_of("K80{1.0000000001}", NULL);
    for (double t = 1e-300; t < 1e-12; t *= 1e10) {
        /* All of length t: to first order only the branch to C changes, with probability t/3. */
        length[0] = length[1] = length[2] = t;
        for (int i = 0; i < 2; i++) {
            const subst_model *m = i ? &k80 : &jc;
            evaluate(&value, gradient, &p, NULL, m, 1, 1, cpu_best());
            check_status(
                likelihood_ref(&plain, plain_gradient, &p.alignment, NULL, m, p.decision, length));
            check_near(value, log(t / 12), 1e-9); /* K80 is 1e-10 away from JC */
            check_near(plain, value, 1e-12);
            check_close(gradient[1] * t, 1, 1e-9);
            check_close(plain_gradient[1] * t, 1, 1e-9);
        }
    }
    length[0] = length[1] = length[2] = 0;
    evaluate(&value, gradient, &p, NULL, &jc, 1, 1, cpu_best());
    assert_true(isinf(value) && value < 0);
    for (int e = 0; e < 3; e++)
        assert_true(gradient[e] == 0);
    states[2] = STATE_A;
    evaluate(&value, gradient, &p, NULL, &jc, 1, 1, cpu_best());
    check_near(value, log(0.25), 1e-15);
    for (int e = 0; e < 3; e++)
        check_near(gradient[e], -1, 1e-15); /* log(1 - t) */
}

static void calls_allocate_nothing_and_creation_may_fail(void **state)
{
    (void)state;
    problem p = problem_random(10, 500, 10, 12);
    subst_model m = model_of("GTR{1,2,3,4,5,6}+FQ+I{0.2}+G4{0.3}", NULL);
    double value[10], *gradient = malloc(10 * (size_t)p.n_edges * sizeof *gradient);
    pool *team;
    likelihood *l = NULL;
    check_status(pool_create(&team, 2));
    long before = memory_count();
    check_status(likelihood_create(&l, &p.alignment, NULL, &m, 10, team));
    long needed = memory_count() - before;
    for (long k = 1; k <= needed; k++) { /* fails at every allocation in turn, and frees all */
        likelihood *other;
        memory_fail_at(k);
        int status = likelihood_create(&other, &p.alignment, NULL, &m, 10, team);
        memory_fail_at(0);
        assert_true(status == ART_ERR_NOMEM ? other == NULL : status == ART_OK);
        likelihood_free(other); /* a block that could not be made smaller does no harm */
    }
    before = memory_count();
    for (int i = 1; i <= 10; i++) {
        likelihood_batch(l, value, gradient, p.decision, p.length, i);
        likelihood_batch(l, value, NULL, p.decision, p.length, i);
    }
    assert_int_equal(memory_count(), before);
    likelihood_free(l);
    pool_free(team);
    free(gradient);
    problem_free(&p);
}

static void two_taxa_are_refused(void **state)
{
    (void)state;
    uint8_t states[2] = {STATE_A, STATE_A};
    uint32_t weight[1] = {1};
    alignment a = {.n_taxa = 2, .n_patterns = 1, .state = states, .weight = weight};
    subst_model jc = model_of("JC", NULL);
    likelihood *l;
    assert_int_equal(likelihood_create(&l, &a, NULL, &jc, 1, NULL), ART_ERR_USAGE);
    assert_null(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_sum_over_inner_states),
        cmocka_unit_test(probabilities_of_all_patterns_sum_to_one),
        cmocka_unit_test(does_not_depend_on_the_root),
        cmocka_unit_test(does_not_depend_on_order_or_compression_of_sites),
        cmocka_unit_test(unknown_sites_add_nothing_and_doubled_ones_double),
        cmocka_unit_test(gradients_are_signed_differences),
        cmocka_unit_test(levels_agree_with_the_oracle_at_odd_sizes),
        cmocka_unit_test(threads_and_batches_change_no_bit),
        cmocka_unit_test(blocks_are_filled),
        cmocka_unit_test(many_patterns),
        cmocka_unit_test(scaling_changes_nothing),
        cmocka_unit_test(large_trees_do_not_underflow),
        cmocka_unit_test(many_leaves_and_patterns),
        cmocka_unit_test(short_branches),
        cmocka_unit_test(calls_allocate_nothing_and_creation_may_fail),
        cmocka_unit_test(two_taxa_are_refused),
    };
    return cmocka_run_group_tests_name("likelihood", tests, NULL, NULL);
}
