#include "density/artreeformer/embedding.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int embedding_plan_init(embedding_plan *p, int n_taxa)
{
    memset(p, 0, sizeof *p);
    const size_t nodes = (size_t)topology_nodes(n_taxa);
    p->n_taxa = n_taxa;
    p->parent = mem_zeros(nodes, sizeof *p->parent);
    p->child = mem_zeros(nodes, sizeof *p->child);
    p->inner = mem_zeros(nodes, sizeof *p->inner);
    p->share = mem_zeros(nodes, sizeof *p->share);
    p->scratch = mem_zeros(nodes, sizeof *p->scratch);
    if (p->parent && p->child && p->inner && p->share && p->scratch)
        return ART_OK;
    embedding_plan_free(p);
    return ART_ERR_NOMEM;
}

void embedding_plan_free(embedding_plan *p)
{
    free(p->parent);
    free(p->child);
    free(p->inner);
    free(p->share);
    free(p->scratch);
    memset(p, 0, sizeof *p);
}

void embedding_plan_set(embedding_plan *p, const topology *t)
{
    const int32_t n_taxa = t->n_taxa, edges = topology_edges(t->n_leaves);
    int n_inner = 0;
    p->n_leaves = t->n_leaves;
    p->parent[0] = -1;
    p->share[0] = 0;
    topology_postorder(p->scratch, t);
    for (int32_t i = 0; i < edges; i++) {
        const int32_t node = p->scratch[i], row = node_row(node, n_taxa);
        p->parent[row] = node_row(t->parent[node], n_taxa);
        if (node < n_taxa) {
            p->share[row] = 0;
            continue;
        }
        const int32_t first = node_row(t->child[node][0], n_taxa);
        const int32_t second = node_row(t->child[node][1], n_taxa);
        p->child[row][0] = first;
        p->child[row][1] = second;
        p->share[row] = 1 / (3 - p->share[first] - p->share[second]);
        p->inner[n_inner++] = row;
    }
}

extern const embedding_kernels embedding_kernels_generic;
#if defined(__x86_64__)
extern const embedding_kernels embedding_kernels_avx2, embedding_kernels_avx512;
#endif

const embedding_kernels *embedding_kernels_at(cpu_level level)
{
    switch (level) {
    case CPU_GENERIC:
        return &embedding_kernels_generic;
#if defined(__x86_64__)
    case CPU_AVX2:
        return &embedding_kernels_avx2;
    case CPU_AVX512:
        return &embedding_kernels_avx512;
#endif
    default:
        return NULL;
    }
}

void embedding_extend(real *x, const embedding_plan *p, int width)
{
    embedding_kernels_at(cpu_best())->extend(x, p, width);
}

void embedding_extend_backward(real *dx, const embedding_plan *p, int width)
{
    embedding_kernels_at(cpu_best())->extend_back(dx, p, width);
}

/* f [2n-2][n] with unit vectors at the leaves and zero inside. */
static void set_leaves(double *f, int n)
{
    memset(f, 0, (size_t)topology_nodes(n) * (size_t)n * sizeof *f);
    for (int i = 0; i < n; i++)
        f[(ptrdiff_t)leaf_row(i) * n + i] = 1;
}

/* embedding_extend in double, shares included. */
static void two_pass(double *f, const embedding_plan *p, double *share)
{
    const ptrdiff_t n = p->n_leaves;
    memset(share, 0, (size_t)topology_nodes(p->n_leaves) * sizeof *share);
    for (int i = 0; i < n - 2; i++) {
        const int32_t v = p->inner[i], c = p->child[v][0], d = p->child[v][1];
        const double a = share[v] = 1 / (3 - share[c] - share[d]);
        for (ptrdiff_t j = 0; j < n; j++)
            f[v * n + j] = a * (f[c * n + j] + f[d * n + j]);
    }
    for (ptrdiff_t i = n - 3; i >= 0; i--) {
        const int32_t v = p->inner[i], above = p->parent[v];
        for (ptrdiff_t j = 0; j < n; j++)
            f[v * n + j] += share[v] * f[above * n + j];
    }
}

/* One sweep next = mean of the neighbours in f, over the inner rows. Returns the largest
 * 2-norm among the columns of the change; square [n] is scratch. */
static double sweep(double *next, const double *f, const embedding_plan *p, double *square)
{
    const ptrdiff_t n = p->n_leaves;
    double largest = 0;
    memset(square, 0, (size_t)n * sizeof *square);
    for (int i = 0; i < n - 2; i++) {
        const int32_t v = p->inner[i], c = p->child[v][0], d = p->child[v][1], u = p->parent[v];
        for (ptrdiff_t j = 0; j < n; j++) {
            const double mean = (f[u * n + j] + f[c * n + j] + f[d * n + j]) / 3;
            square[j] += (mean - f[v * n + j]) * (mean - f[v * n + j]);
            next[v * n + j] = mean;
        }
    }
    for (ptrdiff_t j = 0; j < n; j++)
        largest = fmax(largest, square[j]);
    return sqrt(largest);
}

enum { MOST_SWEEPS = 1000 }; /* EMBEDDING_RATE^1000 is 1e-26: rounding was reached before */

/* With contraction rate r, the distance to the limit is at most r / (1 - r) times the last
 * change. */
static int iterate(double *f, const embedding_plan *p, double tolerance, double *next)
{
    const size_t numbers = (size_t)topology_nodes(p->n_leaves) * (size_t)p->n_leaves;
    double *from = f, *to = next, *square = next + numbers;
    const double enough = tolerance * (1 - EMBEDDING_RATE) / EMBEDDING_RATE;
    int count = 0;
    memcpy(next, f, numbers * sizeof *f);
    for (double change = INFINITY; change > enough && count < MOST_SWEEPS; count++) {
        change = sweep(to, from, p, square);
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != f)
        memcpy(f, from, numbers * sizeof *f);
    return count;
}

/* c [m][n] += a [m][m] b [m][n] */
static void multiply_add(double *c, const double *a, const double *b, ptrdiff_t m, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t k = 0; k < m; k++)
            for (ptrdiff_t j = 0; j < n; j++)
                c[i * n + j] += a[i * m + k] * b[k * n + j];
}

/* The iteration is s <- P s + c. After 2^k steps it is the sum of P^j c over j < 2^k, and
 * doubles by s += P^(2^k) s, P^(2^k) squared. What is missing is P^(2^k) f, and the columns
 * of f are at most 1 in every row. work holds P, P^2 and a copy of s: m (2m + n) numbers. */
static int square(double *f, const embedding_plan *p, double tolerance, double *work)
{
    const ptrdiff_t n = p->n_leaves, m = n - 2;
    double *power = work, *next = power + m * m, *copy = next + m * m;
    double *s = f; /* the inner rows are gathered in front, and spread when done */
    memset(power, 0, (size_t)(m * m) * sizeof *power);
    memset(s, 0, (size_t)(m * n) * sizeof *s);
    for (ptrdiff_t i = 0; i < m; i++) { /* the i-th inner row is row 2i + 3 */
        const ptrdiff_t v = 2 * i + 3;
        const int32_t beside[3] = {p->parent[v], p->child[v][0], p->child[v][1]};
        for (int b = 0; b < 3; b++) {
            if (beside[b] >= 3 && beside[b] % 2 == 1)
                power[i * m + (beside[b] - 3) / 2] = 1.0 / 3;
            else
                s[i * n + (beside[b] < 2 ? beside[b] : beside[b] / 2 + 1)] = 1.0 / 3;
        }
    }
    int count = 0;
    for (double left = EMBEDDING_RATE; left * sqrt((double)m) > tolerance; left *= left, count++) {
        memcpy(copy, s, (size_t)(m * n) * sizeof *s);
        multiply_add(s, power, copy, m, n);
        memset(next, 0, (size_t)(m * m) * sizeof *next);
        multiply_add(next, power, power, m, m);
        double *swap = power;
        power = next;
        next = swap;
    }
    memcpy(copy, s, (size_t)(m * n) * sizeof *s);
    set_leaves(f, (int)n);
    for (ptrdiff_t i = 0; i < m; i++)
        memcpy(f + (2 * i + 3) * n, copy + i * n, (size_t)n * sizeof *f);
    return count;
}

size_t embedding_work(int n_leaves)
{
    const size_t n = (size_t)n_leaves;
    return 3 * n * n;
}

int embedding_matrix(double *f, const embedding_plan *p, embedding_method method, double tolerance,
                     double *work)
{
    set_leaves(f, p->n_leaves);
    switch (method) {
    case EMBEDDING_ITERATED:
        return iterate(f, p, tolerance, work);
    case EMBEDDING_SQUARED:
        return square(f, p, tolerance, work);
    default:
        two_pass(f, p, work);
        return 0;
    }
}

void embedding_apply(real *x, const double *f, const embedding_plan *p, int width)
{
    const ptrdiff_t n = p->n_leaves, d = width;
    for (int i = 0; i < n - 2; i++) {
        const int32_t v = p->inner[i];
        memset(x + v * d, 0, (size_t)d * sizeof *x);
        for (int32_t taxon = 0; taxon < n; taxon++) {
            const real share = (real)f[v * n + taxon];
            for (ptrdiff_t j = 0; j < d; j++)
                x[v * d + j] += share * x[leaf_row(taxon) * d + j];
        }
    }
}

void embedding_apply_backward(real *dx, const double *f, const embedding_plan *p, int width)
{
    const ptrdiff_t n = p->n_leaves, d = width;
    for (int i = 0; i < n - 2; i++) {
        const int32_t v = p->inner[i];
        for (int32_t taxon = 0; taxon < n; taxon++) {
            const real share = (real)f[v * n + taxon];
            for (ptrdiff_t j = 0; j < d; j++)
                dx[leaf_row(taxon) * d + j] += share * dx[v * d + j];
        }
    }
}
