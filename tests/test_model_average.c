/* Averages over substitution models: the program on simulated data whose model is known, and
 * against runs of single models. */
#include "support/check.h"
#include "support/run.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Short runs: what is compared is the same, not accurate. */
#define SHORT                                                                             \
    "--quiet --hidden 8 --heads 2 --branch-hidden 8 --rounds 1 --fit-steps 50 --se 0.05 " \
    "--evidence-particles 100 --evidence-repeats 4 --posterior-sample 200"

static char folder[64];

static int open_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/art-average-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void simulate(const char *name, const char *model, int sites)
{
    char line[256];
    snprintf(line, sizeof line, "simulate -n 6 -l %d -m %s --seed 4 --quiet --prefix %s/%s", sites,
             model, folder, name);
    run_well(line);
}

/* infer on the data of a name; the results go to the prefix. */
static json_t *infer(const char *data, const char *prefix, const char *options)
{
    char line[512], path[128];
    snprintf(line, sizeof line, "infer -s %s/%s.fasta --prefix %s/%s " SHORT " %s", folder, data,
             folder, prefix, options);
    run_well(line);
    snprintf(path, sizeof path, "%s/%s.json", folder, prefix);
    json_t *found = json_load_file(path, 0, NULL);
    assert_non_null(found);
    return found;
}

static char *contents(const char *prefix, const char *suffix)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s%s", folder, prefix, suffix);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1 << 20, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static bool has_file(const char *prefix, const char *suffix)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s%s", folder, prefix, suffix);
    return access(path, F_OK) == 0;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static const json_t *model_of(const json_t *found, const char *name)
{
    const json_t *models = json_object_get(found, "models");
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *m = json_array_get(models, i);
        if (strcmp(json_string_value(json_object_get(m, "model")), name) == 0)
            return m;
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static bool has_status(const json_t *model, const char *status)
{
    return strcmp(json_string_value(json_object_get(model, "status")), status) == 0;
}

static double mean_of(const json_t *object, const char *parameter)
{
    return number(json_object_get(json_object_get(object, "parameters"), parameter), "mean");
}

/* Every number of the average is what single runs, which are the same bit for bit, make it. */
static void average_of_single_runs(void **state)
{
    (void)state;
    static const char *const NAME[] = {"JC", "K80", "JC+I"};
    double log_sum = 0, sum = 0, length = 0, kappa = 0, p_invariant = 0, variance = 0;
    simulate("jc", "JC", 300);
    json_t *all = infer("jc", "all", "--model-average JC,K80,JC+I");
    const double best = number(model_of(all, "JC"), "log_evidence");
    for (int i = 0; i < 3; i++) {
        char options[64], prefix[16];
        snprintf(options, sizeof options, "-m %s", NAME[i]);
        snprintf(prefix, sizeof prefix, "one%d", i);
        json_t *one = infer("jc", prefix, options);
        const json_t *own = model_of(all, NAME[i]);
        const double w = number(own, "probability");
        const double error = w * number(own, "log_evidence_se");
        assert_true(has_status(own, "run"));
        assert_true(number(one, "log_evidence") == number(own, "log_evidence"));
        assert_true(mean_of(one, "TL") == mean_of(own, "TL"));
        sum += w;
        log_sum += exp(number(own, "log_evidence") - best);
        length += w * mean_of(one, "TL");
        kappa += w * (i == 1 ? mean_of(one, "kappa") : 1);
        p_invariant += w * (i == 2 ? mean_of(one, "pinvar") : 0);
        variance += error * error;
        json_decref(one);
    }
    /* Sums of three numbers: rounding alone. */
    assert_true(fabs(sum - 1) < 1e-12);
    assert_true(fabs(number(model_of(all, "JC"), "probability") - 1 / log_sum) < 1e-12);
    assert_true(number(model_of(all, "JC"), "probability") > 0.5);
    assert_true(fabs(number(all, "log_evidence") - (best + log(log_sum / 3))) < 1e-9);
    assert_true(fabs(number(all, "log_evidence_se") - sqrt(variance)) < 1e-12);
    assert_true(fabs(mean_of(all, "TL") - length) < 1e-12);
    assert_true(fabs(mean_of(all, "kappa") - kappa) < 1e-12);
    assert_true(fabs(mean_of(all, "pinvar") - p_invariant) < 1e-12);
    assert_true(number(all, "models_left_out") == 0);
    json_decref(all);
}

/* A line of .splits.tsv. */
typedef struct split_line {
    double frequency, error;
    char members[64];
} split_line;

enum { SPLITS = 100 };

static int read_splits(split_line out[SPLITS], const char *prefix)
{
    char *text = contents(prefix, ".splits.tsv"), *line = strchr(text, '\n') + 1;
    int n = 0;
    for (; *line; line = strchr(line, '\n') + 1, n++) {
        assert_true(n < SPLITS);
        assert_int_equal(sscanf(line, "%lf\t%*d\t%*[^\t]\t%*[^\t]\t%63[^\t]\t%lf",
                                &out[n].frequency, out[n].members, &out[n].error),
                         3);
    }
    free(text);
    return n;
}

/* Frequencies are averages; their errors are those of the models and of their probabilities. */
static void splits_of_single_runs(void **state)
{
    (void)state;
    static const char *const NAME[] = {"JC", "K80"}, *const PREFIX[] = {"s0", "s1"};
    split_line all[SPLITS], one[SPLITS];
    double frequency[SPLITS] = {0}, variance[SPLITS] = {0};
    simulate("splits", "JC", 60);
    json_t *found = infer("splits", "splits", "--model-average JC,K80");
    const int count = read_splits(all, "splits");
    assert_true(count > 3);
    for (int m = 0; m < 2; m++) {
        char options[32];
        snprintf(options, sizeof options, "-m %s", NAME[m]);
        json_decref(infer("splits", PREFIX[m], options));
        const json_t *own = model_of(found, NAME[m]);
        const double w = number(own, "probability"), se = number(own, "log_evidence_se");
        const int n = read_splits(one, PREFIX[m]);
        for (int i = 0; i < count; i++) {
            double f = 0, error = 0;
            for (int k = 0; k < n; k++)
                if (strcmp(one[k].members, all[i].members) == 0) {
                    f = one[k].frequency;
                    error = one[k].error;
                }
            const double apart = se * (f - all[i].frequency);
            frequency[i] += w * f;
            variance[i] += w * w * (error * error + apart * apart);
        }
    }
    for (int i = 0; i < count; i++) { /* six decimals are written */
        assert_true(fabs(all[i].frequency - frequency[i]) < 2e-6);
        assert_true(fabs(all[i].error - sqrt(variance[i])) < 2e-6);
    }
    json_decref(found);
}

/* As many rows of each model as its probability says, and the columns that all have. */
static void rows_by_probability(void **state)
{
    (void)state;
    simulate("rows", "JC", 200);
    json_t *found = infer("rows", "rows", "--model-average JC,JC+G4,K80");
    char *text = contents("rows", ".trace.tsv"), *line = strtok(text, "\n");
    int count[4] = {0};
    assert_string_equal(line, "state\tposterior\tlikelihood\tprior\tTL\tkappa\tlog_q\tmodel");
    while ((line = strtok(NULL, "\n")))
        count[atoi(strrchr(line, '\t'))]++;
    const json_t *models = json_object_get(found, "models");
    for (size_t i = 0; i < 3; i++) {
        const double wanted = 200 * number(json_array_get(models, i), "probability");
        assert_true(fabs(count[i + 1] - wanted) <= 1); /* cumulative rounding */
    }
    const json_t *alpha = json_object_get(json_object_get(found, "parameters"), "alpha");
    assert_true(fabs(number(alpha, "given_models_of_probability") -
                     number(model_of(found, "JC+G4"), "probability")) < 1e-12);
    assert_true(fabs(number(alpha, "mean") - mean_of(model_of(found, "JC+G4"), "alpha")) < 1e-12);
    free(text);
    json_decref(found);
}

/* A model that others are no match for is the only one that is run. */
static void clear_answer(void **state)
{
    (void)state;
    simulate("clear", "HKY{5}+F{0.4,0.1,0.2,0.3}+G4{0.4}", 600);
    json_t *found = infer("clear", "clear", "--model-average JC,JC+G4,K80,HKY,HKY+G4");
    const json_t *best = json_array_get(json_object_get(found, "models"), 0);
    assert_string_equal(json_string_value(json_object_get(best, "model")), "HKY+FO+G4");
    assert_true(number(best, "probability") > 0.99);
    assert_true(has_status(model_of(found, "JC"), "screened"));
    assert_true(has_status(model_of(found, "K80"), "screened"));
    assert_true(json_is_null(json_object_get(model_of(found, "JC"), "probability")));
    assert_true(number(found, "models_left_out") < 0.01);
    /* One tree has most of the posterior: what it contributes is most of the evidence. */
    assert_true(fabs(number(best, "screened_log_evidence") - number(best, "log_evidence")) < 1);
    json_decref(found);
}

static void one_model_is_a_single_run(void **state)
{
    (void)state;
    static const char *const SAME[] = {".trees",   ".trace.tsv", ".p",       ".t",
                                       ".trprobs", ".contree",   ".con.tre", ".splits.tsv"};
    simulate("single", "K80{3}", 150);
    json_t *average = infer("single", "list", "--model-average K80");
    json_t *single = infer("single", "plain", "-m K80");
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        char *x = contents("list", SAME[i]), *y = contents("plain", SAME[i]);
        assert_string_equal(x, y);
        free(x);
        free(y);
    }
    assert_true(number(average, "log_evidence") == number(single, "log_evidence"));
    assert_true(number(model_of(average, "K80"), "probability") == 1);
    char *table = contents("list", ".models.tsv"), *report = contents("list", ".report.txt");
    assert_memory_equal(table, "model\tn_parameters\tscreened_log_evidence\t", 41);
    assert_non_null(strstr(report, "\nModels\n"));
    assert_true(has_file("list", ".models.tsv") && !has_file("plain", ".models.tsv"));
    free(table);
    free(report);
    json_decref(average);
    json_decref(single);
}

/* Without time there still is a result, which says what it lacks. */
static void without_time(void **state)
{
    (void)state;
    simulate("hurry", "JC", 200);
    json_t *found = infer("hurry", "hurry", "--model-average JC,K80,F81 --time-limit 0.001");
    const json_t *warnings = json_object_get(found, "warnings");
    assert_true(json_is_false(json_object_get(found, "converged")));
    bool is_said = false;
    for (size_t i = 0; i < json_array_size(warnings); i++)
        is_said |=
            strstr(json_string_value(json_array_get(warnings, i)), "There was no time for") != NULL;
    assert_true(is_said);
    json_decref(found);
}

static void check_words(const char *prefix, const char *suffix, const char *words)
{
    char *text = contents(prefix, suffix);
    if (!strstr(text, words))
        fail_msg("'%s' is not in %s%s", words, prefix, suffix);
    free(text);
}

/* Advice that can be followed: the runs ended by themselves, so it is not more time. */
static void heavy_tails_without_a_limit(void **state)
{
    (void)state;
    char line[256];
    bool is_said = false;
    snprintf(line, sizeof line,
             "simulate -n 4 -l 20 -m JC --mean 0.03 --seed 1 --quiet --prefix %s/few", folder);
    run_well(line);
    json_t *found = infer("few", "few", "--model-average GTR+G4,GTR");
    const json_t *warnings = json_object_get(found, "warnings");
    assert_true(number(found, "pareto_k") >= 0.7);
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *text = json_string_value(json_array_get(warnings, i));
        is_said |= strstr(text, "Run GTR+FO alone") != NULL;
        assert_null(strstr(text, "more time"));
        assert_null(strstr(text, "longer"));
    }
    assert_true(is_said);
    /* alone it goes on, unless it has as few draws as the other tests */
    snprintf(line, sizeof line,
             "infer -s %s/few.fasta -m GTR --hidden 8 --heads 2 --quiet --prefix %s/alone", folder,
             folder);
    run_well(line);
    check_words("alone", ".json", "\"way\": \"chains with branch lengths\"");
    json_decref(found);
}

static void check_prior(const json_t *found, const char *name, const char *expected)
{
    const json_t *priors = json_object_get(found, "priors");
    assert_string_equal(json_string_value(json_object_get(priors, name)), expected);
}

/* Whatever is estimated: its prior is in the JSON, the log and the report. */
static void priors_are_named(void **state)
{
    (void)state;
    static const char row[] = "uniform topologies, Exp(10) branch lengths, kappa / (1 + kappa) ~ "
                              "beta(1,1), frequencies ~ dirichlet(1,1,1,1), alpha ~ exponential(2)";
    simulate("priors", "K80{3}", 100);
    json_t *list =
        infer("priors", "several", "--model-average JC,HKY+G4,K80+I --prior alpha=exp(2)");
    json_t *one = infer("priors", "one", "-m HKY+G4 --prior alpha=exp(2)");
    json_t *none = infer("priors", "none", "-m JC");
    assert_int_equal(json_object_size(json_object_get(list, "priors")), 4);
    assert_int_equal(json_object_size(json_object_get(one, "priors")), 3);
    assert_int_equal(json_object_size(json_object_get(none, "priors")), 0);
    assert_true(json_is_object(json_object_get(none, "priors")));
    check_prior(list, "kappa", "beta(1,1)");
    check_prior(list, "frequencies", "dirichlet(1,1,1,1)");
    check_prior(list, "alpha", "exponential(2)");
    check_prior(list, "pinvar", "uniform(0,1)");
    check_prior(one, "alpha", "exponential(2)");
    check_words("several", ".log", "\nprior: alpha ~ exponential(2)\n");
    check_words("several", ".log", "\nprior: pinvar ~ uniform(0,1)\nprior: branch lengths ~ ");
    check_words("one", ".report.txt", row);
    check_words("one", ".report.html", row);
    check_words("several", ".report.txt", row);
    check_words("several", ".report.txt", "alpha ~ exponential(2), pinvar ~ uniform(0,1)\n");
    check_words("several", ".report.html", "with probability"); /* pinvar of 0 */
    json_decref(list);
    json_decref(one);
    json_decref(none);
}

/* The table of models is among the results, and what to do next comes after them. */
static void order_of_the_log(void **state)
{
    (void)state;
    simulate("order", "JC", 60);
    json_decref(infer("order", "order", "--model-average JC,K80"));
    char *log = contents("order", ".log");
    const char *models = strstr(log, "\nModels\n"), *start = strstr(log, "\nstart with ");
    assert_true(models && start && models < start);
    assert_non_null(strstr(models, "contains the prior probability of each model, 1/2: "));
    assert_null(strstr(log, "\n\n\n"));
    assert_non_null(strstr(models, "\nposterior of the parameters: mean, median (95 % HPD"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_of_single_runs),
        cmocka_unit_test(splits_of_single_runs),
        cmocka_unit_test(rows_by_probability),
        cmocka_unit_test(clear_answer),
        cmocka_unit_test(one_model_is_a_single_run),
        cmocka_unit_test(without_time),
        cmocka_unit_test(heavy_tails_without_a_limit),
        cmocka_unit_test(priors_are_named),
        cmocka_unit_test(order_of_the_log),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
