/* What collapsed inference says of itself, for all ways: lines of the log, keys of the results,
 * files that the program's own commands read. */
#include "support/check.h"
#include "support/files.h"
#include "support/problem.h"
#include "support/run.h"
#include "support/state.h"

#include "artreeformer.h"
#include "collapsed/run_facts.h"
#include "density/factory.h"
#include "jobs/infer_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Short sequences: of the 10395 trees of eight taxa many are plausible. */
static const char MANY[] = ">a\nACGTACGTACGTACGTAAAA\n>b\nACGTACGTACGAACGTAAAA\n"
                           ">c\nACGTACCTACGTACGTAAAC\n>d\nACGTACCTACGTACGTTAAA\n"
                           ">e\nTCGTACGTACGTACGTATAA\n>f\nTCGTACGTACGTGCGTAAAA\n"
                           ">g\nACGTAGGTACGTACGTATAA\n>h\nACGTAGGTACCTACGTAAAA\n";

static const char FEW[] = ">a\nACGTACGTAC\n>b\nACGTACGTAA\n>c\nACTTACGTAA\n>d\nACTTACCTAC\n"
                          ">e\nACTTACCTAC\n";

static infer_settings quick(void)
{
    infer_settings plan = {.method = INFER_COLLAPSED,
                           .seed = 3,
                           .prior = branch_prior_exponential(10),
                           .trees = artreeformer_config(8, 2),
                           .branches = lognormal_config(8),
                           .collapsed = collapsed_defaults(3),
                           .evaluation = {.particles = 100}};
    collapsed_settings *c = &plan.collapsed;
    c->rounds.rounds = 1;
    c->fit.steps = 20;
    c->final.passes = 1;
    c->final.length_steps = 2;
    c->sampler.particles = 100;
    c->sampler.sample = 50;
    c->chains.rounds.most = 2;
    c->chains.rounds.first_blocks = 8;
    c->chains.pilot_draws = 16;
    c->answer.draws = 100;
    c->answer.passes = 1;
    c->answer.evaluated = 50;
    return plan;
}

/* Both ends of a run: what it said, and what it found. */
typedef struct story {
    dataset data;
    infer_job *job;
    infer_result found;
    json_t *results;
    char said[8192];
    int lines, metrics;
} story;

static void open_story(story *s, const infer_settings *plan, const char *sequences)
{
    memset(s, 0, sizeof *s);
    const free_model model = {.fixed = model_of("JC", NULL)};
    check_status(dataset_read(&s->data, scratch_write("a.fasta", sequences),
                              &(alignment_options){0}, NULL, NULL));
    check_status(infer_job_create(&s->job, &s->data, &model, plan, NULL));
}

/* To the end, or until it has said something. */
static void go_on(story *s, const char *until)
{
    run *r = infer_job_run(s->job);
    run_progress now = {.stage = ""};
    while (!now.is_done && !(until && strstr(s->said, until))) {
        run_report report;
        check_status(r->ops->advance(r, NULL));
        check_status(r->ops->report(r, &report));
        assert_true(!report.metrics || report.text[0]);
        s->metrics += report.metrics != NULL;
        s->lines += report.text[0] != '\0';
        json_decref(report.metrics);
        strncat(s->said, report.text, sizeof s->said - strlen(s->said) - 2);
        strcat(s->said, report.text[0] ? "\n" : "");
        r->ops->progress(r, &now);
    }
}

static void close_story(story *s)
{
    check_status(infer_job_finish(s->job, &s->found));
    s->results = infer_job_results(s->job, &s->found, "JC");
    assert_non_null(s->results);
}

static void tell(story *s, const infer_settings *plan, const char *sequences)
{
    open_story(s, plan, sequences);
    go_on(s, NULL);
    close_story(s);
}

static void story_free(story *s)
{
    json_decref(s->results);
    infer_result_free(&s->found);
    infer_job_free(s->job);
    dataset_free(&s->data);
}

static void expect(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text ? text : "nothing");
}

static const char *word(const story *s, const char *key)
{
    return json_string_value(json_object_get(s->results, key));
}

static double number(const story *s, const char *key)
{
    const json_t *value = json_object_get(s->results, key);
    if (!json_is_number(value))
        fail_msg("%s is no number", key);
    return json_number_value(value);
}

static void check_both(const story *s)
{
    const posterior *p = &s->found.evaluation.posterior;
    assert_string_equal(word(s, "method"), "collapsed");
    check_near(number(s, "trees_met"), (double)p->trees.count, 0);
    check_near(number(s, "trees_met_share"), p->trees.share, 0);
    check_near(number(s, "sample_ess"), p->sample_ess, 0);
    assert_true(p->sample_ess >= 1 && p->sample_ess <= p->count);
    expect(s->said, word(s, "way_reason")); /* this line, and one for every round */
    assert_int_equal(s->lines, s->metrics + 1);
}

static void the_way_of_the_table(void **state)
{
    (void)state;
    story s;
    infer_settings plan = quick();
    tell(&s, &plan, FEW);
    check_both(&s);
    assert_string_equal(word(&s, "way"), "table");
    expect(s.said, "The posterior is concentrated (the search finished): a table of ");
    expect(s.said, "\nround 1: ");
    assert_int_equal(json_array_size(json_object_get(s.results, "rounds")), 1);
    check_near(number(&s, "trees_met_share"), 1, 0);
    assert_true(number(&s, "table_trees") > 1);
    assert_null(json_object_get(s.results, "chain_rounds"));
    story_free(&s);
}

/* Written, and read by the other commands. */
static void check_files(story *s)
{
    const infer_description about = {.alignment = "a.fasta", .model = "JC"};
    check_status(infer_job_write(s->job, &s->found, &about, scratch_path("a"), NULL));
    char *text = file_text(scratch_path("a.trprobs")), *report = file_text("a.report.txt");
    char *html = file_text("a.report.html");
    expect(text, "[These are the trees that were met; together they have 0.");
    expect(report, " distinct, together 0.");
    expect(report, "  99 % credible set  not known: the trees met have 0.");
    expect(report, "Markov chains over topologies and a density of clades");
    expect(html, "<th class=\"n\">chain blocks</th>");
    free(text);
    free(report);
    free(html);
    run_well("summarize a.trprobs --prefix again --redo");
    run_well("compare a.trprobs --with a.trees");
    assert_int_not_equal(access("a.model.safetensors", F_OK), 0); /* none was trained */
    run_well("fit a.trees --steps 5 --prefix model");
    run_well("kl --truth a.trprobs --model model.model.safetensors");
    run_result r = run_line(NULL, "compare a.trprobs --with again.trprobs");
    check_run(&r, "compare", 0, "missing\t0\n", "the weights sum to 0.|they are normalized");
    run_free(&r);
}

static void the_way_of_chains(void **state)
{
    (void)state;
    story s;
    infer_settings plan = quick();
    plan.collapsed.route.expansions = 20;
    tell(&s, &plan, MANY);
    check_both(&s);
    assert_string_equal(word(&s, "way"), "chains");
    expect(s.said, "The posterior is diffuse (after ");
    expect(s.said, " trees the search had not finished), so Markov chains over topologies");
    expect(s.said, "\nchains, round 1: 8 blocks each; split frequencies of the chains differ by ");
    expect(s.said, "\nchains, round 2: 16 blocks each; split frequencies of the chains differ by ");
    expect(s.said, " independent trees; log evidence about -");
    assert_int_equal(json_array_size(json_object_get(s.results, "chain_rounds")), 2);
    assert_true(number(&s, "overlap") > 0 && number(&s, "effective_draws") >= 1 &&
                number(&s, "effective_states") >= 1 && number(&s, "chain_blocks") == 16);
    static const char *const absent[] = {"table_trees",      "table_evicted", "log_evidence_table",
                                         "rounds",           "steps",         "outside_weight",
                                         "outside_weight_se"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        assert_null(json_object_get(s.results, absent[i]));
    assert_true(s.found.evaluation.posterior.trees.share < 0.99);
    check_files(&s);
    story_free(&s);
    plan.collapsed.route.table_taxa = 7;
    tell(&s, &plan, MANY);
    check_both(&s);
    expect(s.said, "8 taxa are too many for a table (more than 7), so Markov chains");
    story_free(&s);
}

/* Chains know of other peaks only by the climbs: where few of these came near the best tree, what
 * the chains say is not to be relied on. */
static void few_climbs_near_the_top(void **state)
{
    (void)state;
    infer_settings plan = quick();
    plan.collapsed.route.expansions = 20;
    plan.collapsed.search.missing = 0; /* nothing is few enough */
    static const char *const words[] = {" climbs from random trees were done",
                                        " searches that began at random trees few came near"};
    for (int i = 0; i < 4; i++) {
        story s;
        const int is_fatal = i % 2, few = i / 2;
        plan.collapsed.judgement.missing = is_fatal ? 0 : 1;
        plan.collapsed.search.rugged = few ? 2 : 0;
        tell(&s, &plan, MANY);
        const verdict *v = &s.found.evaluation.verdict;
        assert_string_equal(word(&s, "way"), "chains");
        assert_true(number(&s, "explore_found") > 1 &&
                    number(&s, "explore_found") <= number(&s, "explore_starts"));
        int at = 0;
        while (at < v->n_warnings && !strstr(v->warning[at], words[few]))
            at++;
        assert_true(at < v->n_warnings);
        assert_int_equal(at < v->n_fatal, is_fatal);
        story_free(&s);
    }
}

static void the_way_of_chains_with_lengths(void **state)
{
    (void)state;
    story s;
    infer_settings plan = quick();
    plan.collapsed.route.table_taxa = plan.collapsed.joint.taxa = 7;
    plan.collapsed.joint.rounds.first_blocks = 8;
    plan.collapsed.joint.rounds.most = 2;
    tell(&s, &plan, MANY);
    check_both(&s);
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    expect(s.said, "8 taxa are too many for integrating out branch lengths (more than 7), so ");
    expect(s.said, "\nchains, round 2: 16 blocks each; split frequencies of the chains differ by ");
    expect(s.said, " independent trees (200 are wanted). That is not enough yet.");
    assert_int_equal(json_array_size(json_object_get(s.results, "chain_rounds")), 2);
    assert_true(json_is_null(json_object_get(s.results, "log_evidence")));
    assert_true(json_is_null(json_object_get(s.results, "log_evidence_se")));
    expect(s.found.evaluation.verdict.warning[s.found.evaluation.verdict.n_fatal],
           "There is no log marginal likelihood");
    const infer_description about = {.alignment = "a.fasta", .model = "JC"};
    check_status(infer_job_write(s.job, &s.found, &about, scratch_path("j"), NULL));
    char *report = file_text("j.report.txt");
    expect(report, "Markov chains over topologies with their branch lengths");
    expect(report, "estimate                    not estimated");
    free(report);
    run_well("summarize j.trees --prefix j2 --redo");
    assert_int_not_equal(access("j.model.safetensors", F_OK), 0); /* none was trained */
    story_free(&s);
}

/* Chains whose target proves to be ill defined hand over to those with lengths. */
static void chains_hand_over(void **state)
{
    (void)state;
    story s;
    infer_settings plan = quick();
    plan.collapsed.route.expansions = 20;
    plan.collapsed.joint.returned = -1; /* whatever the blocks do */
    plan.collapsed.joint.trial_blocks = 1;
    plan.collapsed.joint.rounds.first_blocks = 8;
    plan.collapsed.joint.rounds.most = 1;
    tell(&s, &plan, MANY);
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    expect(s.said, "The posterior is diffuse (after ");
    expect(s.said, "\nBranch lengths cannot be integrated out reliably here ");
    expect(s.said, "\nchains, round 1: 8 blocks each;");
    story_free(&s);
}

/* A table whose draws have weights of too heavy a tail hands over to chains with lengths .. */
static infer_settings doubtful(void)
{
    infer_settings plan = quick();
    plan.collapsed.joint.pareto_k = -HUGE_VAL; /* whatever the weights are */
    plan.collapsed.final.doubtful_passes = 1;
    plan.collapsed.joint.rounds.first_blocks = 2048;
    plan.collapsed.joint.rounds.most = 1;
    return plan;
}

static void the_table_hands_over(void **state)
{
    (void)state;
    story s;
    const infer_settings plan = doubtful();
    tell(&s, &plan, FEW);
    const verdict *v = &s.found.evaluation.verdict;
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    expect(s.said, "\nThe weights of the draws are too uneven ");
    expect(s.said, "\nchains, round 1: 2,048 blocks each;");
    expect(s.said, word(&s, "way_reason"));
    assert_true(v->converged && !v->has_evidence_error && v->n_warnings == 1);
    expect(v->warning[0], "The log marginal likelihood has no error bar, and may be too low:");
    assert_true(number(&s, "log_evidence") < 0); /* that of the table, without an error */
    assert_true(json_is_null(json_object_get(s.results, "log_evidence_se")));
    assert_int_equal(s.found.evaluation.posterior.count, 50);
    const infer_description about = {.alignment = "a.fasta", .model = "JC"};
    check_status(infer_job_write(s.job, &s.found, &about, scratch_path("h"), NULL));
    char *report = file_text("h.report.txt");
    expect(report, "Verdict: converged");
    expect(report, "not known (see the warning)");
    free(report);
    run_well("sample --model h.model.safetensors -n 2 --quiet");
    story_free(&s);
}

/* .. as does one whose trees have other modes of their branch lengths .. */
static void other_modes_hand_over(void **state)
{
    (void)state;
    story s;
    infer_settings plan = doubtful();
    plan.collapsed.joint.pareto_k = HUGE_VAL;
    plan.collapsed.final.least_passes = 1;
    plan.collapsed.modes.gap = 0; /* either start counts as another mode: two thirds */
    tell(&s, &plan, FEW);
    const verdict *v = &s.found.evaluation.verdict;
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    expect(s.said, "the lengths of many trees can be explained in more than one way");
    check_near(number(&s, "other_modes_share"), 2.0 / 3, 0.01);
    assert_true(v->converged && !v->has_evidence_error && v->n_warnings == 1);
    expect(v->warning[0], "the branch lengths of many trees can be explained in more than one way");
    story_free(&s);
    plan.collapsed.joint.rounds.first_blocks = 8; /* chains that cannot agree */
    tell(&s, &plan, FEW);
    assert_string_equal(word(&s, "way"), "table");
    assert_false(v->converged);
    expect(v->warning[0], "The branch lengths of many trees can be explained in more than one way");
    assert_null(strstr(v->warning[0], "can follow")); /* they did */
    story_free(&s);
}

/* .. also after being saved and loaded while these run .. */
static void check_saved(const infer_settings *plan, const char *sequences, const char *until)
{
    story straight, first, second;
    saved_state file = {0};
    tell(&straight, plan, sequences);
    open_story(&first, plan, sequences);
    go_on(&first, until);
    run *saved = infer_job_run(first.job);
    check_status(saved->ops->fields(saved, &file));
    state_turn(&file, NULL);
    open_story(&second, plan, sequences);
    run *loaded = infer_job_run(second.job);
    check_status(loaded->ops->fields(loaded, &file));
    check_status(saved_state_end(&file));
    go_on(&second, NULL);
    close_story(&second);
    assert_true(json_equal(straight.results, second.results));
    saved_state_free(&file);
    story_free(&straight);
    story_free(&first);
    story_free(&second);
}

static void saved_after_the_table(void **state)
{
    (void)state;
    const infer_settings plan = doubtful();
    check_saved(&plan, FEW, "so Markov chains over topologies with their branch lengths");
}

/* Chains whose lengths have weights of too heavy a tail hand over too, and keep their evidence; ..
 */
static infer_settings doubtful_chains(void)
{
    infer_settings plan = doubtful();
    plan.collapsed.route.expansions = 20;
    plan.collapsed.judgement.asdsf = plan.collapsed.judgement.r_hat = HUGE_VAL; /* they agree */
    plan.collapsed.judgement.ess = 0;
    return plan;
}

static void chains_hand_over_after_their_answer(void **state)
{
    (void)state;
    story s;
    infer_settings plan = doubtful_chains();
    tell(&s, &plan, MANY);
    const verdict *v = &s.found.evaluation.verdict;
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    expect(s.said, "The posterior is diffuse (after ");
    expect(s.said, "\nBranch lengths cannot be integrated out well here ");
    expect(s.said, "\nchains, round 1: 2,048 blocks each;");
    assert_true(number(&s, "log_evidence") < 0 && !v->has_evidence_error);
    assert_true(json_is_null(json_object_get(s.results, "log_evidence_se")));
    assert_int_equal(json_array_size(json_object_get(s.results, "chain_rounds")), 1);
    expect(v->warning[v->n_warnings - 1], "The log marginal likelihood has no error bar");
    story_free(&s);
    /* .. theirs is the answer if those do not agree, and are worth less than their draws */
    plan.collapsed.joint.rounds.first_blocks = 12;
    plan.collapsed.joint.rounds.shortest = 4;
    plan.collapsed.judgement.ess = 200;
    plan.collapsed.chains.rounds.most = 6; /* worth that */
    tell(&s, &plan, MANY);
    assert_string_equal(word(&s, "way"), "chains");
    assert_false(v->converged);
    expect(v->warning[v->n_fatal - 1], "Chains over topologies with their branch lengths, which ");
    story_free(&s);
}

static void saved_after_other_chains(void **state)
{
    (void)state;
    infer_settings plan = doubtful_chains();
    plan.collapsed.joint.rounds.first_blocks = 32;
    check_saved(&plan, MANY, "so Markov chains over topologies with their branch lengths");
}

/* .. unless there is only one tree .. */
static void three_taxa_have_no_chains(void **state)
{
    (void)state;
    story s;
    const infer_settings plan = doubtful();
    tell(&s, &plan, ">a\nACGTACGTAC\n>b\nACGTACGTAA\n>c\nACTTACGTAA\n");
    assert_string_equal(word(&s, "way"), "table");
    story_free(&s);
}

/* .. and stays there if they do not agree, but are worth more than its draws; .. */
static void chains_worth_more_answer(void **state)
{
    (void)state;
    story s;
    infer_settings plan = doubtful();
    plan.collapsed.sampler.particles = 2;    /* few draws in a pass */
    plan.collapsed.judgement.ess = HUGE_VAL; /* whatever the chains do */
    tell(&s, &plan, FEW);
    const verdict *v = &s.found.evaluation.verdict;
    assert_string_equal(word(&s, "way"), "chains with branch lengths");
    assert_false(v->converged);
    expect(v->warning[0], "The chains are worth only ");
    assert_true(number(&s, "log_evidence") < 0);
    story_free(&s);
}

/* .. else it answers after all, with what is wrong. */
static void the_table_answers_after_all(void **state)
{
    (void)state;
    story s;
    infer_settings plan = doubtful();
    plan.collapsed.joint.rounds.first_blocks = 12;
    plan.collapsed.judgement.ess = HUGE_VAL; /* whatever the chains do */
    tell(&s, &plan, FEW);
    assert_string_equal(word(&s, "way"), "table");
    expect(s.said, "\nchains, round 1: 12 blocks each;");
    assert_true(number(&s, "log_evidence") < 0 && number(&s, "table_trees") > 0);
    const verdict *v = &s.found.evaluation.verdict;
    assert_false(v->converged);
    expect(v->warning[v->n_fatal - 1], "Chains over topologies with their branch lengths, which ");
    assert_null(json_object_get(s.results, "chain_rounds"));
    story_free(&s);
}

static void rounds_of_the_table_in_words(void **state)
{
    (void)state;
    const collapsed_settings set = {.error = 0.02, .rounds = {.new_mass = 0.02}};
    const round_figures r = {.trees = 12345,
                             .log_table = -100.3,
                             .log_network = -100.6,
                             .new_trees = 1,
                             .new_mass = 0.5,
                             .error = 0.75};
    char text[RUN_WORDS];
    round_words(text, 2, &r, &set);
    assert_string_equal(text, "round 2: a table of 12,345 trees, log evidence about -100.3, by "
                              "draws of the network -100.6. Trees that the draws added have 0.5 of "
                              "the posterior (too much: at most 0.02 is wanted). Another round "
                              "follows.");
}

static void rounds_of_chains_in_words(void **state)
{
    (void)state;
    branch_posterior four = {.n_taxa = 4};
    chain_stage stage = {.problem = &four,
                         .set = {.rounds = {.asdsf = 0.01, .r_hat = 1.05}, .error = 0.014}};
    chain_round r = {.blocks = 512,
                     .asdsf = 0.016,
                     .r_hat = 1.002,
                     .ess_splits = 138,
                     .ess_between = 200,
                     .log_sum = -8214.4 + log(3),
                     .error = 0.035};
    char text[RUN_WORDS];
    chain_round_words(text, 5, &r, &stage);
    assert_string_equal(
        text,
        "chains, round 5: 512 blocks each; split frequencies of the chains differ by 0.016 (too "
        "much: target 0.010), R-hat 1.002 (good: target 1.05), worth 138 independent trees; "
        "log evidence about -8214.4 (error of the chains 0.035, target 0.014). That is "
        "not enough yet.");
    r.asdsf = 0.005;
    r.error = 0.01;
    chain_round_words(text, 6, &r, &stage);
    expect(text, "target 0.014). That is enough: all criteria are met.");
    r.log_sum = NAN; /* the first round */
    r.error = INFINITY;
    chain_round_words(text, 1, &r, &stage);
    expect(text, "worth 138 independent trees");
    assert_null(strstr(text, "evidence"));
    assert_null(strstr(text, "criteria"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scratch_folder(the_way_of_the_table),
        in_scratch_folder(the_way_of_chains),
        in_scratch_folder(few_climbs_near_the_top),
        in_scratch_folder(the_way_of_chains_with_lengths),
        in_scratch_folder(chains_hand_over),
        in_scratch_folder(the_table_hands_over),
        in_scratch_folder(other_modes_hand_over),
        in_scratch_folder(saved_after_the_table),
        in_scratch_folder(chains_hand_over_after_their_answer),
        in_scratch_folder(saved_after_other_chains),
        in_scratch_folder(three_taxa_have_no_chains),
        in_scratch_folder(chains_worth_more_answer),
        in_scratch_folder(the_table_answers_after_all),
        cmocka_unit_test(rounds_of_the_table_in_words),
        cmocka_unit_test(rounds_of_chains_in_words),
    };
    return cmocka_run_group_tests_name("run_facts", tests, NULL, NULL);
}
