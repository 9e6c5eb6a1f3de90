/* How fast the chain over topologies (chain/tree_chain.h) is, and how exact:
 *
 *     bench_chain ALIGNMENT MODEL SECONDS [NAME=NUMBER...]
 *
 *     seed, walk, subtrees, radius, far, far_radius (at least radius), tolerance, block, local,
 * near, rings       as in chain_settings joint=1     a chain over topologies with their branch
 * lengths (chain/joint_chain.h) instead, with walk, subtrees, radius and block as in joint_settings
 *     chains=K    so many chains, one after the other, of as many climbs, SECONDS for each; the
 *                 agreement of their second halves is printed
 *     start=FILE  begins at the tree in FILE; where there is none, at the end of a climb, which is
 *                 then written there
 *
 * Chains on one thread, each from the end of one climb (collapsed/search_worker.h); exponential
 * branches of mean 0.1. Prints how many steps of each kind were made, proposed another tree and
 * were accepted; interchanges (changed branches in accepted proposals) and resolved branches a
 * second; the effective sample size of g; what a fit of all branches changes of it. Times are
 * processor time. */
#include "artreeformer.h"
#include "base/mem.h"
#include "branch/local_fit.h"
#include "chain/convergence.h"
#include "chain/joint_chain.h"
#include "chain/tree_chain.h"
#include "collapsed/search_worker.h"
#include "jobs/dataset.h"
#include "subst/model_string.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PRIOR_RATE 10.0

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct work {
    dataset data;
    subst_model model;
    branch_posterior problem;
    fitted_tree start;
    uint64_t seed;
    chain_settings set;
    const char *start_file;
    double *g; /* [room] by block */
    size_t count, room;
    joint_settings joint_set;
    int joint, chains;
    int32_t *tree; /* [n_trees][N-3] the states at the ends of blocks */
    size_t n_trees, tree_room;
} work;

static int read_start(work *w)
{
    FILE *f = w->start_file ? fopen(w->start_file, "r") : NULL;
    int whole = f != NULL;
    for (int i = 0; whole && i < w->problem.n_taxa - 3; i++)
        whole = fscanf(f, "%d", &w->start.decision[i]) == 1;
    for (int e = 0; whole && e < w->problem.n_edges; e++)
        whole = fscanf(f, "%lf", &w->start.length[e]) == 1;
    if (f)
        fclose(f);
    return whole;
}

static void write_start(const work *w)
{
    FILE *f = w->start_file ? fopen(w->start_file, "w") : NULL;
    for (int i = 0; f && i < w->problem.n_taxa - 3; i++)
        fprintf(f, "%d\n", w->start.decision[i]);
    for (int e = 0; f && e < w->problem.n_edges; e++)
        fprintf(f, "%.17g\n", w->start.length[e]);
    if (f)
        fclose(f);
}

static int find_start(work *w)
{
    search_worker s;
    int64_t scored = 0;
    if (read_start(w))
        return ART_OK;
    const double begin = seconds();
    const collapsed_settings set = collapsed_defaults(w->seed);
    int status = search_worker_init(&s, &w->problem, &w->data.alignment, w->data.row, &set.search);
    if (status)
        return status;
    const int fits = search_climb(&s, &w->start, rng_at(w->seed, RNG_START, 0, 0), &scored, NULL);
    status = w->start.status;
    search_worker_free(&s);
    printf("climb\t%.3f s, %d fits, g %.3f\n", seconds() - begin, fits, w->start.laplace);
    write_start(w);
    return status;
}

/* Keeps a state and its log density. */
static int keep(work *w, const int32_t *decision, double value)
{
    const size_t each = (size_t)w->problem.n_taxa - 3;
    double *g = mem_grow(w->g, &w->room, w->count, sizeof *g);
    if (!g)
        return ART_ERR_NOMEM;
    w->g = g;
    w->g[w->count++] = value;
    int32_t *tree = mem_grow(w->tree, &w->tree_room, w->n_trees, each * sizeof *tree);
    if (!tree)
        return ART_ERR_NOMEM;
    w->tree = tree;
    memcpy(w->tree + w->n_trees++ * each, decision, each * sizeof *tree);
    return ART_OK;
}

/* The mean of the values after a tenth, with its error and effective sample size. */
static void print_values(const work *w, double spent)
{
    const size_t skip = w->count / 10;
    const double size = series_ess(w->g + skip, w->count - skip);
    double mean = 0, variance = 0;
    for (size_t i = skip; i < w->count; i++)
        mean += w->g[i] / (double)(w->count - skip);
    for (size_t i = skip; i < w->count; i++)
        variance += (w->g[i] - mean) * (w->g[i] - mean) / (double)(w->count - skip);
    printf("log density\tmean %.3f (%.3f), effective sample size %.1f, %.2f/s\n", mean,
           sqrt(variance / size), size, size / spent);
}

static int run_joint(work *w, double limit)
{
    static const char *const kinds[] = {"lengths", "resolutions", "subtrees", "parameters"};
    joint_chain *c;
    int status = joint_chain_create(&c, &w->problem, &w->joint_set);
    if (status)
        return status;
    status = joint_chain_start(c, w->start.decision, w->start.length);
    const double begin = seconds();
    double spent = 0;
    while (!status && (spent = seconds() - begin) < limit) {
        status = joint_chain_block(c, w->seed, 0, NULL);
        if (!status)
            status = keep(w, joint_chain_decision(c), joint_chain_log_likelihood(c));
    }
    const joint_counts *n = joint_chain_counts(c);
    for (int k = 0; k < JOINT_KINDS; k++)
        printf("%s\t%lld proposals, %.3f accepted\n", kinds[k], (long long)n->tried[k],
               (double)n->accepted[k] / fmax(1, (double)n->tried[k]));
    printf("speed\t%.1f steps/s, %.1f branches resolved/s, %.1f changes of the tree/s\n",
           (double)n->steps / spent, (double)n->tried[JOINT_RESOLUTION] / spent,
           (double)n->moved / spent);
    print_values(w, spent);
    joint_chain_free(c);
    return status;
}

static int run(work *w, double limit)
{
    tree_chain *c;
    int status = tree_chain_create(&c, &w->problem, &w->set);
    if (status)
        return status;
    status = tree_chain_start(c, w->start.decision, w->start.length);
    const double begin = seconds();
    double spent = 0;
    while (!status && (spent = seconds() - begin) < limit) {
        status = tree_chain_block(c, w->seed, 0, NULL);
        if (!status)
            status = keep(w, tree_chain_decision(c), tree_chain_laplace(c));
    }
    const chain_counts *n = tree_chain_counts(c);
    static const char *const kinds[] = {"interchanges", "subtree"};
    for (int k = 0; k < CHAIN_JUMP; k++)
        printf("%s\t%lld proposals, %lld of another tree, %.3f of these accepted\n", kinds[k],
               (long long)n->tried[k], (long long)n->moved[k],
               (double)n->accepted[k] / fmax(1, (double)n->moved[k]));
    printf("speed\t%.1f steps/s, %.1f branches resolved/s, %.1f interchanges/s\n",
           (double)n->steps / spent, (double)n->tried[CHAIN_INTERCHANGE] / spent,
           (double)n->accepted[CHAIN_INTERCHANGE] / spent);
    print_values(w, spent);
    printf(
        "blocks\t%lld, %.3f of them returned; g changed by %.2g (root mean square), %.2g at most\n",
        (long long)n->blocks, (double)n->returned / (double)n->blocks,
        sqrt(n->drift_squares / (double)n->blocks), n->drift);
    const local_fit_work *done = tree_chain_work(c);
    printf("work per step\t%.1f partials, %.1f branches fitted, %.1f sweeps\n",
           (double)done->joins / (double)n->steps, (double)done->fits / (double)n->steps,
           (double)done->sweeps / (double)n->steps);
    tree_chain_free(c);
    return status;
}

/* One chain after the other, and how far they agree. */
static int run_all(work *w, double limit)
{
    chain_trees *chain = mem_zeros((size_t)w->chains, sizeof *chain);
    size_t *end = mem_zeros((size_t)w->chains, sizeof *end);
    split_agreement found;
    int status = chain && end ? ART_OK : ART_ERR_NOMEM;
    for (int i = 0; i < w->chains && !status; i++, w->seed++) {
        const size_t before = w->n_trees;
        w->count = 0;
        status = find_start(w);
        if (!status)
            status = w->joint ? run_joint(w, limit) : run(w, limit);
        chain[i].count = (w->n_trees - before) / 2;
        end[i] = w->n_trees;
    }
    for (int i = 0; i < w->chains && !status; i++)
        chain[i].decision = w->tree + (end[i] - chain[i].count) * ((size_t)w->problem.n_taxa - 3);
    if (!status && w->chains > 1) {
        status = split_agreement_of(&found, chain, (size_t)w->chains, w->problem.n_taxa);
        printf("agreement\tASDSF %.4f over %zu splits, largest deviation %.3f, effective trees "
               "%.1f (least of a split %.1f)\n",
               found.average_deviation, found.splits, found.largest_deviation, found.between_ess,
               found.least_ess);
    }
    free(chain);
    free(end);
    return status;
}

static int set_option(work *w, const char *text)
{
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : 0;
    chain_settings *plain = &w->set;
    joint_settings *joint = &w->joint_set;
    const struct {
        const char *name;
        double *number; /* of either kind of chain: only that of the chosen one counts */
        double *joint_number;
        int *count;
        int *joint_count;
    } names[] = {{"walk", &plain->walk, &joint->walk, NULL, NULL},
                 {"subtrees", &plain->subtrees, &joint->subtrees, NULL, NULL},
                 {"tolerance", &plain->tolerance, NULL, NULL, NULL},
                 {"near", &plain->near, NULL, NULL, NULL},
                 {"far", &plain->far, NULL, NULL, NULL},
                 {"radius", NULL, NULL, &plain->radius, &joint->radius},
                 {"far_radius", NULL, NULL, &plain->far_radius, NULL},
                 {"block", NULL, NULL, &plain->block, &joint->block},
                 {"rings", NULL, NULL, &plain->rings, NULL},
                 {"local", NULL, NULL, &plain->local, NULL},
                 {"joint", NULL, NULL, &w->joint, NULL},
                 {"chains", NULL, NULL, &w->chains, NULL}};
    if (n == 5 && !memcmp(text, "start", n))
        w->start_file = equals + 1;
    else if (n == 4 && !memcmp(text, "seed", n))
        w->seed = strtoull(equals + 1, NULL, 10);
    else {
        size_t i = 0;
        while (i < sizeof names / sizeof *names &&
               (strlen(names[i].name) != n || memcmp(names[i].name, text, n) != 0))
            i++;
        if (i == sizeof names / sizeof *names)
            return ART_ERR_USAGE;
        const double value = strtod(equals + 1, NULL);
        if (names[i].number)
            *names[i].number = value;
        if (names[i].joint_number)
            *names[i].joint_number = value;
        if (names[i].count)
            *names[i].count = (int)value;
        if (names[i].joint_count)
            *names[i].joint_count = (int)value;
    }
    return ART_OK;
}

int main(int argc, char **argv)
{
    work w = {.seed = 1, .set = chain_defaults(), .joint_set = joint_defaults(), .chains = 1};
    diag d;
    int status = argc < 4 ? ART_ERR_USAGE : ART_OK;
    for (int i = 4; i < argc && !status; i++)
        status = set_option(&w, argv[i]);
    if (status) {
        fprintf(stderr, "usage: bench_chain ALIGNMENT MODEL SECONDS [NAME=NUMBER...]\n");
        return 2;
    }
    diag_init(&d);
    status = dataset_read(&w.data, argv[1], NULL, NULL, &d);
    if (!status)
        status = model_string_parse(&w.model, argv[2], &w.data.alignment, &d);
    if (!status)
        status = branch_posterior_init(&w.problem, &w.data.alignment, w.data.row, &w.model,
                                       branch_prior_exponential(PRIOR_RATE));
    if (!status)
        status = fitted_tree_init(&w.start, &w.problem);
    if (!status) {
        printf("data\t%d taxa, %zu patterns\n", w.problem.n_taxa, w.problem.n_patterns);
        status = run_all(&w, strtod(argv[3], NULL));
    }
    for (size_t i = 0; i < d.count && status; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    fitted_tree_free(&w.start);
    branch_posterior_free(&w.problem);
    dataset_free(&w.data);
    diag_free(&d);
    free(w.g);
    free(w.tree);
    return status ? 1 : 0;
}
