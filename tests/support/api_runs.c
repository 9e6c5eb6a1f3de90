#include "support/api_runs.h"

#include "support/check.h"
#include "support/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char API_DATA[] = ">d\nTCGAACGATCGCTTCCACTTACGATG\n>a\nACGTACGTTAGCATCGACGTACGATT\n"
                        ">b\nACGAACGTTAGCATCGACGTACGATA\n>c\nTCGAACGATAGCTTCGACTTACGATA\n"
                        ">e\nTCCAAGGATCGCTTCCACTTAGGATG\n";
static const char TREES[] = "((a,b),c,(d,e));\n((a,b),c,(d,e));\n((a,c),b,(d,e));\n";

art_alignment *api_data;
art_trees *api_trees;

int api_open(void **state)
{
    (void)state;
    scratch_make();
    const char *path = scratch_write("trees.nwk", TREES);
    check_status(art_trees_read(&api_trees, &path, 1, 0, NULL, NULL));
    check_status(art_alignment_read(&api_data, scratch_write("data.fasta", API_DATA), NULL));
    return 0;
}

int api_close(void **state)
{
    (void)state;
    art_alignment_free(api_data);
    art_trees_free(api_trees);
    scratch_remove();
    return 0;
}

art_infer_settings api_infer_settings(api_kind k)
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

art_fit_settings api_fit_settings(void)
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

art_parsimony_settings api_parsimony_settings(void)
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
art_run *api_make(api_kind k, uint64_t seed, int64_t steps, int threads)
{
    art_run *r;
    art_infer_settings infer = api_infer_settings(k);
    art_fit_settings fit = api_fit_settings();
    art_parsimony_settings pars = api_parsimony_settings();
    infer.seed = fit.seed = pars.seed = seed;
    infer.steps = infer.fit_steps = fit.steps = pars.steps = steps;
    infer.threads = fit.threads = pars.threads = threads;
    fit.counts = steps <= 1000; /* with counts a run ends by itself when the sample is known */
    if (k == FIT)
        check_status(art_run_fit(&r, api_trees, &fit, NULL));
    else if (k == PARSIMONY)
        check_status(art_run_parsimony(&r, api_data, &pars, NULL));
    else
        check_status(art_run_infer(&r, api_data, "JC", &infer, NULL));
    return r;
}

art_run *api_usual(api_kind k)
{
    return api_make(k, 1, 60, 1);
}

/* Advances a run by so many pieces, at most; returns how many there were. */
int api_advance(art_run *r, int most)
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
art_result *api_result_of(art_run *r)
{
    art_result *found;
    check_status(art_run_result(&found, r, NULL));
    art_run_free(r);
    return found;
}

art_result *api_finish(art_run *r)
{
    api_advance(r, 1000000);
    return api_result_of(r);
}

void api_same_bits(double a, double b)
{
    if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

void api_same_evidence(const art_evidence *a, const art_evidence *b)
{
    api_same_bits(a->log_evidence, b->log_evidence);
    api_same_bits(a->log_evidence_sd, b->log_evidence_sd);
    api_same_bits(a->log_evidence_se, b->log_evidence_se);
    api_same_bits(a->lower_bound_1, b->lower_bound_1);
    api_same_bits(a->lower_bound_10, b->lower_bound_10);
    api_same_bits(a->ess, b->ess);
    api_same_bits(a->pareto_k, b->pareto_k);
    api_same_bits(a->outside_weight, b->outside_weight);
    api_same_bits(a->outside_weight_se, b->outside_weight_se);
    assert_int_equal(a->draws, b->draws);
}

void api_same_trees(const art_trees *a, const art_trees *b)
{
    char one[128], other[128];
    assert_int_equal(art_trees_count(a), art_trees_count(b));
    for (size_t i = 0; i < art_trees_count(a); i++) {
        api_same_bits(art_trees_weight(a, i), art_trees_weight(b, i));
        check_status(art_trees_newick(a, i, one, sizeof one, NULL));
        check_status(art_trees_newick(b, i, other, sizeof other, NULL));
        assert_string_equal(one, other);
    }
}

void api_same_file(const char *suffix)
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

/* Two results are the same, bit for bit; takes the model of b and frees b. */
void api_same_result(api_kind k, art_result *a, art_result *b)
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
        check_status(art_model_score(before, q, api_trees));
        check_status(art_model_score(after, p, api_trees));
        api_same_bits(before[0], after[0]);
        api_same_bits(before[1], after[1]);
        art_model_free(q);
        art_model_free(p);
        art_result_free(b);
        return;
    }
    check_status(art_result_evidence(&e, a));
    check_status(art_result_evidence(&f, b));
    api_same_evidence(&e, &f);
    check_status(art_result_trees(&t, a));
    check_status(art_result_trees(&u, b));
    api_same_trees(t, u);
    art_trees_free(t);
    art_trees_free(u);
    art_result_free(b);
}
