/* Measures what docs/decisions/clade-density.md reports:
 *
 *     bench_clades FOLDER...
 *         for each FOLDER with truth/rep_1..10.trprobs and short/rep_1..5.trprobs: densities of
 *         clades fitted to each short run, not smoothed and smoothed, and how far the truth (the
 *         average of the long runs) is from them. A line is the mean over the short runs:
 *         KL(truth || q); the same with q no smaller than 2^-52, as published; the truth's mass
 *         where q is 0; time to count the trees, to fit, of one log q and of one draw
 *         Then the same for 30, 100, 1000 trees drawn from the truth, five times each: samples in
 *         which much is missing.
 *
 * A short run's file has distinct trees with their shares; the smallest share is that of one tree
 * of the run, which says how many observations there are. Times are CPU time. */
#include "artreeformer.h"
#include "base/mem.h"
#include "density/clade/clade_density.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_RUNS = 10, SHORT_RUNS = 5, DRAWS = 2000, TEXT = 4096 };

static const int SAMPLE[] = {30, 100, 1000};

#define SMALLEST_Q 0x1p-52

static const char *const KIND[] = {"CCD0", "CCD1", "CCD2"};

typedef enum amount { NOT_SMOOTHED, SEEN_CLADES, EVERYTHING, N_AMOUNTS } amount;
static const char *const AMOUNT[] = {"none", "seen clades", "all trees"};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct figures {
    double kl, kl_published, missing, entropy;
    double count_ms, fit_ms, log_q_us, draw_us;
    clade_smoothing smoothing;
    size_t clades, splits, pairs;
} figures;

/* Smoothing for an amount; all trees and the core alone have estimated strengths. */
static clade_smoothing smoothing_of(amount a, double observations)
{
    clade_smoothing s = clade_smoothing_estimated();
    s.observations = observations;
    if (a == SEEN_CLADES) {
        s.share[0] = 1;
        s.share[1] = s.share[2] = 0;
    }
    return s;
}

static int fit(clade_density **d, figures *f, const tree_set *sample, double observations,
               clade_kind kind, amount a)
{
    double from = cpu_seconds();
    int status = clade_density_create(d, sample->taxa.count, kind);
    for (size_t i = 0; !status && i < sample->count; i++)
        status = clade_density_add(*d, tree_set_decision(sample, i), sample->weight[i]);
    f->count_ms += 1e3 * (cpu_seconds() - from);
    from = cpu_seconds();
    clade_smoothing s =
        smoothing_of(a, observations > 0 ? observations : 1 / sample->weight[sample->count - 1]);
    if (!status)
        status = clade_density_fit(*d, a == NOT_SMOOTHED ? NULL : &s);
    f->fit_ms += 1e3 * (cpu_seconds() - from);
    return status;
}

static int measure(figures *f, const tree_set *truth, const tree_set *sample, double observations,
                   clade_kind kind, amount a)
{
    clade_density *d = NULL;
    clade_scratch s = {0};
    int32_t *decision = mem_zeros((size_t)truth->taxa.count, sizeof *decision);
    int status = decision ? fit(&d, f, sample, observations, kind, a) : ART_ERR_NOMEM;
    double entropy = 0;
    if (!status && !(status = clade_scratch_init(&s, d)))
        status = clade_density_entropy(&entropy, d);
    if (status)
        goto out;
    f->entropy += entropy;
    f->smoothing = clade_density_smoothing(d);
    f->clades = clade_density_clades(d);
    f->splits = clade_density_splits(d);
    f->pairs = clade_density_pairs(d);
    double from = cpu_seconds();
    for (size_t i = 0; i < truth->count; i++) {
        double w = truth->weight[i];
        double log_q = clade_density_log_q(d, tree_set_decision(truth, i), &s);
        if (isinf(log_q))
            f->missing += w;
        f->kl += w * (log(w) - log_q);
        f->kl_published += w * (log(w + SMALLEST_Q) - fmax(log_q, log(SMALLEST_Q)));
    }
    f->log_q_us += 1e6 * (cpu_seconds() - from) / (double)truth->count;
    from = cpu_seconds();
    for (uint32_t i = 0; i < DRAWS; i++) {
        rng r = rng_at(1, RNG_BENCH, 0, i);
        clade_density_sample(decision, d, &r, &s);
    }
    f->draw_us += 1e6 * (cpu_seconds() - from) / DRAWS;
out:
    clade_scratch_free(&s);
    clade_density_free(d);
    free(decision);
    return status;
}

static int read_runs(tree_set *out, const char *folder, const char *kind, int first, int count,
                     const taxa *names)
{
    char path[LONG_RUNS][TEXT];
    const char *paths[LONG_RUNS];
    for (int i = 0; i < count; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s/rep_%d.trprobs", folder, kind, first + i);
        paths[i] = path[i];
    }
    const tree_options options = {.taxa = names, .taxa_from = "the truth"};
    return tree_set_read(out, NULL, paths, (size_t)count, names ? &options : NULL, NULL);
}

/* A line for every kind and amount, the mean over the samples. */
static int print_figures(const tree_set *truth, const tree_set *sample, double observations)
{
    int status = ART_OK;
    for (int kind = CLADE_CCD0; !status && kind <= CLADE_CCD2; kind++)
        for (int a = NOT_SMOOTHED; !status && a < N_AMOUNTS; a++) {
            figures f = {0};
            for (int i = 0; !status && i < SHORT_RUNS; i++)
                status = measure(&f, truth, &sample[i], observations, (clade_kind)kind, (amount)a);
            printf("  %s  %-11s  KL %8.5f  published %8.5f  missing %.1e  count %6.2f ms  "
                   "fit %6.2f ms  log q %5.2f us  draw %5.2f us\n",
                   KIND[kind], AMOUNT[a], f.kl / SHORT_RUNS, f.kl_published / SHORT_RUNS,
                   f.missing / SHORT_RUNS, f.count_ms / SHORT_RUNS, f.fit_ms / SHORT_RUNS,
                   f.log_q_us / SHORT_RUNS, f.draw_us / SHORT_RUNS);
            if (a == EVERYTHING)
                printf("        last one: strength %.3g %.3g  discount %.2f %.2f  shares %.4f %.4f "
                       "%.4f  clades %zu  splits %zu  beside sisters %zu\n",
                       f.smoothing.strength[0], f.smoothing.strength[1], f.smoothing.discount[0],
                       f.smoothing.discount[1], f.smoothing.share[0], f.smoothing.share[1],
                       f.smoothing.share[2], f.clades, f.splits, f.pairs);
        }
    return status;
}

/* So many trees from the truth, as a table of distinct ones. */
static int draw_sample(tree_set *sample, const tree_set *truth, int count, uint32_t index)
{
    rng r = rng_at(1, RNG_BENCH, 1, index);
    int status = tree_set_init(sample, &truth->taxa);
    for (int k = 0; k < count && !status; k++) {
        double u = rng_uniform(&r);
        size_t i = 0;
        while (i + 1 < truth->count && (u -= truth->weight[i]) > 0)
            i++;
        status = tree_set_add(sample, tree_set_decision(truth, i), 1);
    }
    return status ? status : tree_set_normalise(sample);
}

static int folder_figures(const char *folder)
{
    tree_set truth = {0}, sample[SHORT_RUNS] = {0};
    int status = read_runs(&truth, folder, "truth", 1, LONG_RUNS, NULL);
    for (int i = 0; !status && i < SHORT_RUNS; i++)
        status = read_runs(&sample[i], folder, "short", i + 1, 1, &truth.taxa);
    if (!status) {
        printf("%s: %d taxa, %zu trees in the truth, short runs\n", folder, truth.taxa.count,
               truth.count);
        status = print_figures(&truth, sample, 0);
    }
    for (size_t k = 0; k < sizeof SAMPLE / sizeof *SAMPLE && !status; k++) {
        for (uint32_t i = 0; !status && i < SHORT_RUNS; i++) {
            tree_set_free(&sample[i]);
            status = draw_sample(&sample[i], &truth, SAMPLE[k], i);
        }
        printf("%s: %d trees\n", folder, SAMPLE[k]);
        if (!status)
            status = print_figures(&truth, sample, SAMPLE[k]);
    }
    for (int i = 0; i < SHORT_RUNS; i++)
        tree_set_free(&sample[i]);
    tree_set_free(&truth);
    return status;
}

int main(int argc, char **argv)
{
    int status = argc < 2 ? ART_ERR_USAGE : ART_OK;
    for (int i = 1; i < argc && !status; i++)
        status = folder_figures(argv[i]);
    if (status)
        fprintf(stderr, "bench_clades: %s\n", art_strerror(status));
    return status ? 1 : 0;
}
