/* Times the likelihood with the gradient of all branch lengths against BEAGLE, on the same
 * trees, in the same run:
 *
 *     likelihood_beagle ALIGNMENT [MODEL]
 *
 * Ten random trees, one core. The two take turns; each time is processor time, the best of
 * REPEATS. */
#include "base/mem.h"
#include "base/rng.h"
#include "beagle_tree.h"
#include "lik/likelihood.h"
#include "subst/model_string.h"
#include "tree/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TREES = 10, REPEATS = 100 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct trees {
    int n_taxa, n_edges;
    int32_t *decision;
    double *length, *gradient, *other;
    double value[TREES], other_value[TREES];
} trees;

static int make_trees(trees *t, int n_taxa)
{
    rng r = rng_at(1, RNG_BENCH, 0, 0);
    size_t n = (size_t)n_taxa, edges = 2 * n - 3;
    t->n_taxa = n_taxa;
    t->n_edges = (int)edges;
    t->decision = mem_zeros(TREES * (n - 3), sizeof *t->decision);
    t->length = mem_zeros(TREES * edges, sizeof *t->length);
    t->gradient = mem_zeros(TREES * edges, sizeof *t->gradient);
    t->other = mem_zeros(TREES * edges, sizeof *t->other);
    if (!t->decision || !t->length || !t->gradient || !t->other)
        return -1;
    for (int k = 0; k < TREES; k++)
        for (int i = 0; i < n_taxa - 3; i++)
            t->decision[k * (n_taxa - 3) + i] = (int32_t)rng_below(&r, (uint32_t)(2 * i + 3));
    for (size_t i = 0; i < TREES * edges; i++)
        t->length[i] = 0.1 * rng_exponential(&r);
    return 0;
}

static int beagle_all(beagle_tree *b, trees *t, int with_gradient)
{
    int status = 0;
    for (int k = 0; !status && k < TREES; k++)
        status = beagle_tree_evaluate(
            b, &t->other_value[k], with_gradient ? t->other + k * t->n_edges : NULL,
            t->decision + k * (t->n_taxa - 3), t->length + k * t->n_edges);
    return status;
}

/* Both on all trees, in turns; returns nonzero if BEAGLE fails. */
static int compare(likelihood *l, beagle_tree *b, trees *t, int with_gradient)
{
    double ours = INFINITY, theirs = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        double start = seconds();
        likelihood_batch(l, t->value, with_gradient ? t->gradient : NULL, t->decision, t->length,
                         TREES);
        double middle = seconds();
        if (beagle_all(b, t, with_gradient))
            return -1;
        ours = fmin(ours, middle - start);
        theirs = fmin(theirs, seconds() - middle);
    }
    double worst = 0, worst_slope = 0;
    for (int k = 0; k < TREES; k++)
        worst = fmax(worst, fabs(t->value[k] / t->other_value[k] - 1));
    for (int i = 0; with_gradient && i < TREES * t->n_edges; i++)
        worst_slope =
            fmax(worst_slope, fabs(t->gradient[i] - t->other[i]) / (1 + fabs(t->other[i])));
    printf("%-20s native %8.3f ms   BEAGLE %8.3f ms   ratio %5.1f   largest difference %.1e %.1e\n",
           with_gradient ? "value and gradient" : "value", 1e3 * ours, 1e3 * theirs, theirs / ours,
           worst, worst_slope);
    return 0;
}

int main(int argc, char **argv)
{
    const char *text = argc > 2 ? argv[2] : "JC";
    alignment a = {0};
    subst_model m;
    likelihood *l = NULL;
    beagle_tree *b = NULL;
    trees t = {0};
    diag d;
    diag_init(&d);
    int status = argc < 2 || alignment_read(&a, argv[1], NULL, &d) ||
                 model_string_parse(&m, text, &a, &d) || make_trees(&t, a.n_taxa) ||
                 likelihood_create(&l, &a, NULL, &m, TREES, NULL) ||
                 beagle_tree_create(&b, &a, NULL, &m);
    for (size_t i = 0; i < d.count; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    if (!status) {
        printf("%s  %s  %d taxa  %zu patterns  %d trees  %s  BEAGLE %s %s\n", argv[1], text,
               a.n_taxa, a.n_patterns, TREES, cpu_level_name(cpu_best()), beagleGetVersion(),
               beagle_tree_implementation(b));
        status = compare(l, b, &t, 0) || compare(l, b, &t, 1);
    } else if (argc < 2) {
        fprintf(stderr, "usage: likelihood_beagle ALIGNMENT [MODEL]\n");
    }
    likelihood_free(l);
    beagle_tree_free(b);
    free(t.decision);
    free(t.length);
    free(t.gradient);
    free(t.other);
    alignment_free(&a);
    diag_free(&d);
    return status ? 1 : 0;
}
