/* Measures the chosen numbers of collapsed/settings.h and branch/settings.h (docs/constants.md):
 *
 *     bench_constants [OPTIONS] ALIGNMENT...
 *         --only NAME,...    these constants; all that the table below has, if not said
 *         --seeds N          seeds 1 .. N of every run [3]
 *         --threads N        [1]
 *         --trees N          trees whose neighbours are looked at for the slacks, a fifth of them
 *                            for subtree moves [50]
 *         --truth FILE       .trprobs that distances are measured to, instead of the default's
 *                            answer; several are averaged; for one alignment
 *         --list             names, defaults and values, and nothing else
 *
 * For every constant and value, collapsed inference from the beginning, JC, exponential branches of
 * mean 0.1, the program's defaults otherwise; where only the answer depends on the constant, the
 * answer alone, after the same rounds. Prints means over the seeds: CPU seconds, log evidence with
 * its spread over the seeds and its stated error, the total variation between the topology
 * probabilities and those of the default value and the next seed (so that the row of the default
 * shows what the seeds make of it), trees in the table. For the slacks, first the most that was
 * gained on a cheap score, over the neighbours of the best trees. CPU time, so that a busy machine
 * matters less. */
#include "artreeformer.h"
#include "base/mem.h"
#include "collapsed/final_sampling.h"
#include "collapsed/search_worker.h"
#include "density/artreeformer/artreeformer_model.h"
#include "density/lognormal/branch_lognormal.h"
#include "density/model_file.h"
#include "subst/model_string.h"
#include "tree/rearrange.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_VALUES = 3, MOST_SEEDS = 16 };

typedef enum kind { KIND_INT, KIND_INT64, KIND_SIZE, KIND_REAL } kind;

/* What of a run depends on a constant. */
typedef enum reach { ALL, ANSWER } reach;

typedef struct constant {
    const char *name;
    size_t offset; /* in collapsed_settings, or in branch_settings */
    kind kind;
    bool is_branch;
    reach reach;
    double value[MOST_VALUES]; /* to try; all 0: half and double */
} constant;

#define COLLAPSED(name, field, kind, reach, ...)                       \
    {                                                                  \
        name, offsetof(collapsed_settings, field), kind, false, reach, \
        {                                                              \
            __VA_ARGS__                                                \
        }                                                              \
    }
#define BRANCH(field, kind)                                        \
    {                                                              \
#field, offsetof(branch_settings, field), kind, true, ALL, \
        {                                                          \
            0                                                      \
        }                                                          \
    }

static const constant TABLE[] = {
    BRANCH(nni_slack, KIND_REAL),
    BRANCH(spr_slack, KIND_REAL),
    BRANCH(spr_per_change, KIND_REAL),
    BRANCH(enough, KIND_REAL),
    BRANCH(small_step, KIND_REAL),
    BRANCH(prior_draws, KIND_REAL),
    COLLAPSED("window", search.window, KIND_REAL, ALL, 7.5, 10, 20),
    COLLAPSED("unexpanded_mass", search.unexpanded_mass, KIND_REAL, ALL, 0),
    COLLAPSED("small_search", search.small_search, KIND_INT, ALL, 0),
    COLLAPSED("small_factor", search.small_factor, KIND_INT, ALL, 0),
    COLLAPSED("unfitted", search.unfitted, KIND_REAL, ALL, 0),
    COLLAPSED("starts", search.starts, KIND_INT, ALL, 0),
    COLLAPSED("more_starts", search.more_starts, KIND_INT, ALL, 0),
    COLLAPSED("idle_starts", search.idle_starts, KIND_INT, ALL, 0),
    COLLAPSED("search_new_mass", search.new_mass, KIND_REAL, ALL, 0),
    COLLAPSED("widen", search.widen, KIND_INT, ALL, 0),
    COLLAPSED("widen_share", search.widen_share, KIND_INT, ALL, 0),
    COLLAPSED("radius", search.radius, KIND_INT, ALL, 0),
    COLLAPSED("spr_margin", search.spr_margin, KIND_REAL, ALL, 0),
    COLLAPSED("uphill", search.climb.uphill, KIND_REAL, ALL, 0),
    COLLAPSED("near", search.climb.near, KIND_REAL, ALL, 0),
    COLLAPSED("margin", search.climb.margin, KIND_REAL, ALL, 0),
    COLLAPSED("valley", search.climb.valley, KIND_REAL, ALL, 0),
    COLLAPSED("least_scatter", blend.least_scatter, KIND_REAL, ALL, 0),
    COLLAPSED("farthest", blend.farthest, KIND_REAL, ALL, 0),
    COLLAPSED("doubt", blend.doubt, KIND_REAL, ALL, 0.01, 4),
    COLLAPSED("borrowed", blend.borrowed, KIND_REAL, ALL, 0),
    COLLAPSED("blend_share", blend.share, KIND_REAL, ALL, 0.9, 0.999),
    COLLAPSED("blend_most", blend.most, KIND_SIZE, ALL, 0),
    COLLAPSED("blend_draws", blend.draws, KIND_INT, ALL, 0),
    COLLAPSED("fit_batch", fit.batch, KIND_INT, ALL, 0),
    COLLAPSED("fit_rate", fit.rate, KIND_REAL, ALL, 0),
    COLLAPSED("fit_steps", fit.steps, KIND_INT64, ALL, 0),
    COLLAPSED("fit_kl", fit.fit_kl, KIND_REAL, ALL, 0),
    COLLAPSED("fit_targets", fit.targets, KIND_SIZE, ALL, 0),
    COLLAPSED("fit_fall", fit.fall, KIND_REAL, ALL, 0.9, 0.98),
    COLLAPSED("fit_average", fit.average, KIND_REAL, ALL, 0.98, 0.995),
    COLLAPSED("expansions", rounds.expansions, KIND_INT64, ALL, 0),
    COLLAPSED("draws", rounds.draws, KIND_INT, ALL, 0),
    COLLAPSED("new_mass", rounds.new_mass, KIND_REAL, ALL, 0),
    COLLAPSED("agree", rounds.agree, KIND_REAL, ALL, 0),
    COLLAPSED("agree_errors", rounds.agree_errors, KIND_REAL, ALL, 0),
    COLLAPSED("outside_draws", sampler.outside_draws, KIND_INT, ANSWER, 8, 32),
    COLLAPSED("single_draws", sampler.single_draws, KIND_INT, ANSWER, 4, 16),
    COLLAPSED("light", sampler.light, KIND_REAL, ANSWER, 0.01, 0.05, 0.5),
    COLLAPSED("judged", sampler.judged, KIND_REAL, ANSWER, 0),
    COLLAPSED("least_passes", final.least_passes, KIND_INT, ANSWER, 1, 6),
    COLLAPSED("flatness", final.flatness, KIND_REAL, ANSWER, 0.5, 0.85, 1),
    COLLAPSED("least_network", final.least_network, KIND_REAL, ANSWER, 0),
    COLLAPSED("most_network", final.most_network, KIND_REAL, ANSWER, 0.3, 0.9),
};

enum { CONSTANTS = sizeof TABLE / sizeof TABLE[0] };

typedef struct options {
    bool chosen[CONSTANTS];
    int seeds, threads, trees;
    const char *truth[64];
    size_t n_truth;
} options;

static double get(const void *base, const constant *c)
{
    const char *at = (const char *)base + c->offset;
    int i;
    int64_t i64;
    size_t size;
    double number;
    switch (c->kind) {
    case KIND_INT:
        memcpy(&i, at, sizeof i);
        return i;
    case KIND_INT64:
        memcpy(&i64, at, sizeof i64);
        return (double)i64;
    case KIND_SIZE:
        memcpy(&size, at, sizeof size);
        return (double)size;
    case KIND_REAL:
        break;
    }
    memcpy(&number, at, sizeof number);
    return number;
}

static void put(void *base, const constant *c, double value)
{
    char *at = (char *)base + c->offset;
    const int i = (int)value;
    const int64_t i64 = (int64_t)value;
    const size_t size = (size_t)value;
    if (c->kind == KIND_INT)
        memcpy(at, &i, sizeof i);
    else if (c->kind == KIND_INT64)
        memcpy(at, &i64, sizeof i64);
    else if (c->kind == KIND_SIZE)
        memcpy(at, &size, sizeof size);
    else
        memcpy(at, &value, sizeof value);
}

static double default_of(const constant *c)
{
    const collapsed_settings all = collapsed_defaults(1);
    const branch_settings branch = branch_defaults();
    return c->is_branch ? get(&branch, c) : get(&all, c);
}

/* The values to try, the default left out; returns how many. */
static int values_of(double value[MOST_VALUES], const constant *c)
{
    int n = 0;
    for (int i = 0; i < MOST_VALUES; i++)
        if (c->value[i] != 0)
            value[n++] = c->value[i];
    if (n)
        return n;
    value[0] = default_of(c) / 2;
    value[1] = default_of(c) * 2;
    return 2;
}

/* Data, taxa in lexicographic order, and a known posterior if there is one. */
typedef struct dataset {
    const char *path;
    alignment data;
    taxa names;
    int *taxon;
    branch_posterior problem;
    tree_set truth;
    pool *threads;
} dataset;

static int dataset_read(dataset *s, const char *path, const options *o, pool *threads)
{
    diag d;
    subst_model model;
    int32_t *moved = NULL;
    diag_init(&d);
    *s = (dataset){.path = path, .threads = threads};
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
                                        branch_prior_exponential(MODEL_PRIOR_RATE))))
        goto out;
    if (o->n_truth) {
        const tree_options how = {.taxa = &s->names, .taxa_from = "the alignment"};
        status = tree_set_read(&s->truth, NULL, o->truth, o->n_truth, &how, &d);
    }
out:
    for (size_t i = 0; status && i < d.count; i++)
        fprintf(stderr, "%s\n", d.message[i].text);
    free(moved);
    diag_free(&d);
    return status;
}

static void dataset_free(dataset *s)
{
    tree_set_free(&s->truth);
    branch_posterior_free(&s->problem);
    free(s->taxon);
    taxa_free(&s->names);
    alignment_free(&s->data);
}

/* What a run ended with. */
typedef struct outcome {
    double seconds;
    double log_evidence, error;
    size_t table; /* trees in it */
    tree_set trees;
} outcome;

static void outcome_free(outcome *r)
{
    tree_set_free(&r->trees);
    *r = (outcome){0};
}

/* The rounds, from the beginning; or, if the file has them, as they were at their end. */
static int make_rounds(rounds *c, const char *file, bool is_saved)
{
    saved_state state = {0};
    int status = ART_OK;
    if (is_saved) {
        status = saved_state_read(&state, file, NULL);
        if (!status)
            status = rounds_fields(c, &state);
    } else {
        while (!status && c->stage != ROUNDS_DONE)
            status = rounds_advance(c, NULL);
        if (!status && file)
            status = rounds_fields(c, &state);
        if (!status && file)
            status = saved_state_write(&state, file, NULL);
    }
    saved_state_free(&state);
    return status;
}

static int make_answer(outcome *out, rounds *c, branch_model *lengths, const taxa *names)
{
    final_sampling *a;
    answer found = {0};
    int status = final_sampling_create(&a, c, lengths, names);
    while (!status && a->stage == FINAL_PASSES) /* the answer does not need the length model */
        status = final_sampling_advance(a, NULL);
    if (!status)
        status = final_sampling_finish(a, &found);
    final_sampling_free(a);
    if (!status) {
        out->log_evidence = found.evidence.log_evidence;
        out->error = found.evidence.log_evidence_se;
        out->table = c->table.count;
        out->trees = found.posterior.trees;
        memset(&found.posterior.trees, 0, sizeof found.posterior.trees);
    }
    posterior_free(&found.posterior);
    return status;
}

/* One inference. file keeps the state at the end of the rounds, or has it; NULL for neither. */
static int infer(outcome *out, const dataset *s, const collapsed_settings *set, const char *file,
                 bool is_saved)
{
    const int n = s->problem.n_taxa;
    topology_model *trees = NULL;
    branch_model *lengths = NULL;
    rounds *c = NULL;
    const double start = cpu_seconds();
    *out = (outcome){0};
    int status = artreeformer_create(&trees, n, DEFAULT_HIDDEN, DEFAULT_HEADS, s->threads);
    if (!status)
        status = branch_lognormal_create(&lengths, n, DEFAULT_BRANCH_HIDDEN, s->threads);
    if (!status) {
        trees->ops->initialise(trees, set->seed);
        lengths->ops->initialise(lengths, set->seed);
        status = rounds_create(&c, &s->problem, &s->data, s->taxon, trees, set, s->threads);
    }
    if (!status)
        status = make_rounds(c, file, is_saved);
    if (!status)
        status = make_answer(out, c, lengths, &s->names);
    out->seconds = cpu_seconds() - start;
    rounds_free(c);
    if (trees)
        trees->ops->free(trees);
    if (lengths)
        lengths->ops->free(lengths);
    return status;
}

static collapsed_settings settings_of(const dataset *s, uint64_t seed)
{
    collapsed_settings set = collapsed_defaults(seed);
    set.table.capacity = tree_table_capacity(s->problem.n_taxa, (double)DEFAULT_TABLE_MEMORY);
    return set;
}

/* The means over the seeds of one value; usual are the outcomes of the default. */
static void print_row(const dataset *s, const char *name, double value, const outcome *run,
                      const outcome *usual, int seeds)
{
    double seconds = 0, mean = 0, square = 0, error = 0, distance = 0, table = 0;
    for (int i = 0; i < seeds; i++) {
        const tree_set *to = s->truth.count ? &s->truth : &usual[(i + 1) % seeds].trees;
        seconds += run[i].seconds / seeds;
        mean += run[i].log_evidence / seeds;
        error += run[i].error / seeds;
        table += (double)run[i].table / seeds;
        distance += tree_set_distance(&run[i].trees, to) / seeds;
    }
    for (int i = 0; i < seeds; i++)
        square += pow(run[i].log_evidence - mean, 2);
    const char *file = strrchr(s->path, '/');
    printf("%s\t%s\t%g\t%.1f\t%.4f\t%.4f\t%.4f\t%.4f\t%.0f\n", file ? file + 1 : s->path, name,
           value, seconds, mean, seeds > 1 ? sqrt(square / (seeds - 1)) : 0, error, distance,
           table);
    fflush(stdout);
}

/* Files with the state at the end of the default's rounds. */
static void state_path(char *path, size_t size, int seed)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/bench_constants.%ld.%d.safetensors", folder ? folder : "/tmp",
             (long)getpid(), seed);
}

static int run_value(dataset *s, const constant *c, double value, const outcome *usual, int seeds)
{
    outcome run[MOST_SEEDS] = {{0}};
    int status = ART_OK;
    for (int i = 0; i < seeds && !status; i++) {
        char path[512];
        collapsed_settings set = settings_of(s, (uint64_t)i + 1);
        state_path(path, sizeof path, i);
        put(c->is_branch ? (void *)&s->problem.set : &set, c, value);
        status = c->reach == ANSWER ? infer(&run[i], s, &set, path, true)
                                    : infer(&run[i], s, &set, NULL, false);
        s->problem.set = branch_defaults();
    }
    if (!status)
        print_row(s, c->name, value, run, usual, seeds);
    for (int i = 0; i < seeds; i++)
        outcome_free(&run[i]);
    return status;
}

/* The default from the beginning, and once more the answer alone, to compare its seconds with;
 * then the values of the chosen constants. */
static int run_all(dataset *s, const options *o)
{
    outcome usual[MOST_SEEDS] = {{0}}, again[MOST_SEEDS] = {{0}};
    char path[512];
    int status = ART_OK;
    for (int i = 0; i < o->seeds && !status; i++) {
        const collapsed_settings set = settings_of(s, (uint64_t)i + 1);
        state_path(path, sizeof path, i);
        status = infer(&usual[i], s, &set, path, false);
        if (!status)
            status = infer(&again[i], s, &set, path, true);
    }
    if (!status) {
        print_row(s, "(default)", 0, usual, usual, o->seeds);
        print_row(s, "(default, answer)", 0, again, usual, o->seeds);
    }
    for (size_t k = 0; k < CONSTANTS && !status; k++) {
        double value[MOST_VALUES];
        const int n = o->chosen[k] ? values_of(value, &TABLE[k]) : 0;
        for (int i = 0; i < n && !status; i++)
            status = run_value(s, &TABLE[k], value[i], usual, o->seeds);
    }
    for (int i = 0; i < o->seeds; i++) {
        state_path(path, sizeof path, i);
        remove(path);
        outcome_free(&usual[i]);
        outcome_free(&again[i]);
    }
    return status;
}

/* What one kind of move gained on its cheap scores, in nats. */
typedef struct gains {
    int64_t moves;    /* scored, by the branches around them */
    int64_t within;   /* of these in the window, by the whole fit */
    double rough;     /* most that the other branches gained after the first one .. */
    double rough_in;  /* .. of those within; less what the branch's changes allow (subtree moves) */
    double fit;       /* most that the whole fit gained on the score .. */
    double fit_in;    /* .. of those within */
    int64_t given_up; /* of those within, that the rough score and the slack give up .. */
    int64_t refused;  /* .. and that the score keeps from the table or from a fit */
    double lost;      /* nats below the best tree of the best of both */
} gains;

typedef struct slack_bench {
    const dataset *s;
    branch_moves *moves;
    branch_solver *solver;
    search_worker worker;
    fitted_tree parent, other;
    double best; /* laplace of the best tree */
    double window;
    double margin; /* of subtree moves */
    double wanted; /* score of moves that are fitted */
    gains nni, spr;
} slack_bench;

/* Fits the neighbour and notes what was gained. A move is worth its whole work if its score reaches
 * cutoff; allowed is what settings forgive the rough score besides the slack. */
static void note(slack_bench *b, gains *g, const neighbour *n, int is_spr, double rough,
                 double allowed)
{
    const branch_settings *set = &b->s->problem.set;
    const double gained = n->score - rough - allowed;
    const double slack = is_spr ? set->spr_slack : set->nni_slack;
    const double cutoff = b->best - b->window - (is_spr ? b->margin : 0);
    g->moves++;
    g->rough = fmax(g->rough, gained);
    if (n->score < b->wanted)
        return;
    search_neighbour(&b->worker, &b->other, &b->parent, n, is_spr);
    search_fit(&b->worker, &b->other);
    if (b->other.status)
        return;
    g->fit = fmax(g->fit, b->other.laplace - n->score);
    if (b->other.laplace < b->best - b->window)
        return;
    g->within++;
    g->rough_in = fmax(g->rough_in, gained);
    g->fit_in = fmax(g->fit_in, b->other.laplace - n->score);
    const bool gives_up = rough < cutoff - slack - allowed, refuses = n->score < cutoff;
    g->given_up += gives_up;
    g->refused += refuses;
    if (gives_up || refuses)
        g->lost = fmin(g->lost, b->best - b->other.laplace);
}

static void visit_spr(void *context, int32_t v, int32_t w, double score)
{
    slack_bench *b = context;
    const branch_posterior *p = &b->s->problem;
    const double changes = p->n_sites * pow(b->solver->branch[w].cbrt_length, 3);
    const neighbour n = {.v = v, .w = w, .score = score};
    note(b, &b->spr, &n, 1, branch_moves_rough(b->moves), p->set.spr_per_change * changes);
}

/* All neighbours of one tree of the table. */
static int look_around(slack_bench *b, const tree_table *t, size_t place, bool with_spr)
{
    const int32_t nodes = topology_nodes(t->n_taxa);
    memcpy(b->parent.decision, tree_table_decision(t, place), t->n_decisions * sizeof(int32_t));
    tree_table_lengths(b->parent.length, t, place);
    branch_solver_set(b->solver, b->parent.decision, b->parent.length);
    int status = branch_solver_mode(b->solver, BRANCH_TOLERANCE);
    branch_solver_lengths(b->parent.length, b->solver);
    if (!status)
        status = branch_solver_inspect(b->solver);
    if (status)
        return status;
    branch_moves_begin(b->moves, b->solver);
    for (int32_t v = t->n_taxa; v < nodes; v++)
        for (int which = 0; topology_has_nni(&b->solver->tree, v) && which < 2; which++) {
            neighbour n = {.v = v, .w = which};
            n.score = branch_moves_nni(b->moves, v, which, -HUGE_VAL);
            branch_moves_fitted(n.node, n.length, b->moves);
            note(b, &b->nni, &n, 0, branch_moves_rough(b->moves), 0);
        }
    if (with_spr)
        branch_moves_spr(b->moves, -HUGE_VAL, visit_spr, b);
    return ART_OK;
}

static void print_gains(const dataset *s, const char *name, const gains *g, int trees)
{
    const char *file = strrchr(s->path, '/');
    printf("%s\t%s\t%d\t%lld\t%lld\t%.2f\t%.2f\t%.2f\t%.2f\t%lld\t%lld\t%.1f\n",
           file ? file + 1 : s->path, name, trees, (long long)g->moves, (long long)g->within,
           g->rough, g->rough_in, g->fit, g->fit_in, (long long)g->given_up, (long long)g->refused,
           g->lost);
    fflush(stdout);
}

typedef struct ranked {
    double laplace;
    size_t place;
} ranked;

static int falling(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return (x->laplace < y->laplace) - (x->laplace > y->laplace);
}

/* Explores, then looks at the neighbours of the best trees. */
static int measure_slacks(dataset *s, const options *o)
{
    const collapsed_settings set = settings_of(s, 1);
    slack_bench b = {.nni.lost = HUGE_VAL,
                     .spr.lost = HUGE_VAL,
                     .s = s,
                     .window = set.search.window,
                     .margin = set.search.spr_margin};
    tree_table table = {0};
    tree_search *x = NULL;
    ranked *order = NULL;
    int status = ART_OK;
    if ((status = tree_table_init(&table, s->problem.n_taxa, set.table.capacity)) ||
        (status =
             tree_search_create(&x, &s->problem, &s->data, s->taxon, &table, &set, s->threads)) ||
        (status = search_worker_init(&b.worker, &s->problem, &s->data, s->taxon, &set.search)) ||
        (status = branch_moves_create(&b.moves, &s->problem, set.search.radius)) ||
        (status = branch_solver_create(&b.solver, &s->problem)) ||
        (status = fitted_tree_init(&b.parent, &s->problem)) ||
        (status = fitted_tree_init(&b.other, &s->problem)))
        goto out;
    for (int done = 0; !done && !status && tree_search_counts(x)->expanded < set.rounds.expansions;)
        status = tree_search_advance(x, &done);
    order = mem_zeros(table.count, sizeof *order);
    if (status || !order) {
        status = status ? status : ART_ERR_NOMEM;
        goto out;
    }
    for (size_t i = 0; i < table.count; i++)
        order[i] = (ranked){table.laplace[i], i};
    qsort(order, table.count, sizeof *order, falling);
    b.best = order[0].laplace;
    b.wanted = b.best - b.window - 4 * set.search.spr_margin;
    const int trees = table.count < (size_t)o->trees ? (int)table.count : o->trees;
    const int widened = (trees + 4) / 5;
    for (int i = 0; i < trees && !status; i++)
        status = look_around(&b, &table, order[i].place, i < widened);
    if (!status) {
        print_gains(s, "nni_slack", &b.nni, trees);
        print_gains(s, "spr_slack", &b.spr, widened);
    }
out:
    free(order);
    fitted_tree_free(&b.parent);
    fitted_tree_free(&b.other);
    branch_solver_free(b.solver);
    branch_moves_free(b.moves);
    search_worker_free(&b.worker);
    tree_search_free(x);
    tree_table_free(&table);
    return status;
}

static bool is_slack(const char *name)
{
    return strcmp(name, "nni_slack") == 0 || strcmp(name, "spr_slack") == 0 ||
           strcmp(name, "spr_per_change") == 0 || strcmp(name, "spr_margin") == 0;
}

static bool wants_slacks(const options *o)
{
    for (size_t i = 0; i < CONSTANTS; i++)
        if (o->chosen[i] && is_slack(TABLE[i].name))
            return true;
    return false;
}

static int choose(options *o, char *names)
{
    memset(o->chosen, 0, sizeof o->chosen);
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < CONSTANTS && strcmp(TABLE[i].name, name) != 0)
            i++;
        if (i == CONSTANTS) {
            fprintf(stderr, "no constant is called %s -- see --list\n", name);
            return ART_ERR_USAGE;
        }
        o->chosen[i] = true;
    }
    return ART_OK;
}

static void list(void)
{
    for (size_t i = 0; i < CONSTANTS; i++) {
        double value[MOST_VALUES];
        const int n = values_of(value, &TABLE[i]);
        printf("%s\t%g\t", TABLE[i].name, default_of(&TABLE[i]));
        for (int k = 0; k < n; k++)
            printf("%s%g", k ? ", " : "", value[k]);
        printf("\n");
    }
}

static int parse(options *o, int argc, char **argv)
{
    static const struct option LONG[] = {
        {"only", required_argument, NULL, 'o'},
        {"seeds", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"trees", required_argument, NULL, 'n'},
        {"truth", required_argument, NULL, 'r'},
        {"list", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    *o = (options){.seeds = 3, .threads = 1, .trees = 50};
    for (size_t i = 0; i < CONSTANTS; i++)
        o->chosen[i] = true;
    for (int c; (c = getopt_long(argc, argv, "", LONG, NULL)) != -1;)
        switch (c) {
        case 'o':
            if (choose(o, optarg))
                return ART_ERR_USAGE;
            break;
        case 's':
            o->seeds = (int)strtol(optarg, NULL, 10);
            break;
        case 't':
            o->threads = (int)strtol(optarg, NULL, 10);
            break;
        case 'n':
            o->trees = (int)strtol(optarg, NULL, 10);
            break;
        case 'r':
            if (o->n_truth < sizeof o->truth / sizeof o->truth[0])
                o->truth[o->n_truth++] = optarg;
            break;
        case 'l':
            list();
            exit(0);
        default:
            return ART_ERR_USAGE;
        }
    const bool fits = o->seeds >= 0 && o->seeds <= MOST_SEEDS && o->threads >= 1 && o->trees >= 1;
    return fits && optind < argc && (!o->n_truth || optind + 1 == argc) ? ART_OK : ART_ERR_USAGE;
}

int main(int argc, char **argv)
{
    options o;
    pool *threads = NULL;
    int status = parse(&o, argc, argv);
    if (status) {
        fprintf(stderr, "usage: bench_constants [--only NAME,...] [--seeds N] [--threads N] "
                        "[--trees N] [--truth FILE]... ALIGNMENT...\n");
        return 2;
    }
    status = pool_create(&threads, o.threads);
    if (!status && wants_slacks(&o))
        printf("alignment\tmoves\ttrees\tscored\twithin\trough_most\trough_within\tfit_most\t"
               "fit_within\tgiven_up\trefused\tlost\n");
    for (int i = optind; i < argc && !status && wants_slacks(&o); i++) {
        dataset s;
        status = dataset_read(&s, argv[i], &o, threads);
        if (!status)
            status = measure_slacks(&s, &o);
        dataset_free(&s);
    }
    if (!status && o.seeds)
        printf("alignment\tconstant\tvalue\tseconds\tlog_evidence\tsd\tse\tdistance\ttrees\n");
    for (int i = optind; i < argc && !status && o.seeds; i++) {
        dataset s;
        status = dataset_read(&s, argv[i], &o, threads);
        if (!status)
            status = run_all(&s, &o);
        dataset_free(&s);
    }
    if (status)
        fprintf(stderr, "%s\n", art_strerror(status));
    pool_free(threads);
    return status != 0;
}
