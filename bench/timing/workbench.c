#include "timing/workbench.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/model_input.h"
#include "cli/training.h"
#include "train/density_task.h"
#include "train/evidence.h"
#include "subst/model_string.h"
#include "subst/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int DENSITY_BATCH[DENSITY_BATCHES] = {10, 100, 1000};

enum { SITES = 2000, EMBEDDED = 128, DRAWN = 1000, DRAWN_TRAINED = 20000 };

/* Steps are measured with the weights as they are: the work of an update, but no change. */
static const double no_rate = 1e-9;

static int name_taxa(taxa *t, int n)
{
    int status = ART_OK;
    for (int i = 0; i < n && !status; i++) {
        char name[16];
        status = taxa_add(t, name, (size_t)snprintf(name, sizeof name, "t%04d", i));
    }
    return status;
}

/* An alignment of the given taxa, which are in their order already. */
static int simulate_data(dataset *data, uint64_t seed, diag *d)
{
    const int n = data->taxa.count;
    const size_t rows = (size_t)n;
    subst_model jc;
    int32_t *decision = mem_zeros(rows, sizeof *decision);
    double *length = mem_zeros(2 * rows, sizeof *length);
    uint8_t *state = mem_zeros(rows * SITES, 1);
    data->row = mem_zeros(rows, sizeof *data->row);
    int status = decision && length && state && data->row ? model_string_parse(&jc, "JC", NULL, d)
                                                          : ART_ERR_NOMEM;
    if (!status) {
        simulate_topology(decision, n, seed);
        simulate_lengths(length, n, 0.05, seed);
        status = simulate_sites(state, decision, length, n, &jc, SITES, seed, NULL);
    }
    if (!status)
        status = alignment_from_states(&data->alignment, data->taxa.name, state, n, SITES);
    for (int i = 0; i < n && !status; i++)
        data->row[i] = i;
    free(decision);
    free(length);
    free(state);
    return status;
}

static int open_data(workbench *w)
{
    const workbench_plan *o = w->plan;
    diag *d = &w->session->diag;
    int status;
    if (!o->data.alignment) {
        taxa_init(&w->data.taxa);
        status = o->trained ? taxa_copy(&w->data.taxa, &w->file.taxa)
                            : name_taxa(&w->data.taxa, o->taxa);
        return status ? status : simulate_data(&w->data, o->seed, d);
    }
    status = dataset_open(&w->data, &o->data, d);
    if (!status && o->trained)
        status = dataset_match(&w->data, &w->file.taxa, o->data.alignment, d);
    return status;
}

/* What is not in a trained model gets random weights. */
static int fill_models(workbench *w)
{
    const int n = w->data.alignment.n_taxa;
    model_file *m = &w->file;
    int status = ART_OK;
    if (!m->trees) {
        const topology_config config = artreeformer_config(DEFAULT_HIDDEN, DEFAULT_HEADS);
        status = topology_model_create(&m->trees, &config, n, w->threads);
        if (!status)
            topology_model_initialise(m->trees, w->plan->seed);
    }
    if (!status && !m->branches) {
        w->random_lengths = true;
        const branch_config config = lognormal_config(DEFAULT_BRANCH_HIDDEN);
        status = branch_model_create(&m->branches, &config, n, w->threads);
        if (!status)
            branch_model_initialise(m->branches, w->plan->seed);
    }
    w->trees = m->trees;
    w->branches = m->branches;
    return status;
}

/* Trees and lengths for what is measured apart from a step. */
static int first_draws(workbench *w)
{
    const size_t k = (size_t)w->plan->particles;
    const int room = w->plan->particles > EVIDENCE_BATCH ? w->plan->particles : EVIDENCE_BATCH;
    particles *p = &w->draws;
    int status = particles_init(p, (int)k, w->trees->n_taxa, 1);
    w->coefficient = mem_zeros(k, sizeof *w->coefficient);
    w->many = mem_zeros((size_t)MODEL_BATCH * (size_t)w->trees->n_taxa, sizeof *w->many);
    w->many_log_q = mem_zeros(MODEL_BATCH, sizeof *w->many_log_q);
    if (!status)
        status = distinct_reserve(&w->topologies, room, w->trees->n_taxa);
    if (!status && (!w->coefficient || !w->many || !w->many_log_q))
        status = ART_ERR_NOMEM;
    for (size_t i = 0; i < k && !status; i++)
        w->coefficient[i] = 1 / (double)k;
    return status ? status
                  : particles_draw(p, &w->source, (particle_stream){RNG_BENCH, RNG_BRANCH, 0, 0});
}

static train_settings no_change(void)
{
    train_settings plan = train_defaults();
    plan.tree_rate = plan.branch_rate = no_rate;
    plan.verify_every = 0;
    return plan;
}

static int open_training(workbench *w)
{
    const alignment *a = &w->data.alignment;
    train_settings plan = no_change();
    const int k = w->plan->particles;
    if (w->random_lengths) {
        plan.anneal_steps = INT64_MAX;
        plan.anneal_from = 0.001;
    }
    int status = target_likelihood(&w->likelihood, a, w->data.row, &w->model,
                                   k > EVIDENCE_BATCH ? k : EVIDENCE_BATCH, w->threads);
    if (!status)
        status = target_parsimony(&w->parsimony, a, w->data.row, GAP_FIFTH, k, w->threads);
    w->source = (particle_source){w->trees, w->branches, w->likelihood,
                                  branch_prior_exponential(10), w->plan->seed};
    if (!status)
        status = variational_create(&w->variational, &w->source, k, ESTIMATOR_VIMCO_GEOMETRIC);
    if (!status)
        status = trainer_create(&w->trainer, w->variational, &plan, w->threads);
    return status;
}

/* What is counted and compared are the products of these networks. */
static int check_kinds(workbench *w)
{
    const model_file *m = &w->file;
    const bool known = strcmp(topology_model_name(m->trees), "artreeformer") == 0 &&
                       (!m->branches || strcmp(branch_model_name(m->branches), "lognormal") == 0);
    return known
               ? ART_OK
               : diag_error(&w->session->diag, ART_ERR_UNSUPPORTED,
                            (diag_place){.file = w->plan->trained},
                            "only models of the kinds 'artreeformer' and 'lognormal' are timed -- "
                            "fit makes one with --counts ignore");
}

int workbench_open(workbench *w, session *s, const workbench_plan *plan, int threads)
{
    memset(w, 0, sizeof *w);
    w->session = s;
    w->plan = plan;
    int status = pool_create(&w->threads, threads);
    if (!status && plan->trained)
        status = model_file_read(&w->file, plan->trained, MODEL_AVERAGE, w->threads, &s->diag);
    if (!status && plan->trained)
        status = check_kinds(w);
    if (!status)
        status = open_data(w);
    if (!status)
        status = model_string_parse(&w->model, plan->model, &w->data.alignment, &s->diag);
    if (!status)
        status = fill_models(w);
    if (!status)
        status = open_training(w);
    return status ? status : first_draws(w);
}

void workbench_close(workbench *w)
{
    embedding_bench_close(&w->embedding);
    for (int i = 0; i < DENSITY_BATCHES; i++) {
        trainer_free(w->fitting[i]);
        if (w->density[i])
            w->density[i]->ops->free(w->density[i]);
    }
    tree_set_free(&w->sample);
    trainer_free(w->trainer);
    if (w->variational)
        w->variational->ops->free(w->variational);
    free(w->many);
    free(w->many_log_q);
    distinct_free(&w->topologies);
    free(w->coefficient);
    particles_free(&w->draws);
    target_free(w->likelihood);
    target_free(w->parsimony);
    model_file_free(&w->file);
    dataset_free(&w->data);
    pool_free(w->threads);
    memset(w, 0, sizeof *w);
}

/* Draws from the model: from a trained one many, most of them equal. */
static int draw_sample(workbench *w)
{
    topology_model *m = w->trees;
    const int total = w->plan->trained ? DRAWN_TRAINED : DRAWN;
    int status = tree_set_init(&w->sample, &w->data.taxa);
    if (!status)
        status = topology_model_freeze(m, (size_t)1 << 26);
    for (int done = 0; done < total && !status; done += MODEL_BATCH) {
        status = topology_model_sample(m, w->many, w->many_log_q, MODEL_BATCH, w->plan->seed,
                                       RNG_BENCH, 1, (uint32_t)done);
        for (int i = 0; i < MODEL_BATCH && !status; i++)
            status = tree_set_add(&w->sample, w->many + (ptrdiff_t)i * (m->n_taxa - 3), 1);
    }
    if (!status)
        status = topology_model_freeze(m, 0);
    return status ? status : tree_set_normalise(&w->sample);
}

int workbench_hidden(const workbench *w)
{
    return (int)topology_config_get(&w->trees->config, "hidden_dim");
}

int workbench_embedding(workbench *w)
{
    if (w->embedding.n_trees)
        return ART_OK;
    return embedding_bench_open(&w->embedding, w->trees->n_taxa, EMBEDDED, workbench_hidden(w),
                                (int)topology_config_get(&w->trees->config, "n_head"),
                                w->plan->seed, w->threads);
}

int workbench_density(workbench *w)
{
    const tree_options options = {
        .taxa = &w->data.taxa, .taxa_from = "the alignment", .use = TREE_TOPOLOGY};
    const train_settings plan = no_change();
    if (w->density[0])
        return ART_OK;
    int status = w->plan->trees ? tree_set_read(&w->sample, NULL, &w->plan->trees, 1, &options,
                                                &w->session->diag)
                                : draw_sample(w);
    for (int i = 0; i < DENSITY_BATCHES && !status; i++) {
        status =
            density_create(&w->density[i], w->trees, w->sample.decision, w->sample.weight,
                           w->sample.count, DENSITY_BATCH[i], PICKS_INDEPENDENT, w->plan->seed);
        if (!status)
            status = trainer_create(&w->fitting[i], w->density[i], &plan, w->threads);
    }
    return status;
}

/* Products of the network on so many edges of partial trees, forward: d -> 2d and 2d -> 2d per
 * edge, d -> d per node, of which a tree has one more than edges. */
static double edge_flops(const workbench *w)
{
    const double d = workbench_hidden(w);
    return 2 * 6 * d * d;
}

static double node_flops(const workbench *w)
{
    const double d = workbench_hidden(w);
    return 2 * d * d;
}

/* By the definition: so many passes over the partial trees, one forward, two backward. */
static void count_passes(workbench *w, double passes)
{
    const double each = passes * (edge_flops(w) + node_flops(w));
    w->cost.shared += each * w->trees->work.done;
    w->cost.unshared += each * w->trees->work.unshared;
}

void workbench_count_forward(workbench *w)
{
    w->cost.forward += (edge_flops(w) + node_flops(w)) * w->trees->work.done;
    count_passes(w, 1);
}

void workbench_count_gradient(workbench *w, int passes)
{
    const topology_work *work = &w->trees->work;
    w->cost.forward += (edge_flops(w) + node_flops(w)) * work->again;
    w->cost.backward += 2 * (edge_flops(w) * work->followed + node_flops(w) * work->done);
    count_passes(w, passes);
}

/* Per node H -> 2H once and H -> H twice, per edge H -> H once. */
void workbench_count_branches(workbench *w, int trees, double distinct_trees, bool with_backward)
{
    const double h = branch_config_get(&w->branches->config, "branch_hidden_dim"),
                 n = w->trees->n_taxa;
    const double each = 2 * h * h * (4 * (2 * n - 2) + (2 * n - 3));
    const double passes = with_backward ? 3 : 1;
    w->cost.forward += each * distinct_trees;
    w->cost.backward += (passes - 1) * each * distinct_trees;
    w->cost.shared += passes * each * distinct_trees;
    w->cost.unshared += passes * each * trees;
}

int workbench_distinct(workbench *w, const particles *p)
{
    distinct_set(&w->topologies, p->decision, p->k);
    return w->topologies.count;
}
