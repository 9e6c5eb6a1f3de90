/* Results of runs of the library: evidence, api_trees, splits, verdict, report, files
 * (support/api_runs.h). */
#include "support/api_runs.h"
#include "support/check.h"
#include "support/exact.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/run.h"

#include "artreeformer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool exists(const char *prefix, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", prefix, suffix);
    return access(path, F_OK) == 0;
}

/* ---- results ---- */

static void a_result_is_taken_once(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        art_run *r = api_make(k, 1, 5, 1);
        art_result *found, *again;
        art_run_state now;
        assert_int_equal(art_run_result(&found, r, NULL), ART_ERR_USAGE);
        assert_null(found);
        check_status(art_run_advance(r, NULL));
        assert_int_equal(art_run_result(&found, r, NULL), ART_ERR_USAGE);
        check_status(art_run_drive(r, NULL, NULL, NULL, NULL));
        check_status(art_run_result(&found, r, NULL));
        assert_int_equal(art_run_result(&again, r, NULL), ART_ERR_USAGE);
        assert_null(again);
        assert_int_equal(art_run_advance(r, NULL), ART_ERR_USAGE);
        assert_int_equal(art_run_save(r, scratch_path("s"), NULL), ART_ERR_USAGE);
        assert_int_equal(art_run_load(r, scratch_path("s"), NULL), ART_ERR_USAGE);
        assert_int_equal(art_run_drive(r, NULL, NULL, NULL, NULL), ART_ERR_USAGE);
        art_run_finish_now(r);
        art_run_look(r, &now);
        assert_true(now.is_done);
        art_run_free(r);
        art_result_free(found);
    }
    art_run_free(NULL);
    art_result_free(NULL);
}

/* A text that is handed out: whole, and cut at every length. */
typedef struct text_request {
    const art_result *found;
    int what; /* a consensus, REPORT, or SPLIT + its number */
} text_request;

enum { REPORT = 10, SPLIT = 20 };

static int ask(const text_request *q, char *text, size_t size, size_t *length)
{
    double p, se, mean;
    if (q->what == REPORT)
        return art_result_report(q->found, text, size, length);
    if (q->what >= SPLIT)
        return art_result_split(q->found, (size_t)q->what - SPLIT, &p, &se, &mean, text, size,
                                length);
    return art_result_consensus(q->found, (enum art_consensus)q->what, text, size, length);
}

static void check_text(const art_result *found, int what, char *whole, size_t room)
{
    const text_request q = {found, what};
    static char part[16384];
    size_t length, other;
    check_status(ask(&q, whole, room, &length));
    assert_int_equal(strlen(whole), length);
    assert_true(length > 0 && length < sizeof part - 1);
    check_status(ask(&q, part, length + 1, NULL));
    for (size_t size = 0; size <= length; size += 1 + length / 20) {
        memset(part, 'x', size + 1);
        assert_int_equal(ask(&q, part, size, &other), ART_ERR_LIMIT);
        assert_int_equal(other, length);
        assert_memory_equal(part, whole, size ? size - 1 : 0);
        assert_true(size == 0 || part[size - 1] == '\0');
        assert_int_equal(part[size], 'x');
    }
}

/* The verdict: it is judged, its parts agree, and errors are there if they are earned. */
static void check_verdict(const art_result *found, const art_messages *m)
{
    int converged = -1;
    art_evidence e;
    art_diagnostics d;
    const size_t warnings = art_result_warnings(found);
    check_status(art_result_converged(&converged, found));
    check_status(art_result_evidence(&e, found));
    check_status(art_result_diagnostics(&d, found));
    assert_true(converged == 0 || converged == 1);
    assert_true(converged || warnings > 0);
    assert_true(converged ? isfinite(e.log_evidence_se) && e.pareto_k < 0.7
                          : isnan(e.log_evidence_se) && isnan(e.log_evidence_sd));
    assert_true(isnan(d.asdsf) && isnan(d.largest_split_deviation) && isnan(d.r_hat) &&
                isnan(d.ess_log_density) && isnan(d.ess_splits)); /* there are no chains */
    assert_null(art_result_warning(found, warnings));
    assert_int_equal(art_messages_count(m), warnings);
    for (size_t i = 0; i < warnings; i++) {
        const char *text = art_result_warning(found, i);
        assert_non_null(strstr(art_messages_text(m, i), text));
        assert_int_equal(art_messages_level(m, i), ART_WARNING);
        assert_int_equal(text[strlen(text) - 1], '.');
    }
}

static void a_verdict_comes_with_inference(void **state)
{
    (void)state;
    int seen[2] = {0, 0};
    for (api_kind k = 0; k < KINDS; k++)
        for (int steps = 1; steps <= 60; steps += 59) {
            art_messages *m;
            art_result *found;
            art_diagnostics d;
            int converged;
            art_run *r = api_make(k, 1, steps, 1);
            check_status(art_messages_create(&m));
            api_advance(r, 1000000);
            check_status(art_run_result(&found, r, m));
            art_run_free(r);
            if (k <= VBPI) {
                check_verdict(found, m);
                check_status(art_result_converged(&converged, found));
                seen[converged]++;
            } else { /* they do not judge themselves */
                assert_int_equal(art_result_converged(&converged, found), ART_ERR_UNSUPPORTED);
                assert_int_equal(art_result_diagnostics(&d, found), ART_ERR_UNSUPPORTED);
                assert_int_equal(art_result_warnings(found), 0);
                assert_null(art_result_warning(found, 0));
            }
            art_result_free(found);
            art_messages_free(m);
        }
    assert_true(seen[0] > 0 && seen[1] > 0); /* both kinds have been checked */
}

static void check_splits(const art_result *found)
{
    int converged;
    check_status(art_result_converged(&converged, found));
    const size_t count = art_result_splits(found);
    double last = 1, p, se, mean;
    char text[64];
    assert_true(count >= 2 && count <= 10); /* of five taxa */
    for (size_t i = 0; i < count; i++) {
        check_status(art_result_split(found, i, &p, &se, &mean, text, sizeof text, NULL));
        assert_true(p > 0 && p <= last && (isnan(mean) || mean > 0));
        assert_true(converged ? se >= 0 : isnan(se));
        assert_true(p < 0.5 || mean > 0);  /* NaN only where no tree was drawn that has it */
        assert_int_equal(strlen(text), 3); /* two names and a comma */
        assert_true(strchr("abcde", text[0]) && text[1] == ',' && strchr("abcde", text[2]));
        last = p;
        check_text(found, SPLIT + (int)i, text, sizeof text);
    }
    assert_int_equal(art_result_split(found, count, &p, &se, &mean, text, sizeof text, NULL),
                     ART_ERR_USAGE);
}

static void results_of_inference(void **state)
{
    (void)state;
    for (api_kind k = COLLAPSED; k <= VBPI; k++) {
        static char text[16384];
        char said[64];
        art_evidence e, f;
        art_trees *t, *u;
        art_model *q, *again;
        int64_t score;
        art_result *found = api_finish(api_usual(k));
        check_status(art_result_evidence(&e, found));
        check_status(art_result_trees(&t, found));
        double sum = 0;
        for (size_t i = 0; i < art_trees_count(t); i++) {
            sum += art_trees_weight(t, i);
            assert_true(i == 0 || art_trees_weight(t, i) <= art_trees_weight(t, i - 1));
        }
        check_near(sum, 1, 1e-12); /* rounding of at most fifteen terms */
        assert_int_equal(art_result_score(&score, found), ART_ERR_UNSUPPORTED);
        /* each consensus is a tree of these taxa: its lengths let it have a likelihood, where it
         * is binary */
        for (int c = ART_STRICT; c <= ART_EXTENDED; c++) {
            check_text(found, c, text, sizeof text);
            assert_true(text[0] == '(' && strchr(text, ':') && strchr(text, ';'));
        }
        double value;
        check_status(art_log_likelihood(&value, api_data, "JC", text, NULL));
        assert_true(value < 0 && value > -1000);
        assert_int_equal(art_result_consensus(found, (enum art_consensus)3, text, 9, NULL),
                         ART_ERR_USAGE);
        check_splits(found);
        check_text(found, REPORT, text, sizeof text);
        snprintf(said, sizeof said, "%.3f", e.log_evidence);
        if (!strstr(text, said))
            fail_msg("%s is not in the report:\n%s", said, text);

        check_status(art_result_model(&q, found));
        assert_int_equal(art_result_model(&again, found), ART_ERR_USAGE);
        assert_null(again);
        assert_int_equal(art_result_write(found, scratch_path("late"), NULL), ART_ERR_USAGE);
        assert_false(exists(scratch_path("late"), ".json"));
        check_text(found, REPORT, text, sizeof text); /* what was found is still there */
        check_splits(found);
        if (k == COLLAPSED) {
            check_status(art_model_answer(&f, &u, q));
            api_same_evidence(&e, &f);
            api_same_trees(t, u);
            art_trees_free(u);
        } else {
            assert_int_equal(art_model_answer(&f, &u, q), ART_ERR_UNSUPPORTED);
        }
        if (k == COLLAPSED)
            art_result_free(found); /* the model has all it needs */
        double log_q[15];
        check_status(art_model_score(log_q, q, t));
        for (size_t i = 0; i < art_trees_count(t); i++)
            assert_true(log_q[i] < 0);
        check_status(art_model_evidence(&f, q, api_data, 100, 2, 1, NULL));
        assert_true(isfinite(f.log_evidence));
        art_model_free(q);
        art_trees_free(t);
        if (k == VBPI)
            art_result_free(found); /* and the result has */
    }
}

/* <prefix>.json says which files there are: those that are given, and each is there. */
static void check_files(const char *prefix, const char *const *suffix)
{
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s.json", prefix);
    json_t *all = json_load_file(path, 0, &error), *files = json_object_get(all, "files");
    assert_true(json_is_array(files));
    size_t count = 0;
    for (; suffix[count]; count++) {
        snprintf(path, sizeof path, "%s%s", prefix, suffix[count]);
        const char *said = json_string_value(json_array_get(files, count));
        assert_non_null(said);
        assert_string_equal(said, path);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_int_equal(json_array_size(files), count);
    assert_true(json_is_real(json_object_get(all, "seconds")));
    json_decref(all);
}

static void files_are_the_program_s(void **state)
{
    (void)state;
    static const char *const INFER[] = {
        ".model.safetensors", ".trees",       ".trace.tsv", ".p",       ".t",
        ".trprobs",           ".contree",     ".con.tre",   ".map.nwk", ".splits.tsv",
        ".report.txt",        ".report.html", ".json",      NULL};
    static const char *const PARS[] = {".model.safetensors", ".best.nwk", ".scores.tsv", ".json",
                                       NULL};
    static const char *const DENSITY[] = {".model.safetensors", ".json", NULL};
    static const char *const *const SUFFIXES[] = {INFER, INFER, DENSITY, PARS};
    static const char *const SAME[] = {".trees",   ".trace.tsv", ".p",
                                       ".t",       ".trprobs",   ".contree",
                                       ".con.tre", ".map.nwk",   ".splits.tsv"};
    for (api_kind k = 0; k < KINDS; k++) {
        art_result *found = api_finish(api_usual(k));
        const char *prefix = scratch_path("library");
        check_status(art_result_write(found, prefix, NULL));
        check_files(prefix, SUFFIXES[k]);
        check_status(art_result_write(found, prefix, NULL)); /* over what is there */
        assert_int_equal(art_result_write(found, "/nonexistent/folder/x", NULL), ART_ERR_IO);
        art_model *q;
        check_status(art_model_read(&q, scratch_path("library.model.safetensors"), 1, NULL));
        assert_int_equal(art_model_taxa(q), 5);
        art_model_free(q);
        art_result_free(found);
        if (k == COLLAPSED) {
            char line[8192];
            snprintf(line, sizeof line, "infer -s %s --prefix %s " API_INFER_OPTIONS,
                     scratch_path("data.fasta"), scratch_path("program"));
            run_well(line);
            for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++)
                api_same_file(SAME[i]);
        }
    }
}

/* ---- parsimony ---- */

static void parsimony_by_enumeration(void **state)
{
    (void)state;
    enum { N = 5 };
    static const char *const ROW[N] = {"ACGTACGA-C", "ACGTACTAAC", "ATGCACTTAC", "ATGCGCTTAG",
                                       "ATGCGC-TAG"};
    char text[256] = "";
    for (int i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ">t%d\n%s\n", i, ROW[i]);
    small_alignment small;
    small_alignment_init(&small, N, ROW);
    art_alignment *a;
    check_status(art_alignment_read(&a, scratch_write("small.fasta", text), NULL));
    for (int gap = 0; gap < 2; gap++) {
        double probability[15], most = 0;
        const double log_z = exact_parsimony(probability, &small.a, gap ? GAP_FIFTH : GAP_MISSING);
        size_t best = 0;
        for (int i = 0; i < 15; i++)
            most = fmax(most, probability[i]);
        for (int i = 0; i < 15; i++)
            best += probability[i] > 0.9 * most; /* scores differ by 1 or not at all */
        art_parsimony_settings s = api_parsimony_settings();
        s.gap_is_state = gap;
        s.steps = 300;
        art_run *r;
        check_status(art_run_parsimony(&r, a, &s, NULL));
        art_result *found = api_finish(r);
        int64_t score, own;
        art_evidence e;
        art_trees *t;
        char newick[64];
        size_t length;
        check_status(art_result_score(&score, found));
        assert_int_equal(score, (int64_t)llround(-log(most) - log_z));
        check_status(art_result_trees(&t, found));
        assert_int_equal(art_trees_count(t), best);
        for (size_t i = 0; i < best; i++) {
            check_near(art_trees_weight(t, i), 1 / (double)best, 1e-15);
            check_status(art_trees_newick(t, i, newick, sizeof newick, NULL));
            check_status(art_parsimony_score(&own, a, gap, newick, NULL));
            assert_int_equal(own, score);
        }
        art_trees_free(t);
        check_status(art_result_evidence(&e, found));
        check_near(e.log_evidence, log_z, 5 * e.log_evidence_se + 1e-9);
        assert_int_equal(art_result_report(found, newick, sizeof newick, &length),
                         ART_ERR_UNSUPPORTED);
        assert_int_equal(art_result_consensus(found, ART_MAJORITY, newick, sizeof newick, NULL),
                         ART_ERR_UNSUPPORTED);
        assert_int_equal(art_result_splits(found), 0);
        art_model *q;
        check_status(art_result_model(&q, found));
        check_status(art_result_trees(&t, found)); /* they are not the model's */
        double log_q[15];
        check_status(art_model_score(log_q, q, t));
        art_trees_free(t);
        art_model_free(q);
        art_result_free(found);
    }
    art_alignment_free(a);
}

/* The search: score, trees and counts by enumeration, the same after saving and loading; what it
 * has no answer to is refused. */
static void search_by_enumeration(void **state)
{
    (void)state;
    enum { N = 6, TREES = 105 };
    static const char *const ROW[N] = {"ACGTACGA-CA", "ACGTACTAACT", "ATGCACTTACA",
                                       "ATGCGCTTAGT", "ATGCGC-TAGA", "ACGCGCTTAGT"};
    char text[256] = "", newick[512], again[512];
    for (int i = 0; i < N; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ">t%d\n%s\n", i, ROW[i]);
    small_alignment small;
    small_alignment_init(&small, N, ROW);
    art_alignment *a;
    check_status(art_alignment_read(&a, scratch_write("small.fasta", text), NULL));
    for (int gap = 0; gap < 2; gap++) {
        int64_t least = INT64_MAX, score, resolved = 0;
        for (int i = 0; i < TREES; i++) {
            int32_t decision[N];
            exact_tree(decision, i, N);
            check_status(
                parsimony_ref(&score, &small.a, NULL, gap ? GAP_FIFTH : GAP_MISSING, decision));
            resolved = score < least ? 1 : resolved + (score == least);
            least = score < least ? score : least;
        }
        art_search_settings s;
        art_search_defaults(&s);
        s.gap_is_state = gap;
        art_run *r, *other;
        check_status(art_run_search(&r, a, &s, NULL));
        check_status(art_run_search(&other, a, &s, NULL));
        check_status(art_run_advance(r, NULL));
        check_status(art_run_save(r, scratch_path("state"), NULL));
        check_status(art_run_load(other, scratch_path("state"), NULL));
        art_result *found = api_finish(r), *same = api_finish(other);
        art_search_counts c, d;
        check_status(art_result_search(&c, found));
        check_status(art_result_search(&d, same));
        assert_memory_equal(&c, &d, sizeof c);
        check_status(art_result_score(&score, found));
        assert_true(score == least && c.score == least && c.is_complete);
        assert_int_equal(c.resolved, resolved);
        assert_true(c.trees >= 1 && c.trees <= resolved && c.hits >= s.hits);
        art_trees *t;
        check_status(art_result_trees(&t, found));
        assert_int_equal(art_trees_count(t), c.trees);
        for (size_t i = 0; i < art_trees_count(t); i++) {
            check_status(art_trees_newick(t, i, newick, sizeof newick, NULL));
            check_status(art_parsimony_score(&score, a, gap, newick, NULL));
            assert_int_equal(score, least);
        }
        art_trees_free(t);
        check_status(art_result_consensus(found, ART_STRICT, newick, sizeof newick, NULL));
        check_status(art_result_consensus(same, ART_STRICT, again, sizeof again, NULL));
        assert_string_equal(newick, again);
        char page[8192];
        check_status(art_result_report(found, page, sizeof page, NULL));
        assert_non_null(strstr(page, "Majority consensus of the optimal trees"));
        check_status(art_result_write(found, scratch_path("search"), NULL));
        char *nexus = file_text(scratch_path("search.best.trees"));
        assert_non_null(strstr(nexus, "tree best_1 = [&U] ("));
        free(nexus);
        art_evidence e;
        art_model *q;
        assert_int_equal(art_result_evidence(&e, found), ART_ERR_UNSUPPORTED);
        assert_int_equal(art_result_model(&q, found), ART_ERR_UNSUPPORTED);
        assert_int_equal(art_result_splits(found), 0);
        art_result_free(found);
        art_result_free(same);
    }
    art_alignment_free(a);
}

int main(void)
{
#define WITH_DATA(f) cmocka_unit_test_setup_teardown(f, api_open, api_close)
    const struct CMUnitTest tests[] = {
        WITH_DATA(a_result_is_taken_once),         WITH_DATA(results_of_inference),
        WITH_DATA(a_verdict_comes_with_inference), WITH_DATA(files_are_the_program_s),
        WITH_DATA(parsimony_by_enumeration),       WITH_DATA(search_by_enumeration),
    };
    return cmocka_run_group_tests_name("api_result", tests, NULL, NULL);
}
