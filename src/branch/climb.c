#include "branch/climb.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "branch/length_scale.h"
#include "tree/rearrange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is to be looked at, for the branch above a node. */
enum { INTERCHANGES = 1, PART_BELOW = 2, PART_ABOVE = 4, EVERYTHING = 7 };

typedef struct interchange {
    int32_t v;
    int which;
    double score;
    int32_t node[NNI_BRANCHES];
    double length[NNI_BRANCHES];
} interchange;

typedef struct place {
    int32_t w;
    double score;
} place;

/* A tree to go back to, in the numbering of nodes that the solver has. */
typedef struct saved_tree {
    topology tree;
    branch_state *branch; /* [nodes] */
    double log_likelihood, log_density, laplace;
} saved_tree;

/* Random interchanges of a piece of climb_shake: fewer are mostly taken back by the first subtree
 * move, more seldom end higher. */
enum { FEWEST_SHAKES = 2, MORE_SHAKES = 5 };

struct climb {
    const branch_posterior *problem;
    climb_settings set;
    branch_solver *solver;
    branch_moves *moves;
    local_fit *fit;
    climb_counts counts;
    interchange *found; /* [nodes] */
    int n_found;
    place best[CLIMB_MOST_TRIES]; /* of the part that is looked at, best first */
    int n_best;
    uint8_t *due;   /* [nodes] */
    uint8_t *near;  /* [nodes] */
    uint8_t *next;  /* [nodes] */
    int32_t *order; /* [nodes] */
    double *length; /* [nodes] */
    saved_tree saved;
};

climb_settings climb_defaults(void)
{
    return (climb_settings){
        .uphill = 0.01,
        .tolerance = BRANCH_TOLERANCE,
        .coarse = 0.02,
        .near = 0.01,
        .rings = 1,
        .radius = 10,
        .valley = 150,
        .shake_valley = 20,
        .shake_radius = 6,
        .margin = 1,
        .tries = 2,
        .felt = 0.05,
        .spread = 2,
        .shaken = 0.1,
    };
}

static int32_t n_nodes(const climb *c)
{
    return topology_nodes(c->problem->n_taxa);
}

int climb_create(climb **out, branch_solver *s, branch_moves *m, const climb_settings *set)
{
    *out = NULL;
    const branch_posterior *p = s->problem;
    if (set->tries < 1 || set->tries > CLIMB_MOST_TRIES || !(set->near > 0) || !(set->uphill > 0))
        return ART_ERR_USAGE;
    climb *c = mem_zeros(1, sizeof *c);
    if (!c)
        return ART_ERR_NOMEM;
    c->problem = p;
    c->set = *set;
    c->solver = s;
    c->moves = m;
    const size_t nodes = (size_t)n_nodes(c);
    int status;
    if ((status = local_fit_create(&c->fit, s)) ||
        (status = topology_init(&c->saved.tree, p->n_taxa)))
        goto out;
    status = ART_ERR_NOMEM;
    c->found = mem_zeros(nodes, sizeof *c->found);
    c->due = mem_zeros(nodes, 1);
    c->near = mem_zeros(nodes, 1);
    c->next = mem_zeros(nodes, 1);
    c->order = mem_zeros(nodes, sizeof *c->order);
    c->length = mem_zeros(nodes, sizeof *c->length);
    c->saved.branch = mem_zeros(nodes, sizeof *c->saved.branch);
    if (!c->found || !c->due || !c->near || !c->next || !c->order || !c->length || !c->saved.branch)
        goto out;
    *out = c;
    return ART_OK;
out:
    climb_free(c);
    return status;
}

void climb_free(climb *c)
{
    if (!c)
        return;
    local_fit_free(c->fit);
    free(c->found);
    free(c->due);
    free(c->near);
    free(c->next);
    free(c->order);
    free(c->length);
    topology_free(&c->saved.tree);
    free(c->saved.branch);
    free(c);
}

const climb_counts *climb_count(const climb *c)
{
    return &c->counts;
}

static int is_stopped(const climb *c)
{
    return interrupt_is_due(c->solver->stop);
}

/* Sets the flags of the branches that share an end with that above v. */
static void flag_neighbours(uint8_t *flag, const topology *t, int32_t v)
{
    if (v >= t->n_taxa)
        flag[t->child[v][0]] = flag[t->child[v][1]] = 1;
    if (t->parent[v] != 0)
        flag[topology_sibling(t, v)] = flag[t->parent[v]] = 1;
}

/* What is near a change since the mark is to be looked at again. */
static void note_changes(climb *c)
{
    const size_t nodes = (size_t)n_nodes(c);
    for (int32_t v = 1; v < n_nodes(c); v++)
        c->near[v] = (uint8_t)local_fit_is_felt(c->fit, v, c->set.felt);
    for (int ring = 0; ring < c->set.spread; ring++) {
        memcpy(c->next, c->near, nodes);
        for (int32_t v = 1; v < n_nodes(c); v++)
            if (c->near[v])
                flag_neighbours(c->next, &c->solver->tree, v);
        memcpy(c->near, c->next, nodes);
    }
    for (int32_t v = 1; v < n_nodes(c); v++)
        if (c->near[v])
            c->due[v] = EVERYTHING;
}

/* Fits what was rearranged since the mark, and takes it back unless it is higher. Returns whether
 * it was kept, or ART_ERR_STOPPED. */
static int settle(climb *c, int changes)
{
    const double before = c->solver->laplace;
    const int status = local_fit_near(c->fit, c->set.near * changes, c->set.rings);
    c->counts.fitted++;
    if (status == ART_ERR_STOPPED)
        return status;
    if (status == ART_OK && c->solver->laplace > before + c->set.uphill) {
        note_changes(c);
        return 1;
    }
    local_fit_undo(c->fit);
    return 0;
}

/* Interchanges */

static int by_score(const void *a, const void *b)
{
    const interchange *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->v < y->v ? -1 : 1;
}

/* Adds the better interchange across the branch above v, if it improves the tree. */
static void find_interchange(climb *c, int32_t v)
{
    const double better = c->solver->laplace + c->set.uphill;
    interchange best = {.score = better};
    for (int which = 0; which < 2; which++) {
        const double score = branch_moves_nni(c->moves, v, which, better);
        c->counts.scored++;
        if (!(score > best.score) || !isfinite(score))
            continue;
        best = (interchange){.v = v, .which = which, .score = score};
        branch_moves_fitted(best.node, best.length, c->moves);
    }
    if (best.v)
        c->found[c->n_found++] = best;
}

/* Goes through the tree depth first: the partials of the next branch are then near those of the
 * last one. */
static int find_interchanges(climb *c)
{
    c->n_found = 0;
    topology_postorder(c->order, &c->solver->tree);
    for (int i = 0; i < c->problem->n_edges; i++) {
        const int32_t v = c->order[i];
        if (!(c->due[v] & INTERCHANGES))
            continue;
        if (is_stopped(c))
            return ART_ERR_STOPPED;
        c->due[v] &= (uint8_t)~INTERCHANGES;
        if (topology_has_nni(&c->solver->tree, v))
            find_interchange(c, v);
    }
    qsort(c->found, (size_t)c->n_found, sizeof *c->found, by_score);
    return ART_OK;
}

/* Leaves in c->found, best first, those that have no branch in common with a better one; the others
 * are to be looked at again. */
static void make_independent(climb *c)
{
    int count = 0;
    memset(c->near, 0, (size_t)n_nodes(c));
    for (int i = 0; i < c->n_found; i++) {
        const interchange one = c->found[i];
        int free_of_others = 1;
        for (int k = 0; k < NNI_BRANCHES; k++)
            free_of_others &= !c->near[one.node[k]];
        if (free_of_others)
            c->found[count++] = one;
        else
            c->due[one.v] |= INTERCHANGES;
        for (int k = 0; free_of_others && k < NNI_BRANCHES; k++)
            c->near[one.node[k]] = 1;
    }
    c->n_found = count;
}

static void make_interchange(climb *c, const interchange *one)
{
    topology_nni(&c->solver->tree, one->v, one->which);
    for (int k = 0; k < NNI_BRANCHES; k++)
        c->solver->branch[one->node[k]].cbrt_length = length_scale_x(one->length[k]);
}

/* Makes as many of c->found as improve the tree together. */
static int make_interchanges(climb *c)
{
    while (c->n_found) {
        local_fit_mark(c->fit);
        for (int i = 0; i < c->n_found; i++)
            make_interchange(c, &c->found[i]);
        const int kept = settle(c, c->n_found);
        if (kept > 0)
            c->counts.interchanges += c->n_found;
        if (kept)
            return kept < 0 ? kept : ART_OK;
        const int fewer = c->n_found / 2;
        for (int i = fewer; i < c->n_found && fewer; i++)
            c->due[c->found[i].v] |= INTERCHANGES;
        c->n_found = fewer;
    }
    return ART_OK;
}

static int climb_by_interchanges(climb *c)
{
    for (;;) {
        int status = find_interchanges(c);
        if (status || !c->n_found)
            return status;
        make_independent(c);
        if ((status = make_interchanges(c)))
            return status;
    }
}

/* Subtree moves */

static void visit_place(void *context, int32_t v, int32_t w, double score)
{
    climb *c = context;
    (void)v;
    int at = c->n_best;
    if (!isfinite(score) || score < c->solver->laplace - c->set.margin)
        return;
    while (at > 0 && c->best[at - 1].score < score)
        at--;
    if (at == c->set.tries)
        return;
    if (c->n_best < c->set.tries)
        c->n_best++;
    memmove(c->best + at + 1, c->best + at, (size_t)(c->n_best - at - 1) * sizeof *c->best);
    c->best[at] = (place){w, score};
}

static void move_part(climb *c, int32_t v, int32_t w)
{
    branch_solver *s = c->solver;
    for (int32_t u = 1; u < n_nodes(c); u++)
        c->length[u] = length_scale_length(s->branch[u].cbrt_length);
    topology_spr(&s->tree, c->length, v, w);
    for (int32_t u = 1; u < n_nodes(c); u++)
        if (c->length[u] != length_scale_length(s->branch[u].cbrt_length))
            s->branch[u].cbrt_length = length_scale_x(c->length[u]);
}

/* Moves one part of the tree to a better place, if there is one. Returns whether, or a status. */
static int improve_part(climb *c, int32_t v, int up)
{
    c->n_best = 0;
    c->counts.scored +=
        branch_moves_places(c->moves, v, up, c->solver->laplace - c->set.margin, visit_place, c);
    if (is_stopped(c))
        return ART_ERR_STOPPED;
    for (int i = 0; i < c->n_best; i++) {
        local_fit_mark(c->fit);
        move_part(c, v, c->best[i].w);
        const int kept = settle(c, 1);
        c->counts.moves += kept > 0;
        if (kept)
            return kept;
    }
    return 0;
}

/* Whether there is a part of the tree on that side of the branch above v that can be moved. */
static int is_part(const topology *t, int32_t v, int up)
{
    return up ? v >= t->n_taxa : t->parent[v] != 0;
}

/* Every part that is due, once. Returns how many moved, or a status. */
static int improve_parts(climb *c)
{
    int moved = 0;
    topology_postorder(c->order, &c->solver->tree);
    for (int i = 0; i < c->problem->n_edges; i++)
        for (int up = 0; up < 2; up++) {
            const int32_t v = c->order[i];
            const uint8_t bit = up ? PART_ABOVE : PART_BELOW;
            if (!(c->due[v] & bit))
                continue;
            if (is_stopped(c))
                return ART_ERR_STOPPED;
            c->due[v] &= (uint8_t)~bit;
            if (!is_part(&c->solver->tree, v, up))
                continue;
            const int kept = improve_part(c, v, up);
            if (kept < 0)
                return kept;
            moved += kept;
        }
    return moved;
}

/* Until nothing is due. */
static int climb_on(climb *c)
{
    int moved;
    do {
        const int status = climb_by_interchanges(c);
        if (status)
            return status;
        moved = improve_parts(c);
    } while (moved > 0);
    return moved;
}

static int fit_all(climb *c, double tolerance)
{
    local_fit_mark(c->fit);
    c->counts.fitted++;
    return local_fit_whole(c->fit, tolerance);
}

/* Fits all lengths and looks at all interchanges once more, until they are none. */
static int finish(climb *c)
{
    for (;;) {
        int status = fit_all(c, c->set.tolerance);
        for (int32_t v = 1; v < n_nodes(c); v++)
            c->due[v] |= INTERCHANGES;
        const int64_t before = c->counts.interchanges;
        if (status || (status = climb_by_interchanges(c)) || c->counts.interchanges == before)
            return status;
        if ((status = climb_on(c)))
            return status;
    }
}

static void begin(climb *c, int radius, double valley, const interrupt *stop)
{
    c->solver->stop = stop;
    branch_moves_follow(c->moves, c->fit, c->solver);
    branch_moves_reach(c->moves, radius, valley);
}

/* Hands the tree over if all went well, and gives the borrowed things back as they were. */
static int end(climb *c, climb_tree *t, int status)
{
    if (status == ART_OK) {
        local_fit_keep(c->fit, t->decision);
        branch_solver_lengths(t->length, c->solver);
        t->laplace = c->solver->laplace;
    }
    c->solver->stop = NULL;
    branch_moves_begin(c->moves, c->solver);
    branch_moves_reach(c->moves, INT32_MAX, HUGE_VAL);
    return status;
}

int climb_run(climb *c, climb_tree *t, const interrupt *stop)
{
    begin(c, c->set.radius, c->set.valley, stop);
    branch_solver_set(c->solver, t->decision, t->length);
    memset(c->due, EVERYTHING, (size_t)n_nodes(c));
    int status;
    if (!(status = fit_all(c, c->set.coarse * c->problem->n_edges)) && !(status = climb_on(c)))
        status = finish(c);
    return end(c, t, status);
}

/* Shaking */

static void save(climb *c)
{
    const branch_solver *s = c->solver;
    const size_t nodes = (size_t)n_nodes(c);
    saved_tree *to = &c->saved;
    topology_copy(&to->tree, &s->tree);
    memcpy(to->branch, s->branch, nodes * sizeof *to->branch);
    to->log_likelihood = s->log_likelihood;
    to->log_density = s->log_density;
    to->laplace = s->laplace;
}

/* Partials that the way there and back did not change stay current. */
static void restore(climb *c)
{
    branch_solver *s = c->solver;
    const size_t nodes = (size_t)n_nodes(c);
    const saved_tree *from = &c->saved;
    local_fit_mark(c->fit);
    topology_copy(&s->tree, &from->tree);
    memcpy(s->branch, from->branch, nodes * sizeof *from->branch);
    local_fit_compare(c->fit);
    s->log_likelihood = from->log_likelihood;
    s->log_density = from->log_density;
    s->laplace = from->laplace;
    memset(c->due, 0, nodes);
}

/* An inner branch that shares an end with that above v, or v itself. */
static int32_t step_aside(const topology *t, int32_t v, rng *stream)
{
    const int32_t near[] = {t->child[v][0], t->child[v][1], topology_sibling(t, v), t->parent[v]};
    const int32_t to = near[rng_below(stream, 4)];
    return topology_has_nni(t, to) ? to : v;
}

/* Random interchanges along a random walk. There are inner branches: at least four taxa. */
static void make_random_interchanges(climb *c, rng *stream, int count)
{
    topology *t = &c->solver->tree;
    int32_t v;
    do
        v = t->n_taxa + (int32_t)rng_below(stream, (uint32_t)(t->n_taxa - 2));
    while (!topology_has_nni(t, v));
    for (int i = 0; i < count; i++) {
        topology_nni(t, v, (int)rng_below(stream, 2));
        v = step_aside(t, v, stream);
    }
}

/* One piece. */
static int shake_once(climb *c, rng *stream, const climb_visits *visits)
{
    const int count = FEWEST_SHAKES + (int)rng_below(stream, MORE_SHAKES);
    save(c);
    local_fit_mark(c->fit);
    make_random_interchanges(c, stream, count);
    int status = local_fit_near(c->fit, c->set.near * count, c->set.rings);
    c->counts.fitted++;
    if (status == ART_OK) {
        note_changes(c);
        status = climb_on(c);
    }
    if (status == ART_ERR_STOPPED)
        return status;
    if (status == ART_OK && c->solver->laplace > c->saved.laplace + c->set.shaken) {
        c->counts.shaken++;
        return ART_OK;
    }
    if (status == ART_OK && visits && c->solver->laplace >= c->saved.laplace - visits->window)
        visits->visit(visits->context, c->solver);
    restore(c);
    return ART_OK;
}

int climb_shake(climb *c, climb_tree *t, rng stream, int pieces, const climb_visits *visits,
                const interrupt *stop)
{
    begin(c, c->set.shake_radius, c->set.shake_valley, stop);
    branch_solver_set(c->solver, t->decision, t->length);
    int status = fit_all(c, c->set.tolerance);
    memset(c->due, 0, (size_t)n_nodes(c));
    for (int i = 0; i < pieces && !status && c->problem->n_taxa > 3; i++)
        status = shake_once(c, &stream, visits);
    if (!status)
        status = finish(c);
    return end(c, t, status);
}
