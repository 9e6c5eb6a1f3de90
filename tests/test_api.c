/* The library as a program outside of it sees it: only the public header is included. */
#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/run.h"

#include "artreeformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char DATA[] = ">d\nTCGAACGATCGCTTCCACTTACGATG\n>a\nACGTACGTTAGCATCGACGTACGATT\n"
                           ">b\nACGAACGTTAGCATCGACGTACGATA\n>c\nTCGAACGATAGCTTCGACTTACGATA\n"
                           ">e\nTCCAAGGATCGCTTCCACTTAGGATG\n";
static const char TREES[] = "((a,b),c,(d,e));\n((a,b),c,(d,e));\n((a,c),b,(d,e));\n";

static int make_folder(void **state)
{
    (void)state;
    scratch_make();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    scratch_remove();
    return 0;
}

static art_infer_settings small(void)
{
    art_infer_settings s;
    art_infer_defaults(&s);
    s.method = ART_VBPI;
    s.steps = 400;
    s.anneal_steps = 100;
    s.tree_rate = s.branch_rate = 1e-3;
    s.hidden = s.branch_hidden = 16;
    s.heads = 2;
    return s;
}

static int count_steps(void *context, int64_t step, double bound)
{
    int64_t *last = context;
    assert_int_equal(step, *last + 1);
    assert_true(isfinite(bound));
    *last = step;
    return step == 1000000;
}

static int count_pieces(void *context, int64_t piece, double log_evidence)
{
    int64_t *last = context;
    assert_int_equal(piece, *last + 1);
    assert_true(log_evidence < 0);
    *last = piece;
    return ART_GO_ON;
}

static int stop_at_ten(void *context, int64_t step, double bound)
{
    (void)context, (void)bound;
    return step == 10 ? ART_STOP : ART_GO_ON;
}

static int finish_at_ten(void *context, int64_t step, double bound)
{
    (void)bound;
    *(int64_t *)context = step;
    return step >= 10 ? ART_FINISH_NOW : ART_GO_ON;
}

static void from_alignment_to_evidence(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q, *again, *stopped;
    art_evidence e, f;
    art_infer_settings set = small();
    int64_t steps = 0;
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    assert_int_equal(art_alignment_taxa(a), 5);
    assert_int_equal(art_alignment_sites(a), 26);
    assert_true(art_alignment_patterns(a) > 5 && art_alignment_patterns(a) <= 26);
    assert_string_equal(art_alignment_name(a, 0), "d");
    assert_null(art_alignment_name(a, 5));
    check_status(art_infer(&q, a, "JC", &set, count_steps, &steps, NULL));
    assert_int_equal(steps, set.steps);
    assert_int_equal(art_model_taxa(q), 5);
    assert_string_equal(art_model_name(q, 0), "a");
    check_status(art_model_evidence(&e, q, a, 200, 5, 1, NULL));
    assert_true(isfinite(e.log_evidence) && e.log_evidence_se < 1 && e.ess > 1);
    assert_true(e.lower_bound_1 < e.log_evidence);

    /* written and read again it is the same model */
    const char *path = scratch_path("q.safetensors");
    check_status(art_model_write(q, path, NULL));
    check_status(art_model_read(&again, path, 2, NULL));
    check_status(art_model_evidence(&f, again, a, 200, 5, 1, NULL));
    check_near(f.log_evidence, e.log_evidence, 0);

    assert_int_equal(art_infer(&stopped, a, "JC", &set, stop_at_ten, NULL, NULL), ART_ERR_STOPPED);
    assert_null(stopped);
    assert_int_equal(art_infer(&stopped, a, "JC+X", &set, NULL, NULL, NULL), ART_ERR_INPUT);
    set.particles = 1;
    assert_int_equal(art_infer(&stopped, a, "JC", &set, NULL, NULL, NULL), ART_ERR_USAGE);
    art_model_free(q);
    art_model_free(again);
    art_alignment_free(a);
}

/* Collapsed inference, the default, against vbpi's evidence and its own trees. */
static void collapsed_by_default(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q, *soon, *other;
    art_evidence e, f, g;
    art_trees *t;
    art_infer_settings set, vbpi = small();
    int64_t pieces = 0, last = 0;
    art_infer_defaults(&set);
    assert_int_equal(set.method, ART_COLLAPSED);
    set.hidden = set.branch_hidden = 16;
    set.heads = 2;
    set.fit_steps = 100;
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_infer(&q, a, "JC", &set, count_pieces, &pieces, NULL));
    assert_true(pieces > 10);
    check_status(art_model_answer(&e, &t, q));
    assert_true(e.log_evidence_se > 0 && e.log_evidence_se <= set.standard_error &&
                e.pareto_k < 0.7);
    assert_true(e.draws >= 1000 && e.ess < (double)e.draws && e.outside_weight < 0.1 &&
                e.outside_weight_se <= e.outside_weight);
    assert_true(art_trees_count(t) >= 2 && art_trees_count(t) <= 15);
    double sum = 0;
    for (size_t i = 0; i < art_trees_count(t); i++)
        sum += art_trees_weight(t, i);
    check_near(sum, 1, 1e-12);
    /* the network was fitted to these trees, and the lengths to theirs: importance sampling from
     * both has the same evidence, within six standard errors of the two. If Pareto k is 0.7 or
     * more, the error of the latter is not given; the effective sample size has one */
    double kl, distance;
    check_status(art_model_divergence(&kl, &distance, q, t));
    assert_true(kl < 0.3);
    art_messages *m;
    check_status(art_messages_create(&m));
    check_status(art_model_evidence(&f, q, a, 500, 20, 1, m));
    check_near(f.log_evidence, e.log_evidence, 6 * hypot(e.log_evidence_se, 1 / sqrt(f.ess)));
    assert_int_equal(isnan(f.log_evidence_se), f.pareto_k >= 0.7);
    assert_int_equal(isnan(f.log_evidence_sd), f.pareto_k >= 0.7);
    assert_int_equal(art_messages_count(m), f.pareto_k >= 0.7);
    art_messages_free(m);
    art_trees_free(t);

    /* stopped; asked to finish; and no answer where there is none */
    assert_int_equal(art_infer(&soon, a, "JC", &set, stop_at_ten, NULL, NULL), ART_ERR_STOPPED);
    assert_null(soon);
    check_status(art_messages_create(&m));
    check_status(art_infer(&soon, a, "JC", &set, finish_at_ten, &last, m));
    assert_true(last > 10); /* it is asked during the answer too */
    art_messages_free(m);
    check_status(art_model_answer(&g, NULL, soon));
    check_near(g.log_evidence, e.log_evidence, 0.2);
    check_status(art_infer(&other, a, "JC", &vbpi, NULL, NULL, NULL));
    assert_int_equal(art_model_answer(&g, &t, other), ART_ERR_UNSUPPORTED);
    assert_null(t);
    art_model_free(q);
    art_model_free(soon);
    art_model_free(other);
    art_alignment_free(a);
}

/* A model that cannot be is explained; settings out of range are refused. */
static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q;
    art_messages *m;
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_messages_create(&m));
    assert_int_equal(art_infer(&q, a, "JC+X", NULL, NULL, NULL, m), ART_ERR_INPUT);
    assert_int_equal(art_messages_count(m), 1);
    assert_non_null(strstr(art_messages_text(m, 0), "'JC+X':1:"));
    assert_int_equal(art_messages_level(m, 0), ART_ERROR);
    art_messages_free(m);

    art_infer_settings set[13];
    for (int i = 0; i < 13; i++) {
        art_infer_defaults(&set[i]);
        set[i].method = i < 6 ? ART_COLLAPSED : ART_VBPI;
    }
    set[0].rounds = 0;
    set[1].rounds = 65;
    set[2].fit_kl = NAN;
    set[3].standard_error = 0;
    set[4].prior_rate = INFINITY;
    set[5].heads = 3;
    set[6].tree_rate = -1;
    set[7].branch_rate = NAN;
    set[8].decay = 0;
    set[9].decay_every = -1;
    set[10].particles = 1;
    set[11].threads = 0;
    set[12].method = (enum art_method)2;
    for (int i = 0; i < 13; i++) {
        assert_int_equal(art_infer(&q, a, "JC", &set[i], NULL, NULL, NULL), ART_ERR_USAGE);
        assert_null(q);
    }
    art_alignment_free(a);
}

/* Every density can be fitted, kept and read again. Those with tables have the two trees to the
 * last digits, and no others unless they are smoothed. */
static void every_density_is_fitted(void **state)
{
    (void)state;
    static const struct {
        enum art_density density;
        enum art_sbn_method method;
        double smooth, largest; /* KL */
    } table[] = {
        {ART_ARTREEFORMER, ART_SBN_EM_ALPHA, 0, 1e9},
        {ART_ARTREE, ART_SBN_EM_ALPHA, 0, 1e9},
        {ART_SBN, ART_SBN_EM_ALPHA, 0, 1e-4},
        {ART_SBN, ART_SBN_EM, 0, 1e-4},
        {ART_SBN, ART_SBN_SA, 0, 0.1},
        {ART_SBN, ART_SBN_SGA, 0, 0.1},
        {ART_SBN, ART_SBN_EM, 0.2, 0.3},
        {ART_CCD0, ART_SBN_EM_ALPHA, 0, 1e-12},
        {ART_CCD1, ART_SBN_EM_ALPHA, 0, 1e-12},
        {ART_CCD2, ART_SBN_EM_ALPHA, 0, 1e-12},
        {ART_CCD1, ART_SBN_EM_ALPHA, 0.2, 0.3},
    };
    const char *path = scratch_write("trees.nwk", TREES);
    art_trees *t;
    check_status(art_trees_read(&t, &path, 1, 0, NULL, NULL));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        art_fit_settings set;
        art_model *q, *again;
        art_trees *other;
        double kl, distance, before[2], after[2], outside;
        art_fit_defaults(&set);
        set.density = table[i].density;
        set.sbn_method = table[i].method;
        set.smooth = table[i].smooth;
        set.hidden = 8;
        set.heads = set.density == ART_ARTREE ? 0 : 2; /* it has none */
        set.steps = 30;
        check_status(art_fit(&q, t, &set, NULL, NULL, NULL));
        check_status(art_model_divergence(&kl, &distance, q, t));
        print_message("density %d, method %d: KL %g\n", set.density, set.sbn_method, kl);
        assert_true(kl >= -1e-12 && kl <= table[i].largest);
        check_status(art_model_write(q, scratch_path("fit.safetensors"), NULL));
        check_status(art_model_read(&again, scratch_path("fit.safetensors"), 1, NULL));
        check_status(art_model_score(before, q, t));
        check_status(art_model_score(after, again, t));
        assert_memory_equal(before, after, sizeof before);
        const char *unlike = scratch_write("other.nwk", "((a,d),c,(b,e));\n");
        check_status(art_trees_read(&other, &unlike, 1, 0, again, NULL));
        check_status(art_model_score(&outside, again, other));
        const int has_tables = set.density >= ART_SBN;
        assert_int_equal(isinf(outside) != 0, has_tables && set.smooth == 0);
        art_trees_free(other);
        art_model_free(again);
        art_model_free(q);
    }
    art_trees_free(t);
}

static void densities_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const char *path = scratch_write("trees.nwk", TREES);
    art_trees *t;
    art_model *q;
    art_alignment *a;
    art_run *r;
    check_status(art_trees_read(&t, &path, 1, 0, NULL, NULL));
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    art_fit_settings fit[7];
    for (int i = 0; i < 7; i++)
        art_fit_defaults(&fit[i]);
    fit[0].density = (enum art_density)6;
    fit[1].density = ART_ARTREE;
    fit[1].hidden = 9;
    fit[2].density = ART_SBN;
    fit[2].sbn_method = (enum art_sbn_method)4;
    fit[3].density = ART_SBN;
    fit[3].sbn_alpha = NAN;
    fit[4].density = ART_CCD1;
    fit[4].smooth = 1;
    fit[5].density = ART_CCD0;
    fit[5].threads = 0;
    fit[6].heads = 0;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(art_fit(&q, t, &fit[i], NULL, NULL, NULL), ART_ERR_USAGE);
        assert_null(q);
    }
    art_infer_settings infer[4];
    for (int i = 0; i < 4; i++)
        infer[i] = small();
    infer[0].density = ART_CCD1;
    infer[1].density = ART_SBN;
    infer[1].method = ART_COLLAPSED;
    infer[2].density = ART_SBN;
    infer[2].floor = NAN;
    infer[3].density = ART_ARTREE;
    infer[3].hidden = 9;
    for (int i = 0; i < 4; i++)
        assert_int_equal(art_run_infer(&r, a, "JC", &infer[i], NULL), ART_ERR_USAGE);
    art_parsimony_settings pars;
    art_parsimony_defaults(&pars);
    pars.density = ART_SBN;
    assert_int_equal(art_run_parsimony(&r, a, &pars, NULL), ART_ERR_USAGE);
    pars.density = ART_ARTREE;
    pars.hidden = 8;
    pars.heads = 0;
    check_status(art_run_parsimony(&r, a, &pars, NULL));
    art_run_free(r);
    art_trees_free(t);
    art_alignment_free(a);
}

/* A subsplit network whose support is found by a search, and a run of it that was saved on the way,
 * first in the search, then in training: the same evidence, bit for bit. */
static void inference_with_tables(void **state)
{
    (void)state;
    art_alignment *a;
    art_evidence e[3];
    art_infer_settings set = small();
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    set.density = ART_SBN;
    set.hidden = set.heads = 0; /* it has no network */
    set.tree_rate = 0.01;
    set.steps = 60;
    for (int i = 0; i < 3; i++) {
        art_run *r;
        art_result *found;
        check_status(art_run_infer(&r, a, "JC", &set, NULL));
        for (int pieces = i == 0 ? 0 : i == 1 ? 2 : 70; pieces > 0; pieces--)
            check_status(art_run_advance(r, NULL));
        if (i > 0) {
            art_run_state now;
            art_run_look(r, &now);
            assert_string_equal(now.stage, i == 1 ? "exploring" : "training");
            check_status(art_run_save(r, scratch_path("state.safetensors"), NULL));
            art_run_free(r);
            set.threads = 2;
            check_status(art_run_infer(&r, a, "JC", &set, NULL));
            check_status(art_run_load(r, scratch_path("state.safetensors"), NULL));
        }
        check_status(art_run_drive(r, NULL, NULL, NULL, NULL));
        check_status(art_run_result(&found, r, NULL));
        check_status(art_result_evidence(&e[i], found));
        art_result_free(found);
        art_run_free(r);
        set.threads = 1;
    }
    assert_true(isfinite(e[0].lower_bound_1) && e[0].lower_bound_1 < 0);
    for (int i = 1; i < 3; i++) {
        assert_memory_equal(&e[i].lower_bound_1, &e[0].lower_bound_1, sizeof(double));
        assert_memory_equal(&e[i].ess, &e[0].ess, sizeof(double));
    }
    art_alignment_free(a);
}

/* The support comes from trees whose taxa are in another order than those of the model: they are
 * all that has a probability. */
static void a_support_is_given(void **state)
{
    (void)state;
    const char *path = scratch_write("support.nwk", "((e,d),c,(b,a));\n((e,d),b,(c,a));\n");
    const char *same = scratch_write("trees.nwk", TREES);
    const char *wrong = scratch_write("wrong.nwk", "((e,d),c,(b,x));\n");
    art_alignment *a;
    art_trees *support, *trees;
    art_model *q;
    art_messages *m;
    double log_q[2];
    art_infer_settings set = small();
    check_status(art_messages_create(&m));
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_trees_read(&support, &path, 1, 0, NULL, NULL));
    set.density = ART_SBN;
    set.floor = 1e-6;
    set.steps = 20;
    set.support = support;
    check_status(art_infer(&q, a, "JC", &set, NULL, NULL, m));
    check_status(art_trees_read(&trees, &same, 1, 0, q, NULL));
    check_status(art_model_score(log_q, q, trees));
    check_near(exp(log_q[0]) + exp(log_q[1]), 1, 1e-3); /* more by the floor */
    art_model_free(q);
    art_trees_free(trees);
    /* Whatever allocation fails, that is all that is said, and nothing is left behind; also where
     * the support is to be found. */
    set.steps = 2;
    for (int searched = 0; searched < 2; searched++) {
        int status = ART_ERR_NOMEM;
        set.support = searched ? NULL : support;
        for (long k = 1; status; k++) {
            art_run *r = NULL;
            memory_fail_at(k);
            status = searched ? art_run_infer(&r, a, "JC", &set, NULL)
                              : art_infer(&q, a, "JC", &set, NULL, NULL, NULL);
            memory_fail_at(0);
            assert_true(status == ART_OK || status == ART_ERR_NOMEM);
            assert_true(k < 5000);
            art_run_free(r);
        }
    }
    art_model_free(q);
    art_trees_free(support);
    check_status(art_trees_read(&support, &wrong, 1, 0, NULL, NULL));
    set.support = support;
    assert_int_equal(art_infer(&q, a, "JC", &set, NULL, NULL, m), ART_ERR_MISMATCH);
    assert_true(art_messages_count(m) >= 2); /* x is too much, a is missing */
    assert_non_null(strstr(art_messages_text(m, 0), "the support"));
    art_trees_free(support);
    art_messages_free(m);
    art_alignment_free(a);
}

/* Two trees of five taxa: the density learns them, and nothing else. */
static void a_density_is_fitted(void **state)
{
    (void)state;
    art_trees *t;
    art_model *q, *again;
    art_fit_settings set;
    const char *path = scratch_write("trees.nwk", TREES);
    int64_t steps = 0;
    check_status(art_trees_read(&t, &path, 1, 0, NULL, NULL));
    art_fit_defaults(&set);
    set.hidden = 16;
    set.heads = 2;
    set.steps = 1500;
    set.rate = 0.01;
    set.decay_every = 300;
    set.average = 0.99;
    set.average_from = 100;
    double kl, distance;
    check_status(art_fit(&q, t, &set, count_steps, &steps, NULL));
    assert_true(steps < set.steps); /* with counts it ends when the sample is known */
    check_status(art_model_divergence(&kl, &distance, q, t));
    assert_true(kl >= 0 && kl < 0.5);
    art_model_free(q);
    set.counts = 0;
    steps = 0;
    check_status(art_fit(&q, t, &set, count_steps, &steps, NULL));
    assert_int_equal(steps, set.steps);
    check_status(art_model_divergence(&kl, &distance, q, t));
    assert_true(kl >= 0 && kl < 0.01);
    assert_true(distance < 0.05);
    art_evidence e;
    assert_int_equal(art_model_answer(&e, NULL, q), ART_ERR_UNSUPPORTED);

    /* it can be kept */
    check_status(art_model_write(q, scratch_path("fit.safetensors"), NULL));
    check_status(art_model_read(&again, scratch_path("fit.safetensors"), 1, NULL));
    double before[2], after[2];
    check_status(art_model_score(before, q, t));
    check_status(art_model_score(after, again, t));
    check_near(after[0], before[0], 0);
    check_near(after[1], before[1], 0);
    art_model_free(again);
    art_model_free(q);

    assert_int_equal(art_fit(&q, t, &set, stop_at_ten, NULL, NULL), ART_ERR_STOPPED);
    assert_null(q);
    set.rate = NAN;
    assert_int_equal(art_fit(&q, t, &set, NULL, NULL, NULL), ART_ERR_USAGE);
    art_trees_free(t);
}

static void trees_are_scored_and_drawn(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q;
    art_trees *t, *own, *drawn;
    art_infer_settings set = small();
    const char *path = scratch_write("trees.nwk", TREES);
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_infer(&q, a, "JC", &set, NULL, NULL, NULL));
    check_status(art_trees_read(&t, &path, 1, 0, q, NULL));
    assert_int_equal(art_trees_count(t), 2);
    check_near(art_trees_weight(t, 0), 2.0 / 3, 1e-15);
    assert_true(isnan(art_trees_weight(t, 2)));

    /* every buffer that is too short is told so, and gets as much as fits */
    char whole[64], part[64];
    size_t length, other;
    check_status(art_trees_newick(t, 0, whole, sizeof whole, &length));
    assert_int_equal(strlen(whole), length);
    for (size_t size = 0; size <= length; size++) {
        memset(part, 'x', sizeof part);
        assert_int_equal(art_trees_newick(t, 0, part, size, &other), ART_ERR_LIMIT);
        assert_int_equal(other, length);
        assert_memory_equal(part, whole, size ? size - 1 : 0);
        assert_int_equal(part[size], 'x');
    }
    assert_int_equal(art_trees_newick(t, 2, part, sizeof part, &other), ART_ERR_USAGE);

    /* shares of draws against the probabilities: five standard errors */
    enum { DRAWS = 20000 };
    check_status(art_model_sample(&drawn, q, DRAWS, 7));
    size_t count = art_trees_count(drawn);
    assert_true(count >= 2 && count <= 15);
    double *log_q = malloc(count * sizeof *log_q);
    check_status(art_model_score(log_q, q, drawn));
    for (size_t i = 0; i < count; i++) {
        double p = exp(log_q[i]);
        check_near(art_trees_weight(drawn, i), p, 5 * sqrt(p * (1 - p) / DRAWS));
    }
    free(log_q);
    double kl, distance;
    check_status(art_model_divergence(&kl, &distance, q, drawn));
    assert_true(kl >= 0 && kl < 0.01 && distance < 0.02);

    /* trees that were read without the model have their own order of taxa: here it is the same */
    check_status(art_trees_read(&own, &path, 1, 0, NULL, NULL));
    assert_int_equal(art_trees_count(own), 2);
    art_trees_free(own);
    art_trees_free(drawn);
    art_trees_free(t);
    art_model_free(q);
    art_alignment_free(a);
}

enum { TAKEN = 3000 };

typedef struct taker {
    const art_alignment *a;
    double rate, log_trees; /* of the prior */
    size_t taken;
    double log_weight[TAKEN];
    char first[256];
} taker;

/* The importance weight of a draw, from nothing but its text. */
static int take(void *context, size_t i, const char *newick, double log_q, double log_q_lengths)
{
    taker *t = context;
    double value, log_prior = -t->log_trees;
    int branches = 0;
    assert_int_equal(i, t->taken);
    if (i == 0)
        snprintf(t->first, sizeof t->first, "%s", newick);
    check_status(art_log_likelihood(&value, t->a, "JC", newick, NULL));
    for (const char *at = strchr(newick, ':'); at; at = strchr(at + 1, ':'), branches++)
        log_prior += log(t->rate) - t->rate * strtod(at + 1, NULL);
    assert_int_equal(branches, 7);
    t->log_weight[t->taken++] = value + log_prior - log_q - log_q_lengths;
    return ART_GO_ON;
}

static int take_three(void *context, size_t i, const char *newick, double log_q,
                      double log_q_lengths)
{
    (void)newick, (void)log_q, (void)log_q_lengths;
    ++*(int *)context;
    return i < 2 ? ART_GO_ON : ART_STOP;
}

static int take_topology(void *context, size_t i, const char *newick, double log_q,
                         double log_q_lengths)
{
    (void)i;
    assert_null(strchr(newick, ':'));
    assert_true(log_q_lengths == 0 && log_q <= 0);
    ++*(int *)context;
    return ART_GO_ON;
}

/* Draws with branch lengths and their densities give the evidence; the program draws the same. */
static void draws_have_lengths(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q;
    art_evidence e;
    art_infer_settings set = small();
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_infer(&q, a, "JC", &set, NULL, NULL, NULL));
    check_status(art_model_evidence(&e, q, a, 1000, 10, 3, NULL));
    static taker t;
    t = (taker){.a = a, .rate = set.prior_rate, .log_trees = log(15)};
    check_status(art_model_draw(q, TAKEN, 7, take, &t));
    assert_int_equal(t.taken, TAKEN);
    double mean = 0, squares = 0; /* of the weights over the evidence */
    for (int i = 0; i < TAKEN; i++) {
        const double weight = exp(t.log_weight[i] - e.log_evidence);
        mean += weight / TAKEN;
        squares += weight * weight / TAKEN;
    }
    const double error = sqrt((squares - mean * mean) / TAKEN);
    assert_true(error < 0.1);
    check_near(mean, 1, 4 * hypot(error, e.log_evidence_se));

    check_status(art_model_write(q, scratch_path("draw.safetensors"), NULL));
    char line[512];
    snprintf(line, sizeof line, "sample --model %s -n 1 --seed 7 --format newick",
             scratch_path("draw.safetensors"));
    run_result r = run_line(NULL, line);
    check_run(&r, line, 0, t.first, NULL);
    run_free(&r);

    int taken = 0;
    assert_int_equal(art_model_draw(q, 10, 7, take_three, &taken), ART_ERR_STOPPED);
    assert_int_equal(taken, 3);
    assert_int_equal(art_model_draw(q, 0, 7, take_three, &taken), ART_ERR_USAGE);
    art_model_free(q);
    art_alignment_free(a);

    /* a density of topologies alone */
    art_trees *trees;
    art_fit_settings fit;
    const char *path = scratch_write("trees.nwk", TREES);
    check_status(art_trees_read(&trees, &path, 1, 0, NULL, NULL));
    art_fit_defaults(&fit);
    fit.hidden = 8;
    fit.heads = 2;
    fit.steps = 1;
    check_status(art_fit(&q, trees, &fit, NULL, NULL, NULL));
    taken = 0;
    check_status(art_model_draw(q, 5, 7, take_topology, &taken));
    assert_int_equal(taken, 5);
    art_model_free(q);
    art_trees_free(trees);
}

static void targets_of_one_tree(void **state)
{
    (void)state;
    static const char LENGTHS[] = "((a:0.1,b:0.1):0.1,c:0.1,(d:0.1,e:0.1):0.1);";
    art_alignment *a;
    art_messages *m;
    double value, moved;
    int64_t score;
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_messages_create(&m));
    check_status(art_log_likelihood(&value, a, "JC", LENGTHS, m));
    check_status(
        art_log_likelihood(&moved, a, "JC", "(e:0.1,(c:0.1,(b:0.1,a:0.1):0.1):0.1,d:0.1);", m));
    check_close(value, moved, 1e-13); /* the same tree, rooted elsewhere */
    assert_true(value < 0);
    check_status(art_parsimony_score(&score, a, 1, LENGTHS, m));
    assert_true(score >= 9);
    assert_int_equal(art_messages_count(m), 0);
    assert_int_equal(art_log_likelihood(&value, a, "JC", "((a,b),c,(d,e));", m), ART_ERR_INPUT);
    assert_int_equal(art_messages_count(m), 1);
    assert_int_equal(art_messages_level(m, 0), ART_ERROR);
    assert_non_null(strstr(art_messages_text(m, 0), "length"));
    assert_null(art_messages_text(m, 1));
    assert_int_equal(art_log_likelihood(&value, a, "JC", "((a:1,b:1):1,c:1,(d:1,z:1):1);", m),
                     ART_ERR_MISMATCH);
    art_messages_free(m);
    art_alignment_free(a);
}

/* What it hands out has the value that it says, which is greater than that of the numbers given; a
 * text that does not fit is told so, and the value is there all the same. */
static void the_greatest_likelihood(void **state)
{
    (void)state;
    static const char LENGTHS[] = "((a:0.1,b:0.1):0.1,c:0.1,(d:0.1,e:0.1):0.1);";
    static const char BARE[] = "((a,b),c,(d,e));";
    art_alignment *a;
    art_messages *m;
    double given, value, again;
    char tree[512], model[512], other[512];
    size_t length, shown;
    check_status(art_alignment_read(&a, scratch_write("data.fasta", DATA), NULL));
    check_status(art_messages_create(&m));
    check_status(art_log_likelihood(&given, a, "HKY{2}+F{0.25,0.25,0.25,0.25}", LENGTHS, m));
    check_status(art_maximum_likelihood(&value, tree, sizeof tree, &length, model, sizeof model, a,
                                        "HKY", LENGTHS, m));
    assert_true(value > given);
    assert_int_equal(strlen(tree), length);
    check_status(art_log_likelihood(&again, a, model, tree, m));
    check_close(again, value, 1e-12);
    check_status(art_maximum_likelihood(&again, other, sizeof other, NULL, model, sizeof model, a,
                                        "HKY", BARE, m));
    check_near(again, value, 1e-6);
    for (size_t size = 0; size <= length; size += 20) {
        memset(other, 'x', sizeof other);
        assert_int_equal(art_maximum_likelihood(&again, other, size, &shown, model, sizeof model, a,
                                                "HKY", LENGTHS, m),
                         ART_ERR_LIMIT);
        assert_true(again == value && shown == length && other[size] == 'x');
        assert_memory_equal(other, tree, size ? size - 1 : 0);
    }
    assert_int_equal(
        art_maximum_likelihood(&again, tree, sizeof tree, NULL, model, 5, a, "HKY", LENGTHS, m),
        ART_ERR_LIMIT);
    assert_string_equal(model, "HKY{");
    assert_int_equal(art_messages_count(m), 0);
    assert_int_equal(art_maximum_likelihood(&again, tree, sizeof tree, NULL, model, sizeof model, a,
                                            "HKZ", LENGTHS, m),
                     ART_ERR_INPUT);
    assert_int_equal(art_maximum_likelihood(&again, tree, sizeof tree, NULL, model, sizeof model, a,
                                            "HKY", "((a,b),c,(d,z));", m),
                     ART_ERR_MISMATCH);
    assert_true(art_messages_count(m) >= 2);
    /* Whatever allocation fails, that is all that is said, and nothing is left behind. */
    int status = ART_ERR_NOMEM;
    for (long k = 1; status; k++) {
        memory_fail_at(k);
        status = art_maximum_likelihood(&again, tree, sizeof tree, NULL, model, sizeof model, a,
                                        "HKY", BARE, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        assert_true(k < 1000);
    }
    art_messages_free(m);
    art_alignment_free(a);
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    art_alignment *a;
    art_model *q;
    art_trees *t;
    const char *missing = "/nonexistent/file";
    assert_int_not_equal(art_alignment_read(&a, missing, NULL), ART_OK);
    assert_null(a);
    assert_int_not_equal(art_model_read(&q, missing, 1, NULL), ART_OK);
    assert_null(q);
    assert_int_not_equal(art_trees_read(&t, &missing, 1, 0, NULL, NULL), ART_OK);
    assert_null(t);
    assert_int_equal(art_trees_read(&t, &missing, 1, 1.5, NULL, NULL), ART_ERR_USAGE);
    art_alignment_free(NULL);
    art_model_free(NULL);
    art_trees_free(NULL);
    art_messages_free(NULL);
    assert_string_equal(art_strerror(ART_ERR_NOMEM), "out of memory");
    assert_non_null(art_strerror(-12345));
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(from_alignment_to_evidence), IN_FOLDER(collapsed_by_default),
        IN_FOLDER(what_cannot_be_is_refused),  IN_FOLDER(a_density_is_fitted),
        IN_FOLDER(every_density_is_fitted),    IN_FOLDER(densities_that_cannot_be_are_refused),
        IN_FOLDER(inference_with_tables),      IN_FOLDER(a_support_is_given),
        IN_FOLDER(trees_are_scored_and_drawn), IN_FOLDER(targets_of_one_tree),
        IN_FOLDER(the_greatest_likelihood),    IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(draws_have_lengths),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
