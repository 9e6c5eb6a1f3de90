/* Measures what docs/collapsed.md reports about integrating out branch lengths:
 *
 *     bench_collapsed evidence ALIGNMENT TRUTH...
 *         on the best trees of a known posterior (MrBayes .trprobs files, averaged): times, the
 *         distance of the normalised evidence to it, effective sample sizes
 *     bench_collapsed explore ALIGNMENT SECONDS THREADS SEED [TRUTH...]
 *         exploration from nothing until it ends or has used so many seconds of every thread;
 *         evidence by importance sampling from the table; the distance to the known posterior
 *
 * JC, exponential branches of mean 0.1. Times are CPU time, so that a busy machine does not
 * matter. */
#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/search.h"
#include "collapsed/blend.h"
#include "branch/evidence_batch.h"
#include "subst/model_string.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_TREES = 2000,  /* of a known posterior that are fitted .. */
    FULL_TREES = 300,   /* .. and that get a full Hessian and draws */
    DRAWS = 100,        /* for each of these */
    SAMPLED = 1000,     /* trees from the table for the evidence .. */
    SAMPLED_DRAWS = 10, /* .. and lengths for each */
    CAPACITY = 1000000,
    IMPROVED = 1000, /* trees of the table that get full approximations and draws, at most */
};

#define PRIOR_RATE 10.0

static double clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Data, taxa in lexicographic order, and a known posterior if there is one. */
typedef struct setting {
    alignment data;
    taxa names;
    int *taxon;
    branch_posterior problem;
    tree_set truth;
    double log_topologies; /* log (2N-5)!! */
} setting;

static int setting_read(setting *s, const char *path, const char *const *truth, size_t n_truth)
{
    diag d;
    subst_model model;
    int32_t *moved = NULL;
    diag_init(&d);
    memset(s, 0, sizeof *s);
    taxa_init(&s->names);
    int status = alignment_read(&s->data, path, NULL, &d);
    for (int i = 0; !status && i < s->data.n_taxa; i++)
        status = taxa_add(&s->names, s->data.name[i], strlen(s->data.name[i]));
    if (status)
        goto out;
    moved = mem_zeros((size_t)s->data.n_taxa, sizeof *moved);
    s->taxon = mem_zeros((size_t)s->data.n_taxa, sizeof *s->taxon);
    status = moved && s->taxon ? taxa_sort(&s->names, moved) : ART_ERR_NOMEM;
    for (int i = 0; !status && i < s->data.n_taxa; i++)
        s->taxon[moved[i]] = i;
    if (status || (status = model_string_parse(&model, "JC", NULL, &d)) ||
        (status = branch_posterior_init(&s->problem, &s->data, s->taxon, &model,
                                        branch_prior_exponential(PRIOR_RATE))))
        goto out;
    for (int k = 3; k <= 2 * s->data.n_taxa - 5; k += 2)
        s->log_topologies += log(k);
    if (n_truth) {
        const tree_options options = {.taxa = &s->names, .taxa_from = "the alignment"};
        status = tree_set_read(&s->truth, NULL, truth, n_truth, &options, &d);
    }
out:
    for (size_t i = 0; status && i < d.count; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    free(moved);
    diag_free(&d);
    return status;
}

static void setting_free(setting *s)
{
    tree_set_free(&s->truth);
    branch_posterior_free(&s->problem);
    free(s->taxon);
    taxa_free(&s->names);
    alignment_free(&s->data);
}

static double log_sum(const double *g, size_t n)
{
    log_mean m = {0};
    for (size_t i = 0; i < n; i++)
        log_mean_add(&m, g[i]);
    return log_mean_value(&m) + log((double)n);
}

/* Total variation and KL(truth || normalised exp g), on the first n trees. */
static void print_distance(const char *what, const double *g, const tree_set *truth, size_t n)
{
    double all = log_sum(g, n), share = 0, variation = 0, divergence = 0;
    for (size_t i = 0; i < n; i++)
        share += truth->weight[i];
    for (size_t i = 0; i < n; i++) {
        double p = truth->weight[i] / share, log_q = g[i] - all;
        variation += fabs(p - exp(log_q)) / 2;
        divergence += p * (log(p) - log_q);
    }
    printf("  %-18s %5zu trees   TV %.4f   KL %.5f\n", what, n, variation, divergence);
}

typedef struct evidence_numbers {
    double laplace[MOST_TREES], full[FULL_TREES], sampled[FULL_TREES];
    double ess[2];                           /* full, diagonal: weighted means */
    double mode_time, gauss_time, draw_time; /* seconds each */
} evidence_numbers;

static void measure_tree(evidence_numbers *out, topology_evidence *t, const setting *s, size_t i,
                         double *length, int full)
{
    double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (int e = 0; e < s->problem.n_edges; e++)
        length[e] = 0.1;
    if (topology_evidence_mode(t, tree_set_decision(&s->truth, i), length, BRANCH_TOLERANCE))
        fprintf(stderr, "no mode for tree %zu\n", i);
    out->mode_time += clock_of(CLOCK_THREAD_CPUTIME_ID) - start;
    out->laplace[i] = t->laplace;
    for (int shape = EVIDENCE_FULL; full && shape >= EVIDENCE_DIAGONAL; shape--) {
        log_mean m = {0};
        start = clock_of(CLOCK_THREAD_CPUTIME_ID);
        topology_evidence_proposal(t, (evidence_shape)shape);
        double made = clock_of(CLOCK_THREAD_CPUTIME_ID);
        topology_evidence_sample(t, &m, (length_draws){0}, DRAWS,
                                 rng_at(1, RNG_BENCH, (uint32_t)shape, (uint32_t)i));
        out->ess[shape == EVIDENCE_DIAGONAL] += s->truth.weight[i] * log_mean_ess(&m) / DRAWS;
        if (shape == EVIDENCE_FULL) {
            out->gauss_time += made - start;
            out->draw_time += clock_of(CLOCK_THREAD_CPUTIME_ID) - made;
            out->full[i] = t->full_laplace;
            out->sampled[i] = log_mean_value(&m);
        }
    }
}

static int evidence(setting *s)
{
    const size_t trees = s->truth.count < MOST_TREES ? s->truth.count : MOST_TREES;
    const size_t full = trees < FULL_TREES ? trees : FULL_TREES;
    topology_evidence *t = NULL;
    evidence_numbers *out = mem_zeros(1, sizeof *out);
    double *length = mem_zeros((size_t)s->problem.n_edges, sizeof *length), share = 0;
    int status = out && length ? topology_evidence_create(&t, &s->problem) : ART_ERR_NOMEM;
    for (size_t i = 0; !status && i < trees; i++) {
        measure_tree(out, t, s, i, length, i < full);
        share += i < full ? s->truth.weight[i] : 0;
    }
    if (!status) {
        printf("%d taxa, %zu patterns; mode %.2f ms, Hessian %.2f ms, draw %.0f us\n",
               s->problem.n_taxa, s->problem.n_patterns, 1e3 * out->mode_time / (double)trees,
               1e3 * out->gauss_time / (double)full, 1e6 * out->draw_time / (double)(full * DRAWS));
        print_distance("diagonal Laplace", out->laplace, &s->truth, trees);
        print_distance("diagonal Laplace", out->laplace, &s->truth, full);
        print_distance("full Laplace", out->full, &s->truth, full);
        print_distance("sampling", out->sampled, &s->truth, full);
        printf("  log evidence %.3f (share of the posterior on these trees: %.4f)\n",
               log_sum(out->sampled, full) - s->log_topologies - log(share), share);
        printf("  effective sample size: full %.2f, diagonal %.2f\n", out->ess[0] / share,
               out->ess[1] / share);
    }
    topology_evidence_free(t);
    free(out);
    free(length);
    return status;
}

/* The number of a tree drawn from the table's own distribution. */
static size_t draw_tree(const tree_table *t, double all, rng *r)
{
    double left = rng_uniform(r);
    size_t i = 0;
    while (i + 1 < t->count && (left -= exp(t->log_evidence[i] - all)) > 0)
        i++;
    return i;
}

/* Trees from the table, lengths from their proposals: the mean of exp(sampled - g) corrects
 * the table's sum. */
static int sample_table(const setting *s, const tree_table *t, pool *threads)
{
    const size_t edges = (size_t)s->problem.n_edges;
    const double all = tree_table_log_sum(t, 0, 0);
    evidence_batch *team = NULL;
    evidence_job *job = mem_zeros(SAMPLED, sizeof *job);
    double *length = mem_zeros(SAMPLED * edges, sizeof *length), ess = 0;
    size_t *number = mem_zeros(SAMPLED, sizeof *number);
    int status = job && length && number ? evidence_batch_create(&team, &s->problem, threads)
                                         : ART_ERR_NOMEM;
    log_mean m = {0};
    if (status)
        goto out;
    for (size_t i = 0; i < SAMPLED; i++) {
        rng r = rng_at(1, RNG_BENCH, 0, (uint32_t)i);
        number[i] = draw_tree(t, all, &r);
        tree_table_lengths(length + i * edges, t, number[i]);
        job[i] = (evidence_job){.decision = tree_table_decision(t, number[i]),
                                .length = length + i * edges,
                                .tolerance = BRANCH_TOLERANCE,
                                .shape = EVIDENCE_FULL,
                                .draws = SAMPLED_DRAWS,
                                .stream = rng_at(1, RNG_TREE_LENGTHS, 0, (uint32_t)i)};
    }
    evidence_batch_run(team, job, SAMPLED, NULL);
    for (size_t i = 0; i < SAMPLED; i++) {
        log_mean_add(&m, log_mean_value(&job[i].weights) - t->log_evidence[number[i]]);
        ess += log_mean_ess(&job[i].weights) / SAMPLED_DRAWS / SAMPLED;
    }
    printf("  log evidence %.3f, standard error %.3f (table's own sum %.3f); effective sample size "
           "%.2f\n",
           all - s->log_topologies + log_mean_value(&m), log_mean_error(&m),
           all - s->log_topologies, ess);
out:
    evidence_batch_free(team);
    free(job);
    free(length);
    free(number);
    return status;
}

static void print_table_distance(const char *what, const setting *s, const tree_table *t)
{
    const double all = tree_table_log_sum(t, 0, 0);
    double variation = 1, missing = 0; /* sum |p - q| = sum over the truth + what q has beside */
    for (size_t i = 0; i < s->truth.count; i++) {
        const int64_t at = tree_table_find(t, tree_set_decision(&s->truth, i));
        const double p = s->truth.weight[i], q = at < 0 ? 0 : exp(t->log_evidence[at] - all);
        variation += fabs(p - q) - q;
        missing += at < 0 ? p : 0;
    }
    printf("  %s: TV to the truth %.4f; share of the truth not in the table %.4f\n", what,
           variation / 2, missing);
}

/* The best trees with full approximations and draws, and the distance before and after. */
static int improve_table(const setting *s, tree_table *t, pool *threads)
{
    evidence_batch *team;
    table_improvement out;
    blend_settings set = collapsed_defaults(1).blend;
    set.most = IMPROVED;
    int status = evidence_batch_create(&team, &s->problem, threads);
    if (status)
        return status;
    const double start = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    print_table_distance("diagonal Laplace", s, t);
    status = table_improve(&out, t, team, &set, 1, 0, NULL);
    printf(
        "  %zu trees with %.3f of the weight improved in %.1f s: offset %.3f (%.3f), scatter %.3f, "
        "log evidence %.3f\n",
        out.trees, out.share, (clock_of(CLOCK_PROCESS_CPUTIME_ID) - start) / pool_threads(threads),
        out.full.offset, out.full.offset_error, out.full.scatter,
        tree_table_log_sum(t, 0, 0) - s->log_topologies);
    print_table_distance("improved", s, t);
    evidence_batch_free(team);
    return status;
}

static int time_is_over(void *context, const tree_search *x)
{
    (void)x;
    return clock_of(CLOCK_PROCESS_CPUTIME_ID) > *(const double *)context;
}

static int explore(setting *s, double seconds, int n_threads, uint64_t seed)
{
    pool *threads = NULL;
    tree_search *x = NULL;
    tree_table table = {0};
    collapsed_settings set = collapsed_defaults(seed);
    const double start = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    double end = start + seconds * n_threads;
    int status;
    if ((status = pool_create(&threads, n_threads)) ||
        (status = tree_table_init(&table, s->problem.n_taxa, CAPACITY)) ||
        (status = tree_search_create(&x, &s->problem, &s->data, s->taxon, &table, &set, threads)))
        goto out;
    status = tree_search_run(x, time_is_over, &end);
    if (status && status != ART_ERR_STOPPED)
        goto out;
    const search_counts *c = tree_search_counts(x);
    printf("%d taxa, %zu patterns; %s after %.1f s on %d threads\n", s->problem.n_taxa,
           s->problem.n_patterns, status ? "stopped" : "done",
           (clock_of(CLOCK_PROCESS_CPUTIME_ID) - start) / n_threads, n_threads);
    printf("  %lld climbs to %lld peaks; %lld trees scored, %lld fitted, %lld expanded, %lld "
           "widened; %zu in the table; weight not expanded %.4f\n",
           (long long)c->starts, (long long)c->peaks, (long long)c->scored, (long long)c->fitted,
           (long long)c->expanded, (long long)c->widened, table.count, tree_search_unexpanded(x));
    status = sample_table(s, &table, threads);
    if (!status && s->truth.count)
        status = improve_table(s, &table, threads);
out:
    tree_search_free(x);
    tree_table_free(&table);
    pool_free(threads);
    return status;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_collapsed evidence ALIGNMENT TRUTH...\n"
                    "       bench_collapsed explore ALIGNMENT SECONDS THREADS SEED [TRUTH...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const int exploring = argc > 1 && strcmp(argv[1], "explore") == 0;
    const int first = exploring ? 6 : 3;
    if (argc < (exploring ? 6 : 4) || (!exploring && strcmp(argv[1], "evidence") != 0))
        return usage();
    setting s;
    int status =
        setting_read(&s, argv[2], (const char *const *)argv + first, (size_t)(argc - first));
    if (!status)
        status = exploring ? explore(&s, strtod(argv[3], NULL), (int)strtol(argv[4], NULL, 10),
                                     strtoull(argv[5], NULL, 10))
                           : evidence(&s);
    if (status)
        fprintf(stderr, "%s\n", art_strerror(status));
    setting_free(&s);
    return status != 0;
}
