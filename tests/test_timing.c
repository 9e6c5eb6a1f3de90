/* bench/timing as a developer runs it: every row is there and makes sense; the operations are those
 * of the network's definition; scaling and figure. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#if ART_HAVE_LIBRARY

#include "artreeformer.h"
#include "timing/figure.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void quartiles_and_power_laws(void **state)
{
    (void)state;
    double value[] = {5, 1, 4, 2, 3}, one[] = {7}, two[] = {2, 1};
    spread s = spread_of(value, 5);
    check_near(s.lower, 2, 0);
    check_near(s.median, 3, 0);
    check_near(s.upper, 4, 0);
    s = spread_of(one, 1);
    check_near(s.lower, 7, 0);
    check_near(s.upper, 7, 0);
    s = spread_of(two, 2);
    check_near(s.lower, 1.25, 0);
    check_near(s.median, 1.5, 0);
    double x[] = {1, 2, 4, 8}, y[4];
    for (int i = 0; i < 4; i++)
        y[i] = 0.3 * pow(x[i], 1.75);
    check_near(power_law(x, y, 4), 1.75, 1e-14); /* a few roundings */
}

static json_t *run_json(const char *line)
{
    run_result r = run_line(&(run_options){.program = ART_TIMING}, line);
    check_run(&r, line, 0, NULL, NULL);
    json_t *all = json_loads(r.out, 0, NULL);
    if (!all)
        fail_msg("%s: not JSON:\n%s", line, r.out);
    run_free(&r);
    return all;
}

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    if (!json_is_number(value))
        fail_msg("%s has no number %s", json_string_value(json_object_get(row, "name")), key);
    return json_number_value(value);
}

static const json_t *find_row(const json_t *all, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(all, "rows"), i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
            return row;
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void check_row(const json_t *row, bool multiplies)
{
    assert_true(number(row, "repeats") >= 1);
    assert_true(number(row, "lower_quartile") > 0);
    assert_true(number(row, "lower_quartile") <= number(row, "median_seconds"));
    assert_true(number(row, "median_seconds") <= number(row, "upper_quartile"));
    assert_true(number(row, "peak_memory_bytes") > 1e6);
    if (!multiplies) {
        assert_true(json_is_null(json_object_get(row, "share_of_sgemm")));
        return;
    }
    const double done = number(row, "gflop"), rounding = 1e-12;
    assert_true(done > 0);
    assert_true(done <= number(row, "gflop_shared") * (1 + rounding));
    assert_true(number(row, "gflop_shared") <= number(row, "gflop_unshared") * (1 + rounding));
    assert_true(number(row, "sgemm_gflops") > 0);
    check_close(number(row, "gflops"), done / number(row, "median_seconds"), 1e-9);
    check_close(number(row, "share_of_sgemm"), number(row, "gflops") / number(row, "sgemm_gflops"),
                1e-9); /* the same division in another order */
}

/* Parts of the work that are not products of matrices. */
static bool multiplies(const char *name)
{
    static const char *const other[] = {"likelihood", "likelihood_gradient", "parsimony",
                                        "optimiser"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (strcmp(name, other[i]) == 0)
            return false;
    return strncmp(name, "embedding", 9) != 0;
}

static void every_row_makes_sense(void **state)
{
    (void)state;
    json_t *all = run_json("--json --taxa 6 --repeats 2 --limit 0.1s -T 2 --quiet");
    for (const bench_row *row = BENCH_ROWS; row->name; row++)
        if (!row->trained)
            check_row(find_row(all, row->name), multiplies(row->name));
    check_row(find_row(all, "training_step_one_thread"), true);
    assert_true(number(all, "speedup") > 0);
    check_near(number(all, "taxa"), 6, 0);
    check_near(number(all, "threads"), 2, 0);
    assert_true(number(all, "cores") >= 1);
    assert_non_null(json_string_value(json_object_get(all, "processor")));
    /* trees of 3, 4 and 5 leaves have 3 + 5 + 7 edges; 10 of them; 2 x 7 x 100^2 per edge */
    check_close(number(find_row(all, "forward"), "gflop_unshared"), 10 * 15 * 1.4e-4, 1e-12);
    check_close(number(find_row(all, "network_backward"), "gflop_unshared"), 10 * 15 * 2.8e-4,
                1e-12);
    check_close(number(find_row(all, "density_step_100"), "gflop_unshared"), 100 * 15 * 4.2e-4,
                1e-12);
    check_close(number(find_row(all, "sample_1000"), "gflop_unshared"), 1000 * 15 * 1.4e-4, 1e-12);
    /* there are 105 trees on 6 taxa, and 1 + 3 + 15 partial ones */
    assert_true(number(find_row(all, "sample_1000"), "gflop") <=
                (3 + 3 * 5 + 15 * 7) * 1.4e-4 * (1 + 1e-12));
    json_decref(all);
}

static const char ALIGNMENT[] = ">a\nACGTACGTAA\n>b\nACGTACGTAC\n>c\nACGAACTTAC\n>d\nAC-AACTT--\n"
                                ">e\nACGTACGTAC\n";
static const char TREES[] = "((a,b),c,(d,e));\n((a,b),d,(c,e));\n((a,b),c,(d,e));\n";

static void trained_models_have_all_rows(void **state)
{
    (void)state;
    scratch_write("a.fasta", ALIGNMENT);
    scratch_write("trees.nwk", TREES);
    run_well("fit trees.nwk --steps 20 --hidden 8 --heads 2 --counts ignore --prefix m --quiet");
    json_t *all = run_json("--json -s a.fasta --trained m.model.safetensors --trees trees.nwk "
                           "--repeats 1 --limit 0.1s -T 1 --quiet");
    for (const bench_row *row = BENCH_ROWS; row->name; row++)
        check_row(find_row(all, row->name), multiplies(row->name));
    assert_null(json_object_get(all, "speedup")); /* there is one thread only */
    json_decref(all);
    run_result r = run_line(&(run_options){.program = ART_TIMING},
                            "--trained m.model.safetensors --only parsimony --quiet");
    check_run(&r, "without an alignment", 0, "part\trepeats\tmedian_ms|\nparsimony\t", NULL);
    run_free(&r);
    scratch_write("other.fasta", ">a\nACG\n>b\nACG\n>c\nACG\n>d\nACG\n>f\nACG\n");
    r = run_line(&(run_options){.program = ART_TIMING},
                 "-s other.fasta --trained m.model.safetensors");
    check_run(&r, "other taxa", 2, NULL, "'f'");
    run_free(&r);
}

static void scaling_and_figure(void **state)
{
    (void)state;
    json_t *all = run_json("--scaling --largest 35 -K 2 --repeats 1 --limit 0s --json");
    check_row(find_row(all, "training_step_25_taxa"), true);
    check_row(find_row(all, "training_step_35_taxa"), true);
    assert_true(isfinite(number(all, "exponent")));
    json_decref(all);
    all = run_json("--figure f.svg --largest 35 --repeats 1 --json");
    for (int i = 0; i < FIGURE_CURVES; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_35_taxa", FIGURE_NAME[i]);
        check_row(find_row(all, name), false);
    }
    json_decref(all);
    char *svg = file_text(scratch_path("f.svg"));
    assert_non_null(svg);
    assert_non_null(strstr(svg, "embedding, projected"));
    assert_non_null(strstr(svg, "message passing"));
    free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quartiles_and_power_laws),
        in_scratch_folder(every_row_makes_sense),
        in_scratch_folder(trained_models_have_all_rows),
        in_scratch_folder(scaling_and_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void timings(void **state)
{
    (void)state;
    skip_because("OpenBLAS was not there at build time (libopenblas-serial-dev)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(timings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
