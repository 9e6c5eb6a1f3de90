/* likelihood_ref of likelihood.h: the definition, one pattern of the alignment after the
 * other, one node after the other. */
#include "lik/likelihood.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double vec[SUBST_CATEGORIES][4];
typedef double mat[SUBST_CATEGORIES][4][4];

typedef struct oracle {
    const subst_model *model;
    topology tree;
    int32_t *order;  /* [2N-3] children before parents */
    mat *transition; /* [2N-2] of the edge above each node, for every category */
    mat *derivative;
    vec *below;   /* [2N-2] likelihood of what is below a node, given the base there */
    vec *above;   /* [2N-2] of what is not, given the base at the upper end of its edge */
    int exponent; /* of 2, taken out of all of `below` */
} oracle;

static void oracle_free(oracle *o)
{
    topology_free(&o->tree);
    free(o->order);
    free(o->transition);
    free(o->derivative);
    free(o->below);
    free(o->above);
}

static int oracle_init(oracle *o, const subst_model *m, const int32_t *decision,
                       const double *length, int n_taxa)
{
    size_t nodes = (size_t)topology_nodes(n_taxa);
    memset(o, 0, sizeof *o);
    o->model = m;
    int status = topology_init(&o->tree, n_taxa);
    if (status)
        return status;
    o->order = mem_zeros(nodes, sizeof *o->order);
    o->transition = mem_zeros(nodes, sizeof *o->transition);
    o->derivative = mem_zeros(nodes, sizeof *o->derivative);
    o->below = mem_zeros(nodes, sizeof *o->below);
    o->above = mem_zeros(nodes, sizeof *o->above);
    if (!o->order || !o->transition || !o->derivative || !o->below || !o->above)
        return ART_ERR_NOMEM;
    topology_build(&o->tree, decision);
    topology_postorder(o->order, &o->tree);
    for (int32_t v = 1; v < topology_nodes(n_taxa); v++)
        for (int c = 0; c < m->n_categories; c++) {
            double t = length[node_edge(v, n_taxa)] * m->category_rate[c];
            subst_model_transition(o->transition[v][c], m, t);
            subst_model_derivative(o->derivative[v][c], m, t);
        }
    return ART_OK;
}

static double apply(double row[4], double a[4])
{
    return row[0] * a[0] + row[1] * a[1] + row[2] * a[2] + row[3] * a[3];
}

/* Makes the largest entry lie in [1/2, 1); returns the exponent taken out. */
static int normalise(vec x, int n_categories)
{
    double largest = 0;
    int exponent;
    for (int i = 0; i < 4 * n_categories; i++)
        largest = fmax(largest, x[i / 4][i % 4]);
    frexp(largest, &exponent);
    for (int i = 0; i < 4 * n_categories; i++)
        x[i / 4][i % 4] = ldexp(x[i / 4][i % 4], -exponent);
    return exponent;
}

static void set_leaf(vec x, int state, int n_categories)
{
    int set = state & STATE_GAP ? STATE_ANY : state;
    for (int i = 0; i < 4 * n_categories; i++)
        x[i / 4][i % 4] = set >> i % 4 & 1;
}

static void pass_up(oracle *o)
{
    const topology *t = &o->tree;
    o->exponent = 0;
    for (int32_t k = 0; k < topology_edges(t->n_taxa); k++) {
        int32_t v = o->order[k], *child = t->child[v];
        if (v < t->n_taxa)
            continue;
        for (int c = 0; c < o->model->n_categories; c++)
            for (int s = 0; s < 4; s++)
                o->below[v][c][s] = apply(o->transition[child[0]][c][s], o->below[child[0]][c]) *
                                    apply(o->transition[child[1]][c][s], o->below[child[1]][c]);
        o->exponent += normalise(o->below[v], o->model->n_categories);
    }
}

static void pass_down(oracle *o)
{
    const topology *t = &o->tree;
    for (int32_t k = topology_edges(t->n_taxa) - 1; k >= 0; k--) {
        int32_t v = o->order[k], parent = t->parent[v];
        if (parent == 0) {
            memcpy(o->above[v], o->below[0], sizeof o->above[v]);
            continue;
        }
        int32_t sibling = t->child[parent][t->child[parent][0] == v];
        for (int c = 0; c < o->model->n_categories; c++)
            for (int s = 0; s < 4; s++) /* reversible: P serves in both directions */
                o->above[v][c][s] = apply(o->transition[parent][c][s], o->above[parent][c]) *
                                    apply(o->transition[sibling][c][s], o->below[sibling][c]);
        normalise(o->above[v], o->model->n_categories);
    }
}

/* sum over categories and bases of pi_s * above_s * (matrix below)_s at the edge above v. */
static double edge_sum(oracle *o, mat *matrix, int32_t v, int by_rate)
{
    const subst_model *m = o->model;
    double total = 0;
    for (int c = 0; c < m->n_categories; c++)
        for (int s = 0; s < 4; s++)
            total += m->frequency[s] * o->above[v][c][s] * apply(matrix[v][c][s], o->below[v][c]) *
                     (by_rate ? m->category_rate[c] : 1);
    return total * m->category_weight;
}

int likelihood_ref(double *value, double *gradient, const alignment *a, const int *taxon,
                   const subst_model *model, const int32_t *decision, const double *length)
{
    oracle o;
    int n_taxa = a->n_taxa, n_edges = topology_edges(n_taxa);
    int status = oracle_init(&o, model, decision, length, n_taxa);
    if (status)
        goto out;
    *value = 0;
    for (int e = 0; gradient && e < n_edges; e++)
        gradient[e] = 0;
    for (size_t k = 0; k < a->n_patterns; k++) {
        int common = STATE_ANY;
        for (int i = 0; i < n_taxa; i++) {
            int state = a->state[(size_t)(taxon ? taxon[i] : i) * a->n_patterns + k];
            common &= state & STATE_GAP ? STATE_ANY : state;
            set_leaf(o.below[i], state, model->n_categories);
        }
        double invariant = 0;
        for (int s = 0; s < 4; s++)
            invariant += common >> s & 1 ? model->p_invariant * model->frequency[s] : 0;
        pass_up(&o);
        pass_down(&o);
        int32_t top = o.tree.child[0][0];
        double variable = edge_sum(&o, o.transition, top, 0);
        double whole = ldexp(variable, o.exponent);
        double share = invariant > 0 ? whole / (whole + invariant) : 1;
        *value += a->weight[k] *
                  (invariant > 0 ? log(whole + invariant) : log(variable) + o.exponent * M_LN2);
        for (int e = 0; gradient && e < n_edges; e++) {
            int32_t v = edge_node(e, n_taxa);
            double here = edge_sum(&o, o.transition, v, 0);
            if (here > 0)
                gradient[e] += a->weight[k] * share * edge_sum(&o, o.derivative, v, 1) / here;
        }
    }
out:
    oracle_free(&o);
    return status;
}
