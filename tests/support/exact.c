#include "support/exact.h"

#include "support/check.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t letter_state(char letter)
{
    static const char letters[] = "ACGTRN-";
    static const uint8_t states[] = {STATE_A,           STATE_C,   STATE_G,  STATE_T,
                                     STATE_A | STATE_G, STATE_ANY, STATE_GAP};
    const char *found = strchr(letters, letter);
    assert_non_null(found);
    return states[found - letters];
}

void small_alignment_init(small_alignment *s, int n_taxa, const char *const *row)
{
    memset(s, 0, sizeof *s);
    size_t sites = strlen(row[0]), patterns = 0;
    assert_true(n_taxa <= EXACT_TAXA && sites >= 1 && sites <= EXACT_SITES);
    uint8_t column[EXACT_SITES][EXACT_TAXA] = {{0}};
    for (size_t site = 0; site < sites; site++) {
        for (int i = 0; i < n_taxa; i++)
            column[patterns][i] = letter_state(row[i][site]);
        size_t p = 0;
        while (memcmp(column[p], column[patterns], EXACT_TAXA) != 0)
            p++;
        s->site_pattern[site] = (uint32_t)p;
        s->weight[p]++;
        patterns += p == patterns;
    }
    for (int i = 0; i < n_taxa; i++) {
        assert_int_equal(strlen(row[i]), sites);
        s->name_text[i][0] = 't';
        s->name_text[i][1] = (char)('0' + i);
        s->name[i] = s->name_text[i];
        for (size_t p = 0; p < patterns; p++)
            s->state[(size_t)i * patterns + p] = column[p][i];
    }
    s->a = (alignment){.n_taxa = n_taxa,
                       .n_sites = sites,
                       .n_patterns = patterns,
                       .name = s->name,
                       .state = s->state,
                       .weight = s->weight,
                       .site_pattern = s->site_pattern};
}

int exact_trees(int n_taxa)
{
    assert_true(n_taxa >= 3 && n_taxa <= EXACT_TAXA);
    return n_taxa == 3 ? 1 : topology_edges(n_taxa - 1) * exact_trees(n_taxa - 1);
}

void exact_tree(int32_t *decision, int index, int n_taxa)
{
    for (int n = n_taxa - 1; n >= 3; n--) {
        decision[n - 3] = index % topology_edges(n);
        index /= topology_edges(n);
    }
}

int exact_index(const int32_t *decision, int n_taxa)
{
    int index = 0;
    for (int n = 3; n < n_taxa; n++)
        index = index * topology_edges(n) + decision[n - 3];
    return index;
}

/* One rotation of Jacobi's method: makes m[p][q] zero, in m and in the first row of the matrix
 * of eigenvectors, which is all that quadrature weights need. */
static void rotate(double m[EXACT_NODES][EXACT_NODES], double *first, int n, int p, int q)
{
    if (m[p][q] == 0)
        return;
    double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
    double t = copysign(1 / (fabs(theta) + sqrt(theta * theta + 1)), theta);
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < n; i++) {
        double a = m[i][p], b = m[i][q];
        m[i][p] = c * a - s * b;
        m[i][q] = s * a + c * b;
    }
    for (int i = 0; i < n; i++) {
        double a = m[p][i], b = m[q][i];
        m[p][i] = c * a - s * b;
        m[q][i] = s * a + c * b;
    }
    m[p][q] = m[q][p] = 0;
    double a = first[p], b = first[q];
    first[p] = c * a - s * b;
    first[q] = s * a + c * b;
}

void exact_quadrature(double *node, double *weight, int n, double a)
{
    assert_true(n >= 1 && n <= EXACT_NODES && a > 0);
    double m[EXACT_NODES][EXACT_NODES] = {{0}}, first[EXACT_NODES] = {1};
    /* Jacobi polynomials with exponents 0 and a - 1, moved from (-1, 1) to (0, 1). */
    for (int i = 0; i < n; i++) {
        double k = 2 * i + a;
        m[i][i] = i == 0 ? a / (a + 1) : 0.5 + 0.5 * (a - 1) * (a - 1) / ((k - 1) * (k + 1));
        if (i > 0)
            m[i][i - 1] = m[i - 1][i] = i * (i + a - 1) / ((k - 1) * sqrt((k - 2) * k));
    }
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                rotate(m, first, n, p, q);
    for (int i = 0; i < n; i++) {
        node[i] = m[i][i];
        weight[i] = first[i] * first[i];
    }
}

/* A subtree with its branches at all combinations of quadrature nodes: for each combination its
 * weight and the conditional likelihoods of the subtree's data given the base at its top. */
typedef struct table {
    size_t count;
    double *weight;       /* [count] */
    double (*partial)[4]; /* [count][n_patterns][4] */
} table;

typedef struct integral {
    const alignment *a;
    topology t;
    size_t n; /* quadrature nodes per branch */
    double node[EXACT_NODES], weight[EXACT_NODES];
} integral;

static table table_alloc(size_t count, size_t n_patterns)
{
    table t = {.count = count};
    t.weight = malloc(count * sizeof *t.weight);
    t.partial = malloc(count * n_patterns * sizeof *t.partial);
    assert_non_null(t.weight);
    assert_non_null(t.partial);
    return t;
}

static void table_free(table *t)
{
    free(t->weight);
    free(t->partial);
}

static double sum4(const double *v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

static table leaf_table(const alignment *a, int32_t taxon)
{
    table out = table_alloc(1, a->n_patterns);
    out.weight[0] = 1;
    for (size_t p = 0; p < a->n_patterns; p++) {
        int set = a->state[(size_t)taxon * a->n_patterns + p];
        for (int base = 0; base < 4; base++)
            out.partial[p][base] = (set & STATE_GAP ? STATE_ANY : set) >> base & 1;
    }
    return out;
}

static table through_edge(const integral *w, int32_t v);

/* The subtree of node v. */
static table subtree(const integral *w, int32_t v)
{
    if (v < w->a->n_taxa)
        return leaf_table(w->a, v);
    size_t n_patterns = w->a->n_patterns;
    table left = through_edge(w, w->t.child[v][0]), right = through_edge(w, w->t.child[v][1]);
    table out = table_alloc(left.count * right.count, n_patterns);
    for (size_t i = 0; i < out.count; i++) {
        size_t l = i / right.count, r = i % right.count;
        out.weight[i] = left.weight[l] * right.weight[r];
        for (size_t p = 0; p < n_patterns; p++)
            for (int base = 0; base < 4; base++)
                out.partial[i * n_patterns + p][base] = left.partial[l * n_patterns + p][base] *
                                                        right.partial[r * n_patterns + p][base];
    }
    table_free(&left);
    table_free(&right);
    return out;
}

/* The same with the edge above v: transition probabilities are (1-x)/4, plus x for no change. */
static table through_edge(const integral *w, int32_t v)
{
    size_t n_patterns = w->a->n_patterns;
    table below = subtree(w, v), out = table_alloc(below.count * w->n, n_patterns);
    for (size_t i = 0; i < out.count; i++) {
        size_t b = i / w->n, k = i % w->n;
        out.weight[i] = below.weight[b] * w->weight[k];
        for (size_t p = 0; p < n_patterns; p++) {
            const double *in = below.partial[b * n_patterns + p];
            double change = (1 - w->node[k]) / 4 * sum4(in);
            for (int base = 0; base < 4; base++)
                out.partial[i * n_patterns + p][base] = change + w->node[k] * in[base];
        }
    }
    table_free(&below);
    return out;
}

/* p(data | tree): the tree hangs from taxon 0; with the other branches fixed, a pattern is
 * alpha + beta x in the branch between taxon 0 and its only child. */
static double tree_evidence(const integral *w)
{
    size_t n_patterns = w->a->n_patterns;
    table hook = leaf_table(w->a, 0), rest = subtree(w, w->t.child[0][0]);
    double total = 0;
    for (size_t i = 0; i < rest.count; i++) {
        double product[EXACT_NODES], sum = 0;
        memcpy(product, w->weight, sizeof product);
        for (size_t p = 0; p < n_patterns; p++) {
            const double *u = hook.partial[p], *v = rest.partial[i * n_patterns + p];
            double same[4] = {u[0] * v[0], u[1] * v[1], u[2] * v[2], u[3] * v[3]};
            double alpha = sum4(u) * sum4(v) / 16, beta = sum4(same) / 4 - alpha;
            for (uint32_t copy = 0; copy < w->a->weight[p]; copy++)
                for (size_t k = 0; k < w->n; k++)
                    product[k] *= alpha + beta * w->node[k];
        }
        for (size_t k = 0; k < w->n; k++)
            sum += product[k];
        total += rest.weight[i] * sum;
    }
    table_free(&hook);
    table_free(&rest);
    return total;
}

/* Divides by the sum and returns it. */
static double normalise(double *p, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i];
    for (int i = 0; i < n; i++)
        p[i] /= sum;
    return sum;
}

double exact_posterior(double *posterior, const alignment *a, double rate)
{
    int trees = exact_trees(a->n_taxa);
    int32_t decision[EXACT_TAXA];
    integral w = {.a = a, .n = a->n_sites / 2 + 1};
    exact_quadrature(w.node, w.weight, (int)w.n, 0.75 * rate);
    check_status(topology_init(&w.t, a->n_taxa));
    for (int i = 0; i < trees; i++) {
        exact_tree(decision, i, a->n_taxa);
        topology_build(&w.t, decision);
        posterior[i] = tree_evidence(&w);
    }
    topology_free(&w.t);
    return log(normalise(posterior, trees) / trees);
}

double exact_parsimony(double *probability, const alignment *a, parsimony_gap gap)
{
    int trees = exact_trees(a->n_taxa);
    int32_t decision[EXACT_TAXA];
    int64_t score;
    for (int i = 0; i < trees; i++) {
        exact_tree(decision, i, a->n_taxa);
        check_status(parsimony_ref(&score, a, NULL, gap, decision));
        probability[i] = exp(-(double)score);
    }
    return log(normalise(probability, trees));
}
