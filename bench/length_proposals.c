/* Proposals of branch lengths compared, on the first trees of a file (docs/collapsed.md, "Hundreds
 * of branches"):
 *
 *     bench_length_proposals ALIGNMENT MODEL TREES [DRAWS [TREES_USED]]
 *
 * MODEL has all its numbers fixed; branch lengths are exponential(10). For every tree and every
 * shape of the proposal (branch/topology_evidence.h): the log evidence of the topology with its
 * standard error, the effective share of the draws, Pareto k of their weights, and the processor
 * time of the proposal and of a draw. One thread. */
#include "artreeformer.h"
#include "base/mem.h"
#include "branch/topology_evidence.h"
#include "cli/dataset_options.h"
#include "subst/model_string.h"
#include "train/importance_weights.h"
#include "tree/tree_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double PRIOR_RATE = 10;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct work {
    dataset data;
    subst_model model;
    tree_set trees;
    branch_posterior problem;
    topology_evidence *evidence;
    double *length, *weight; /* [E], [2 draws] */
    int draws;
} work;

static int open_work(work *w, const char *path, const char *model, const char *trees, diag *d)
{
    int status = dataset_open(&w->data, &(dataset_settings){.alignment = path}, d);
    if (!status)
        status = model_string_parse(&w->model, model, &w->data.alignment, d);
    if (!status)
        status =
            tree_set_read(&w->trees, NULL, &trees, 1, &(tree_options){.taxa = &w->data.taxa}, d);
    if (!status)
        status = branch_posterior_init(&w->problem, &w->data.alignment, w->data.row, &w->model,
                                       branch_prior_exponential(PRIOR_RATE));
    if (!status)
        status = topology_evidence_create(&w->evidence, &w->problem);
    if (status)
        return status;
    w->length = mem_zeros((size_t)w->problem.n_edges, sizeof *w->length);
    w->weight = mem_zeros(2 * (size_t)w->draws, sizeof *w->weight);
    return w->length && w->weight ? ART_OK : ART_ERR_NOMEM;
}

static int compare_shapes(work *w, size_t number)
{
    static const struct {
        evidence_shape shape;
        const char *name;
    } known[] = {
        {EVIDENCE_DIAGONAL, "diagonal"}, {EVIDENCE_FULL, "full"}, {EVIDENCE_SKEWED, "skewed"}};
    for (int e = 0; e < w->problem.n_edges; e++)
        w->length[e] = branch_prior_mean(w->problem.prior, w->problem.n_edges);
    int status = topology_evidence_mode(w->evidence, tree_set_decision(&w->trees, number),
                                        w->length, BRANCH_TOLERANCE);
    for (size_t k = 0; k < sizeof known / sizeof *known && !status; k++) {
        log_mean m = {0};
        const double begin = seconds();
        status = topology_evidence_proposal(w->evidence, known[k].shape);
        const double made = seconds();
        if (!status)
            status =
                topology_evidence_sample(w->evidence, &m, (length_draws){.log_weight = w->weight},
                                         w->draws, rng_at(1, RNG_BENCH, 0, (uint32_t)number));
        const double end = seconds();
        printf("%zu\t%s\t%.3f\t%.3f\t%.4f\t%.2f\t%.2f\t%.3f\n", number + 1, known[k].name,
               log_mean_value(&m), log_mean_error(&m), log_mean_ess(&m) / w->draws,
               weights_pareto_k(w->weight, w->weight + w->draws, w->draws), 1000 * (made - begin),
               1000 * (end - made) / w->draws);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr,
                "usage: bench_length_proposals ALIGNMENT MODEL TREES [DRAWS [TREES_USED]]\n");
        return 2;
    }
    work w = {.draws = argc > 4 ? atoi(argv[4]) : 2000};
    const size_t most = argc > 5 ? strtoul(argv[5], NULL, 10) : 1;
    diag d;
    diag_init(&d);
    int status = open_work(&w, argv[1], argv[2], argv[3], &d);
    printf("tree\tshape\tlog_evidence\terror\tshare\tpareto_k\tproposal_ms\tdraw_ms\n");
    for (size_t i = 0; i < w.trees.count && i < most && !status; i++)
        status = compare_shapes(&w, i);
    for (size_t i = 0; i < d.count && status; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    topology_evidence_free(w.evidence);
    branch_posterior_free(&w.problem);
    tree_set_free(&w.trees);
    dataset_free(&w.data);
    free(w.length);
    free(w.weight);
    diag_free(&d);
    return status ? 1 : 0;
}
