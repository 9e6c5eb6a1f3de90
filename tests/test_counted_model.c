/* Networks together with the counts of a sample. */
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "density/counted/counted_model.h"
#include "density/counted/mixed_model.h"
#include "density/model_file.h"
#include "jobs/fit_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAXA = 6, TREES = 105, N = TAXA - 3, SAMPLED = 12, OBSERVED = 200 };

/* Networks, and networks mixed with tables. */
static const struct {
    const char *kind;
    double tables;
} VARIANT[] = {{"artreeformer-counts", 0},
               {"artree-counts", 0},
               {"artreeformer-counts", MIXED_SHARE},
               {"artree-counts", 0.6}};
enum { VARIANTS = 4, ARTREEFORMER = 0 };

/* The sample: every ninth tree; counts 100, 50, 25, .., 1, 1, 1. */
static const double COUNT[SAMPLED] = {100, 50, 25, 10, 5, 3, 2, 1, 1, 1, 1, 1};

static void sampled_tree(int32_t *decision, int i, int n_taxa)
{
    exact_tree(decision, 9 * i % exact_trees(n_taxa), n_taxa);
}

static topology_config config_of(int v)
{
    topology_config c =
        topology_config_default(topology_kind_find(TOPOLOGY_KINDS, VARIANT[v].kind));
    check_status(topology_config_set(&c, "tables", VARIANT[v].tables));
    check_status(topology_config_set(&c, "hidden_dim", 8));
    if (topology_config_has(&c, "n_head"))
        check_status(topology_config_set(&c, "n_head", 2));
    return c;
}

static void sample(int32_t decision[SAMPLED * N], double weight[SAMPLED], int n_taxa)
{
    for (int i = 0; i < SAMPLED; i++) {
        sampled_tree(decision + (ptrdiff_t)i * (n_taxa - 3), i, n_taxa);
        weight[i] = COUNT[i] / OBSERVED;
    }
}

static int fill(topology_model *m)
{
    int32_t decision[SAMPLED * N];
    double weight[SAMPLED];
    sample(decision, weight, m->n_taxa);
    return topology_model_fit_begin(m, decision, weight, SAMPLED);
}

/* Random weights, twice as large as initial ones, so that the network is not nearly uniform. */
static topology_model *filled(int v, int n_taxa, pool *threads)
{
    topology_model *m;
    const topology_config c = config_of(v);
    bool is_done = false;
    double objective;
    check_status(topology_model_create(&m, &c, n_taxa, threads));
    topology_model_initialise(m, 5);
    for (size_t i = 0; i < m->params.total; i++)
        m->params.value[i] *= 2;
    topology_model_changed(m);
    check_status(fill(m));
    check_status(topology_model_fit_step(m, &objective, &is_done));
    assert_true(is_done && isnan(objective));
    return m;
}

static void all_trees(int32_t *decision)
{
    for (int i = 0; i < TREES; i++)
        exact_tree(decision + (ptrdiff_t)i * N, i, TAXA);
}

/* The network of the same weights without counts. */
static topology_model *alone(const topology_model *m)
{
    topology_model *net;
    const topology_config c = strcmp(topology_model_name(m), VARIANT[ARTREEFORMER].kind) == 0
                                  ? artreeformer_config(8, 2)
                                  : artree_config(8);
    check_status(topology_model_create(&net, &c, m->n_taxa, NULL));
    assert_int_equal(net->params.total, m->params.total);
    memcpy(net->params.value, m->params.value, m->params.total * sizeof *m->params.value);
    topology_model_changed(net);
    return net;
}

/* log r of all trees: that of the network, with tables mixed with those of a subsplit network that
 * was fitted by itself. */
static void score_prior(double log_r[TREES], const topology_model *m, const int32_t *decision)
{
    const double share = topology_config_get(&m->config, "tables");
    topology_model *net = alone(m), *tables;
    const topology_config c = topology_config_default(topology_kind_find(TOPOLOGY_KINDS, "sbn"));
    double own[TREES], weight[SAMPLED], objective;
    int32_t trees[SAMPLED * N]; /* borrowed until the fit is done */
    bool is_done = false;
    check_status(topology_model_score(net, log_r, decision, TREES));
    topology_model_free(net);
    if (share == 0)
        return;
    check_status(topology_model_create(&tables, &c, TAXA, NULL));
    sample(trees, weight, TAXA);
    check_status(topology_model_fit_begin(tables, trees, weight, SAMPLED));
    while (!is_done)
        check_status(topology_model_fit_step(tables, &objective, &is_done));
    check_status(topology_model_score(tables, own, decision, TREES));
    for (int i = 0; i < TREES; i++)
        log_r[i] = log((1 - share) * exp(log_r[i]) + share * exp(own[i]));
    topology_model_free(tables);
}

/* The definition, written out; the sum over all trees; the reference. Networks in float: an error
 * of 1e-6 in log r. */
static void agrees_with_the_definition(void **state)
{
    (void)state;
    int32_t decision[TREES * N], sampled[N];
    all_trees(decision);
    for (int v = 0; v < VARIANTS; v++) {
        topology_model *m = filled(v, TAXA, NULL);
        double log_q[TREES], log_r[TREES], g[TREES] = {0}, all = 0, sum = 0, total = 0, plain;
        check_status(topology_model_score(m, log_q, decision, TREES));
        score_prior(log_r, m, decision);
        for (int i = 0; i < SAMPLED; i++) {
            sampled_tree(sampled, i, TAXA);
            const int at = exact_index(sampled, TAXA);
            const double r = exp(log_r[at]), n = COUNT[i];
            all += r;
            sum += g[at] = (n * n / OBSERVED + COUNTED_STRENGTH * r) / (n + COUNTED_STRENGTH);
        }
        const double u = fmin(1 - all, (5.0 + 1) / (OBSERVED + 1));
        assert_true(u < 1 - all); /* the network knows nothing of the sample, tables not all */
        for (int i = 0; i < TREES; i++) {
            const double expected =
                g[i] > 0 ? log((1 - u) * g[i] / sum) : log_r[i] + log(u / (1 - all));
            check_near(log_q[i], expected, 1e-5);
            check_status(topology_model_reference(m, &plain, decision + (ptrdiff_t)i * N));
            check_near(log_q[i], plain, 1e-5);
            total += exp(log_q[i]);
        }
        check_near(total, 1, 1e-6);
        topology_model_free(m);
    }
}

/* A network that has all of its mass on the sample keeps what it has outside. */
static void knows_its_sample(void **state)
{
    (void)state;
    int32_t seen[N] = {0}, other[N];
    double log_q, log_r;
    const double weight = 1;
    topology_model *m;
    const topology_config c = config_of(ARTREEFORMER);
    check_status(topology_model_create(&m, &c, TAXA, NULL));
    topology_model_initialise(m, 5);
    check_status(topology_model_fit_begin(m, seen, &weight, 1)); /* one tree, seen once: u <= 1 */
    topology_model *net = alone(m);
    exact_tree(other, 50, TAXA);
    check_status(topology_model_score(m, &log_q, other, 1));
    check_status(topology_model_score(net, &log_r, other, 1));
    check_near(log_q, log_r, 0);
    check_status(topology_model_score(m, &log_q, seen, 1));
    check_status(topology_model_score(net, &log_r, seen, 1));
    check_near(log_q, log_r, 1e-6); /* all that is left */
    topology_model_free(net);
    topology_model_free(m);
}

static void draws_and_threads(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    pool *two;
    int32_t *a = mem_zeros(2 * DRAWS * N, sizeof *a), *b = a + DRAWS * N, decision[TREES * N];
    double *p = mem_zeros(3 * DRAWS, sizeof *p), *q = p + DRAWS, *s = q + DRAWS, log_q[TREES];
    assert_true(a && p);
    check_status(pool_create(&two, 2));
    all_trees(decision);
    for (int v = 0; v < VARIANTS; v++) {
        topology_model *m = filled(v, TAXA, NULL), *t = filled(v, TAXA, two);
        int seen[TREES] = {0};
        double chi = 0, cells = 0;
        check_status(topology_model_sample(m, a, p, DRAWS, 3, RNG_SAMPLE, 1, 0));
        check_status(topology_model_sample(t, b, q, DRAWS, 3, RNG_SAMPLE, 1, 0));
        check_status(topology_model_score(t, s, b, DRAWS));
        assert_memory_equal(a, b, DRAWS * N * sizeof *a);
        assert_memory_equal(p, q, DRAWS * sizeof *p);
        assert_memory_equal(p, s, DRAWS * sizeof *p);
        check_status(topology_model_sample(m, b, q, 1, 3, RNG_SAMPLE, 1, 77));
        assert_memory_equal(b, a + 77 * N, N * sizeof *a);
        check_status(topology_model_score(m, log_q, decision, TREES));
        for (int i = 0; i < DRAWS; i++)
            seen[exact_index(a + (ptrdiff_t)i * N, TAXA)]++;
        for (int i = 0; i < TREES; i++) {
            const double expected = DRAWS * exp(log_q[i]);
            if (expected >= 5) {
                chi += (seen[i] - expected) * (seen[i] - expected) / expected;
                cells++;
            }
        }
        assert_true(cells >= SAMPLED);
        assert_true(chi < cells + 5 * sqrt(2 * cells)); /* five standard deviations */
        topology_model_free(m);
        topology_model_free(t);
    }
    pool_free(two);
    free(a);
    free(p);
}

/* Three taxa, and models that are still empty. */
static void edges(void **state)
{
    (void)state;
    int32_t decision[N] = {0};
    double log_q = 1;
    topology_model *m = filled(ARTREEFORMER, 3, NULL);
    check_status(topology_model_score(m, &log_q, decision, 1));
    check_near(log_q, 0, 1e-12);
    check_status(topology_model_sample(m, decision, &log_q, 1, 1, RNG_SAMPLE, 0, 0));
    check_near(log_q, 0, 1e-12);
    topology_model_free(m);
    const topology_config c = config_of(ARTREEFORMER);
    safetensors s = {0};
    check_status(topology_model_create(&m, &c, TAXA, NULL));
    assert_int_equal(topology_model_score(m, &log_q, decision, 1), ART_ERR_USAGE);
    assert_int_equal(topology_model_sample(m, decision, &log_q, 1, 1, RNG_SAMPLE, 0, 0),
                     ART_ERR_USAGE);
    assert_int_equal(topology_model_reference(m, &log_q, decision), ART_ERR_USAGE);
    assert_int_equal(topology_model_save_structure(m, &s), ART_ERR_USAGE);
    check_status(fill(m));
    assert_int_equal(fill(m), ART_ERR_USAGE); /* once */
    topology_model_free(m);
}

static taxa names_of(int n)
{
    taxa names;
    taxa_init(&names);
    for (char c = 'a'; c < 'a' + n; c++)
        check_status(taxa_add(&names, &c, 1));
    return names;
}

static void saved_and_loaded(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    all_trees(decision);
    for (int v = 0; v < VARIANTS; v++) {
        topology_model *m = filled(v, TAXA, NULL);
        taxa names = names_of(TAXA);
        const char *path = scratch_path("a.model.safetensors");
        const model_contents contents = {.taxa = &names, .trees = m};
        model_file f;
        double a[TREES], b[TREES];
        check_status(model_file_write(path, &contents, NULL));
        check_status(model_file_read(&f, path, MODEL_AVERAGE, NULL, NULL));
        assert_string_equal(topology_model_name(f.trees), VARIANT[v].kind);
        check_status(topology_model_score(m, a, decision, TREES));
        check_status(topology_model_score(f.trees, b, decision, TREES));
        assert_memory_equal(a, b, sizeof a);
        model_file_free(&f);
        topology_model_free(m);
        taxa_free(&names);
    }
}

/* Any number of the structure changed is refused, or gives a density that still sums to 1. */
static void damaged_files(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    int refused = 0, accepted = 0;
    topology_model *m = filled(ARTREEFORMER, TAXA, NULL);
    safetensors s = {0};
    all_trees(decision);
    check_status(topology_model_save_structure(m, &s));
    for (size_t k = 0; k < s.count; k++) {
        tensor *t = &s.tensor[k];
        const size_t bytes = tensor_bytes(t), width = tensor_width(t->dtype);
        unsigned char *copy = mem_zeros(bytes, 1);
        const void *whole = t->data;
        assert_non_null(copy);
        memcpy(copy, whole, bytes);
        t->data = copy;
        for (size_t i = 0; i < bytes; i += width) {
            const size_t at = i + (t->dtype == TENSOR_I32 ? 0 : width - 1);
            for (int flip = 1; flip < 256; flip *= 4) {
                const topology_config c = config_of(ARTREEFORMER);
                topology_model *other;
                double log_q[TREES], sum = 0;
                copy[at] ^= (unsigned char)flip;
                check_status(topology_model_create(&other, &c, TAXA, NULL));
                topology_model_initialise(other, 5);
                int status = topology_model_load_structure(other, &s, (diag_place){0}, NULL);
                assert_true(status == ART_OK || status == ART_ERR_MISMATCH);
                refused += status != ART_OK;
                accepted += status == ART_OK;
                if (status == ART_OK) {
                    check_status(topology_model_score(other, log_q, decision, TREES));
                    for (int j = 0; j < TREES; j++)
                        sum += exp(log_q[j]);
                    check_near(sum, 1, 1e-5);
                }
                topology_model_free(other);
                copy[at] ^= (unsigned char)flip;
            }
        }
        t->data = whole;
        free(copy);
    }
    safetensors_free(&s);
    topology_model_free(m);
    assert_true(refused > 0 && accepted > 0);
}

/* The size of a sample from shares that are rounded to six digits. */
static void observations(void **state)
{
    (void)state;
    static const double SHARE[] = {0.515330, 0.160377, 0.161557, 0.076651, 0.061321, 0.024764};
    const double third[] = {1.0 / 3, 2.0 / 3}, whole[] = {7, 2, 1}, equal[] = {1};
    const double large[] = {0.999969, 0.000031}, fine[] = {1 - 1e-9, 1e-9};
    double many[800];
    assert_true(counted_observations(SHARE, 6) == 848); /* 437, 136, 137, 65, 52, 21 trees */
    assert_true(counted_observations(third, 2) == 3);
    assert_true(counted_observations(whole, 3) == 10);
    assert_true(counted_observations(equal, 1) == 1);
    check_near(counted_observations(large, 2), 1 / 0.000031, 1e-6);
    check_near(counted_observations(fine, 2), 1e9, 1);
    for (int i = 0; i < 800; i++)
        many[i] = round(1e6 / 1208) / 1e6;
    many[0] += 1 - 800 * many[1];
    assert_true(fabs(counted_observations(many, 800) - 1208) < 1);
}

/* The job: the counts make the model better than the network alone, on the sample itself. */
static void job(void **state)
{
    (void)state;
    taxa names = names_of(TAXA);
    tree_set data;
    double kl[2];
    int32_t decision[N];
    check_status(tree_set_init(&data, &names));
    for (int i = 0; i < SAMPLED; i++) {
        sampled_tree(decision, i, TAXA);
        check_status(tree_set_add(&data, decision, COUNT[i]));
    }
    check_status(tree_set_normalise(&data));
    for (int counts = 0; counts < 2; counts++) {
        fit_settings set = {.seed = 1,
                            .trees = artreeformer_config(8, 2),
                            .training = train_defaults(),
                            .batch = 8,
                            .picks = PICKS_THRESHOLD,
                            .counts = counts,
                            .report_every = 1000,
                            .truth_every = 1000};
        set.training.steps = set.training.cooling = 100;
        set.training.tree_rate = 0.02; /* half of it: every step has all trees */
        set.training.average = 0.9;
        fit_job *j;
        fit_result found;
        run_progress now = {0};
        check_status(fit_job_create(&j, &data, &data, &set, NULL));
        run *work = fit_job_run(j);
        while (!now.is_done) {
            check_status(work->ops->advance(work, NULL));
            work->ops->progress(work, &now);
        }
        check_status(fit_job_write(j, "{}", scratch_path("job"), NULL));
        check_status(fit_job_finish(j, &found));
        json_decref(fit_job_results(j, &found));
        kl[counts] = found.averaged.kl;
        assert_true(found.averaged.kl != found.last.kl);
        check_near(found.observations, counts ? OBSERVED : 0, 0);
        topology_model *m = fit_job_take_model(j);
        divergence again;
        check_status(divergence_compute(&again, m, data.decision, data.weight, data.count, 7));
        check_near(again.kl, kl[counts], 1e-12);
        assert_string_equal(topology_model_name(m),
                            counts ? VARIANT[ARTREEFORMER].kind : "artreeformer");
        fit_job_free(j);
        topology_model_free(m);
    }
    assert_true(kl[1] > 0 && kl[1] < 0.5 * kl[0]);
    tree_set_free(&data);
    taxa_free(&names);
}

/* Training ends once the network knows the sample; later where few trees were seen once. */
static void job_stops_early(void **state)
{
    (void)state;
    taxa names = names_of(TAXA);
    int32_t decision[N];
    int64_t last = 0;
    for (int more = 0; more < 2; more++) {
        tree_set data;
        check_status(tree_set_init(&data, &names));
        for (int i = 0; i < SAMPLED; i++) {
            sampled_tree(decision, i, TAXA);
            check_status(tree_set_add(&data, decision, COUNT[i] + (more && i == SAMPLED - 1)));
        }
        check_status(tree_set_normalise(&data));
        check_near(counted_unseen(data.weight, data.count),
                   more ? 0.5 / (OBSERVED + 1) : 5.0 / OBSERVED, 1e-12);
        fit_settings set = {.seed = 1,
                            .trees = artreeformer_config(8, 2),
                            .training = train_defaults(),
                            .batch = 16,
                            .picks = PICKS_THRESHOLD,
                            .counts = true,
                            .stops = true,
                            .report_every = 1000,
                            .truth_every = 1000};
        set.training.steps = 1500;
        set.training.tree_rate = 0.02; /* half of it: every step has all trees */
        set.training.average = 0.9;
        fit_job *j;
        fit_result found;
        run_progress now = {0};
        check_status(fit_job_create(&j, &data, NULL, &set, NULL));
        run *work = fit_job_run(j);
        while (!now.is_done) {
            check_status(work->ops->advance(work, NULL));
            work->ops->progress(work, &now);
        }
        check_status(fit_job_finish(j, &found));
        if (found.stopped_at > 0) {
            assert_true(found.stopped_at % 25 == 0 && found.stopped_at > last);
            assert_int_equal(found.steps, found.stopped_at + found.stopped_at / 4 + 1);
            assert_true(found.outside < 1.5 * found.unseen); /* it may rise a little in the end */
        } else {
            assert_true(more && found.steps == 1500 && found.outside > found.unseen);
        }
        last = found.stopped_at;
        fit_job_free(j);
        tree_set_free(&data);
    }
    taxa_free(&names);
}

static int everything(void)
{
    topology_model *m = NULL, *other = NULL, *both = NULL;
    const topology_config c = config_of(ARTREEFORMER), plain = artreeformer_config(8, 2);
    safetensors s = {0};
    int32_t decision[N] = {0};
    double log_q;
    int status = topology_model_create(&m, &c, TAXA, NULL);
    if (!status)
        status = fill(m);
    if (!status)
        status = topology_model_save_structure(m, &s);
    if (!status)
        status = topology_model_create(&other, &c, TAXA, NULL);
    if (!status)
        status = topology_model_load_structure(other, &s, (diag_place){0}, NULL);
    if (!status)
        status = topology_model_score(other, &log_q, decision, 1);
    safetensors_free(&s);
    topology_model_free(other);
    topology_model_free(m);
    m = NULL;
    if (!status)
        status = topology_model_create(&m, &plain, TAXA, NULL);
    if (!status)
        status = counted_network(&both, m, NULL);
    topology_model_free(both);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    long k = 0;
    int status;
    do {
        memory_fail_at(++k);
        status = everything();
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
    } while (status);
    assert_true(k > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_definition),
        cmocka_unit_test(knows_its_sample),
        cmocka_unit_test(draws_and_threads),
        cmocka_unit_test(edges),
        in_scratch_folder(saved_and_loaded),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(observations),
        in_scratch_folder(job),
        cmocka_unit_test(job_stops_early),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
