/* How long it takes from an alignment to a good tree, and how good the tree is:
 *
 *     bench_starts ALIGNMENT MODEL [NAME=VALUE...]
 *
 *     seed          of the start and of the shaking
 *     shake         pieces of climb_shake after the climb
 *     limit         seconds after which all is given up; how late that was is printed
 *     tree=FILE     where the tree goes, as Newick
 *     uphill, near, radius, valley, margin, tries, felt, spread, coarse     as in climb_settings
 *
 * One thread; exponential branches of mean 0.1. Prints seconds of processor time, g and the
 * log-likelihood after every part. bench/starts does the same beside IQ-TREE. */
#include "artreeformer.h"
#include "base/buffer.h"
#include "branch/climb.h"
#include "jobs/dataset.h"
#include "pars/stepwise.h"
#include "subst/model_string.h"
#include "tree/tree_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PRIOR_RATE 10.0

typedef struct work {
    dataset data;
    subst_model model;
    branch_posterior problem;
    branch_solver *solver;
    branch_moves *moves;
    climb *climb;
    stepwise *starts;
    climb_tree tree;
    climb_settings set;
    double seed, shake, limit;
    interrupt stop;
    const char *tree_file;
} work;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int set_option(work *w, const char *text)
{
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : 0;
    climb_settings *s = &w->set;
    const struct {
        const char *name;
        double *number;
        int *count;
    } names[] = {{"seed", &w->seed, NULL},
                 {"limit", &w->limit, NULL},
                 {"shake", &w->shake, NULL},
                 {"uphill", &s->uphill, NULL},
                 {"near", &s->near, NULL},
                 {"radius", NULL, &s->radius},
                 {"valley", &s->valley, NULL},
                 {"margin", &s->margin, NULL},
                 {"tries", NULL, &s->tries},
                 {"felt", &s->felt, NULL},
                 {"spread", NULL, &s->spread},
                 {"coarse", &s->coarse, NULL},
                 {"shake_radius", NULL, &s->shake_radius},
                 {"shake_valley", &s->shake_valley, NULL},
                 {"rings", NULL, &s->rings}};
    if (n == 4 && !memcmp(text, "tree", n)) {
        w->tree_file = equals + 1;
        return ART_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (n && strlen(names[i].name) == n && !memcmp(names[i].name, text, n)) {
            if (names[i].number)
                *names[i].number = strtod(equals + 1, NULL);
            else
                *names[i].count = (int)strtol(equals + 1, NULL, 10);
            return ART_OK;
        }
    return ART_ERR_USAGE;
}

static int make(work *w)
{
    int status;
    if ((status = branch_posterior_init(&w->problem, &w->data.alignment, w->data.row, &w->model,
                                        branch_prior_exponential(PRIOR_RATE))) ||
        (status = branch_solver_create(&w->solver, &w->problem)) ||
        (status = branch_moves_create(&w->moves, &w->problem, w->set.radius)) ||
        (status = climb_create(&w->climb, w->solver, w->moves, &w->set)) ||
        (status = stepwise_create(&w->starts, &w->data.alignment, w->data.row)))
        return status;
    w->tree.decision = calloc((size_t)w->problem.n_taxa, sizeof *w->tree.decision);
    w->tree.length = calloc((size_t)w->problem.n_edges, sizeof *w->tree.length);
    return w->tree.decision && w->tree.length ? ART_OK : ART_ERR_NOMEM;
}

static void report(const work *w, const char *part, double since)
{
    const climb_counts *n = climb_count(w->climb);
    printf("%s\t%.2f s, g %.3f, log-likelihood %.3f, %lld scored, %lld fitted, %lld interchanges, "
           "%lld subtree moves, %lld shaken\n",
           part, seconds() - since, w->tree.laplace, w->solver->log_likelihood,
           (long long)n->scored, (long long)n->fitted, (long long)n->interchanges,
           (long long)n->moves, (long long)n->shaken);
    fflush(stdout);
}

static int run(work *w)
{
    const uint64_t seed = (uint64_t)w->seed;
    int status;
    interrupt_init(&w->stop);
    if (w->limit > 0)
        w->stop.deadline = clock_seconds() + w->limit;
    printf("data\t%d taxa, %zu patterns\n", w->problem.n_taxa, w->problem.n_patterns);
    double begin = seconds();
    const long long changes =
        stepwise_tree(w->starts, w->tree.decision, rng_at(seed, RNG_START, 0, 0), &w->stop);
    if (changes < 0)
        return (int)changes;
    printf("start\t%.2f s, %lld changes\n", seconds() - begin, changes);
    for (int e = 0; e < w->problem.n_edges; e++)
        w->tree.length[e] = (double)changes / w->problem.n_sites / w->problem.n_edges;
    begin = seconds();
    if ((status = climb_run(w->climb, &w->tree, &w->stop)))
        return status;
    report(w, "climb", begin);
    begin = seconds();
    if (w->shake > 0 && !(status = climb_shake(w->climb, &w->tree, rng_at(seed, RNG_START, 1, 0),
                                               (int)w->shake, NULL, &w->stop)))
        report(w, "shake", begin);
    return status;
}

static int write_tree(const work *w)
{
    tree_writer writer = {0};
    buffer text;
    buffer_init(&text);
    int status = tree_writer_init(&writer, &w->data.taxa);
    if (!status) {
        tree_write_newick(&text, &writer, w->tree.decision, w->tree.length);
        status = buffer_status(&text);
    }
    FILE *f = status ? NULL : fopen(w->tree_file, "w");
    if (f)
        fprintf(f, "%.*s\n", (int)text.length, text.text);
    if (!status && (!f || fclose(f)))
        status = ART_ERR_IO;
    tree_writer_free(&writer);
    buffer_free(&text);
    return status;
}

int main(int argc, char **argv)
{
    work w = {.seed = 1, .set = climb_defaults()};
    diag d;
    int status = argc < 3 ? ART_ERR_USAGE : ART_OK;
    for (int i = 3; i < argc && !status; i++)
        status = set_option(&w, argv[i]);
    if (status) {
        fprintf(stderr, "usage: bench_starts ALIGNMENT MODEL [NAME=VALUE...]\n");
        return 2;
    }
    diag_init(&d);
    if (!(status = dataset_read(&w.data, argv[1], NULL, NULL, &d)) &&
        !(status = model_string_parse(&w.model, argv[2], &w.data.alignment, &d)) &&
        !(status = make(&w)) && !(status = run(&w)) && w.tree_file)
        status = write_tree(&w);
    if (status == ART_ERR_STOPPED)
        printf("given up\t%.3f s late\n", clock_seconds() - w.stop.deadline);
    for (size_t i = 0; i < d.count && status; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    climb_free(w.climb);
    branch_moves_free(w.moves);
    branch_solver_free(w.solver);
    stepwise_free(w.starts);
    branch_posterior_free(&w.problem);
    dataset_free(&w.data);
    diag_free(&d);
    free(w.tree.decision);
    free(w.tree.length);
    return status ? 1 : 0;
}
