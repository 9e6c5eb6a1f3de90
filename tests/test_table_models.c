/* Models with tables through the factory: subsplit networks and conditional clade distributions. */
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/rng.h"
#include "density/model_file.h"
#include "jobs/fit_job.h"
#include "train/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAXA = 6, TREES = 105, FITTED = 7, N = TAXA - 3 };

/* Every kind in every way. */
typedef struct variant {
    const char *kind;
    double em, alpha, gradients, zero_start; /* of "sbn" */
    double smooth;
} variant;

static const variant VARIANT[] = {
    {"sbn", 0, 0, 0, 0, 0},      {"sbn", 1, 0, 0, 0, 0},      {"sbn", 1, 0.01, 0, 0, 0},
    {"sbn", 1, 0.01, 0, 0, 0.2}, {"sbn", 0, 0, 1, 0, 0},      {"sbn", 0, 0, 1, 1, 0},
    {"sbn", 0, 0, 1, 0, 0.1},    {"ccd0", 0, 0, 0, 0, 0},     {"ccd0", 0, 0, 0, 0, 0.3},
    {"ccd1", 0, 0, 0, 0, 0},     {"ccd1", 0, 0, 0, 0, 0.001}, {"ccd2", 0, 0, 0, 0, 0},
    {"ccd2", 0, 0, 0, 0, 0.1},
};
enum { VARIANTS = sizeof VARIANT / sizeof VARIANT[0] };

static topology_config config_of(const variant *v)
{
    topology_config c = topology_config_default(topology_kind_find(TOPOLOGY_KINDS, v->kind));
    check_status(topology_config_set(&c, "smooth", v->smooth));
    if (strcmp(v->kind, "sbn") == 0) {
        check_status(topology_config_set(&c, "em", v->em));
        check_status(topology_config_set(&c, "alpha", v->alpha));
        check_status(topology_config_set(&c, "gradients", v->gradients));
        check_status(topology_config_set(&c, "zero_start", v->zero_start));
    }
    return c;
}

static void fill_trees(int32_t *decision, double *weight, int n_taxa)
{
    rng r = rng_at(4, RNG_TEST, 0, 0);
    for (int i = 0; i < FITTED; i++) {
        exact_tree(decision + (ptrdiff_t)i * (n_taxa - 3),
                   (int)rng_below(&r, (uint32_t)exact_trees(n_taxa)), n_taxa);
        weight[i] = rng_exponential(&r);
    }
}

/* Fits a model by its iterations; of one with gradients, the start. */
static int fit(topology_model *m)
{
    int32_t decision[FITTED * N];
    double weight[FITTED], objective;
    bool is_done = false;
    fill_trees(decision, weight, m->n_taxa);
    int status = topology_model_fit_begin(m, decision, weight, FITTED);
    while (!status && !is_done && topology_model_can(m, TOPOLOGY_STEPS))
        status = topology_model_fit_step(m, &objective, &is_done);
    return status;
}

static topology_model *fitted(const variant *v, int n_taxa, pool *threads)
{
    topology_model *m;
    const topology_config c = config_of(v);
    check_status(topology_model_create(&m, &c, n_taxa, threads));
    check_status(fit(m));
    return m;
}

static void all_trees(int32_t *decision)
{
    for (int i = 0; i < TREES; i++)
        exact_tree(decision + (ptrdiff_t)i * N, i, TAXA);
}

/* Sums, the definition, and what is outside the support. */
static void sums_to_one(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    all_trees(decision);
    for (int v = 0; v < VARIANTS; v++) {
        topology_model *m = fitted(&VARIANT[v], TAXA, NULL);
        double log_q[TREES], sum = 0, expected;
        int outside = 0;
        check_status(topology_model_score(m, log_q, decision, TREES));
        for (int i = 0; i < TREES; i++) {
            sum += exp(log_q[i]);
            check_status(topology_model_reference(m, &expected, decision + (ptrdiff_t)i * N));
            outside += isinf(log_q[i]) != 0;
            if (isinf(expected))
                assert_true(isinf(log_q[i]) && log_q[i] < 0);
            else
                check_near(log_q[i], expected, 1e-11); /* sums of logs, other order */
        }
        check_near(sum, 1, 1e-11);
        assert_true(VARIANT[v].smooth > 0 ? outside == 0 : outside > 0 && outside < TREES);
        topology_model_free(m);
    }
}

/* log q of draws is that of score, bit for bit; a draw depends on neither batch nor threads; and
 * frequencies follow (chi-square over the trees that are expected five times). */
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
        topology_model *m = fitted(&VARIANT[v], TAXA, NULL), *t = fitted(&VARIANT[v], TAXA, two);
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
            double expected = DRAWS * exp(log_q[i]);
            assert_true(expected > 0 || seen[i] == 0);
            if (expected >= 5) {
                chi += (seen[i] - expected) * (seen[i] - expected) / expected;
                cells++;
            }
        }
        assert_true(chi < cells + 5 * sqrt(2 * cells)); /* five standard deviations */
        topology_model_free(m);
        topology_model_free(t);
    }
    pool_free(two);
    free(a);
    free(p);
}

/* Three taxa, empty batches, and models that are still empty. */
static void edges(void **state)
{
    (void)state;
    int32_t decision[N] = {0};
    double log_q = 1;
    for (int v = 0; v < VARIANTS; v++) {
        topology_model *m = fitted(&VARIANT[v], 3, NULL);
        check_status(topology_model_score(m, &log_q, decision, 1));
        check_near(log_q, 0, 1e-15);
        check_status(topology_model_sample(m, decision, &log_q, 1, 1, RNG_SAMPLE, 0, 0));
        check_near(log_q, 0, 1e-15);
        check_status(topology_model_score(m, &log_q, decision, 0));
        topology_model_free(m);
        const topology_config c = config_of(&VARIANT[v]);
        const double none = 0;
        safetensors s = {0};
        check_status(topology_model_create(&m, &c, TAXA, NULL));
        assert_int_equal(topology_model_score(m, &log_q, decision, 1), ART_ERR_USAGE);
        assert_int_equal(topology_model_sample(m, decision, &log_q, 1, 1, RNG_SAMPLE, 0, 0),
                         ART_ERR_USAGE);
        assert_int_equal(topology_model_reference(m, &log_q, decision), ART_ERR_USAGE);
        assert_int_equal(topology_model_save_structure(m, &s), ART_ERR_USAGE);
        assert_int_equal(topology_model_fit_begin(m, decision, &none, 1), ART_ERR_USAGE);
        check_status(fit(m));
        assert_int_equal(fit(m), ART_ERR_USAGE); /* once */
        decision[0] = 9;
        assert_int_equal(topology_model_score(m, &log_q, decision, 1), ART_ERR_USAGE);
        decision[0] = 0;
        topology_model_free(m);
    }
}

static taxa names_of(int n)
{
    taxa names;
    taxa_init(&names);
    for (char c = 'a'; c < 'a' + n; c++)
        check_status(taxa_add(&names, &c, 1));
    return names;
}

/* Saved and loaded, a model is the same to the last bit. */
static void saved_and_loaded(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    all_trees(decision);
    for (int n = 3; n <= TAXA; n++)
        for (int v = 0; v < VARIANTS; v++) {
            topology_model *m = fitted(&VARIANT[v], n, NULL);
            taxa names = names_of(n);
            const char *path = scratch_path("a.model.safetensors");
            const model_contents contents = {.taxa = &names, .trees = m};
            model_file f;
            double a[TREES], b[TREES];
            check_status(model_file_write(path, &contents, NULL));
            check_status(model_file_read(&f, path, MODEL_AVERAGE, NULL, NULL));
            assert_string_equal(topology_model_name(f.trees), VARIANT[v].kind);
            if (n == TAXA) {
                check_status(topology_model_score(m, a, decision, TREES));
                check_status(topology_model_score(f.trees, b, decision, TREES));
                assert_memory_equal(a, b, sizeof a);
            }
            model_file_free(&f);
            topology_model_free(m);
            taxa_free(&names);
        }
}

/* Any byte of the numbers changed is refused, or gives a density that still sums to 1. */
static void damaged_files(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    int refused = 0, accepted = 0;
    all_trees(decision);
    for (int v = 0; v < VARIANTS; v += 2) {
        topology_model *m = fitted(&VARIANT[v], TAXA, NULL);
        safetensors s = {0};
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
                    const topology_config c = config_of(&VARIANT[v]);
                    topology_model *other;
                    double log_q[TREES], sum = 0;
                    copy[at] ^= (unsigned char)flip;
                    check_status(topology_model_create(&other, &c, TAXA, NULL));
                    int status = topology_model_load_structure(other, &s, (diag_place){0}, NULL);
                    assert_true(status == ART_OK || status == ART_ERR_MISMATCH);
                    refused += status != ART_OK;
                    accepted += status == ART_OK;
                    if (status == ART_OK) {
                        topology_model_changed(other);
                        check_status(topology_model_score(other, log_q, decision, TREES));
                        for (int j = 0; j < TREES; j++)
                            sum += exp(log_q[j]);
                        check_near(sum, 1, 1e-6);
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
    }
    print_message("%d changes refused, %d harmless\n", refused, accepted);
    assert_true(refused > accepted);
}

/* d/dlogit against signed differences, also in a mixture. In float: logits of size 1 have an error
 * of 1e-7, over 2 h that is 1e-5; truncation is h^2. */
static void gradient(void **state)
{
    (void)state;
    const real h = (real)1e-2;
    for (int v = 4; v <= 6; v++) {
        topology_model *m = fitted(&VARIANT[v], TAXA, NULL);
        int32_t decision[FITTED * N];
        double weight[FITTED], log_q[FITTED];
        rng r = rng_at(8, RNG_TEST, 0, 0);
        assert_true(topology_model_can(m, TOPOLOGY_GRADIENT));
        fill_trees(decision, weight, TAXA);
        for (int i = 0; i < FITTED; i++)
            weight[i] = rng_normal(&r);
        check_status(topology_model_gradient(m, log_q, decision, weight, FITTED));
        for (int e = 0; e < 2; e++)
            for (size_t k = 0; k < m->params.entry[e].size; k += 3) {
                real *at = params_value(&m->params, e) + k, before = *at;
                double value[2] = {0, 0};
                for (int side = 0; side < 2; side++) {
                    *at = before + (side ? h : -h);
                    topology_model_changed(m);
                    check_status(topology_model_score(m, log_q, decision, FITTED));
                    for (int i = 0; i < FITTED; i++)
                        value[side] += weight[i] * log_q[i];
                }
                *at = before;
                check_near((double)params_grad(&m->params, e)[k],
                           (value[1] - value[0]) / (2 * (double)h), 3e-4);
            }
        topology_model_free(m);
    }
}

/* The job: in closed form, by iterations, by gradients. Gradients end where EM does or above: both
 * maximise the same sum. */
static void jobs(void **state)
{
    (void)state;
    taxa names = names_of(TAXA);
    tree_set data;
    int32_t decision[FITTED * N];
    double weight[FITTED], mean[VARIANTS];
    fill_trees(decision, weight, TAXA);
    check_status(tree_set_init(&data, &names));
    for (int i = 0; i < FITTED; i++)
        check_status(tree_set_add(&data, decision + (ptrdiff_t)i * N, weight[i]));
    check_status(tree_set_normalise(&data));
    for (int v = 0; v < VARIANTS; v++) {
        fit_settings set = {.seed = 1,
                            .trees = config_of(&VARIANT[v]),
                            .training = train_defaults(),
                            .batch = 10,
                            .report_every = 1000,
                            .truth_every = 1000};
        set.training.steps = 3000;
        set.training.tree_rate = 0.01;
        fit_job *j;
        fit_result found;
        run_progress now = {0};
        check_status(fit_job_create(&j, &data, &data, &set, NULL));
        run *work = fit_job_run(j);
        while (!now.is_done) {
            check_status(work->ops->advance(work, NULL));
            work->ops->progress(work, &now);
        }
        check_status(fit_job_finish(j, &found));
        check_status(fit_job_write(j, "{}", scratch_path("job"), NULL));
        json_decref(fit_job_results(j, &found));
        assert_int_equal(found.last.zero_trees, 0);
        mean[v] = -found.last.cross_entropy;
        if (VARIANT[v].em > 0)
            assert_true(found.steps > 50 && isfinite(found.objective));
        fit_job_free(j);
    }
    assert_true(mean[1] > mean[0]);        /* EM is above the simple average */
    assert_true(mean[4] > mean[1] - 1e-2); /* the batches have noise */
    assert_true(mean[11] > mean[9]);       /* CCD2 is above CCD1 */
    tree_set_free(&data);
    taxa_free(&names);
}

/* KL of what is outside the support. */
static void divergence_outside(void **state)
{
    (void)state;
    int32_t decision[TREES * N];
    double weight[TREES], log_q[TREES], zero = 0, clipped = 0;
    int outside = 0;
    all_trees(decision);
    topology_model *m = fitted(&VARIANT[1], TAXA, NULL);
    check_status(topology_model_score(m, log_q, decision, TREES));
    for (int i = 0; i < TREES; i++) {
        weight[i] = (1 + i % 4) / 261.0;
        zero += isinf(log_q[i]) ? weight[i] : 0;
        outside += isinf(log_q[i]) != 0;
        clipped += weight[i] * (log(weight[i] + 0x1p-52) - fmax(log_q[i], log(0x1p-52)));
    }
    divergence d;
    check_status(divergence_compute(&d, m, decision, weight, TREES, 50));
    assert_true(isinf(d.kl) && d.kl > 0);
    assert_int_equal(d.zero_trees, outside);
    check_near(d.zero_mass, zero, 1e-12);
    check_near(d.kl_clipped, clipped, 1e-9);
    topology_model_free(m);
    m = fitted(&VARIANT[3], TAXA, NULL); /* smoothed */
    check_status(divergence_compute(&d, m, decision, weight, TREES, 50));
    check_near(d.kl, d.kl_clipped, 1e-12);
    assert_int_equal(d.zero_trees, 0);
    topology_model_free(m);
}

static int everything(const variant *v)
{
    topology_model *m = NULL, *other = NULL;
    const topology_config c = config_of(v);
    safetensors s = {0};
    int status = topology_model_create(&m, &c, TAXA, NULL);
    if (!status)
        status = fit(m);
    if (!status)
        status = topology_model_save_structure(m, &s);
    if (!status)
        status = topology_model_create(&other, &c, TAXA, NULL);
    if (!status)
        status = topology_model_load_structure(other, &s, (diag_place){0}, NULL);
    safetensors_free(&s);
    topology_model_free(other);
    topology_model_free(m);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    for (int v = 0; v < VARIANTS; v += 3) {
        long k = 0;
        int status;
        do {
            memory_fail_at(++k);
            status = everything(&VARIANT[v]);
            memory_fail_at(0);
            if (status && status != ART_ERR_NOMEM)
                fail_msg("%s, allocation %ld: %s", VARIANT[v].kind, k, art_strerror(status));
        } while (status);
        assert_true(k > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_to_one),     cmocka_unit_test(draws_and_threads),
        cmocka_unit_test(edges),           in_scratch_folder(saved_and_loaded),
        cmocka_unit_test(damaged_files),   cmocka_unit_test(gradient),
        in_scratch_folder(jobs),           cmocka_unit_test(divergence_outside),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
