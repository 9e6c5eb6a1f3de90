/* Models through the factory alone: kinds of one's own, which no other file knows, are made,
 * trained, sampled, saved and loaded as the built-in ones are. docs/new-topology-model.md explains
 * the first of them. */
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/models.h"
#include "support/problem.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "collapsed/final_sampling.h"
#include "density/model_file.h"
#include "density/tree_draws.h"
#include "train/density_task.h"
#include "train/divergence.h"
#include "train/trainer.h"
#include "tree/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TREES = 105, MOST_DECISIONS = 3 };

/* Softmax tables: decision j (of taxon j + 3, which has 2j + 3 edges to choose from) is drawn from
 * a softmax of its own, whatever the decisions before it were:
 *
 *     log q(tree) = sum_j [ logit_j(d_j) - log sum_e exp logit_j(e) ]
 *
 * The tables stand one after another in one tensor. */

static int table_size(int j)
{
    return 2 * j + 3;
}

static int table_offset(int j)
{
    return j * j + 2 * j;
}

static double table_log_prob(const topology_model *m, int j, int32_t edge)
{
    const real *logit = params_value(&m->params, 0) + table_offset(j);
    double sum = 0;
    for (int e = 0; e < table_size(j); e++)
        sum += exp((double)logit[e]);
    return (double)logit[edge] - log(sum);
}

static int tables_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    const int n = m->n_taxa - 3;
    if (!decisions_are_trees(decision, (size_t)k, m->n_taxa))
        return ART_ERR_USAGE;
    for (int i = 0; i < k; i++) {
        log_q[i] = 0;
        for (int j = 0; j < n; j++)
            log_q[i] += table_log_prob(m, j, decision[i * n + j]);
    }
    return ART_OK;
}

static int tables_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                         uint32_t purpose, uint32_t step, uint32_t first)
{
    const int n = m->n_taxa - 3;
    for (int i = 0; i < k; i++) {
        rng r = rng_at(seed, purpose, step, first + (uint32_t)i);
        log_q[i] = 0;
        for (int j = 0; j < n; j++) {
            double left = rng_uniform(&r);
            int32_t edge = 0;
            while (edge < table_size(j) - 1 && (left -= exp(table_log_prob(m, j, edge))) > 0)
                edge++;
            decision[i * n + j] = edge;
            log_q[i] += table_log_prob(m, j, edge);
        }
    }
    return ART_OK;
}

/* d log q / d logit_j(e) = [e = d_j] - q_j(e) */
static int tables_gradient(topology_model *m, double *log_q, const int32_t *decision,
                           const double *coefficient, int k)
{
    const int n = m->n_taxa - 3;
    if (!decisions_are_trees(decision, (size_t)k, m->n_taxa))
        return ART_ERR_USAGE;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < n; j++) {
            real *grad = params_grad(&m->params, 0) + table_offset(j);
            for (int e = 0; e < table_size(j); e++)
                grad[e] += (real)(coefficient[i] *
                                  ((e == decision[i * n + j]) - exp(table_log_prob(m, j, e))));
        }
    return log_q ? tables_score(m, log_q, decision, k) : ART_OK;
}

static void tables_initialise(topology_model *m, uint64_t seed)
{
    const double spread = topology_config_get(&m->config, "spread");
    rng r = rng_at(seed, RNG_INIT, 0, 0);
    for (int i = 0; i < table_offset(m->n_taxa - 3); i++)
        params_value(&m->params, 0)[i] = (real)(spread * rng_normal(&r));
}

/* The probabilities of all choices, multiplied: another way than that of score. */
static int tables_reference(topology_model *m, double *log_q, const int32_t *decision)
{
    double q = 1;
    if (!decisions_are_trees(decision, 1, m->n_taxa))
        return ART_ERR_USAGE;
    for (int j = 0; j < m->n_taxa - 3; j++) {
        const real *logit = params_value(&m->params, 0) + table_offset(j);
        double sum = 0;
        for (int e = 0; e < table_size(j); e++)
            sum += exp((double)logit[e] - (double)logit[decision[j]]);
        q /= sum;
    }
    *log_q = log(q);
    return ART_OK;
}

static void tables_free(topology_model *m)
{
    params_free(&m->params);
    free(m);
}

static const topology_model_ops TABLES_OPS = {.sample = tables_sample,
                                              .score = tables_score,
                                              .reference = tables_reference,
                                              .free = tables_free,
                                              .gradient = tables_gradient,
                                              .initialise = tables_initialise};

static int tables_create(topology_model **out, const topology_config *config, int n_taxa,
                         pool *threads)
{
    (void)config, (void)threads; /* the spread is for initialise; there is too little to share */
    *out = NULL;
    topology_model *m = mem_zeros(1, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    m->ops = &TABLES_OPS;
    m->n_taxa = n_taxa;
    int status = n_taxa > 3
                     ? params_add(&m->params, "tree.logit", (size_t)table_offset(n_taxa - 3), 0)
                     : ART_OK;
    if (!status)
        status = params_alloc(&m->params);
    if (status)
        tables_free(m);
    else
        *out = m;
    return status;
}

/* The uniform distribution: no parameters, and none of what is optional. */

static int uniform_reference(topology_model *m, double *log_q, const int32_t *decision)
{
    (void)decision;
    *log_q = 0;
    for (int j = 0; j < m->n_taxa - 3; j++)
        *log_q -= log(table_size(j));
    return ART_OK;
}

static int uniform_score(topology_model *m, double *log_q, const int32_t *decision, int k)
{
    for (int i = 0; i < k; i++)
        uniform_reference(m, &log_q[i], decision);
    return ART_OK;
}

static int uniform_sample(topology_model *m, int32_t *decision, double *log_q, int k, uint64_t seed,
                          uint32_t purpose, uint32_t step, uint32_t first)
{
    const int n = m->n_taxa - 3;
    for (int i = 0; i < k; i++) {
        rng r = rng_at(seed, purpose, step, first + (uint32_t)i);
        for (int j = 0; j < n; j++)
            decision[i * n + j] = (int32_t)rng_below(&r, (uint32_t)table_size(j));
    }
    return uniform_score(m, log_q, decision, k);
}

static const topology_model_ops UNIFORM_OPS = {.sample = uniform_sample,
                                               .score = uniform_score,
                                               .reference = uniform_reference,
                                               .free = tables_free};

static int uniform_create(topology_model **out, const topology_config *config, int n_taxa,
                          pool *threads)
{
    (void)config, (void)threads;
    topology_model *m = *out = mem_zeros(1, sizeof *m);
    if (!m)
        return ART_ERR_NOMEM;
    m->ops = &UNIFORM_OPS;
    m->n_taxa = n_taxa;
    return ART_OK;
}

/* The rows. */

static const config_key TABLES_KEYS[] = {
    {.name = "spread", .initial = 0.1, .least = 0, .most = 10}, /* of the initial logits */
    {.name = NULL},
};

static const topology_kind KINDS[] = {
    {.name = "softmax tables", .keys = TABLES_KEYS, .create = tables_create},
    {.name = "uniform", .keys = NULL, .create = uniform_create},
    {.name = NULL},
};

/* A model with random parameters. */
static topology_model *make(const char *kind, int n_taxa, double spread, uint64_t seed)
{
    topology_config config = topology_config_default(topology_kind_find(KINDS, kind));
    topology_model *m;
    if (topology_config_has(&config, "spread"))
        check_status(topology_config_set(&config, "spread", spread));
    check_status(topology_model_create(&m, &config, n_taxa, NULL));
    topology_model_initialise(m, seed);
    topology_model_changed(m);
    return m;
}

/* All trees; returns how many. */
static int all_trees(int32_t *decision, int n_taxa)
{
    for (int i = 0; i < exact_trees(n_taxa); i++)
        exact_tree(decision + i * (n_taxa - 3), i, n_taxa);
    return exact_trees(n_taxa);
}

/* The probabilities of all trees sum to 1, and agree with the plain definition. */
static void check_density(topology_model *m)
{
    int32_t decision[MOST_TREES * MOST_DECISIONS];
    double log_q[MOST_TREES], plain, sum = 0;
    const int trees = all_trees(decision, m->n_taxa);
    check_status(topology_model_score(m, log_q, decision, trees));
    for (int i = 0; i < trees; i++) {
        check_status(topology_model_reference(m, &plain, decision + i * (m->n_taxa - 3)));
        check_near(log_q[i], plain, 1e-12); /* a dozen operations in double */
        sum += exp(log_q[i]);
    }
    check_near(sum, 1, 1e-12);
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    for (const topology_kind *kind = KINDS; kind->name; kind++)
        for (int n_taxa = 3; n_taxa <= 6; n_taxa++) {
            topology_model *m = make(kind->name, n_taxa, 1.5, 1);
            assert_string_equal(topology_model_name(m), kind->name);
            check_density(m);
            topology_model_free(m);
        }
}

/* As often as the probabilities say, with their log q, and tree by tree. */
static void draws_follow_the_density(void **state)
{
    (void)state;
    enum { N = 5, DRAWS = 20000, TREES = 15 };
    static int32_t decision[DRAWS * (N - 3)];
    static double log_q[DRAWS], scored[DRAWS];
    for (const topology_kind *kind = KINDS; kind->name; kind++) {
        topology_model *m = make(kind->name, N, 1, 2);
        double seen[TREES] = {0}, q[TREES], chi = 0;
        int32_t all[TREES * (N - 3)];
        check_status(topology_model_sample(m, decision, log_q, DRAWS, 1, RNG_TEST, 0, 0));
        check_status(topology_model_score(m, scored, decision, DRAWS));
        assert_memory_equal(scored, log_q, sizeof log_q);
        for (int i = 0; i < DRAWS; i++)
            seen[exact_index(decision + i * (N - 3), N)]++;
        check_status(topology_model_score(m, q, all, all_trees(all, N)));
        for (int t = 0; t < TREES; t++)
            chi += pow(seen[t] - DRAWS * exp(q[t]), 2) / (DRAWS * exp(q[t]));
        assert_true(chi < 45); /* 14 degrees of freedom: beyond it once in 25000 seeds */
        tree_draws d;
        check_status(tree_draws_init(&d, m, NULL, 3));
        check_status(tree_draws_fill(&d, 1, 10, 3));
        check_status(topology_model_sample(m, decision, log_q, 1, 1, RNG_SAMPLE, 0, 12));
        assert_memory_equal(decision, tree_draws_decision(&d, 2), (N - 3) * sizeof *decision);
        tree_draws_free(&d);
        topology_model_free(m);
    }
}

/* Signed central differences with random coefficients. */
static void gradient_is_that_of_score(void **state)
{
    (void)state;
    enum { N = 6, K = 7 };
    int32_t decision[K * (N - 3)];
    double w[K], log_q[2][K];
    topology_model *m = make("softmax tables", N, 1, 3);
    check_status(topology_model_sample(m, decision, log_q[0], K, 4, RNG_TEST, 0, 0));
    rng r = rng_at(5, RNG_TEST, 0, 0);
    for (int i = 0; i < K; i++)
        w[i] = rng_normal(&r);
    check_status(topology_model_gradient(m, log_q[1], decision, w, K));
    assert_memory_equal(log_q[0], log_q[1], sizeof log_q[0]);
    for (size_t p = 0; p < m->params.entry[0].size; p++) {
        real *value = &params_value(&m->params, 0)[p];
        const real before = *value;
        const double h = 1.0 / 1024; /* exact in float where added to numbers below 8 */
        double slope = 0;
        for (int side = 0; side < 2; side++) {
            *value = before + (real)(side ? h : -h);
            topology_model_changed(m);
            check_status(topology_model_score(m, log_q[side], decision, K));
        }
        *value = before;
        for (int i = 0; i < K; i++)
            slope += w[i] * (log_q[1][i] - log_q[0][i]) / (2 * h);
        /* third derivatives below 1 times h^2, and a gradient and a step rounded to float */
        check_near(slope, (double)params_grad(&m->params, 0)[p], 1e-3);
    }
    topology_model_free(m);
}

/* The trees' probabilities are those of a model of the same kind, so that they can be learned. */
static void density_task_fits_it(void **state)
{
    (void)state;
    enum { N = 6 };
    int32_t decision[MOST_TREES * (N - 3)];
    double weight[MOST_TREES];
    topology_model *teacher = make("softmax tables", N, 1.5, 6);
    topology_model *learner = make("softmax tables", N, 0.1, 7);
    task *job;
    trainer *loop;
    divergence before, after;
    train_settings set = train_defaults();
    set.steps = 3000;
    set.tree_rate = 0.03;
    set.decay = 0.5;
    set.decay_every = 400;
    const int trees = all_trees(decision, N);
    check_status(topology_model_score(teacher, weight, decision, trees));
    for (int i = 0; i < trees; i++)
        weight[i] = exp(weight[i]);
    check_status(divergence_compute(&before, learner, decision, weight, (size_t)trees, 10));
    check_status(
        density_create(&job, learner, decision, weight, (size_t)trees, 32, PICKS_SYSTEMATIC, 8));
    check_status(trainer_create(&loop, job, &set, NULL));
    while (loop->step < set.steps)
        check_status(trainer_advance(loop, NULL));
    check_status(divergence_compute(&after, learner, decision, weight, (size_t)trees, 10));
    assert_true(before.kl > 0.3);
    /* some 10^5 draws determine 12 free logits to 12 / (2 * 10^5), and the last rates are small */
    assert_true(after.kl >= 0 && after.kl < 1e-3);
    check_density(learner);
    trainer_free(loop);
    job->ops->free(job);
    topology_model_free(teacher);
    topology_model_free(learner);
}

static const model_kinds OWN = {KINDS, BRANCH_KINDS};

/* Writes m, with lengths or without, to the file. */
static void write_model(const char *path, const topology_model *m, const branch_model *lengths)
{
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < m->n_taxa; i++)
        check_status(taxa_add(&names, (const char[]){(char)('a' + i), '\0'}, 1));
    const model_contents contents = {.taxa = &names, .trees = m, .branches = lengths};
    check_status(model_file_write(path, &contents, NULL));
    taxa_free(&names);
}

static void files_keep_it(void **state)
{
    (void)state;
    enum { N = 6 };
    int32_t decision[MOST_TREES * (N - 3)];
    double wanted[MOST_TREES], found[MOST_TREES];
    branch_model *lengths;
    scratch_make();
    const char *path = scratch_path("x.model.safetensors");
    check_status(make_lognormal(&lengths, N, 5, NULL));
    branch_model_initialise(lengths, 1);
    for (const topology_kind *kind = KINDS; kind->name; kind++) {
        topology_model *m = make(kind->name, N, 1.25, 9);
        model_file f;
        diag d;
        diag_init(&d);
        write_model(path, m, lengths);
        check_status(model_file_read_kinds(&f, path, MODEL_AVERAGE, &OWN, NULL, &d));
        assert_ptr_equal(f.trees->config.kind, kind);
        assert_memory_equal(&f.trees->config, &m->config, sizeof m->config);
        assert_true(branch_config_get(&f.branches->config, "branch_hidden_dim") == 5);
        const int trees = all_trees(decision, N);
        check_status(topology_model_score(m, wanted, decision, trees));
        check_status(topology_model_score(f.trees, found, decision, trees));
        assert_memory_equal(wanted, found, sizeof wanted);
        model_file_free(&f);
        /* the program does not know the kind, and says so */
        assert_int_equal(model_file_read(&f, path, MODEL_AVERAGE, NULL, &d), ART_ERR_UNSUPPORTED);
        assert_non_null(strstr(d.message[0].text, kind->name));
        diag_free(&d);
        topology_model_free(m);
    }
    branch_model_free(lengths);
    scratch_remove();
}

static void refused(const char *value, const char *words)
{
    safetensors s;
    model_file f;
    diag d;
    topology_model *m = make("softmax tables", 5, 1, 1);
    const char *path = scratch_path("bad.model.safetensors");
    diag_init(&d);
    write_model(path, m, NULL);
    check_status(safetensors_read(&s, path, NULL));
    check_status(safetensors_set(&s, "spread", value));
    check_status(safetensors_write(&s, path, NULL));
    safetensors_free(&s);
    assert_int_equal(model_file_read_kinds(&f, path, MODEL_AVERAGE, &OWN, NULL, &d), ART_ERR_INPUT);
    assert_non_null(strstr(d.message[0].text, words));
    diag_free(&d);
    topology_model_free(m);
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    scratch_make();
    refused("wide", "'spread' is 'wide', expected a number");
    refused("-1", "'spread' is -1, expected a number from 0 to 10");
    scratch_remove();
    topology_model *m;
    topology_config c = topology_config_default(&KINDS[0]);
    assert_true(topology_config_get(&c, "spread") == 0.1);
    assert_int_equal(topology_config_set(&c, "width", 1), ART_ERR_USAGE);
    assert_int_equal(topology_model_create(&m, &c, 2, NULL), ART_ERR_USAGE);
    check_status(topology_config_set(&c, "spread", NAN));
    assert_int_equal(topology_model_create(&m, &c, 5, NULL), ART_ERR_USAGE);
    assert_null(m);
    assert_null(topology_kind_find(KINDS, "artreeformer"));
    c = artreeformer_config(10, 4); /* heads that do not divide */
    assert_int_equal(topology_model_create(&m, &c, 5, NULL), ART_ERR_USAGE);
    c = artreeformer_config(10, 2);
    check_status(topology_config_set(&c, "n_head", 2.5)); /* divides, but is not whole */
    assert_int_equal(topology_model_create(&m, &c, 5, NULL), ART_ERR_USAGE);
    branch_model *lengths;
    branch_config b = lognormal_config(0);
    assert_int_equal(branch_model_create(&lengths, &b, 5, NULL), ART_ERR_USAGE);
    assert_int_equal(branch_config_set(&b, "spread", 1), ART_ERR_USAGE);
    assert_null(lengths);
}

/* The defaults of the table are those of the program. */
static void the_program_has_its_kinds(void **state)
{
    (void)state;
    char text[CONFIG_TEXT];
    topology_model *m;
    branch_model *lengths;
    const topology_config c = topology_config_default(&TOPOLOGY_KINDS[0]);
    const branch_config b = branch_config_default(&BRANCH_KINDS[0]);
    assert_string_equal(config_text(text, sizeof text, c.value, c.kind->keys),
                        "hidden_dim 100, n_head 4");
    assert_string_equal(config_text(text, sizeof text, b.value, b.kind->keys),
                        "branch_hidden_dim 100");
    assert_string_equal(config_text(text, 12, c.value, c.kind->keys), "hidden_dim ");
    assert_string_equal(config_text(text, sizeof text, c.value, NULL), "");
    check_status(topology_model_create(&m, &c, 5, NULL));
    assert_string_equal(topology_model_name(m), "artreeformer");
    for (int what = TOPOLOGY_GRADIENT; what <= TOPOLOGY_EMBEDDING; what++)
        assert_true(topology_model_can(m, (topology_ability)what));
    assert_int_equal(topology_model_set_embedding(m, 1000), ART_ERR_USAGE);
    topology_model_free(m);
    check_status(branch_model_create(&lengths, &b, 5, NULL));
    assert_string_equal(branch_model_name(lengths), "lognormal");
    assert_true(branch_model_can(lengths, BRANCH_GRADIENT) &&
                branch_model_can(lengths, BRANCH_BACKWARD));
    branch_model_free(lengths);
    topology_model_free(NULL);
    branch_model_free(NULL);
}

/* What is missing does nothing where nothing is needed, and is refused where it is. */
static void what_a_model_cannot_is_said(void **state)
{
    (void)state;
    enum { N = 5 };
    const int32_t decision[N - 3] = {0};
    const double weight = 1;
    double log_q, again;
    topology_model *m = make("uniform", N, 0, 1);
    task *job;
    for (int what = TOPOLOGY_GRADIENT; what <= TOPOLOGY_EMBEDDING; what++)
        assert_false(topology_model_can(m, (topology_ability)what));
    check_status(topology_model_score(m, &log_q, decision, 1));
    check_status(topology_model_freeze(m, 1 << 20));
    topology_model_changed(m);
    assert_int_equal(topology_model_flatten(m, 0.5), ART_ERR_UNSUPPORTED);
    assert_int_equal(topology_model_set_embedding(m, 0), ART_ERR_UNSUPPORTED);
    assert_int_equal(topology_model_gradient(m, NULL, decision, &weight, 1), ART_ERR_UNSUPPORTED);
    assert_int_equal(density_create(&job, m, decision, &weight, 1, 1, PICKS_INDEPENDENT, 1),
                     ART_ERR_UNSUPPORTED);
    assert_null(job);
    check_status(topology_model_score(m, &again, decision, 1));
    assert_true(log_q == again);
    check_near(log_q, -log(15), 1e-12);
    topology_model_free(m);
    m = make("softmax tables", N, 0, 1);
    assert_true(topology_model_can(m, TOPOLOGY_GRADIENT));
    assert_false(topology_model_can(m, TOPOLOGY_FLATTEN));
    topology_model_free(m);
}

/* Collapsed inference on a case that is known exactly. Its proposals are not flattened. */
static void collapsed_inference_takes_it(void **state)
{
    (void)state;
    enum { N = 5, TREES = 15 };
    small_alignment data;
    double exact[TREES];
    branch_posterior posterior_of_lengths;
    subst_model jc = model_of("JC", NULL);
    rounds *c;
    final_sampling *a;
    branch_model *lengths;
    answer found = {0};
    taxa names;
    topology_model *m = make("softmax tables", N, 0.1, 1);
    small_alignment_init(&data, N,
                         (const char *[]){"AAGTCA", "AAGTCA", "CCGTGA", "CCTTCA", "CCTTCT"});
    const double log_evidence = exact_posterior(exact, &data.a, 10);
    taxa_init(&names);
    for (int i = 0; i < N; i++)
        check_status(taxa_add(&names, data.name[i], strlen(data.name[i])));
    collapsed_settings set = collapsed_defaults(5);
    set.table.capacity = 1000;
    set.fit.steps = 150;
    set.rounds.draws = 512;
    set.rounds.rounds = 3;
    set.sampler.sample = 100;
    set.final.passes = 4;
    set.final.cache = 1 << 20;
    check_status(branch_posterior_init(&posterior_of_lengths, &data.a, NULL, &jc,
                                       branch_prior_exponential(10)));
    check_status(rounds_create(&c, &posterior_of_lengths, &data.a, NULL, m, &set, NULL));
    while (c->stage != ROUNDS_DONE)
        check_status(rounds_advance(c, NULL));
    check_status(make_lognormal(&lengths, N, 8, NULL));
    branch_model_initialise(lengths, 1);
    check_status(final_sampling_create(&a, c, lengths, &names));
    while (a->stage != FINAL_DONE)
        check_status(final_sampling_advance(a, NULL));
    check_status(final_sampling_finish(a, &found));
    assert_true(found.evidence.log_evidence_se < 0.02);
    check_near(found.evidence.log_evidence, log_evidence, 4 * found.evidence.log_evidence_se);
    posterior_free(&found.posterior);
    final_sampling_free(a);
    rounds_free(c);
    branch_posterior_free(&posterior_of_lengths);
    branch_model_free(lengths);
    topology_model_free(m);
    taxa_free(&names);
}

static void short_memory_is_reported(void **state)
{
    (void)state;
    const topology_config c = topology_config_default(&KINDS[0]);
    topology_model *m = NULL;
    int status = ART_ERR_NOMEM;
    for (long k = 1; status; k++) {
        memory_fail_at(k);
        status = topology_model_create(&m, &c, 6, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK || (status == ART_ERR_NOMEM && m == NULL));
    }
    topology_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(draws_follow_the_density),
        cmocka_unit_test(gradient_is_that_of_score),
        cmocka_unit_test(density_task_fits_it),
        cmocka_unit_test(files_keep_it),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(the_program_has_its_kinds),
        cmocka_unit_test(what_a_model_cannot_is_said),
        cmocka_unit_test(collapsed_inference_takes_it),
        cmocka_unit_test(short_memory_is_reported),
    };
    return cmocka_run_group_tests_name("factory", tests, NULL, NULL);
}
