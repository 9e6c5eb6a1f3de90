#include "support/check.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/memory.h"
#include "support/models.h"

#include "artreeformer.h"
#include "density/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reads_golden_models(void **state)
{
    golden g;
    model_file m;
    diag d;
    char path[64];
    diag_init(&d);
    golden_load(&g, *state);
    snprintf(path, sizeof path, "%s.safetensors", (const char *)*state);
    check_status(model_file_read(&m, golden_path(path), MODEL_AVERAGE, NULL, &d));
    assert_int_equal(d.count, 0);
    assert_int_equal(m.taxa.count, g.n_taxa);
    assert_non_null(m.branches);
    assert_string_equal(topology_model_name(m.trees), g.heads ? "artreeformer" : "artree");
    assert_string_equal(branch_model_name(m.branches), g.heads ? "lognormal" : "plain lognormal");
    assert_true(topology_config_get(&m.trees->config, "hidden_dim") == g.hidden);
    if (g.heads)
        assert_true(topology_config_get(&m.trees->config, "n_head") == g.heads);
    assert_true(branch_config_get(&m.branches->config, "branch_hidden_dim") == g.branch_hidden);
    assert_null(m.version);
    assert_false(m.averaged);
    assert_string_equal(m.taxa.name[0],
                        json_string_value(json_array_get(json_object_get(g.json, "taxa"), 0)));
    double *log_q = calloc((size_t)g.count, sizeof *log_q);
    check_status(m.trees->ops->score(m.trees, log_q, g.decision, g.count));
    for (int i = 0; i < g.count; i++)
        check_near(log_q[i], g.log_q[i], 2e-4); /* float */
    free(log_q);
    model_file_free(&m);
    golden_free(&g);
    diag_free(&d);
}

/* A small model with everything, and its contents for writing. */
typedef struct made {
    taxa taxa;
    topology_model *trees;
    branch_model *branches;
    real *average;
    model_contents contents;
} made;

static void make(made *m)
{
    static const char *const names[] = {"b", "a,'quoted'", "\xC3\xA9", "d e", "1"};
    taxa_init(&m->taxa);
    for (int i = 0; i < 5; i++)
        check_status(taxa_add(&m->taxa, names[i], strlen(names[i])));
    check_status(make_artreeformer(&m->trees, 5, 6, 3, NULL));
    m->trees->ops->initialise(m->trees, 1);
    check_status(make_lognormal(&m->branches, 5, 7, NULL));
    m->branches->ops->initialise(m->branches, 2);
    m->average = params_block(&m->trees->params);
    for (size_t i = 0; i < m->trees->params.total; i++)
        m->average[i] = m->trees->params.value[i] / 2;
    m->contents = (model_contents){.taxa = &m->taxa,
                                   .trees = m->trees,
                                   .average = m->average,
                                   .branches = m->branches,
                                   .substitution = "HKY{2}+F{0.1,0.2,0.3,0.4}",
                                   .settings = "{\"steps\": 3}"};
}

static void made_free(made *m)
{
    m->trees->ops->free(m->trees);
    m->branches->ops->free(m->branches);
    taxa_free(&m->taxa);
    free(m->average);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    made own;
    model_file m;
    make(&own);
    scratch_make();
    const char *path = scratch_path("x.model.safetensors");
    check_status(model_file_write(path, &own.contents, NULL));
    check_status(model_file_read(&m, path, MODEL_AVERAGE, NULL, NULL));
    assert_true(taxa_equal(&m.taxa, &own.taxa));
    assert_string_equal(m.version, art_version());
    assert_string_equal(m.substitution, own.contents.substitution);
    assert_string_equal(m.settings, own.contents.settings);
    assert_true(m.averaged);
    size_t bytes = own.trees->params.total * sizeof(real);
    assert_memory_equal(m.trees->params.value, own.average, bytes);
    assert_memory_equal(m.branches->params.value, own.branches->params.value,
                        own.branches->params.total * sizeof(real));
    model_file_free(&m);
    check_status(model_file_read(&m, path, MODEL_LAST, NULL, NULL));
    assert_false(m.averaged);
    assert_memory_equal(m.trees->params.value, own.trees->params.value, bytes);
    model_file_free(&m);

    own.contents.average = NULL;
    own.contents.branches = NULL;
    own.contents.substitution = own.contents.settings = NULL;
    check_status(model_file_write(path, &own.contents, NULL));
    check_status(model_file_read(&m, path, MODEL_AVERAGE, NULL, NULL));
    assert_false(m.averaged);
    assert_null(m.branches);
    assert_null(m.settings);
    assert_memory_equal(m.trees->params.value, own.trees->params.value, bytes);
    model_file_free(&m);
    scratch_remove();
    made_free(&own);
}

/* The file of `make` with one metadata string replaced, or one tensor added. */
static void refused(const char *key, const char *value, int status, const char *words)
{
    made own;
    model_file m;
    safetensors s;
    diag d;
    static const float extra[1] = {1};
    make(&own);
    diag_init(&d);
    const char *path = scratch_path("bad.model.safetensors");
    check_status(model_file_write(path, &own.contents, NULL));
    check_status(safetensors_read(&s, path, NULL));
    if (value)
        check_status(safetensors_set(&s, key, value));
    else
        check_status(safetensors_add(&s, key, TENSOR_F32, 1, (size_t[]){1}, extra));
    check_status(safetensors_write(&s, path, NULL));
    safetensors_free(&s);
    int got = model_file_read(&m, path, MODEL_AVERAGE, NULL, &d);
    if (got != status || d.errors == 0 || !strstr(d.message[0].text, words))
        fail_msg("%s = %s: status %d, %s", key, value ? value : "tensor", got,
                 d.count ? d.message[0].text : "no message");
    assert_true(m.trees == NULL && m.branches == NULL && m.taxa.count == 0);
    diag_free(&d);
    made_free(&own);
}

static void bad_files_are_refused_by_name(void **state)
{
    (void)state;
    scratch_make();
    refused("n_taxa", "6", ART_ERR_INPUT, "'n_taxa' is 6, but 'taxa' has 5");
    refused("n_taxa", "5.0", ART_ERR_INPUT, "'n_taxa' is '5.0'");
    refused("n_taxa", "-5", ART_ERR_INPUT, "positive");
    refused("taxa", "{}", ART_ERR_INPUT, "'taxa' is missing or not a JSON list");
    refused("taxa", "[\"a\",\"b\",\"c\",\"d\",\"a\"]", ART_ERR_INPUT, "'a' twice");
    refused("taxa", "[\"a\",\"b\",\"c\",\"d\",5]", ART_ERR_INPUT, "not a list of names");
    refused("hidden_dim", "1000000000", ART_ERR_INPUT, "from 1 to 16384");
    refused("hidden_dim", "0", ART_ERR_INPUT, "from 1 to 16384");
    refused("hidden_dim", "6.5", ART_ERR_INPUT, "'hidden_dim' is '6.5', expected a whole number");
    refused("hidden_dim", "16000", ART_ERR_INPUT, "does not divide");
    refused("hidden_dim", "15999", ART_ERR_MISMATCH, "tree.mlp.0.weight");
    refused("n_head", "4", ART_ERR_INPUT, "does not divide");
    refused("kind", "subsplit", ART_ERR_UNSUPPORTED, "'subsplit'");
    refused("branch_kind", "flow", ART_ERR_UNSUPPORTED, "'flow'");
    refused("branch_hidden_dim", "8", ART_ERR_MISMATCH, "branch.mean_std_net.net.0.weight");
    refused("tree.more", NULL, ART_ERR_MISMATCH, "'tree.more'");
    refused("ema.tree.more", NULL, ART_ERR_MISMATCH, "'ema.tree.more'");
    scratch_remove();
}

static void short_memory_is_reported(void **state)
{
    (void)state;
    made own;
    model_file m;
    make(&own);
    scratch_make();
    const char *path = scratch_path("x.model.safetensors");
    int status = ART_ERR_NOMEM;
    for (long k = 1; status; k++) {
        memory_fail_at(k);
        status = model_file_write(path, &own.contents, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
    }
    status = ART_ERR_NOMEM;
    for (long k = 1; status; k++) {
        memory_fail_at(k);
        status = model_file_read(&m, path, MODEL_AVERAGE, NULL, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        if (status)
            assert_true(m.trees == NULL && m.branches == NULL && m.version == NULL);
    }
    model_file_free(&m);
    scratch_remove();
    made_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        golden_test(reads_golden_models, "tiny_n5"),
        golden_test(reads_golden_models, "small_n8"),
        golden_test(reads_golden_models, "ds1_d100"),
        golden_test(reads_golden_models, "artree_tiny_n5"),
        golden_test(reads_golden_models, "artree_small_n8"),
        golden_test(reads_golden_models, "artree_ds1_d100"),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(bad_files_are_refused_by_name),
        cmocka_unit_test(short_memory_is_reported),
    };
    return cmocka_run_group_tests_name("model_file", tests, NULL, NULL);
}
