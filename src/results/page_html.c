#include "results/page_html.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "results/marginal.h"
#include "results/markup.h"
#include "results/parameters.h"
#include "results/summary.h"
#include "results/svg.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SPLITS = 200 };             /* of the table; all are in <prefix>.splits.tsv */
static const double LEAST_SPLIT = 0.01; /* the same */

static const char STYLE[] =
    ":root{--ink:#1d2733;--soft:#5b6875;--line:#d9dfe5;--paper:#fff;--accent:#0b6e99;"
    "--warn:#9a5b00;--good:#1a7431}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa7b4;--line:#36414d;"
    "--paper:#151b21;--accent:#5cb8e0;--warn:#f0b35a;--good:#6fcf8a}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:62rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .5rem}\n"
    "p{color:var(--soft);margin:.3rem 0 .8rem}\n"
    "table{border-collapse:collapse}\n"
    "th,td{text-align:left;padding:.2rem 1.2rem .2rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n"
    "th{font-weight:600;color:var(--soft)}td.n,th.n{text-align:right;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "td.t{overflow-wrap:anywhere}code{font-size:.85em}\n"
    "pre.methods{white-space:pre-wrap;font:inherit}\n"
    "div.verdict{border:2px solid;border-left-width:.6rem;border-radius:.3rem;"
    "padding:.5rem 1rem;margin:1rem 0}\n"
    "div.verdict p{color:var(--ink);margin:.3rem 0}div.verdict p.line{font-weight:600}\n"
    "div.good{border-color:var(--good)}div.bad{border-color:var(--warn)}\n"
    "div.wide{overflow-x:auto}\n"
    "svg{font:12px system-ui,sans-serif}svg path{fill:none}\n"
    ".branch{stroke:var(--ink);stroke-width:1.5}.branch:hover{stroke:var(--accent);"
    "stroke-width:3}\n"
    ".axis{stroke:var(--soft)}.grid{stroke:var(--line)}\n"
    ".trace,.density{stroke:var(--accent);stroke-width:1.5}\n"
    ".name{fill:var(--ink)}.label{fill:var(--soft)}.support{fill:var(--accent);font-size:10px}\n";

/* A row of a table of names and values. */
static void put_row(buffer *out, const char *name, const char *value)
{
    buffer_text(out, "<tr><th>");
    markup_text(out, name);
    buffer_text(out, "</th><td class=\"t\">");
    markup_text(out, value);
    buffer_text(out, "</td></tr>\n");
}

/* A cell with a number; of one that is not known, a dash. */
static void put_number(buffer *out, double value, int decimals)
{
    buffer_text(out, "<td class=\"n\">");
    if (isnan(value))
        buffer_text(out, "&#8211;");
    else
        buffer_fixed(out, value, decimals);
    buffer_text(out, "</td>");
}

static void put_facts(buffer *out, const page *p)
{
    buffer_text(out, "<table>\n");
    for (int i = 0; i < p->n_facts; i++)
        put_row(out, p->fact[i].name, p->fact[i].value);
    buffer_text(out, "</table>\n");
}

/* A box whose frame is green or amber; the words alone say the same. */
static void put_verdict(buffer *out, const verdict *v)
{
    if (!v->is_given)
        return;
    buffer_printf(out, "<div class=\"verdict %s\">\n<p class=\"line\">",
                  v->converged ? "good" : "bad");
    buffer_text(out, v->converged ? "Converged" : "NOT CONVERGED");
    buffer_text(out, "</p>\n");
    for (int i = 0; i < v->n_warnings; i++) {
        buffer_text(out, "<p>");
        if (i >= v->n_fatal)
            buffer_text(out, "Warning: ");
        markup_text(out, v->warning[i]);
        buffer_text(out, "</p>\n");
    }
    buffer_text(out, "</div>\n");
}

static void put_diagnostics(buffer *out, const verdict *v, const evidence *e)
{
    verdict_figure figure[VERDICT_FIGURES];
    const int count = verdict_figures(figure, v, e);
    if (!count)
        return;
    buffer_text(out, "<table>\n<tr><th>diagnostic</th><th class=\"n\">value</th>"
                     "<th>customary</th></tr>\n");
    for (int i = 0; i < count; i++) {
        buffer_printf(out, "<tr><td>%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
                      figure[i].name, figure[i].value, figure[i].customary);
    }
    buffer_text(out, "</table>\n<h2>Run</h2>\n");
}

static void put_evidence(buffer *out, const evidence *e, const verdict *v)
{
    page_figure figure[PAGE_FIGURES];
    int count = page_figures(figure, e, v);
    buffer_text(out, "<h2>Log marginal likelihood (evidence)</h2>\n<table>\n");
    for (int i = 0; i < count; i++)
        put_row(out, figure[i].name, figure[i].value);
    buffer_text(out, "</table>\n");
}

static void put_sample(buffer *out, const posterior *p)
{
    char text[PAGE_FIGURE_SIZE];
    page_sample(text, p);
    if (*text)
        buffer_printf(out, "<h2>Posterior sample</h2>\n<p>%s.</p>\n", text);
}

/* The marginal density of column k as a small curve; what models have fixed is in words. */
static int put_density(buffer *out, const posterior *p, int k)
{
    marginal m;
    const int status = marginal_of(&m, p, k);
    if (status)
        return status;
    buffer_text(out, "<td>");
    if (marginal_has_curve(&m))
        svg_marginal(out, &m);
    if (m.fixed_share > 0) {
        buffer_text(out, "<br/>");
        if (isnan(m.fixed_value)) {
            buffer_text(out, "fixed");
        } else {
            buffer_text(out, "exactly ");
            buffer_double(out, m.fixed_value, 4);
        }
        buffer_text(out, " with probability ");
        buffer_fixed(out, m.fixed_share, 2);
    }
    buffer_text(out, "</td>");
    return ART_OK;
}

static void put_significant(buffer *out, double value)
{
    buffer_printf(out, isnan(value) ? "<td class=\"n\">&#8211;</td>" : "<td class=\"n\">%.4g</td>",
                  value);
}

/* Tree length and estimated parameters. */
static int put_parameters(buffer *out, const posterior *p)
{
    parameter_row *row;
    int status = parameter_rows(&row, p);
    if (status || !row)
        return status;
    buffer_text(out, "<h2>Parameters</h2>\n<p>TL is the tree length. The curves are the marginal "
                     "posterior densities, with the ends of their 95 % HPD intervals. Where an "
                     "average over models has models in which the parameter is fixed, their "
                     "probability is below, and the curve is of the others.</p>\n<div "
                     "class=\"wide\">\n<table>\n<tr><th></th>"
                     "<th class=\"n\">mean</th><th class=\"n\">sd</th><th class=\"n\">median</th>"
                     "<th class=\"n\">95 % HPD from</th><th class=\"n\">to</th>"
                     "<th class=\"n\">ESS</th><th>density</th></tr>\n");
    for (int k = 0; k < p->n_columns && !status; k++) {
        const double number[] = {row[k].mean, row[k].deviation, row[k].median, row[k].low,
                                 row[k].high};
        buffer_text(out, "<tr><th>");
        markup_text(out, row[k].name);
        buffer_text(out, "</th>");
        for (size_t i = 0; i < sizeof number / sizeof *number; i++)
            put_significant(out, number[i]);
        put_number(out, row[k].ess, 0);
        status = put_density(out, p, k);
        buffer_text(out, "</tr>\n");
    }
    buffer_text(out, "</table>\n</div>\n");
    for (int k = 0; k < p->n_columns; k++)
        if (row[k].share < 1) {
            buffer_text(out, "<p>");
            markup_text(out, row[k].name);
            buffer_printf(out, " is given the models that have it, of probability %.4f.</p>\n",
                          row[k].share);
        }
    free(row);
    return status;
}

/* How the tree is rooted, as the end of a sentence. */
static void put_rooting(buffer *out, const posterior *p, const rooting *r)
{
    buffer text;
    buffer_init(&text);
    rooting_describe(&text, r, &p->trees.taxa, &p->splits);
    markup_text(out, text.text);
    out->failed |= text.failed;
    buffer_free(&text);
    if (r && r->kind != ROOT_NOWHERE)
        return;
    buffer_text(out, "; it is drawn from the node next to ");
    markup_text(out, p->trees.taxa.name[0]);
}

static int put_tree(buffer *out, const posterior *p, const rooting *r)
{
    consensus c = {0};
    buffer_text(out, "<h2>Majority consensus</h2>\n<p>Numbers are posterior probabilities of "
                     "splits in percent; branch lengths are means, in expected substitutions per "
                     "site. The tree is ");
    put_rooting(out, p, r);
    buffer_text(out, ".</p>\n<div class=\"wide\">\n");
    int status = consensus_build(&c, &p->splits, CONSENSUS_MAJORITY);
    if (!status)
        status = consensus_root(&c, r, NULL);
    if (!status)
        status = svg_tree(out, &c, &p->trees.taxa);
    buffer_text(out, "</div>\n");
    consensus_free(&c);
    return status;
}

static void put_probability(buffer *out, double p)
{
    char text[PAGE_FIGURE_SIZE];
    page_probability(text, p);
    buffer_printf(out, "<td class=\"n\">%s</td>", text);
}

static int list_topologies(buffer *out, const tree_set *trees, const rooting *r)
{
    tree_writer writer = {0};
    buffer text;
    double sum = 0;
    buffer_init(&text);
    int status = tree_writer_init(&writer, &trees->taxa);
    writer.rooting = r;
    buffer_text(out, "<table>\n<tr><th class=\"n\">rank</th><th class=\"n\">probability</th>"
                     "<th class=\"n\">cumulative</th><th>topology</th></tr>\n");
    for (size_t i = 0; i < trees->count && i < PAGE_TOPOLOGIES && !status; i++) {
        const double p = tree_set_probability(trees, i);
        buffer_clear(&text);
        tree_write_newick(&text, &writer, tree_set_decision(trees, i), NULL);
        status = buffer_status(&text);
        buffer_printf(out, "<tr><td class=\"n\">%zu</td>", i + 1);
        put_probability(out, p);
        put_probability(out, sum += p);
        buffer_text(out, "<td class=\"t\"><code>");
        markup_text(out, text.text);
        buffer_text(out, "</code></td></tr>\n");
    }
    buffer_text(out, "</table>\n");
    buffer_free(&text);
    tree_writer_free(&writer);
    return status;
}

static int put_topologies(buffer *out, const tree_set *trees, const rooting *r)
{
    char text[PAGE_FIGURE_SIZE];
    page_count(text, trees);
    buffer_printf(out, "<h2>Topologies</h2>\n<p>%s. Credible sets:", text);
    for (const double *share = PAGE_CREDIBLE; *share > 0; share++) {
        page_credible(text, trees, *share);
        buffer_printf(out, "%s %.0f %%: %s", share == PAGE_CREDIBLE ? "" : ";", 100 * *share, text);
    }
    buffer_text(out, ".</p>\n");
    if (page_lists_topologies(trees))
        return list_topologies(out, trees, r);
    buffer_printf(out, "<p>%s</p>\n", PAGE_NO_LIST);
    return ART_OK;
}

static int put_split(buffer *out, const split_table *t, size_t i, const taxa *names, bool has_error)
{
    const uint64_t *bits = split_table_bits(t, i);
    int32_t size = split_size(bits, t->n_taxa);
    bool known = t->known[i] > 0;
    buffer members;
    buffer_init(&members);
    summary_members(&members, bits, names);
    buffer_text(out, "<tr>");
    put_number(out, split_frequency(t, i), 4);
    put_number(out, has_error ? split_frequency_error(t, i) : (double)NAN, 4);
    put_number(out, known ? t->mean[i] : (double)NAN, 5);
    put_number(out, known ? split_sd(t, i) : (double)NAN, 5);
    buffer_printf(out, "<td class=\"n\">%d</td><td class=\"t\">",
                  2 * size <= t->n_taxa ? size : t->n_taxa - size);
    markup_text(out, members.text);
    buffer_text(out, "</td></tr>\n");
    int status = buffer_status(&members);
    buffer_free(&members);
    return status;
}

static int put_splits(buffer *out, const page *p)
{
    const split_table *t = &p->posterior->splits;
    size_t *order = mem_zeros(t->count, sizeof *order);
    int status = order ? split_table_order(order, t) : ART_ERR_NOMEM;
    buffer_printf(
        out,
        "<h2>Splits</h2>\n<p>Posterior probability of each split with its standard error, mean and "
        "standard deviation of the branch length, and the taxa on the smaller side. Splits with a "
        "probability below %g and those after the first %d are not shown.</p>\n<table>\n<tr><th "
        "class=\"n\">probability</th><th class=\"n\">error</th><th class=\"n\">length</th><th "
        "class=\"n\">deviation</th><th class=\"n\">taxa</th><th>members</th></tr>\n",
        LEAST_SPLIT, MOST_SPLITS);
    for (size_t k = 0, shown = 0; !status && k < t->count && shown < MOST_SPLITS; k++)
        if (!split_is_trivial(split_table_bits(t, order[k]), t->n_taxa) &&
            split_frequency(t, order[k]) >= LEAST_SPLIT) {
            status = put_split(out, t, order[k], &p->posterior->trees.taxa,
                               verdict_shows_split_errors(p->verdict));
            shown++;
        }
    buffer_text(out, "</table>\n");
    free(order);
    return status;
}

/* "log_evidence_table" as "log evidence table". */
static void put_words(buffer *out, const char *key)
{
    for (; *key; key++)
        buffer_char(out, *key == '_' ? ' ' : *key);
}

static void put_value(buffer *out, const json_t *value)
{
    buffer_text(out, "<td class=\"n\">");
    if (json_is_number(value))
        buffer_double(out, json_number_value(value), 7);
    else
        buffer_text(out, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "&#8211;");
    buffer_text(out, "</td>");
}

/* The keys are the program's own. */
static void put_rounds(buffer *out, const json_t *rounds)
{
    size_t i;
    const char *key;
    json_t *round, *value;
    json_t *first = json_array_get(rounds, 0);
    if (!first)
        return;
    buffer_text(out, "<h2>Rounds</h2>\n<div class=\"wide\">\n<table>\n<tr>");
    json_object_foreach(first, key, value)
    {
        buffer_text(out, "<th class=\"n\">");
        put_words(out, key);
        buffer_text(out, "</th>");
    }
    buffer_text(out, "</tr>\n");
    json_array_foreach(rounds, i, round)
    {
        buffer_text(out, "<tr>");
        json_object_foreach(round, key, value) put_value(out, value);
        buffer_text(out, "</tr>\n");
    }
    buffer_text(out, "</table>\n</div>\n");
}

static int put_trace(buffer *out, const trace *t)
{
    if (t->count < 2)
        return ART_OK;
    buffer_text(out, "<h2>Training</h2>\n<p>The lower bound on the log marginal likelihood, from "
                     "the end of annealing. If the curve is still rising at its end, the run needs "
                     "more steps.</p>\n<div class=\"wide\">\n");
    int status = svg_trace(out, t);
    buffer_text(out, "</div>\n");
    return status;
}

static void put_methods(buffer *out, const char *methods)
{
    if (!methods)
        return;
    buffer_text(out, "<h2>For a publication</h2>\n<pre class=\"methods\">");
    markup_text(out, methods);
    buffer_text(out, "</pre>\n");
}

int page_html(buffer *out, const page *p)
{
    buffer_text(out, "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                     "<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
                     "content=\"width=device-width, initial-scale=1\"/>\n<title>ARTreeFormer");
    if (p->n_facts > 0) {
        buffer_text(out, ": ");
        markup_text(out, p->fact[0].value);
    }
    buffer_printf(out,
                  "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
                  "<h1>Bayesian inference of a tree, by ARTreeFormer %s</h1>\n",
                  STYLE, art_version());
    put_verdict(out, p->verdict);
    put_diagnostics(out, p->verdict, p->evidence);
    put_facts(out, p);
    put_evidence(out, p->evidence, p->verdict);
    if (p->models)
        model_table_html(out, p->models);
    int status = put_tree(out, p->posterior, p->rooting);
    if (!status)
        status = put_topologies(out, &p->posterior->trees, p->rooting);
    if (!status)
        status = put_splits(out, p);
    if (!status)
        status = put_parameters(out, p->posterior);
    put_sample(out, p->posterior);
    put_rounds(out, p->rounds);
    if (!status)
        status = put_trace(out, p->bound);
    put_methods(out, p->methods);
    buffer_text(out, "</body>\n</html>\n");
    return status ? status : buffer_status(out);
}
