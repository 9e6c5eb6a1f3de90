/* What a step of training and a draw cost in ARTree and in ARTreeFormer, in one run:
 *
 *     bench_artree NAME ALIGNMENT [TREES]
 *
 * For the taxa of the alignment, both models with their published sizes and new weights, on one
 * thread. A line for each: name, taxa, model, and milliseconds of processor time, the median of
 * REPEATS, in which the two models take turns:
 *
 *     step         a step of density estimation on ten random trees: gradient and Adam. Random
 *                  trees share next to nothing
 *     sample       ten draws
 *     shared_step  a step on ten trees drawn by weight from TREES, as `fit` does; NA without TREES
 *
 * bench/artree runs it on several alignments and draws the figure. */
#include "artreeformer.h"
#include "base/rng.h"
#include "density/factory.h"
#include "nn/optim.h"
#include "seq/alignment.h"
#include "tree/tree_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TREES = 10, REPEATS = 9, SEED = 1, KINDS = 2, MOST_TAXA = 1000 };

typedef enum figure { STEP, SAMPLE, SHARED_STEP, FIGURES } figure;

typedef struct bench {
    topology_model *model;
    optim optim;
    double ms[FIGURES][REPEATS];
} bench;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bench_open(bench *b, const topology_config *config, int n_taxa)
{
    int status = topology_model_create(&b->model, config, n_taxa, NULL);
    if (!status)
        topology_model_initialise(b->model, SEED);
    return status ? status : optim_init(&b->optim, &b->model->params, optim_defaults(1e-4), NULL);
}

static void bench_close(bench *b)
{
    optim_free(&b->optim);
    topology_model_free(b->model);
}

static void draw_random(int32_t *decision, int n_taxa, uint32_t repeat)
{
    for (uint32_t i = 0; i < TREES; i++) {
        rng r = rng_at(SEED, RNG_TEST, repeat, i);
        for (int n = 3; n < n_taxa; n++)
            *decision++ = (int32_t)rng_below(&r, (uint32_t)topology_edges(n));
    }
}

static void draw_weighted(int32_t *decision, const tree_set *s, uint32_t repeat)
{
    const size_t steps = (size_t)s->taxa.count - 3;
    for (uint32_t i = 0; i < TREES; i++) {
        rng r = rng_at(SEED, RNG_TEST, REPEATS + repeat, i);
        double u = rng_uniform(&r);
        size_t index = 0;
        while (index + 1 < s->count && u > s->weight[index])
            u -= s->weight[index++];
        memcpy(decision + i * steps, tree_set_decision(s, index), steps * sizeof *decision);
    }
}

/* Milliseconds of a step on these trees. */
static int time_step(double *ms, bench *b, const int32_t *decision)
{
    double coefficient[TREES], norm;
    for (int i = 0; i < TREES; i++)
        coefficient[i] = -1.0 / TREES;
    const double from = cpu_seconds();
    params_clear_grad(&b->model->params);
    int status = topology_model_gradient(b->model, NULL, decision, coefficient, TREES);
    if (!status)
        status = optim_norm(&b->optim, &norm);
    if (!status)
        optim_update(&b->optim, 1);
    topology_model_changed(b->model);
    *ms = 1e3 * (cpu_seconds() - from);
    return status;
}

static int time_sample(double *ms, bench *b, int32_t *decision, uint32_t repeat)
{
    double log_q[TREES];
    topology_model_changed(b->model);
    const double from = cpu_seconds();
    int status =
        topology_model_sample(b->model, decision, log_q, TREES, SEED, RNG_SAMPLE, repeat, 0);
    *ms = 1e3 * (cpu_seconds() - from);
    return status;
}

/* All figures of one repeat; sample is empty if there are no trees. */
static int measure(bench *b, const tree_set *sample, uint32_t repeat, int32_t *decision)
{
    const int n_taxa = b->model->n_taxa;
    draw_random(decision, n_taxa, repeat);
    int status = time_step(&b->ms[STEP][repeat], b, decision);
    if (!status)
        status = time_sample(&b->ms[SAMPLE][repeat], b, decision, repeat);
    b->ms[SHARED_STEP][repeat] = (double)NAN;
    if (!status && sample->count) {
        draw_weighted(decision, sample, repeat);
        status = time_step(&b->ms[SHARED_STEP][repeat], b, decision);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, bench *b)
{
    printf("%s\t%d\t%s", name, b->model->n_taxa, topology_model_name(b->model));
    for (int f = 0; f < FIGURES; f++) {
        qsort(b->ms[f], REPEATS, sizeof *b->ms[f], compare);
        if (isnan(b->ms[f][0]))
            printf("\tNA");
        else
            printf("\t%.3f", b->ms[f][REPEATS / 2]);
    }
    printf("\n");
}

static int run(const char *name, int n_taxa, const tree_set *sample)
{
    static int32_t decision[TREES * MOST_TAXA];
    const topology_config config[KINDS] = {artreeformer_config(PUBLISHED_HIDDEN, PUBLISHED_HEADS),
                                           artree_config(PUBLISHED_HIDDEN)};
    static bench b[KINDS];
    int status = n_taxa <= MOST_TAXA ? ART_OK : ART_ERR_LIMIT;
    for (int i = 0; i < KINDS && !status; i++)
        status = bench_open(&b[i], &config[i], n_taxa);
    for (uint32_t repeat = 0; repeat <= REPEATS && !status; repeat++) /* the first one warms up */
        for (int i = 0; i < KINDS && !status; i++)
            status = measure(&b[i], sample, repeat == 0 ? 0 : repeat - 1, decision);
    for (int i = 0; i < KINDS; i++) {
        if (!status)
            print_row(name, &b[i]);
        bench_close(&b[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: bench_artree NAME ALIGNMENT [TREES]\n");
        return 2;
    }
    alignment a = {0};
    tree_set sample = {0};
    int status = alignment_read(&a, argv[2], NULL, NULL);
    if (!status && argc == 4)
        status = tree_set_read(&sample, NULL, (const char *const *)argv + 3, 1, NULL, NULL);
    if (!status && sample.count && sample.taxa.count != a.n_taxa)
        status = ART_ERR_MISMATCH;
    if (!status)
        status = run(argv[1], a.n_taxa, &sample);
    if (status)
        fprintf(stderr, "bench_artree: %s\n", art_strerror(status));
    tree_set_free(&sample);
    alignment_free(&a);
    return status ? 1 : 0;
}
