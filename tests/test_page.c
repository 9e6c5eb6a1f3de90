/* The report as text and as HTML, from a posterior made by hand. */
#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "results/draw.h"
#include "results/markup.h"
#include "results/page.h"
#include "results/page_html.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, EDGES = 2 * N - 3, DRAWS = 4 };

/* What a user may call a taxon. */
static const char *const NAMES[N] = {"<script>alert(1)</script>", "a&b\"c'd", "=cmd()",
                                     "\xC3\x9Cn\xC3\xAF", "e"};

static const page_fact FACTS[] = {{"alignment", "</title><b>\xFF\x01&.fasta"},
                                  {"substitution model", "GTR{1,2,3,4,5,6}+G4{0.5}"}};

static const evidence EVIDENCE = {.log_evidence = -1234.5678,
                                  .log_evidence_sd = 0.25,
                                  .log_evidence_se = 0.0125,
                                  .lower_bound_1 = -1236,
                                  .lower_bound_10 = -1235,
                                  .ess = 3,
                                  .pareto_k = 0.75,
                                  .total = DRAWS,
                                  .outside = 0.25,
                                  .unfinished = true};

static verdict judged; /* of EVIDENCE */

static int judge(void **state)
{
    (void)state;
    verdict_init(&judged);
    verdict_of_evidence(&judged, &EVIDENCE, VERDICT_TRAIN);
    return 0;
}

/* Three draws of one tree and one of another, all of the same weight. */
static void make_posterior(posterior *p)
{
    static int32_t decision[DRAWS][N - 3] = {{0, 1}, {0, 1}, {0, 1}, {1, 1}};
    double length[DRAWS][EDGES], zero[DRAWS] = {0};
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < N; i++)
        check_status(taxa_add(&names, NAMES[i], strlen(NAMES[i])));
    for (int i = 0; i < DRAWS; i++)
        for (int e = 0; e < EDGES; e++)
            length[i][e] = 0.1 + 0.01 * i;
    particles batch = {.k = DRAWS,
                       .n_taxa = N,
                       .decision = decision[0],
                       .length = length[0],
                       .log_q = zero,
                       .log_b = zero,
                       .value = zero,
                       .log_prior = zero,
                       .log_weight = zero};
    check_status(posterior_init(p, &names, DRAWS, ROWS_AS_DRAWN, true, 1));
    check_status(posterior_add(p, &batch));
    check_status(posterior_finish(p));
    taxa_free(&names);
}

static page page_of(const posterior *p, const trace *bound)
{
    return (page){.fact = FACTS,
                  .n_facts = 2,
                  .evidence = &EVIDENCE,
                  .verdict = &judged,
                  .posterior = p,
                  .bound = bound};
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text);
}

/* The name of the tag at text, behind '<' or "</", and where it ends. */
static const char *tag_name(char *name, const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]))
        n++;
    assert_in_range(n, 1, 15);
    memcpy(name, text, n);
    name[n] = '\0';
    return text + n;
}

/* Attributes are name="value" up to '>' or "/>". */
static const char *attributes(const char *text)
{
    while (*text == ' ') {
        text += 1 + strcspn(text + 1, "=<>\" ");
        assert_memory_equal(text, "=\"", 2);
        text += 2;
        text += strcspn(text, "\"<");
        assert_int_equal(*text++, '"');
    }
    return text;
}

/* Every element is closed in its order, every '&' begins an entity, every '<' a tag. */
static void check_well_formed(const char *text)
{
    char open[16][16], name[16];
    int depth = 0;
    size_t elements = 0;
    expect(text, "<!DOCTYPE html>\n<html ");
    for (const char *at = strstr(text, "<html "); *at; at++) {
        assert_true(*at == '\n' || (unsigned char)*at >= ' ');
        if (*at == '&') {
            size_t n = strspn(at + 1, "#abcdefghijklmnopqrstuvwxyz0123456789");
            assert_true(n > 0 && at[1 + n] == ';');
        } else if (*at == '<' && at[1] == '/') {
            at = tag_name(name, at + 2);
            assert_true(depth > 0);
            assert_string_equal(name, open[--depth]);
            assert_int_equal(*at, '>');
        } else if (*at == '<') {
            at = attributes(tag_name(name, at + 1));
            elements++;
            assert_string_not_equal(name, "script");
            if (*at == '/') {
                at++;
            } else {
                assert_true(depth < 16);
                strcpy(open[depth++], name);
            }
            assert_int_equal(*at, '>');
        }
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 50);
}

static void text_stands_for_itself(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"plain", "plain"},
        {"<a href=\"x\">&amp;'</a>", "&lt;a href=&quot;x&quot;&gt;&amp;amp;&#39;&lt;/a&gt;"},
        {"\xC3\x9C \xF0\x9F\x90\x8D", "\xC3\x9C \xF0\x9F\x90\x8D"},
        {"\xFFx\xC3", "\xEF\xBF\xBDx\xEF\xBF\xBD"},
        {"\x01\n\x7F", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    buffer out;
    buffer_init(&out);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        buffer_clear(&out);
        markup_text(&out, known[i][0]);
        assert_string_equal(out.text, known[i][1]);
    }
    buffer_free(&out);
}

static void html_is_whole_and_safe(void **state)
{
    (void)state;
    posterior p = {0};
    trace_point point[3] = {{1000, -1300}, {2000, -1250}, {3000, -1240}};
    trace bound = {3, point};
    make_posterior(&p);
    page all = page_of(&p, &bound);
    json_t *rounds = json_pack("[{s:i, s:f, s:b, s:n}, {s:i, s:f, s:b, s:f}]", "table_trees", 17,
                               "gap", 0.25, "criteria_hold", 0, "error", "table_trees", 18, "gap",
                               0.125, "criteria_hold", 1, "error", 0.5);
    assert_non_null(rounds);
    all.rounds = rounds;
    buffer out;
    buffer_init(&out);
    check_status(page_html(&out, &all));
    check_well_formed(out.text);
    static const char *const expected[] = {
        "<title>ARTreeFormer: &lt;/title&gt;&lt;b&gt;\xEF\xBF\xBD\xEF\xBF\xBD&amp;.fasta</title>",
        "GTR{1,2,3,4,5,6}+G4{0.5}",
        ">-1234.568<",
        "</h1>\n<div class=\"verdict bad\">\n<p class=\"line\">NOT CONVERGED</p>\n<p>The search",
        "<tr><td>Pareto k</td><td class=\"n\">0.75</td><td>below 0.7</td></tr>",
        "<th>standard error</th><td class=\"t\">not known (not converged)<",
        "<th>posterior outside the table</th><td class=\"t\">not known (the search is unfinished)<",
        "<th>draws</th><td class=\"t\">4<",
        "<th>effective sample size</th><td class=\"t\">3<",
        "Pareto k is 0.75; below 0.7",
        "50 %: 1; 90 %: 2; 95 %: 2; 99 %: 2.",
        "<td class=\"n\">0.7500</td><td class=\"n\">0.7500</td>",
        "<td class=\"n\">0.2500</td><td class=\"n\">1.0000</td>",
        /* probability, no error, mean and deviation of 0.1, 0.11, 0.12 */
        "<td class=\"n\">0.7500</td><td class=\"n\">&#8211;</td><td class=\"n\">0.11000</td>"
        "<td class=\"n\">0.00816</td>",
        "&lt;script&gt;alert(1)&lt;/script&gt;</text>",
        "a&amp;b&quot;c&#39;d</text>",
        "\xC3\x9Cn\xC3\xAF</text>",
        ">75</text>",
        ">100</text>",
        "<title>length 0.11",
        "<th class=\"n\">table trees</th><th class=\"n\">gap</th>",
        "<tr><td class=\"n\">17</td><td class=\"n\">0.25</td><td class=\"n\">no</td>"
        "<td class=\"n\">&#8211;</td></tr>",
        "<td class=\"n\">yes</td><td class=\"n\">0.5</td></tr>",
        "<path class=\"trace\" d=\"M",
        ">-1240</text>",
        ">3000</text>",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        expect(out.text, expected[i]);
    /* one file that fetches nothing: the only addresses are names of name spaces */
    for (const char *at = out.text; (at = strstr(at, "http")); at++)
        assert_memory_equal(at - 7, "xmlns=\"", 7);
    assert_null(strstr(out.text, "src="));
    assert_null(strstr(out.text, "href="));
    assert_null(strstr(out.text, "url("));
    assert_null(strstr(out.text, ">0.013<")); /* the standard error */
    /* a line needs two points; what is not a number is not shown */
    evidence unknown = EVIDENCE;
    unknown.lower_bound_1 = -INFINITY;
    unknown.log_evidence_sd = unknown.log_evidence_se = NAN;
    all.evidence = &unknown;
    all.rounds = NULL;
    bound.count = 1;
    buffer_clear(&out);
    check_status(page_html(&out, &all));
    check_well_formed(out.text);
    assert_null(strstr(out.text, "class=\"trace\""));
    assert_null(strstr(out.text, "Rounds"));
    assert_null(strstr(out.text, "nan"));
    assert_null(strstr(out.text, "inf<"));
    json_decref(rounds);
    buffer_free(&out);
    posterior_free(&p);
}

static void flat_traces_can_be_drawn(void **state)
{
    (void)state;
    posterior p = {0};
    make_posterior(&p);
    static const double value[][2] = {{-7000, -7000}, {0, 0}, {-1e-13, 1e-13}, {-1e12, 1e12}};
    buffer out;
    buffer_init(&out);
    for (size_t i = 0; i < sizeof value / sizeof value[0]; i++) {
        trace_point point[2] = {{0, value[i][0]}, {1, value[i][1]}};
        trace bound = {2, point};
        page all = page_of(&p, &bound);
        buffer_clear(&out);
        check_status(page_html(&out, &all));
        check_well_formed(out.text);
        assert_null(strstr(out.text, "nan"));
        assert_true(out.length < 50000);
    }
    buffer_free(&out);
    posterior_free(&p);
}

static void both_files_are_written(void **state)
{
    (void)state;
    posterior p = {0};
    trace bound = {0};
    make_posterior(&p);
    page all = page_of(&p, &bound);
    check_status(page_write(scratch_path("run"), &all, NULL));
    char *text = file_text(scratch_path("run.report.txt"));
    char *html = file_text(scratch_path("run.report.html"));
    assert_true(text && html);
    check_well_formed(html);
    static const char *const expected[] = {
        "  estimate                    -1234.568\n",
        "  draws                       4\n",
        "inference of a tree\nVerdict: NOT CONVERGED -- The search for trees is unfinished: ",
        "\nWarning: Much of the weight is on a few draws (Pareto k is 0.75",
        "  Pareto k                                        0.75       customary: below 0.7\n",
        "  standard error              not known (not converged)\n",
        "  posterior outside the table not known (the search is unfinished)\n",
        "Topologies: 2 distinct",
        "  90 % credible set  2\n",
        "  0.7500  (",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        expect(text, expected[i]);
    free(text);
    free(html);
    assert_int_equal(page_write(scratch_path("absent/run"), &all, NULL), ART_ERR_IO);
    posterior_free(&p);
}

static void converged_runs_have_errors(void **state)
{
    (void)state;
    posterior p = {0};
    trace bound = {0};
    evidence well = EVIDENCE;
    verdict v;
    buffer out;
    well.unfinished = false;
    well.pareto_k = 0.25;
    well.failed = 1;
    verdict_init(&v);
    v.asdsf = 0.0051;
    v.largest_deviation = 0.031;
    v.r_hat = 1.0042;
    v.ess_log_density = 1234.4;
    v.ess_splits = 321;
    verdict_of_evidence(&v, &well, VERDICT_TRAIN);
    make_posterior(&p);
    page all = page_of(&p, &bound);
    all.evidence = &well;
    all.verdict = &v;
    buffer_init(&out);
    check_status(page_text(&out, &all));
    static const char *const text[] = {
        "inference of a tree\nVerdict: converged\nWarning: For 1 of 4 draws",
        "  average standard deviation of split frequencies 0.0051     customary: below 0.01\n",
        "  largest standard deviation of a split frequency 0.0310   \n",
        "  R-hat of the log density                        1.004      customary: below 1.01\n",
        "  effective sample size of the log density        1234       customary: 200 or more\n",
        "  smallest effective sample size of a split       321        customary: 200 or more\n",
        "  Pareto k                                        0.25       customary: below 0.7\n",
        "  standard error              0.013\n",
        "  posterior outside the table 0.250000\n",
    };
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        expect(out.text, text[i]);
    buffer_clear(&out);
    check_status(page_html(&out, &all));
    check_well_formed(out.text);
    static const char *const html[] = {
        "<div class=\"verdict good\">\n<p class=\"line\">Converged</p>\n<p>Warning: For 1 of 4",
        "<td class=\"n\">0.0051</td><td>below 0.01</td>",
        "<th>standard error</th><td class=\"t\">0.013<",
        /* the error of a split, sqrt(0.75 0.25 / 4) */
        "<td class=\"n\">0.7500</td><td class=\"n\">0.2165</td>",
    };
    for (size_t i = 0; i < sizeof html / sizeof html[0]; i++)
        expect(out.text, html[i]);
    /* a method that does not judge itself */
    const verdict none = {0};
    all.verdict = &none;
    buffer_clear(&out);
    check_status(page_text(&out, &all));
    assert_null(strstr(out.text, "Verdict"));
    expect(out.text, "  standard error              0.013\n");
    expect(out.text, "  Pareto k ");
    buffer_clear(&out);
    check_status(page_html(&out, &all));
    check_well_formed(out.text);
    assert_null(strstr(out.text, "class=\"verdict"));
    buffer_free(&out);
    posterior_free(&p);
}

/* Trees that are a small part of the posterior: what is not known is not said. */
static void selections_of_trees_say_so(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *text, *html; /* that are expected */
        bool is_listed;
    } known[] = {
        {0.5, "Topologies: 2 distinct, together 0.5 of the posterior\n",
         "50 %: 2; 90 %: not known: the trees met have 0.5 of the posterior; 95 %", true},
        {0.5, "  90 % credible set  not known: the trees met have 0.5 of the posterior\n",
         "<td class=\"n\">0.3750</td><td class=\"n\">0.3750</td>", true},
        {0.5, "  0.3750  (", "<td class=\"n\">0.1250</td><td class=\"n\">0.5000</td>", true},
        {1.2e-9, "Topologies: 2 distinct, together 1.2e-09 of the posterior\n",
         "<p>2 distinct, together 1.2e-09 of the posterior. Credible sets: 50 %: not known: ",
         false},
    };
    posterior p = {0};
    trace bound = {0};
    buffer out;
    buffer_init(&out);
    make_posterior(&p);
    page all = page_of(&p, &bound);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        p.trees.share = known[i].share;
        buffer_clear(&out);
        check_status(page_text(&out, &all));
        expect(out.text, known[i].text);
        assert_int_equal(strstr(out.text, "The most probable topologies") != NULL,
                         known[i].is_listed);
        assert_int_equal(strstr(out.text, PAGE_NO_LIST) == NULL, known[i].is_listed);
        buffer_clear(&out);
        check_status(page_html(&out, &all));
        check_well_formed(out.text);
        expect(out.text, known[i].html);
        assert_int_equal(strstr(out.text, ">rank<") != NULL, known[i].is_listed);
        assert_int_equal(strstr(out.text, PAGE_NO_LIST) == NULL, known[i].is_listed);
    }
    char text[PAGE_FIGURE_SIZE];
    page_probability(text, 1.23e-9);
    assert_string_equal(text, "1.2e-09");
    page_probability(text, 0.0123);
    assert_string_equal(text, "0.0123");
    page_probability(text, 0);
    assert_string_equal(text, "0.0000");
    buffer_free(&out);
    posterior_free(&p);
}

/* The rows of a sample that are different draws: one of weight 3 and three of weight 1. */
static void repeated_rows_count_once(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    posterior p = {0}, same = {0};
    trace bound = {0};
    buffer out;
    buffer_init(&out);
    make_posterior(&p); /* rows as drawn have no such number */
    assert_true(isnan(p.sample_ess));
    double weight[DRAWS] = {log(3), 0, 0, 0}, one[DRAWS] = {0, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double zero[DRAWS] = {0};
    particles batch = {.k = DRAWS,
                       .n_taxa = N,
                       .decision = p.decision,
                       .length = p.length,
                       .log_q = zero,
                       .log_b = zero,
                       .value = zero,
                       .log_prior = zero,
                       .log_weight = weight};
    check_status(posterior_init(&same, &p.trees.taxa, ROWS, ROWS_BY_WEIGHT, true, 1));
    assert_true(isnan(same.sample_ess));
    check_status(posterior_add(&same, &batch));
    check_status(posterior_finish(&same));
    check_near(same.sample_ess, 36.0 / 12, 0.2); /* (sum w)^2 / sum w^2, by 2000 rows */
    page all = page_of(&same, &bound);
    check_status(page_text(&out, &all));
    expect(out.text, "\nPosterior sample: 2,000 trees, worth 3 independent draws\n");
    buffer_clear(&out);
    check_status(page_html(&out, &all));
    check_well_formed(out.text);
    expect(out.text, "<p>2,000 trees, worth 3 independent draws.</p>");
    posterior_free(&same);
    batch.log_weight = one;
    check_status(posterior_init(&same, &p.trees.taxa, ROWS, ROWS_BY_WEIGHT, true, 1));
    check_status(posterior_add(&same, &batch));
    check_status(posterior_finish(&same));
    check_near(same.sample_ess, 1, 0);
    posterior_free(&same);
    buffer_free(&out);
    posterior_free(&p);
}

/* Whichever allocation fails: the status says so, and no file is left half-written. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    posterior p = {0};
    trace_point point[2] = {{1, 2}, {3, 4}};
    trace bound = {2, point};
    make_posterior(&p);
    page all = page_of(&p, &bound);
    int status = ART_ERR_NOMEM;
    for (long k = 1; status != ART_OK; k++) {
        memory_fail_at(k);
        status = page_write(scratch_path("run"), &all, NULL);
        memory_fail_at(0);
        assert_true(status == ART_OK ? k > 20 : status == ART_ERR_NOMEM);
        assert_true(scratch_count() <= 2);
    }
    assert_int_equal(scratch_count(), 2);
    posterior_free(&p);
}

static void traces_begin_where_annealing_ends(void **state)
{
    (void)state;
    trace t;
    const char *path = scratch_write("m.jsonl", "{\"step\":1,\"anneal\":0.5,\"bound\":-1}\n"
                                                "{\"step\":2,\"anneal\":1,\"bound\":-2}\n"
                                                "{\"step\":3,\"anneal\":1.0,\"bound\":-3.5}\n"
                                                "{\"step\":4,\"anneal\":1,\"bound\":null}\n"
                                                "{\"step\":5,\"anneal\":1,\"bound\":-5}\n");
    check_status(trace_read(&t, path, "bound"));
    assert_int_equal(t.count, 2); /* of step 2 a part was annealed, as after a gap */
    check_near(t.point[0].step, 3, 0);
    check_near(t.point[0].value, -3.5, 0);
    check_near(t.point[1].step, 5, 0);
    trace_free(&t);
    check_status(trace_read(&t, scratch_path("absent"), "bound"));
    assert_int_equal(t.count, 0);
    trace_free(&t);
    check_status(trace_read(&t, scratch_write("m.jsonl", "not JSON\n"), "bound"));
    assert_int_equal(t.count, 0);
    trace_free(&t);
}

static void trees_are_drawn_as_text(void **state)
{
    (void)state;
    static const struct {
        int32_t parent, taxon;
        double support, length, sd;
    } ROW[] = {{-1, -1, NAN, NAN, NAN}, {0, 0, NAN, 1, 0}, {0, -1, 0.87, 1, 0},
               {2, 1, NAN, 1, 0},       {2, 2, NAN, 2, 0}, {0, 3, NAN, 4, 0}};
    consensus_node node[6];
    for (int i = 0; i < 6; i++)
        node[i] = (consensus_node){.parent = ROW[i].parent,
                                   .taxon = ROW[i].taxon,
                                   .support = ROW[i].support,
                                   .length = ROW[i].length,
                                   .length_sd = ROW[i].sd};
    consensus c = {.n_taxa = 4, .count = 6, .node = node};
    taxa names;
    taxa_init(&names);
    for (int i = 0; i < 4; i++)
        check_status(taxa_add(&names, (char[]){(char)('a' + i)}, 1));
    buffer out;
    buffer_init(&out);
    check_status(draw_tree(&out, &c, &names, 21));
    assert_string_equal(out.text, "┌───── a\n"
                                  "│\n"
                                  "│    ┌───── b\n"
                                  "├──87┤\n"
                                  "│    └────────── c\n"
                                  "│\n"
                                  "└──────────────────── d\n");
    buffer_free(&out);
    taxa_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stands_for_itself),
        cmocka_unit_test(html_is_whole_and_safe),
        cmocka_unit_test(flat_traces_can_be_drawn),
        in_scratch_folder(both_files_are_written),
        cmocka_unit_test(converged_runs_have_errors),
        in_scratch_folder(every_allocation_may_fail),
        in_scratch_folder(traces_begin_where_annealing_ends),
        cmocka_unit_test(selections_of_trees_say_so),
        cmocka_unit_test(repeated_rows_count_once),
        cmocka_unit_test(trees_are_drawn_as_text),
    };
    return cmocka_run_group_tests_name("page", tests, judge, NULL);
}
