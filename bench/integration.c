/* Evidence by a slow road that shares nothing with infer but the likelihood:
 *
 *     bench_integration trees ALIGNMENT MODEL TREES [NAME=NUMBER...]
 *     bench_integration evidence ALIGNMENT MODEL [NAME=NUMBER...]
 *
 *     rungs=50 steps=20000 repeats=8 seed=1
 *
 * trees: for every tree of the file, the log of its likelihood integrated over the branch lengths
 * (exponential, mean 0.1). evidence: the log marginal likelihood, over all topologies as well,
 * which have equal probabilities.
 *
 * The method is stepping stones (Xie, Lewis, Fan, Kuo and Chen 2011): a Metropolis chain visits the
 * densities prior * likelihood^beta, beta = (i / rungs)^(1 / 0.3), and the ratio of neighbouring
 * normalising constants is the mean of likelihood^(difference of betas). A chain begins at an exact
 * draw from the prior, goes up from beta 0 to 1, and down again; steps is what it makes at each
 * rung, of which the first fifth does not count. A chain that lags behind errs in opposite
 * directions on the two ways, so that `up` and `down` (the means over the repeats) have to agree.
 * The estimate is the mean over ways and independent repeats. Its error is that of the repeats,
 * with half the difference of the ways added to it (in squares). The error stream gets a line for
 * every repeat.
 *
 * Moves: one branch or all times a random factor; and of the topology, an interchange across a
 * random branch, whose length also changes, or a subtree moved anywhere. */
#include "artreeformer.h"
#include "base/log_mean.h"
#include "base/mem.h"
#include "base/rng.h"
#include "jobs/dataset.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "tree/rearrange.h"
#include "tree/tree_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIOR_RATE  10.0
#define MAX_REPEATS 1000

/* A tree with lengths by node (that of the branch above), its log-likelihood and log prior. */
typedef struct state {
    topology tree;
    double *length; /* [2N-2]; that of taxon 0 is not used */
    double log_likelihood, log_prior;
} state;

typedef struct work {
    dataset data;
    subst_model model;
    likelihood *lik;
    int n_taxa, n_nodes, n_edges;
    state now, next;
    int32_t *decision, *edge_of, *scratch; /* memory of evaluate */
    double *by_edge;
    double rungs, steps, repeats, seed;
    bool topologies; /* move these too */
} work;

static int state_init(state *s, int n_taxa)
{
    const int status = topology_init(&s->tree, n_taxa);
    s->length = mem_zeros((size_t)topology_nodes(n_taxa), sizeof *s->length);
    return status ? status : s->length ? ART_OK : ART_ERR_NOMEM;
}

static void state_free(state *s)
{
    topology_free(&s->tree);
    free(s->length);
}

static void state_copy(state *to, const state *from)
{
    const size_t nodes = (size_t)topology_nodes(from->tree.n_taxa);
    to->tree.n_leaves = from->tree.n_leaves;
    memcpy(to->tree.parent, from->tree.parent, nodes * sizeof *to->tree.parent);
    memcpy(to->tree.child, from->tree.child, nodes * sizeof *to->tree.child);
    memcpy(to->length, from->length, nodes * sizeof *to->length);
    to->log_likelihood = from->log_likelihood;
    to->log_prior = from->log_prior;
}

static void evaluate(work *w, state *s)
{
    double sum = 0;
    topology_decisions(w->decision, w->edge_of, &s->tree, w->scratch);
    for (int v = 1; v < w->n_nodes; v++) {
        w->by_edge[w->edge_of[v]] = s->length[v];
        sum += s->length[v];
    }
    likelihood_batch(w->lik, &s->log_likelihood, NULL, w->decision, w->by_edge, 1);
    s->log_prior = w->n_edges * log(PRIOR_RATE) - PRIOR_RATE * sum;
}

/* The likelihood of a state, once more from the definition. */
static int check(work *w, state *s)
{
    double value;
    evaluate(w, s);
    const int status = likelihood_ref(&value, NULL, &w->data.alignment, w->data.row, &w->model,
                                      w->decision, w->by_edge);
    if (!status && !(fabs(value - s->log_likelihood) < 1e-8 * (1 + fabs(value)))) {
        fprintf(stderr, "likelihood %.12g, by its definition %.12g\n", s->log_likelihood, value);
        return ART_ERR_NUMERIC;
    }
    return status;
}

/* decision: the topology, or NULL for one drawn uniformly. */
static void draw_prior(work *w, state *s, const int32_t *decision, rng *r)
{
    topology_reset(&s->tree);
    for (int n = 3; n < w->n_taxa; n++)
        topology_attach(&s->tree,
                        decision ? decision[n - 3] : (int32_t)rng_below(r, (uint32_t)(2 * n - 3)));
    for (int v = 1; v < w->n_nodes; v++)
        s->length[v] = rng_exponential(r) / PRIOR_RATE;
    evaluate(w, s);
}

/* A factor whose logarithm is symmetric about 0, of very different sizes. */
static double random_factor(rng *r, double size)
{
    return exp(size * exp(-3 * rng_uniform(r)) * (2 * rng_uniform(r) - 1));
}

/* The moves change w->next and return the log of what the proposal contributes to the ratio of
 * acceptance; NAN if there is no such move here. */
static double move_branch(work *w, rng *r)
{
    const double factor = random_factor(r, 6);
    w->next.length[1 + rng_below(r, (uint32_t)w->n_nodes - 1)] *= factor;
    return log(factor);
}

static double move_scale(work *w, rng *r)
{
    const double factor = random_factor(r, 1);
    for (int v = 1; v < w->n_nodes; v++)
        w->next.length[v] *= factor;
    return w->n_edges * log(factor);
}

static double move_interchange(work *w, rng *r)
{
    const int32_t v = (int32_t)(1 + rng_below(r, (uint32_t)w->n_nodes - 1));
    if (!topology_has_nni(&w->next.tree, v))
        return (double)NAN;
    const double factor = random_factor(r, 2);
    topology_nni(&w->next.tree, v, rng_u32(r) & 1);
    w->next.length[v] *= factor;
    return log(factor);
}

/* The place on the new branch is uniform: the ratio is that of the lengths of the new branch and of
 * the one that is left behind. As many places are open to the subtree before as after. */
static double move_subtree(work *w, rng *r)
{
    topology *t = &w->next.tree;
    double *length = w->next.length;
    const int32_t v = (int32_t)(1 + rng_below(r, (uint32_t)w->n_nodes - 1));
    const int32_t to = (int32_t)(1 + rng_below(r, (uint32_t)w->n_nodes - 1));
    int32_t above = to;
    while (above != 0 && above != v)
        above = t->parent[above];
    if (above == v || t->parent[v] == 0 || !topology_has_spr(t, v, to))
        return (double)NAN;
    const int32_t hinge = t->parent[v], sibling = topology_sibling(t, v);
    const double left = length[hinge] + length[sibling], whole = length[to];
    topology_spr(t, length, v, to);
    length[to] = rng_uniform(r) * whole;
    length[hinge] = whole - length[to];
    return log(whole / left);
}

static void step(work *w, double beta, rng *r)
{
    const double u = rng_uniform(r);
    state_copy(&w->next, &w->now);
    double ratio;
    if (w->topologies && u < 0.25)
        ratio = move_interchange(w, r);
    else if (w->topologies && u < 0.5)
        ratio = move_subtree(w, r);
    else if (u < 0.9)
        ratio = move_branch(w, r);
    else
        ratio = move_scale(w, r);
    if (isnan(ratio))
        return;
    evaluate(w, &w->next);
    ratio += beta * (w->next.log_likelihood - w->now.log_likelihood) + w->next.log_prior -
             w->now.log_prior;
    if (log(rng_uniform(r)) < ratio) {
        const state old = w->now;
        w->now = w->next;
        w->next = old;
    }
}

static double beta_of(const work *w, int rung)
{
    return pow(rung / w->rungs, 1 / 0.3);
}

/* The log of a ratio of normalising constants, from rung to the next one above. */
static double stone(work *w, int rung, rng *r)
{
    const double beta = beta_of(w, rung), more = beta_of(w, rung + 1) - beta;
    log_mean mean = {0};
    for (int i = 0; i < w->steps; i++) {
        step(w, beta, r);
        if (i >= w->steps / 5)
            log_mean_add(&mean, more * w->now.log_likelihood);
    }
    return log_mean_value(&mean);
}

typedef struct answer {
    double value, error, up, down;
} answer;

static answer integrate(work *w, const int32_t *decision, uint32_t index)
{
    const int repeats = (int)w->repeats, rungs = (int)w->rungs;
    double sum = 0, squares = 0, value[MAX_REPEATS];
    answer a = {0};
    for (int k = 0; k < repeats; k++) {
        rng r = rng_at((uint64_t)w->seed, RNG_BENCH, index, (uint32_t)k);
        double up = 0, down = 0;
        draw_prior(w, &w->now, decision, &r);
        for (int i = 0; i < rungs; i++)
            up += stone(w, i, &r);
        for (int i = 0; i < w->steps; i++)
            step(w, 1, &r);
        for (int i = rungs - 1; i >= 0; i--)
            down += stone(w, i, &r);
        value[k] = (up + down) / 2;
        sum += value[k];
        a.up += up / repeats;
        a.down += down / repeats;
        fprintf(stderr, "repeat %d: up %.4f, down %.4f\n", k + 1, up, down);
    }
    a.value = sum / repeats;
    for (int k = 0; k < repeats; k++)
        squares += (value[k] - a.value) * (value[k] - a.value);
    const double gap = (a.up - a.down) / 2;
    a.error = sqrt(squares / (repeats - 1) / repeats + gap * gap);
    return a;
}

static void print(const char *what, answer a)
{
    printf("%s\t%.4f\t%.4f\t%.4f\t%.4f\n", what, a.value, a.error, a.up, a.down);
    fflush(stdout);
}

static int run(work *w, const char *trees, diag *d)
{
    rng r = rng_at(1, RNG_BENCH, UINT32_MAX, 0);
    int status = ART_OK;
    for (int i = 0; i < 5 && !status; i++) {
        draw_prior(w, &w->now, NULL, &r);
        status = check(w, &w->now);
    }
    if (status)
        return status;
    printf("%s\tlog_evidence\tse\tup\tdown\n", trees ? "tree" : "");
    if (!trees) {
        print("all", integrate(w, NULL, 0));
        return ART_OK;
    }
    tree_file f;
    const tree_options options = {.taxa = &w->data.taxa, .taxa_from = "the alignment"};
    status = tree_file_open(&f, trees, &options, d);
    for (uint32_t i = 1; !status && tree_file_more(&f); i++)
        if ((status = tree_file_next(&f, d)) == ART_OK) {
            char name[32];
            snprintf(name, sizeof name, "%u", i);
            print(name, integrate(w, f.tree.decision, i));
        }
    tree_file_free(&f);
    return status;
}

static int set_number(work *w, const char *text)
{
    const struct {
        const char *name;
        double *number;
    } names[] = {{"rungs=", &w->rungs},
                 {"steps=", &w->steps},
                 {"repeats=", &w->repeats},
                 {"seed=", &w->seed}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(text, names[i].name, strlen(names[i].name))) {
            *names[i].number = strtod(text + strlen(names[i].name), NULL);
            return w->rungs >= 1 && w->steps >= 1 && w->repeats >= 2 && w->repeats <= MAX_REPEATS
                       ? ART_OK
                       : ART_ERR_USAGE;
        }
    return ART_ERR_USAGE;
}

static int begin(work *w, const char *path, const char *model, diag *d)
{
    int status = dataset_read(&w->data, path, NULL, NULL, d);
    if (!status)
        status = model_string_parse(&w->model, model, &w->data.alignment, d);
    if (!status)
        status = likelihood_create(&w->lik, &w->data.alignment, w->data.row, &w->model, 1, NULL);
    if (status)
        return status;
    w->n_taxa = w->data.taxa.count;
    w->n_nodes = topology_nodes(w->n_taxa);
    w->n_edges = topology_edges(w->n_taxa);
    const size_t nodes = (size_t)w->n_nodes;
    w->decision = mem_zeros(nodes, sizeof *w->decision);
    w->edge_of = mem_zeros(nodes, sizeof *w->edge_of);
    w->scratch = mem_zeros(3 * nodes + 6, sizeof *w->scratch);
    w->by_edge = mem_zeros(nodes, sizeof *w->by_edge);
    if (!w->decision || !w->edge_of || !w->scratch || !w->by_edge)
        return ART_ERR_NOMEM;
    status = state_init(&w->now, w->n_taxa);
    return status ? status : state_init(&w->next, w->n_taxa);
}

int main(int argc, char **argv)
{
    work w = {.rungs = 50, .steps = 20000, .repeats = 8, .seed = 1};
    diag d;
    const bool trees = argc > 1 && !strcmp(argv[1], "trees");
    const int first = trees ? 5 : 4;
    int status =
        argc < first || (!trees && strcmp(argv[1], "evidence") != 0) ? ART_ERR_USAGE : ART_OK;
    for (int i = first; i < argc && !status; i++)
        status = set_number(&w, argv[i]);
    if (status) {
        fprintf(stderr, "usage: bench_integration trees ALIGNMENT MODEL TREES [NAME=NUMBER...]\n"
                        "       bench_integration evidence ALIGNMENT MODEL [NAME=NUMBER...]\n"
                        "numbers: rungs, steps, repeats (2 or more), seed\n");
        return 2;
    }
    diag_init(&d);
    w.topologies = !trees;
    status = begin(&w, argv[2], argv[3], &d);
    if (!status)
        status = run(&w, trees ? argv[4] : NULL, &d);
    for (size_t i = 0; i < d.count && status; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    state_free(&w.now);
    state_free(&w.next);
    free(w.decision);
    free(w.edge_of);
    free(w.scratch);
    free(w.by_edge);
    likelihood_free(w.lik);
    dataset_free(&w.data);
    diag_free(&d);
    return status ? 1 : 0;
}
