/* log q of a tree, expected counts, and draws. */
#include "density/sbn/sbn.h"

#include <math.h>

/* The entries of the edge above v, in the order of sbn_resolve. */
enum { ROOT, DOWN_RHO, DOWN_BESIDE_SISTER, DOWN_BESIDE_ABOVE, UP_RHO, UP_BESIDE_CHILD };

static const int32_t *entries_at(const int32_t *entry, const sbn_scratch *s, int32_t v)
{
    return entry + (size_t)SBN_ENTRIES * (size_t)node_edge(v, s->n_taxa);
}

static double factor(const double *log_p, int32_t entry, double log_floor)
{
    if (entry == SBN_NONE)
        return 0;
    return entry >= 0 ? fmax(log_p[entry], log_floor) : log_floor;
}

double sbn_log_q_of(const double *log_p, const int32_t *entry, sbn_scratch *s)
{
    int32_t n = s->n_taxa, count = topology_edges(n);
    const topology *t = &s->tree;
    if (n == 3)
        return 0;
    topology_postorder(s->order, t);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = s->order[i];
        s->u_down[v] = 0;
        for (int k = 0; k < 2 && v >= n; k++) {
            int32_t c = t->child[v][k];
            s->u_down[v] +=
                factor(log_p, entries_at(entry, s, c)[DOWN_BESIDE_SISTER], s->log_floor) +
                s->u_down[c];
        }
    }
    double most = -INFINITY, sum = 0;
    for (int32_t i = count - 1; i >= 0; i--) {
        int32_t v = s->order[i], u = t->parent[v];
        s->u_up[v] = 0;
        if (u != 0) {
            int side = t->child[u][0] == v; /* of v's sister */
            int32_t w = t->child[u][side];
            s->u_up[v] =
                factor(log_p, entries_at(entry, s, w)[DOWN_BESIDE_ABOVE], s->log_floor) +
                s->u_down[w] +
                factor(log_p, entries_at(entry, s, u)[UP_BESIDE_CHILD + side], s->log_floor) +
                s->u_up[u];
        }
        const int32_t *at = entries_at(entry, s, v);
        s->root[v] = factor(log_p, at[ROOT], s->log_floor) +
                     factor(log_p, at[DOWN_RHO], s->log_floor) + s->u_down[v] +
                     factor(log_p, at[UP_RHO], s->log_floor) + s->u_up[v];
        most = fmax(most, s->root[v]);
    }
    if (isinf(most))
        return -INFINITY;
    for (int32_t i = 0; i < count; i++)
        sum += exp(s->root[s->order[i]] - most);
    return most + log(sum);
}

static void add(double *count, int32_t entry, double value)
{
    if (entry >= 0)
        count[entry] += value;
}

/* All sums have positive terms: a difference of probabilities near 1 would lose the small ones. */
void sbn_add_counts(double *count, double coefficient, double log_q, const int32_t *entry,
                    sbn_scratch *s)
{
    int32_t n = s->n_taxa, edges = topology_edges(n);
    const topology *t = &s->tree;
    if (n == 3 || isinf(log_q))
        return;
    for (int32_t i = 0; i < edges; i++) {
        int32_t v = s->order[i];
        s->root[v] = exp(s->root[v] - log_q);
        s->behind_up[v] = s->root[v];
        for (int k = 0; k < 2 && v >= n; k++)
            s->behind_up[v] += s->behind_up[t->child[v][k]];
    }
    for (int32_t i = edges - 1; i >= 0; i--) {
        int32_t v = s->order[i], u = t->parent[v];
        const int32_t *at = entries_at(entry, s, v);
        s->behind_down[v] = s->root[v];
        if (u != 0) {
            int32_t w = t->child[u][t->child[u][0] == v];
            s->behind_down[v] += s->behind_down[u] + s->behind_up[w];
            add(count, at[DOWN_BESIDE_SISTER], coefficient * s->behind_down[u]);
            add(count, at[DOWN_BESIDE_ABOVE], coefficient * s->behind_up[w]);
        }
        add(count, at[ROOT], coefficient * s->root[v]);
        add(count, at[DOWN_RHO], coefficient * s->root[v]);
        add(count, at[UP_RHO], coefficient * s->root[v]);
        for (int k = 0; k < 2 && v >= n; k++) /* entered from the other child */
            add(count, at[UP_BESIDE_CHILD + k], coefficient * s->behind_up[t->child[v][!k]]);
    }
}

void sbn_drop_floored(double *count, const sbn *b, double log_floor)
{
    for (size_t i = 0; i < sbn_entries(b); i++)
        if (b->log_p[i] < log_floor)
            count[i] = 0;
}

double sbn_log_q(const sbn *b, const int32_t *decision, sbn_scratch *s)
{
    sbn_resolve(s->entry, b, decision, s);
    return sbn_log_q_of(b->log_p, s->entry, s);
}

/* An index i of 0 .. count-1 with the probability whose logarithm is log_p[list[i]], or log_p[i] if
 * list is NULL. Never one of probability 0, whatever is lost in rounding. */
static int32_t draw(const double *log_p, const int32_t *list, int32_t count, rng *r)
{
    double left = rng_uniform(r);
    int32_t last = 0;
    for (int32_t i = 0; i < count; i++) {
        double p = exp(log_p[list ? list[i] : i]);
        if (p <= 0)
            continue;
        last = i;
        if ((left -= p) <= 0)
            break;
    }
    return last;
}

/* The tree that was drawn, top[2] the nodes on both sides of its root and up[v] the node above the
 * others, becomes one that hangs from taxon 0: what lies between taxon 0 and the root is turned
 * over. */
static void hang_from_first(topology *t, const int32_t *up, const int32_t top[2])
{
    int32_t from = 0, at;
    for (;;) {
        bool over = from == top[0] || from == top[1]; /* the step passes the root */
        at = over ? top[from == top[0]] : up[from];
        t->parent[at] = from;
        if (from == 0)
            t->child[0][0] = at;
        else
            t->child[from][1] = at;
        if (over)
            return;
        int32_t other = t->child[at][t->child[at][0] == from];
        t->child[at][0] = other; /* child[1] is what was above: the next step */
        t->parent[other] = at;
        from = at;
    }
}

double sbn_sample(int32_t *decision, const sbn *b, rng *r, sbn_scratch *s)
{
    int32_t n = b->n_taxa, next = n, waiting = 0, top[2], *up = s->down;
    topology *t = &s->tree;
    int32_t root = draw(b->log_p, NULL, (int32_t)sbn_roots(b), r);
    const int32_t *side = key_table_at(&b->root_keys, (size_t)root);
    for (int k = 0; k < 2; k++) {
        top[k] = side[k] < n ? side[k] : next++;
        s->stack[2 * waiting] = top[k];
        s->stack[2 * waiting++ + 1] = b->root_parent[2 * root + k];
        t->parent[top[k]] = -1;
    }
    while (waiting) {
        int32_t v = s->stack[2 * --waiting], p = s->stack[2 * waiting + 1];
        if (p < 0)
            continue;
        int32_t first = b->begin[p], count = b->begin[p + 1] - first;
        int32_t i = b->list[first + draw(b->log_p + sbn_roots(b), b->list + first, count, r)];
        const int32_t *pair = key_table_at(&b->pair_keys, (size_t)i);
        for (int k = 0; k < 2; k++) {
            int32_t c = pair[1 + k] < n ? pair[1 + k] : next++;
            t->child[v][k] = c;
            t->parent[c] = up[c] = v;
            s->stack[2 * waiting] = c;
            s->stack[2 * waiting++ + 1] = b->pair_parent[2 * i + k];
        }
    }
    hang_from_first(t, up, top);
    t->parent[0] = -1;
    topology_decisions(decision, NULL, t, s->decisions);
    return sbn_log_q(b, decision, s);
}

static double log_sum(const double *x, const int32_t *list, int32_t count)
{
    double most = -INFINITY, sum = 0;
    for (int32_t i = 0; i < count; i++)
        most = fmax(most, x[list ? list[i] : i]);
    for (int32_t i = 0; i < count; i++)
        sum += exp(x[list ? list[i] : i] - most);
    return most + log(sum);
}

void sbn_softmax(sbn *b, const double *logit)
{
    size_t roots = sbn_roots(b);
    double total = log_sum(logit, NULL, (int32_t)roots);
    for (size_t i = 0; i < roots; i++)
        b->log_p[i] = logit[i] - total;
    for (size_t p = 0; p < sbn_parents(b); p++) {
        const int32_t *list = b->list + b->begin[p];
        int32_t count = b->begin[p + 1] - b->begin[p];
        total = log_sum(logit + roots, list, count);
        for (int32_t i = 0; i < count; i++)
            b->log_p[roots + (size_t)list[i]] = logit[roots + (size_t)list[i]] - total;
    }
}

/* d / d logit_k = n_k - p_k sum of n over the group of k. */
void sbn_softmax_gradient(double *grad, const sbn *b, const double *count)
{
    size_t roots = sbn_roots(b);
    double total = 0;
    for (size_t i = 0; i < roots; i++)
        total += count[i];
    for (size_t i = 0; i < roots; i++)
        grad[i] += count[i] - exp(b->log_p[i]) * total;
    for (size_t p = 0; p < sbn_parents(b); p++) {
        bool is_used = false;
        total = 0;
        for (int32_t i = b->begin[p]; i < b->begin[p + 1]; i++) {
            total += count[roots + (size_t)b->list[i]];
            is_used = is_used || count[roots + (size_t)b->list[i]] != 0;
        }
        for (int32_t i = b->begin[p]; i < b->begin[p + 1] && is_used; i++) {
            size_t k = roots + (size_t)b->list[i];
            grad[k] += count[k] - exp(b->log_p[k]) * total;
        }
    }
}
