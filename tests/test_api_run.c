/* Runs and results of the library: pieces, saved states, checkpoints, files. Settings are tiny:
 * what is tested is that nothing of a run is lost or changed on its way, not that it learns. */
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

static const char DATA[] = ">d\nTCGAACGATCGCTTCCACTTACGATG\n>a\nACGTACGTTAGCATCGACGTACGATT\n"
                           ">b\nACGAACGTTAGCATCGACGTACGATA\n>c\nTCGAACGATAGCTTCGACTTACGATA\n"
                           ">e\nTCCAAGGATCGCTTCCACTTAGGATG\n";
static const char TREES[] = "((a,b),c,(d,e));\n((a,b),c,(d,e));\n((a,c),b,(d,e));\n";

typedef enum kind { COLLAPSED, VBPI, FIT, PARSIMONY, KINDS } kind;

/* What every test works on, in a scratch folder. */
static art_alignment *data;
static art_trees *trees;

static int open_data(void **state)
{
    (void)state;
    scratch_make();
    const char *path = scratch_write("trees.nwk", TREES);
    check_status(art_trees_read(&trees, &path, 1, 0, NULL, NULL));
    check_status(art_alignment_read(&data, scratch_write("data.fasta", DATA), NULL));
    return 0;
}

static int close_data(void **state)
{
    (void)state;
    art_alignment_free(data);
    art_trees_free(trees);
    scratch_remove();
    return 0;
}

static art_infer_settings infer_settings(kind k)
{
    art_infer_settings s;
    art_infer_defaults(&s);
    s.method = k == VBPI ? ART_VBPI : ART_COLLAPSED;
    s.hidden = s.branch_hidden = 8;
    s.heads = 2;
    s.fit_steps = 60;
    s.steps = 60;
    s.anneal_steps = 30;
    s.tree_rate = s.branch_rate = 1e-3;
    return s;
}

static art_fit_settings fit_settings(void)
{
    art_fit_settings s;
    art_fit_defaults(&s);
    s.hidden = 8;
    s.heads = 2;
    s.steps = 60;
    s.average = 0.9;
    s.average_from = 10;
    return s;
}

static art_parsimony_settings parsimony_settings(void)
{
    art_parsimony_settings s;
    art_parsimony_defaults(&s);
    s.hidden = 8;
    s.heads = 2;
    s.steps = 60;
    s.anneal_steps = 30;
    return s;
}

/* A run with a seed and so many steps of training or, of COLLAPSED, of fitting. */
static art_run *make(kind k, uint64_t seed, int64_t steps, int threads)
{
    art_run *r;
    art_infer_settings infer = infer_settings(k);
    art_fit_settings fit = fit_settings();
    art_parsimony_settings pars = parsimony_settings();
    infer.seed = fit.seed = pars.seed = seed;
    infer.steps = infer.fit_steps = fit.steps = pars.steps = steps;
    infer.threads = fit.threads = pars.threads = threads;
    if (k == FIT)
        check_status(art_run_fit(&r, trees, &fit, NULL));
    else if (k == PARSIMONY)
        check_status(art_run_parsimony(&r, data, &pars, NULL));
    else
        check_status(art_run_infer(&r, data, "JC", &infer, NULL));
    return r;
}

static art_run *usual(kind k)
{
    return make(k, 1, 60, 1);
}

/* Advances a run by so many pieces, at most; returns how many there were. */
static int advance(art_run *r, int most)
{
    art_run_state now;
    int pieces = 0;
    for (art_run_look(r, &now); !now.is_done && pieces < most; pieces++) {
        check_status(art_run_advance(r, NULL));
        art_run_look(r, &now);
        assert_true(now.stage[0] && now.unit[0] && now.done >= 0);
        assert_true(now.total == 0 || now.done <= now.total);
    }
    return pieces;
}

/* Its result; the run is freed. */
static art_result *result_of(art_run *r)
{
    art_result *found;
    check_status(art_run_result(&found, r, NULL));
    art_run_free(r);
    return found;
}

static art_result *finish(art_run *r)
{
    advance(r, 1000000);
    return result_of(r);
}

static void check_same_bits(double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void check_same_evidence(const art_evidence *a, const art_evidence *b)
{
    check_same_bits(a->log_evidence, b->log_evidence);
    check_same_bits(a->log_evidence_sd, b->log_evidence_sd);
    check_same_bits(a->log_evidence_se, b->log_evidence_se);
    check_same_bits(a->lower_bound_1, b->lower_bound_1);
    check_same_bits(a->lower_bound_10, b->lower_bound_10);
    check_same_bits(a->ess, b->ess);
    check_same_bits(a->pareto_k, b->pareto_k);
    check_same_bits(a->outside_weight, b->outside_weight);
    check_same_bits(a->outside_weight_se, b->outside_weight_se);
    assert_int_equal(a->draws, b->draws);
}

static void check_same_trees(const art_trees *a, const art_trees *b)
{
    char one[128], other[128];
    assert_int_equal(art_trees_count(a), art_trees_count(b));
    for (size_t i = 0; i < art_trees_count(a); i++) {
        check_same_bits(art_trees_weight(a, i), art_trees_weight(b, i));
        check_status(art_trees_newick(a, i, one, sizeof one, NULL));
        check_status(art_trees_newick(b, i, other, sizeof other, NULL));
        assert_string_equal(one, other);
    }
}

/* Two results are the same, bit for bit; takes the model of b and frees b. */
static void check_same_result(kind k, art_result *a, art_result *b)
{
    art_evidence e, f;
    art_trees *t, *u;
    if (k == FIT) {
        /* the weights of the networks, through what they say of the trees */
        art_model *q, *p;
        double before[2], after[2];
        check_status(art_result_write(a, scratch_path("a"), NULL));
        check_status(art_model_read(&q, scratch_path("a.model.safetensors"), 1, NULL));
        check_status(art_result_model(&p, b));
        check_status(art_model_score(before, q, trees));
        check_status(art_model_score(after, p, trees));
        check_same_bits(before[0], after[0]);
        check_same_bits(before[1], after[1]);
        art_model_free(q);
        art_model_free(p);
        art_result_free(b);
        return;
    }
    check_status(art_result_evidence(&e, a));
    check_status(art_result_evidence(&f, b));
    check_same_evidence(&e, &f);
    check_status(art_result_trees(&t, a));
    check_status(art_result_trees(&u, b));
    check_same_trees(t, u);
    art_trees_free(t);
    art_trees_free(u);
    art_result_free(b);
}

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
    art_infer_settings s = infer_settings(COLLAPSED);
    art_model *q;
    art_evidence e, f;
    art_trees *t, *u;
    check_status(art_infer(&q, data, "JC", &s, NULL, NULL, NULL));
    check_status(art_model_answer(&e, &t, q));
    for (int threads = 1; threads <= 2; threads++) {
        art_run *r = make(COLLAPSED, 1, 60, threads);
        art_run_state now;
        art_run_look(r, &now);
        assert_true(!now.is_done && isnan(now.value));
        assert_true(advance(r, 1000000) > 10);
        art_run_look(r, &now);
        assert_true(now.is_done && isfinite(now.value));
        check_status(art_run_advance(r, NULL)); /* nothing */
        art_result *found = result_of(r);
        check_status(art_result_evidence(&f, found));
        check_same_evidence(&e, &f);
        check_status(art_result_trees(&u, found));
        check_same_trees(t, u);
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
    art_infer_settings s = infer_settings(COLLAPSED);
    check_status(art_run_infer(&r, data, "JC", &s, NULL));
    s.tree_rate = NAN;
    s.steps = -1;
    check_status(art_run_infer(&other, data, "JC", &s, NULL));
    check_status(art_run_save(r, scratch_path("state"), NULL));
    check_status(art_run_load(other, scratch_path("state"), NULL));
    art_run_free(r);
    art_run_free(other);
    s = infer_settings(VBPI);
    s.standard_error = NAN;
    check_status(art_run_infer(&r, data, "JC", &s, NULL));
    art_run_free(r);
}

/* ---- saved states ---- */

static void a_saved_run_goes_on(void **state)
{
    (void)state;
    const char *path = scratch_path("state.safetensors");
    for (kind k = 0; k < KINDS; k++) {
        art_result *whole = finish(usual(k));
        static const int BEFORE[] = {0, 7, 35};
        for (int i = k == VBPI || k == PARSIMONY ? 1 : 0; i < 3; i += k == VBPI ? 2 : 1) {
            art_run *r = usual(k), *other = usual(k);
            assert_int_equal(advance(r, BEFORE[i]), BEFORE[i]);
            check_status(art_run_save(r, path, NULL));
            check_status(art_run_load(other, path, NULL));
            art_run_state before, after;
            art_run_look(r, &before);
            art_run_look(other, &after);
            assert_string_equal(before.stage, after.stage);
            check_same_bits(before.done, after.done);
            art_run_free(r);
            assert_int_equal(art_run_load(other, path, NULL), ART_ERR_USAGE);
            check_same_result(k, whole, finish(other));
        }
        art_result_free(whole);
    }
}

/* A run that is at its end can be saved too; the last piece may be done again. */
static void a_saved_end_is_an_end(void **state)
{
    (void)state;
    const char *path = scratch_path("state.safetensors");
    art_run *r = usual(COLLAPSED), *other = usual(COLLAPSED);
    advance(r, 1000000);
    check_status(art_run_save(r, path, NULL));
    check_status(art_run_load(other, path, NULL));
    art_result *found = result_of(r);
    check_same_result(COLLAPSED, found, finish(other));
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
    art_run *r = usual(COLLAPSED);
    advance(r, 5);
    check_status(art_run_save(r, path, NULL));
    art_run_free(r);
    r = make(COLLAPSED, 2, 60, 1);
    check_refused(r, path, ART_ERR_MISMATCH, "seed was 1 and is now 2");
    art_run_free(r);
    r = make(COLLAPSED, 1, 61, 1);
    check_refused(r, path, ART_ERR_MISMATCH, "fit_steps was 60 and is now 61");
    art_run_free(r);
    for (kind k = VBPI; k < KINDS; k++) {
        r = usual(k);
        check_refused(r, path, ART_ERR_MISMATCH, "another run");
        art_run_free(r);
    }
    /* another substitution model, and other data */
    art_infer_settings s = infer_settings(COLLAPSED);
    check_status(art_run_infer(&r, data, "HKY{2}+F", &s, NULL));
    check_refused(r, path, ART_ERR_MISMATCH, "model was");
    art_run_free(r);
    art_alignment *other;
    char text[sizeof DATA];
    memcpy(text, DATA, sizeof DATA);
    text[3] = 'A';
    check_status(art_alignment_read(&other, scratch_write("other.fasta", text), NULL));
    check_status(art_run_infer(&r, other, "JC", &s, NULL));
    check_refused(r, path, ART_ERR_MISMATCH, "another run");
    art_run_free(r);
    art_alignment_free(other);
    /* after all that the state is as good as before, on any number of threads */
    r = make(COLLAPSED, 1, 60, 2);
    check_status(art_run_load(r, path, NULL));
    art_run_free(r);
}

static void damaged_states_are_refused(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        const char *path = scratch_path("state.safetensors");
        art_run *r = usual(k), *other = usual(k);
        advance(r, 5);
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
        check_refused(other, scratch_write("bad", DATA), ART_ERR_LIMIT, "safetensors file?");
        assert_int_not_equal(art_run_load(other, scratch_path("none"), NULL), ART_OK);
        /* nothing of it has touched the run */
        check_status(art_run_load(other, scratch_write_bytes("bad", bytes, n), NULL));
        art_run_free(other);
    }
    art_run *r = usual(FIT);
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
    for (kind k = 0; k < KINDS; k++) {
        static const char *const NAME[] = {"drive0", "drive1", "drive2", "drive3"};
        char prefix[1024];
        snprintf(prefix, sizeof prefix, "%s", scratch_path(NAME[k]));
        const art_drive_settings files = {prefix, 0, 1e-9};
        art_result *whole = finish(usual(k));
        watcher w = {.prefix = prefix, .stop_at = 20};
        art_run *r = usual(k);
        assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        assert_int_equal(w.last, 20);
        assert_true(w.has_checkpoint); /* before it was stopped */
        assert_true(exists(prefix, ".ckp.safetensors"));
        art_run_free(r);
        /* a run of another seed neither takes it nor touches it */
        art_messages *m;
        check_status(art_messages_create(&m));
        r = make(k, 2, 60, 1);
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, m), ART_ERR_MISMATCH);
        assert_non_null(strstr(art_messages_text(m, 0), "seed was 1 and is now 2"));
        art_messages_free(m);
        art_run_free(r);
        assert_true(exists(prefix, ".ckp.safetensors"));
        /* to the end, with a stop after which the same run is driven again */
        r = usual(k);
        w = (watcher){.prefix = prefix, .stop_at = 10};
        assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        w = (watcher){.prefix = prefix};
        check_status(art_run_drive(r, &files, watch, &w, NULL));
        assert_true(w.has_checkpoint && w.has_previous);
        assert_false(exists(prefix, ".ckp.safetensors"));
        assert_false(exists(prefix, ".ckp.prev.safetensors"));
        assert_true(exists(prefix, ".metrics.jsonl"));
        check_same_result(k, whole, result_of(r));
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
        art_run *r = usual(COLLAPSED);
        watcher w = {.prefix = prefix, .stop_at = i ? 40 : 0};
        if (i)
            assert_int_equal(art_run_drive(r, &files, watch, &w, NULL), ART_ERR_STOPPED);
        check_status(art_run_drive(r, &files, NULL, NULL, NULL));
        check_status(art_run_drive(r, &files, NULL, NULL, NULL));
        text[i] = file_text(scratch_path(i ? "stopped.metrics.jsonl" : "whole.metrics.jsonl"));
        assert_non_null(text[i]);
        art_result_free(result_of(r));
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
    for (kind k = 0; k < KINDS; k++) {
        watcher w = {.prefix = "", .finish_at = 12};
        art_run *r = make(k, 1, 1000000, 1);
        check_status(art_run_drive(r, NULL, watch, &w, NULL));
        art_result *found = result_of(r);
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
    art_run *r = make(FIT, 1, 1000000, 1);
    advance(r, 3);
    art_run_finish_now(r);
    assert_int_equal(advance(r, 1000), 0);
    art_result_free(result_of(r));
}

static void time_limits(void **state)
{
    (void)state;
    const art_drive_settings files = {scratch_path("limit"), 0.02, 0};
    for (kind k = VBPI; k < KINDS; k++) {
        art_run *r = make(k, 1, 100000000, 1);
        art_run_state now, later;
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, NULL), ART_ERR_STOPPED);
        assert_true(exists(files.prefix, ".ckp.safetensors"));
        art_run_look(r, &now);
        assert_true(now.done > 0 && !now.is_done);
        art_run_free(r);
        /* every call has the time */
        r = make(k, 1, 100000000, 1);
        assert_int_equal(art_run_drive(r, &files, NULL, NULL, NULL), ART_ERR_STOPPED);
        art_run_look(r, &later);
        assert_true(later.done > now.done);
        art_run_free(r);
        unlink(scratch_path("limit.ckp.safetensors"));
        unlink(scratch_path("limit.ckp.prev.safetensors"));
    }
    art_run *r = make(COLLAPSED, 1, 1000000, 1);
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
    assert_true(converged ? e.log_evidence_se <= infer_settings(COLLAPSED).standard_error
                          : art_messages_count(m) >= 1 && isnan(e.log_evidence_se));
    art_messages_free(m);
    art_result_free(found);

    r = usual(FIT);
    const art_drive_settings wrong[] = {
        {NULL, -1, 0}, {NULL, NAN, 0}, {NULL, 0, -1}, {NULL, 0, NAN}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(art_run_drive(r, &wrong[i], NULL, NULL, NULL), ART_ERR_USAGE);
    art_run_free(r);
}

/* ---- results ---- */

static void a_result_is_taken_once(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
        art_run *r = make(k, 1, 5, 1);
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
    for (kind k = 0; k < KINDS; k++)
        for (int steps = 1; steps <= 60; steps += 59) {
            art_messages *m;
            art_result *found;
            art_diagnostics d;
            int converged;
            art_run *r = make(k, 1, steps, 1);
            check_status(art_messages_create(&m));
            advance(r, 1000000);
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
    for (kind k = COLLAPSED; k <= VBPI; k++) {
        static char text[16384];
        char said[64];
        art_evidence e, f;
        art_trees *t, *u;
        art_model *q, *again;
        int64_t score;
        art_result *found = finish(usual(k));
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
        check_status(art_log_likelihood(&value, data, "JC", text, NULL));
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
            check_same_evidence(&e, &f);
            check_same_trees(t, u);
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
        check_status(art_model_evidence(&f, q, data, 100, 2, 1, NULL));
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

/* A file that the program has written under one prefix and the library under another. */
static void check_same_file(const char *suffix)
{
    char one[64], other[64];
    snprintf(one, sizeof one, "program%s", suffix);
    snprintf(other, sizeof other, "library%s", suffix);
    char *a = file_text(scratch_path(one)), *b = file_text(scratch_path(other));
    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void files_are_the_program_s(void **state)
{
    (void)state;
    static const char *const INFER[] = {
        ".model.safetensors", ".trees",      ".trace.tsv",  ".trprobs",     ".contree", ".con.tre",
        ".map.nwk",           ".splits.tsv", ".report.txt", ".report.html", ".json",    NULL};
    static const char *const PARS[] = {".model.safetensors", ".best.nwk", ".scores.tsv", ".json",
                                       NULL};
    static const char *const DENSITY[] = {".model.safetensors", ".json", NULL};
    static const char *const *const SUFFIXES[] = {INFER, INFER, DENSITY, PARS};
    static const char *const SAME[] = {".trees",   ".trace.tsv", ".trprobs",   ".contree",
                                       ".con.tre", ".map.nwk",   ".splits.tsv"};
    for (kind k = 0; k < KINDS; k++) {
        art_result *found = finish(usual(k));
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
            snprintf(
                line, sizeof line,
                "infer -s %s --prefix %s --hidden 8 --heads 2 --branch-hidden 8 --fit-steps 60 "
                "--seed 1 --threads 1",
                scratch_path("data.fasta"), scratch_path("program"));
            run_well(line);
            for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++)
                check_same_file(SAME[i]);
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
        art_parsimony_settings s = parsimony_settings();
        s.gap_is_state = gap;
        s.steps = 300;
        art_run *r;
        check_status(art_run_parsimony(&r, a, &s, NULL));
        art_result *found = finish(r);
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

/* ---- failures ---- */

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    art_run *r;
    art_parsimony_settings s[6];
    for (int i = 0; i < 6; i++)
        s[i] = parsimony_settings();
    s[0].particles = 1;
    s[1].rate = NAN;
    s[2].steps = 0;
    s[3].threads = 0;
    s[4].heads = 3;
    s[5].anneal_steps = -1;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(art_run_parsimony(&r, data, &s[i], NULL), ART_ERR_USAGE);
        assert_null(r);
    }
    art_fit_settings fit = fit_settings();
    fit.average = 1;
    assert_int_equal(art_run_fit(&r, trees, &fit, NULL), ART_ERR_USAGE);
    assert_null(r);
    assert_int_equal(art_run_infer(&r, data, "JC+X", NULL, NULL), ART_ERR_INPUT);
    assert_null(r);
}

/* Makes a run and frees it. */
static int create(kind k)
{
    art_run *r;
    art_infer_settings infer = infer_settings(k);
    art_fit_settings fit = fit_settings();
    art_parsimony_settings pars = parsimony_settings();
    infer.table_bytes = 0; /* the smallest table */
    int status = k == FIT         ? art_run_fit(&r, trees, &fit, NULL)
                 : k == PARSIMONY ? art_run_parsimony(&r, data, &pars, NULL)
                                  : art_run_infer(&r, data, "JC", &infer, NULL);
    assert_true(status ? !r : r != NULL);
    art_run_free(r);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (kind k = 0; k < KINDS; k++) {
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
#define WITH_DATA(f) cmocka_unit_test_setup_teardown(f, open_data, close_data)
    const struct CMUnitTest tests[] = {
        WITH_DATA(pieces_are_the_whole),
        WITH_DATA(settings_of_the_other_method_do_not_count),
        WITH_DATA(a_saved_run_goes_on),
        WITH_DATA(a_saved_end_is_an_end),
        WITH_DATA(other_states_are_refused),
        WITH_DATA(damaged_states_are_refused),
        WITH_DATA(a_driven_run_goes_on),
        WITH_DATA(metrics_are_kept),
        WITH_DATA(finish_now_has_a_result),
        WITH_DATA(time_limits),
        WITH_DATA(a_result_is_taken_once),
        WITH_DATA(results_of_inference),
        WITH_DATA(a_verdict_comes_with_inference),
        WITH_DATA(files_are_the_program_s),
        WITH_DATA(parsimony_by_enumeration),
        WITH_DATA(wrong_settings_are_refused),
        WITH_DATA(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("api_run", tests, NULL, NULL);
}
