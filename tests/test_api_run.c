/* Runs of the library: pieces, saved states, checkpoints, time limits, failures
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

/* ---- pieces ---- */

static void pieces_are_the_whole(void **state)
{
    (void)state;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    art_model *q;
    art_evidence e, f;
    art_trees *t, *u;
    check_status(art_infer(&q, api_data, "JC", &s, NULL, NULL, NULL));
    check_status(art_model_answer(&e, &t, q));
    for (int threads = 1; threads <= 2; threads++) {
        art_run *r = api_make(COLLAPSED, 1, 60, threads);
        art_run_state now;
        art_run_look(r, &now);
        assert_true(!now.is_done && isnan(now.value));
        assert_true(api_advance(r, 1000000) > 10);
        art_run_look(r, &now);
        assert_true(now.is_done && isfinite(now.value));
        check_status(art_run_advance(r, NULL)); /* nothing */
        art_result *found = api_result_of(r);
        check_status(art_result_evidence(&f, found));
        api_same_evidence(&e, &f);
        check_status(art_result_trees(&u, found));
        api_same_trees(t, u);
        art_trees_free(u);
        art_result_free(found);
    }
    art_trees_free(t);
    art_model_free(q);
}

/* Settings of the other method are not looked at, whatever they are. */
static void settings_of_the_other_method_do_not_count(void **state)
{
    (void)state;
    art_run *r, *other;
    art_infer_settings s = api_infer_settings(COLLAPSED);
    check_status(art_run_infer(&r, api_data, "JC", &s, NULL));
    s.tree_rate = NAN;
    s.steps = -1;
    check_status(art_run_infer(&other, api_data, "JC", &s, NULL));
    check_status(art_run_save(r, scratch_path("state"), NULL));
    check_status(art_run_load(other, scratch_path("state"), NULL));
    art_run_free(r);
    art_run_free(other);
    s = api_infer_settings(VBPI);
    s.standard_error = NAN;
    check_status(art_run_infer(&r, api_data, "JC", &s, NULL));
    art_run_free(r);
}

/* ---- saved states ---- */

static void a_saved_run_goes_on(void **state)
{
    (void)state;
    const char *path = scratch_path("state.safetensors");
    for (api_kind k = 0; k < KINDS; k++) {
        art_result *whole = api_finish(api_usual(k));
        static const int BEFORE[] = {0, 7, 35};
        for (int i = k == VBPI || k == PARSIMONY ? 1 : 0; i < 3; i += k == VBPI ? 2 : 1) {
            art_run *r = api_usual(k), *other = api_usual(k);
            assert_int_equal(api_advance(r, BEFORE[i]), BEFORE[i]);
            check_status(art_run_save(r, path, NULL));
            check_status(art_run_load(other, path, NULL));
            art_run_state before, after;
            art_run_look(r, &before);
            art_run_look(other, &after);
            assert_string_equal(before.stage, after.stage);
            api_same_bits(before.done, after.done);
            art_run_free(r);
            assert_int_equal(art_run_load(other, path, NULL), ART_ERR_USAGE);
            api_same_result(k, whole, api_finish(other));
        }
        art_result_free(whole);
    }
}

/* A run that is at its end can be saved too; the last piece may be done again. */
static void a_saved_end_is_an_end(void **state)
{
    (void)state;
    const char *path = scratch_path("state.safetensors");
    art_run *r = api_usual(COLLAPSED), *other = api_usual(COLLAPSED);
    api_advance(r, 1000000);
    check_status(art_run_save(r, path, NULL));
    check_status(art_run_load(other, path, NULL));
    art_result *found = api_result_of(r);
    api_same_result(COLLAPSED, found, api_finish(other));
    art_result_free(found);
}

/* Loading path into r fails with a status and one message that contains the words. */
static void check_refused(art_run *r, const char *path, int status, const char *words)
{
    art_messages *m;
    check_status(art_messages_create(&m));
    assert_int_equal(art_run_load(r, path, m), status);
    assert_true(art_messages_count(m) >= 1);
    assert_int_equal(art_messages_level(m, 0), ART_ERROR);
    if (!strstr(art_messages_text(m, 0), words))
        fail_msg("'%s' is not in '%s'", words, art_messages_text(m, 0));
    art_messages_free(m);
}

static void other_states_are_refused(void **state)
{
    (void)state;
    const char *path = scratch_path("state.safetensors");
    art_run *r = api_usual(COLLAPSED);
    api_advance(r, 5);
    check_status(art_run_save(r, path, NULL));
    art_run_free(r);
    r = api_make(COLLAPSED, 2, 60, 1);
    check_refused(r, path, ART_ERR_MISMATCH, "seed was 1 and is now 2");
    art_run_free(r);
    r = api_make(COLLAPSED, 1, 61, 1);
    check_refused(r, path, ART_ERR_MISMATCH, "fit_steps was 60 and is now 61");
    art_run_free(r);
    for (api_kind k = VBPI; k < KINDS; k++) {
        r = api_usual(k);
        check_refused(r, path, ART_ERR_MISMATCH, "another run");
        art_run_free(r);
    }
    /* another substitution model, and other data */
    art_infer_settings s = api_infer_settings(COLLAPSED);
    check_status(art_run_infer(&r, api_data, "HKY{2}+F", &s, NULL));
    check_refused(r, path, ART_ERR_MISMATCH, "model was");
    art_run_free(r);
    art_alignment *other;
    char text[256];
    assert_true(snprintf(text, sizeof text, "%s", API_DATA) < (int)sizeof text);
    text[3] = 'A';
    check_status(art_alignment_read(&other, scratch_write("other.fasta", text), NULL));
    check_status(art_run_infer(&r, other, "JC", &s, NULL));
    check_refused(r, path, ART_ERR_MISMATCH, "another run");
    art_run_free(r);
    art_alignment_free(other);
    /* after all that the state is as good as before, on any number of threads */
    r = api_make(COLLAPSED, 1, 60, 2);
    check_status(art_run_load(r, path, NULL));
    art_run_free(r);
}

static void damaged_states_are_refused(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        const char *path = scratch_path("state.safetensors");
        art_run *r = api_usual(k), *other = api_usual(k);
        api_advance(r, 5);
        check_status(art_run_save(r, path, NULL));
        art_run_free(r);
        FILE *f = fopen(path, "rb");
        static char bytes[1 << 22];
        const size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        assert_true(n > 1000 && n < sizeof bytes);
        /* one bit of a number somewhere */
        for (size_t at = n / 2; at < n; at += n / 7) {
            bytes[at] ^= 1;
            check_refused(other, scratch_write_bytes("bad", bytes, n), ART_ERR_INPUT, "damaged");
            bytes[at] ^= 1;
        }
        check_refused(other, scratch_write_bytes("bad", bytes, n - 1), ART_ERR_INPUT, "bad");
        check_refused(other, scratch_write_bytes("bad", bytes, 0), ART_ERR_INPUT, "bad");
        check_refused(other, scratch_write("bad", API_DATA), ART_ERR_LIMIT, "safetensors file?");
        assert_int_not_equal(art_run_load(other, scratch_path("none"), NULL), ART_OK);
        /* nothing of it has touched the run */
        check_status(art_run_load(other, scratch_write_bytes("bad", bytes, n), NULL));
        art_run_free(other);
    }
    art_run *r = api_usual(FIT);
    assert_int_equal(art_run_save(r, "/nonexistent/folder/state", NULL), ART_ERR_IO);
    art_run_free(r);
}

/* ---- drive ---- */

typedef struct watcher {
    const char *prefix;
    int64_t stop_at, finish_at; /* pieces; 0: never */
    int64_t last;
    bool has_checkpoint, has_previous;
} watcher;

static int watch(void *context, int64_t piece, double value)
{
    watcher *w = context;
    (void)value;
    assert_int_equal(piece, w->last + 1);
    w->last = piece;
    w->has_checkpoint |= exists(w->prefix, ".ckp.safetensors");
    w->has_previous |= exists(w->prefix, ".ckp.prev.safetensors");
    if (w->finish_at && piece >= w->finish_at)
        return ART_FINISH_NOW;
    return w->stop_at && piece >= w->stop_at ? ART_STOP : ART_GO_ON;
}

static void a_driven_run_goes_on(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        static const char *const NAME[] = {"drive0", "drive1", "drive2", "drive3"};
        char prefix[1024];
        snprintf(prefix, sizeof prefix, "%s", scratch_path(NAME[k]));
        const art_drive_settings files = {prefix, 0, 1e-9};
        art_result *whole = api_finish(api_usual(k));
        watcher w = {.prefix = prefix, .stop_at = 20};
        art_run *r = api_usual(k);
        assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        assert_int_equal(w.last, 20);
        assert_true(w.has_checkpoint); /* before it was stopped */
        assert_true(exists(prefix, ".ckp.safetensors"));
        art_run_free(r);
        /* a run of another seed neither takes it nor touches it */
        art_messages *m;
        check_status(art_messages_create(&m));
        r = api_make(k, 2, 60, 1);
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, m), ART_ERR_MISMATCH);
        assert_non_null(strstr(art_messages_text(m, 0), "seed was 1 and is now 2"));
        art_messages_free(m);
        art_run_free(r);
        assert_true(exists(prefix, ".ckp.safetensors"));
        /* to the end, with a stop after which the same run is driven again */
        r = api_usual(k);
        w = (watcher){.prefix = prefix, .stop_at = 10};
        assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        w = (watcher){.prefix = prefix};
        check_status(art_run_drive(r, &files, watch, &w, NULL));
        assert_true(w.has_checkpoint && w.has_previous);
        assert_false(exists(prefix, ".ckp.safetensors"));
        assert_false(exists(prefix, ".ckp.prev.safetensors"));
        assert_true(exists(prefix, ".metrics.jsonl"));
        api_same_result(k, whole, api_result_of(r));
        art_result_free(whole);
    }
}

/* The metrics of a run that was stopped and driven again are those of one that was not, but for the
 * times; and a run that is done leaves them alone. */
static void metrics_are_kept(void **state)
{
    (void)state;
    char *text[2];
    for (int i = 0; i < 2; i++) {
        const char *prefix = scratch_path(i ? "stopped" : "whole");
        const art_drive_settings files = {prefix, 0, 1e-9};
        art_run *r = api_usual(COLLAPSED);
        watcher w = {.prefix = prefix, .stop_at = i ? 40 : 0};
        if (i)
            assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        check_status(art_run_drive(r, &files, NULL, NULL, NULL));
        check_status(art_run_drive(r, &files, NULL, NULL, NULL));
        text[i] = file_text(scratch_path(i ? "stopped.metrics.jsonl" : "whole.metrics.jsonl"));
        assert_non_null(text[i]);
        art_result_free(api_result_of(r));
    }
    char *a = text[0], *b = text[1];
    assert_non_null(strchr(a, '\n'));
    while (*a && *b) {
        json_error_t error;
        json_t *one = json_loads(a, JSON_DISABLE_EOF_CHECK, &error);
        json_t *other = json_loads(b, JSON_DISABLE_EOF_CHECK, &error);
        assert_true(one && other);
        assert_true(json_is_real(json_object_get(one, "seconds")));
        json_object_del(one, "seconds");
        json_object_del(other, "seconds");
        assert_true(json_equal(one, other));
        json_decref(one);
        json_decref(other);
        a = strchr(a, '\n') + 1;
        b = strchr(b, '\n') + 1;
    }
    assert_true(!*a && !*b);
    free(text[0]);
    free(text[1]);
}

static void finish_now_has_a_result(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        watcher w = {.prefix = "", .finish_at = 12};
        art_run *r = api_make(k, 1, 1000000, 1);
        check_status(art_run_drive(r, NULL, watch, &w, NULL));
        art_result *found = api_result_of(r);
        art_evidence e;
        if (k == FIT) {
            assert_int_equal(w.last, 12);
            assert_int_equal(art_result_evidence(&e, found), ART_ERR_UNSUPPORTED);
        } else {
            check_status(art_result_evidence(&e, found));
            assert_true(isfinite(e.log_evidence));
        }
        art_result_free(found);
    }
    art_run *r = api_make(FIT, 1, 1000000, 1);
    api_advance(r, 3);
    art_run_finish_now(r);
    assert_int_equal(api_advance(r, 1000), 0);
    art_result_free(api_result_of(r));
}

static void time_limits(void **state)
{
    (void)state;
    const art_drive_settings files = {scratch_path("limit"), 0.02, 0};
    for (api_kind k = VBPI; k < KINDS; k++) {
        art_run *r = api_make(k, 1, 100000000, 1);
        art_run_state now, later;
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, NULL), ART_ERR_STOPPED);
        assert_true(exists(files.prefix, ".ckp.safetensors"));
        art_run_look(r, &now);
        assert_true(now.done > 0 && !now.is_done);
        art_run_free(r);
        /* every call has the time */
        r = api_make(k, 1, 100000000, 1);
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, NULL), ART_ERR_STOPPED);
        art_run_look(r, &later);
        assert_true(later.done > now.done);
        art_run_free(r);
        unlink(scratch_path("limit.ckp.safetensors"));
        unlink(scratch_path("limit.ckp.prev.safetensors"));
    }
    art_run *r = api_make(COLLAPSED, 1, 1000000, 1);
    check_status(art_run_drive(r, &files, NULL, NULL, NULL));
    assert_false(exists(files.prefix, ".ckp.safetensors"));
    art_evidence e;
    art_messages *m;
    art_result *found;
    check_status(art_messages_create(&m));
    check_status(art_run_result(&found, r, m));
    art_run_free(r);
    check_status(art_result_evidence(&e, found));
    assert_true(isfinite(e.log_evidence));
    /* if it was cut short before its criteria held, it says so, and has no error */
    int converged;
    check_status(art_result_converged(&converged, found));
    assert_true(converged ? e.log_evidence_se <= api_infer_settings(COLLAPSED).standard_error
                          : art_messages_count(m) >= 1 && isnan(e.log_evidence_se));
    art_messages_free(m);
    art_result_free(found);

    r = api_usual(FIT);
    const art_drive_settings wrong[] = {
        {NULL, -1, 0}, {NULL, NAN, 0}, {NULL, 0, -1}, {NULL, 0, NAN}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(art_run_drive(r, &wrong[i], NULL, NULL, NULL), ART_ERR_USAGE);
    art_run_free(r);
}

/* ---- failures ---- */

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    art_run *r;
    art_parsimony_settings s[6];
    for (int i = 0; i < 6; i++)
        s[i] = api_parsimony_settings();
    s[0].particles = 1;
    s[1].rate = NAN;
    s[2].steps = 0;
    s[3].threads = 0;
    s[4].heads = 3;
    s[5].anneal_steps = -1;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(art_run_parsimony(&r, api_data, &s[i], NULL), ART_ERR_USAGE);
        assert_null(r);
    }
    art_search_settings x[5];
    for (int i = 0; i < 5; i++)
        art_search_defaults(&x[i]);
    x[0].hits = 0;
    x[1].starts = 0;
    x[2].rounds = -1;
    x[3].max_trees = 0;
    x[4].threads = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(art_run_search(&r, api_data, &x[i], NULL), ART_ERR_USAGE);
        assert_null(r);
    }
    art_fit_settings fit = api_fit_settings();
    fit.average = 1;
    assert_int_equal(art_run_fit(&r, api_trees, &fit, NULL), ART_ERR_USAGE);
    assert_null(r);
    assert_int_equal(art_run_infer(&r, api_data, "JC+X", NULL, NULL), ART_ERR_INPUT);
    assert_null(r);
}

/* Makes a run and frees it. */
static int create(api_kind k)
{
    art_run *r;
    art_infer_settings infer = api_infer_settings(k);
    art_fit_settings fit = api_fit_settings();
    art_parsimony_settings pars = api_parsimony_settings();
    infer.table_bytes = 0; /* the smallest table */
    int status = k == FIT         ? art_run_fit(&r, api_trees, &fit, NULL)
                 : k == PARSIMONY ? art_run_parsimony(&r, api_data, &pars, NULL)
                                  : art_run_infer(&r, api_data, "JC", &infer, NULL);
    assert_true(status ? !r : r != NULL);
    art_run_free(r);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (api_kind k = 0; k < KINDS; k++) {
        long before = memory_count();
        check_status(create(k));
        const long all = memory_count() - before;
        int spared = 0; /* patterns keep the memory they have where it cannot be made smaller */
        assert_true(all > 20);
        for (long i = 1; i <= all; i++) {
            memory_fail_at(i);
            const int status = create(k);
            memory_fail_at(0);
            assert_true(status == ART_OK || status == ART_ERR_NOMEM);
            spared += status == ART_OK;
        }
        assert_true(spared <= 2);
    }
}

int main(void)
{
#define WITH_DATA(f) cmocka_unit_test_setup_teardown(f, api_open, api_close)
    const struct CMUnitTest tests[] = {
        WITH_DATA(pieces_are_the_whole),       WITH_DATA(settings_of_the_other_method_do_not_count),
        WITH_DATA(a_saved_run_goes_on),        WITH_DATA(a_saved_end_is_an_end),
        WITH_DATA(other_states_are_refused),   WITH_DATA(damaged_states_are_refused),
        WITH_DATA(a_driven_run_goes_on),       WITH_DATA(metrics_are_kept),
        WITH_DATA(finish_now_has_a_result),    WITH_DATA(time_limits),
        WITH_DATA(wrong_settings_are_refused), WITH_DATA(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("api_run", tests, NULL, NULL);
}
