#include "collapsed/search_worker.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "branch/length_scale.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int fitted_tree_init(fitted_tree *t, const branch_posterior *p)
{
    memset(t, 0, sizeof *t);
    t->decision = mem_zeros((size_t)p->n_taxa - 3, sizeof *t->decision);
    t->length = mem_zeros((size_t)p->n_edges, sizeof *t->length);
    if (t->decision && t->length)
        return ART_OK;
    fitted_tree_free(t);
    return ART_ERR_NOMEM;
}

void fitted_tree_free(fitted_tree *t)
{
    free(t->decision);
    free(t->length);
    memset(t, 0, sizeof *t);
}

void fitted_tree_copy(fitted_tree *to, const fitted_tree *from, const branch_posterior *p)
{
    memcpy(to->decision, from->decision, ((size_t)p->n_taxa - 3) * sizeof *to->decision);
    memcpy(to->length, from->length, (size_t)p->n_edges * sizeof *to->length);
    to->laplace = from->laplace;
    to->unfitted = from->unfitted;
    to->status = from->status;
}

static int create_climb(search_worker *w)
{
    climb_settings set = w->set->climb;
    set.radius = w->set->radius;
    set.tolerance = w->set->tolerance;
    return climb_create(&w->climb, w->solver, w->moves, &set);
}

int search_worker_init(search_worker *w, const branch_posterior *p, const alignment *a,
                       const int *taxon, const search_settings *set)
{
    memset(w, 0, sizeof *w);
    const size_t taxa = (size_t)p->n_taxa, nodes = (size_t)topology_nodes(p->n_taxa);
    int status;
    w->problem = p;
    w->set = set;
    if ((status = branch_solver_create(&w->solver, p)) ||
        (status = branch_moves_create(&w->moves, p, set->radius)) ||
        (status = stepwise_create(&w->starts, a, taxon)) ||
        (status = topology_init(&w->tree, p->n_taxa)) || (status = fitted_tree_init(&w->here, p)) ||
        (status = create_climb(w)))
        goto out;
    w->by_node = mem_zeros(nodes, sizeof *w->by_node);
    w->edge_of = mem_zeros(nodes, sizeof *w->edge_of);
    w->scratch = mem_zeros(6 * taxa, sizeof *w->scratch);
    w->decision = mem_zeros(taxa - 3, sizeof *w->decision);
    if (w->by_node && w->edge_of && w->scratch && w->decision)
        return ART_OK;
    status = ART_ERR_NOMEM;
out:
    search_worker_free(w);
    return status;
}

void search_worker_free(search_worker *w)
{
    climb_free(w->climb);
    branch_solver_free(w->solver);
    branch_moves_free(w->moves);
    stepwise_free(w->starts);
    topology_free(&w->tree);
    fitted_tree_free(&w->here);
    free(w->by_node);
    free(w->edge_of);
    free(w->scratch);
    free(w->decision);
    memset(w, 0, sizeof *w);
}

uint64_t topology_key(const int32_t *decision, size_t n_decisions)
{
    return hash_bytes(decision, n_decisions * sizeof *decision);
}

void search_fit(search_worker *w, fitted_tree *t)
{
    branch_solver_set(w->solver, t->decision, t->length);
    t->status = branch_solver_mode(w->solver, w->set->tolerance);
    t->laplace = w->solver->laplace;
    t->unfitted = 0;
    branch_solver_lengths(t->length, w->solver);
}

void search_neighbour(search_worker *w, fitted_tree *out, const fitted_tree *parent,
                      const neighbour *n, int is_spr)
{
    const int32_t n_taxa = w->problem->n_taxa;
    topology_build(&w->tree, parent->decision);
    for (int32_t v = 1; v < topology_nodes(n_taxa); v++)
        w->by_node[v] = parent->length[node_edge(v, n_taxa)];
    if (is_spr) {
        topology_spr(&w->tree, w->by_node, n->v, n->w);
    } else {
        topology_nni(&w->tree, n->v, n->w);
        for (int i = 0; i < NNI_BRANCHES; i++)
            w->by_node[n->node[i]] = n->length[i];
    }
    topology_decisions(out->decision, w->edge_of, &w->tree, w->scratch);
    for (int32_t v = 1; v < topology_nodes(n_taxa); v++)
        out->length[w->edge_of[v]] = w->by_node[v];
    out->laplace = n->score;
    out->unfitted = 1;
    out->status = ART_OK;
}

/* Adds a neighbour; a full list loses its worst. */
static void keep(neighbour_list *list, const neighbour *n)
{
    int at = list->count;
    if (at == list->room) {
        at = 0;
        for (int i = 1; i < list->room; i++)
            if (list->item[i].score < list->item[at].score)
                at = i;
        if (list->room == 0 || n->score <= list->item[at].score)
            return;
        list->count--;
        memmove(list->item + at, list->item + at + 1,
                (size_t)(list->count - at) * sizeof *list->item);
        at = list->count;
    }
    list->item[at] = *n;
    list->count++;
}

/* The decisions of the tree after the move that was just made on w->tree. */
static int is_known(search_worker *w, uint64_t *key)
{
    const size_t n_decisions = (size_t)w->problem->n_taxa - 3;
    topology_decisions(w->decision, NULL, &w->tree, w->scratch);
    *key = topology_key(w->decision, n_decisions);
    return w->table && tree_table_find(w->table, w->decision) >= 0;
}

static void expand_nni(search_worker *w, double cutoff)
{
    const int32_t nodes = topology_nodes(w->problem->n_taxa);
    for (int32_t v = w->problem->n_taxa; v < nodes; v++)
        for (int which = 0; topology_has_nni(&w->tree, v) && which < 2; which++) {
            neighbour n = {.v = v, .w = which};
            topology_nni(&w->tree, v, which);
            const int known = is_known(w, &n.key);
            topology_nni(&w->tree, v, which);
            if (known)
                continue;
            n.score = branch_moves_nni(w->moves, v, which, cutoff);
            w->list->scored++;
            if (n.score < cutoff)
                continue;
            branch_moves_fitted(n.node, n.length, w->moves);
            keep(w->list, &n);
        }
}

static void visit_spr(void *context, int32_t v, int32_t to, double score)
{
    search_worker *w = context;
    neighbour n = {.v = v, .w = to, .score = score};
    topology_spr(&w->tree, w->by_node, v, to);
    const int known = is_known(w, &n.key);
    topology_build(&w->tree, w->parent->decision);
    if (!known)
        keep(w->list, &n);
}

/* w->solver is at the mode of t. */
static void look_around(search_worker *w, neighbour_list *list, const fitted_tree *t,
                        const tree_table *table, double cutoff, int is_spr)
{
    list->count = 0;
    list->scored = 0;
    w->list = list;
    w->parent = t;
    w->table = table;
    topology_build(&w->tree, t->decision);
    memset(w->by_node, 0, (size_t)topology_nodes(w->problem->n_taxa) * sizeof *w->by_node);
    if (is_spr)
        list->scored += branch_moves_spr(w->moves, cutoff, visit_spr, w);
    else
        expand_nni(w, cutoff);
}

/* Puts the solver at the mode of t, to look around from there. */
static int stand_on(search_worker *w, fitted_tree *t)
{
    if (t->unfitted) {
        search_fit(w, t);
        branch_solver_refresh(w->solver);
    } else {
        branch_solver_set(w->solver, t->decision, t->length);
        t->status = branch_solver_inspect(w->solver);
    }
    branch_moves_begin(w->moves, w->solver);
    return t->status;
}

/* What parsimony makes the mean length. Where all branches begin too long, the fit may end in
 * another mode in which they all are (docs/decisions/climbs.md): they must not begin longer than
 * this, which is too short if anything. */
static double start_length(const search_worker *w, int64_t changes)
{
    const branch_posterior *p = w->problem;
    const double mean = fmax((double)changes, 1) / p->n_sites / p->n_edges;
    return fmin(mean, w->set->start_length);
}

int search_climb(search_worker *w, fitted_tree *out, rng stream, int64_t *scored,
                 const interrupt *stop)
{
    fitted_tree *t = &w->here;
    const int64_t changes = stepwise_tree(w->starts, t->decision, stream, stop);
    if (changes < 0)
        return (int)changes;
    for (int e = 0; e < w->problem->n_edges; e++)
        t->length[e] = start_length(w, changes);
    const climb_counts before = *climb_count(w->climb);
    climb_tree tree = {t->decision, t->length, 0};
    t->status = climb_run(w->climb, &tree, stop);
    if (t->status == ART_ERR_STOPPED)
        return t->status;
    t->laplace = tree.laplace;
    t->unfitted = 0;
    fitted_tree_copy(out, t, w->problem);
    *scored += climb_count(w->climb)->scored - before.scored;
    return (int)(climb_count(w->climb)->fitted - before.fitted);
}

/* The tree where the solver is, with its lengths. */
static void take_tree(search_worker *w, fitted_tree *out, const branch_solver *s)
{
    topology_decisions(out->decision, w->edge_of, &s->tree, w->scratch);
    for (int32_t v = 1; v < topology_nodes(w->problem->n_taxa); v++)
        out->length[w->edge_of[v]] = length_scale_length(s->branch[v].cbrt_length);
    out->laplace = s->laplace;
    out->unfitted = 1;
    out->status = ART_OK;
}

static void visit_peak(void *context, const branch_solver *s)
{
    search_worker *w = context;
    shaken_list *list = w->shaken;
    const size_t bytes = ((size_t)w->problem->n_taxa - 3) * sizeof *w->decision;
    int worst = 0;
    topology_decisions(w->decision, NULL, &s->tree, w->scratch);
    if (memcmp(list->from, w->decision, bytes) == 0)
        return;
    for (int i = 0; i < list->count; i++) {
        if (memcmp(list->item[i].decision, w->decision, bytes) == 0)
            return;
        worst = list->item[i].laplace < list->item[worst].laplace ? i : worst;
    }
    if (list->count < list->room)
        worst = list->count++;
    else if (s->laplace <= list->item[worst].laplace)
        return;
    take_tree(w, &list->item[worst], s);
}

int search_shake(search_worker *w, fitted_tree *t, shaken_list *list, rng stream, int pieces,
                 double window, int64_t *scored, const interrupt *stop)
{
    const climb_visits visits = {window, visit_peak, w};
    const climb_counts before = *climb_count(w->climb);
    climb_tree tree = {t->decision, t->length, t->laplace};
    memcpy(w->here.decision, t->decision, ((size_t)w->problem->n_taxa - 3) * sizeof *t->decision);
    list->from = w->here.decision;
    list->count = 0;
    w->shaken = list;
    t->status = climb_shake(w->climb, &tree, stream, pieces, &visits, stop);
    if (t->status == ART_ERR_STOPPED)
        return t->status;
    t->laplace = tree.laplace;
    t->unfitted = 0;
    *scored += climb_count(w->climb)->scored - before.scored;
    return (int)(climb_count(w->climb)->fitted - before.fitted);
}

void search_parsimony(search_worker *w, fitted_tree *out, rng stream)
{
    const int64_t changes = stepwise_tree(w->starts, out->decision, stream, NULL);
    for (int e = 0; e < w->problem->n_edges; e++)
        out->length[e] = start_length(w, changes);
    branch_solver_set(w->solver, out->decision, out->length);
    out->status = branch_solver_mode(w->solver, w->set->rough);
    out->laplace = w->solver->laplace;
    out->unfitted = 0;
    branch_solver_lengths(out->length, w->solver);
}

void search_expand(search_worker *w, neighbour_list *list, fitted_tree *t, const tree_table *table,
                   double cutoff, int is_spr)
{
    list->count = 0;
    list->scored = 0;
    if (stand_on(w, t) == ART_OK)
        look_around(w, list, t, table, cutoff, is_spr);
}
