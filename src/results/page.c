#include "results/page.h"

#include "artreeformer.h"
#include "base/format.h"
#include "io/output.h"
#include "results/draw.h"
#include "results/parameters.h"
#include "results/page_html.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN_COLUMNS = 50 };
static const double LEAST_SHARE = 0.05; /* of the posterior, for a list of topologies */

const double PAGE_CREDIBLE[] = {0.5, 0.9, 0.95, 0.99, 0};

int page_figures(page_figure figure[PAGE_FIGURES], const evidence *e, const verdict *v)
{
    const evidence shown = verdict_shown(v, e);
    const struct {
        const char *name;
        double value;
        int decimals;
        bool is_hidden; /* there is a value, but it is not earned */
        const char *instead;
    } row[PAGE_FIGURES] = {
        {"estimate", e->log_evidence, 3, isnan(e->log_evidence), "not estimated"},
        {"standard error", shown.log_evidence_se, 3, isfinite(e->log_evidence_se),
         verdict_no_error(v)},
        {"SD of one estimate", shown.log_evidence_sd, 3, false, ""},
        {"1-sample lower bound", e->lower_bound_1, 3, false, ""},
        {"10-sample lower bound", e->lower_bound_10, 3, false, ""},
        {"draws", (double)e->total, 0, false, ""},
        {"effective sample size", e->ess, 0, false, ""},
        {"posterior outside the table", shown.outside, 6, isfinite(e->outside),
         "not known (the search is unfinished)"},
    };
    int count = 0;
    for (int i = 0; i < PAGE_FIGURES; i++) {
        const bool is_known = isfinite(row[i].value);
        page_figure *f = &figure[count];
        if (!is_known && !row[i].is_hidden)
            continue;
        f->name = row[i].name;
        if (is_known && row[i].decimals == 0)
            format_count(f->value, sizeof f->value, (uint64_t)llround(row[i].value));
        else if (is_known)
            snprintf(f->value, sizeof f->value, "%.*f", row[i].decimals, row[i].value);
        else
            snprintf(f->value, sizeof f->value, "%s", row[i].instead);
        count++;
    }
    return count;
}

void page_probability(char text[PAGE_FIGURE_SIZE], double p)
{
    snprintf(text, PAGE_FIGURE_SIZE, p > 0 && p < 0.001 ? "%.1e" : "%.4f", p);
}

const char PAGE_NO_LIST[] =
    "Hardly any two trees of the posterior are the same, and those that were met are next to "
    "nothing of it. Look at the splits and at the consensus instead of single topologies.";

bool page_lists_topologies(const tree_set *trees)
{
    return trees->share >= LEAST_SHARE;
}

void page_count(char text[PAGE_FIGURE_SIZE], const tree_set *trees)
{
    char count[FORMAT_SIZE];
    format_count(count, sizeof count, trees->count);
    if (trees->share < 1)
        snprintf(text, PAGE_FIGURE_SIZE, "%s distinct, together %.2g of the posterior", count,
                 trees->share);
    else
        snprintf(text, PAGE_FIGURE_SIZE, "%s distinct", count);
}

void page_credible(char text[PAGE_FIGURE_SIZE], const tree_set *trees, double level)
{
    const size_t count = tree_set_credible(trees, level);
    if (count)
        format_count(text, PAGE_FIGURE_SIZE, count);
    else
        snprintf(text, PAGE_FIGURE_SIZE, "not known: the trees met have %.2g of the posterior",
                 trees->share);
}

void page_sample(char text[PAGE_FIGURE_SIZE], const posterior *p)
{
    char trees[FORMAT_ITEMS];
    *text = '\0';
    if (isfinite(p->sample_ess))
        snprintf(text, PAGE_FIGURE_SIZE, "%s, worth %.0f independent %s",
                 format_items(trees, sizeof trees, (uint64_t)p->count, "tree", "trees"),
                 p->sample_ess, format_noun((uint64_t)llround(p->sample_ess), "draw", "draws"));
}

int page_tree(buffer *out, const posterior *p, const rooting *r)
{
    consensus c = {0};
    int status = consensus_build(&c, &p->splits, CONSENSUS_MAJORITY);
    if (!status)
        status = consensus_root(&c, r, NULL);
    if (!status)
        status = draw_tree(out, &c, &p->trees.taxa, DRAWN_COLUMNS);
    consensus_free(&c);
    return status;
}

/* The line below the title, other warnings, and the diagnostics. */
static void put_verdict(buffer *out, const verdict *v, const evidence *e)
{
    char line[VERDICT_LINE];
    verdict_figure figure[VERDICT_FIGURES];
    const int count = verdict_figures(figure, v, e);
    if (v->is_given) {
        verdict_line(line, v);
        buffer_printf(out, "Verdict: %s\n", line);
        for (int i = verdict_first_other(v); i < v->n_warnings; i++)
            buffer_printf(out, "Warning: %s\n", v->warning[i]);
    }
    buffer_char(out, '\n');
    for (int i = 0; i < count; i++)
        buffer_printf(out, "  %-47s %-9s%s%s\n", figure[i].name, figure[i].value,
                      *figure[i].customary ? "  customary: " : "", figure[i].customary);
    if (count)
        buffer_char(out, '\n');
}

static void put_evidence(buffer *out, const evidence *e, const verdict *v)
{
    page_figure figure[PAGE_FIGURES];
    int count = page_figures(figure, e, v);
    buffer_text(out, "Log marginal likelihood (evidence)\n");
    for (int i = 0; i < count; i++)
        buffer_printf(out, "  %-27s %s\n", figure[i].name, figure[i].value);
}

static void put_sample(buffer *out, const posterior *p)
{
    char text[PAGE_FIGURE_SIZE];
    page_sample(text, p);
    if (*text)
        buffer_printf(out, "Posterior sample: %s\n\n", text);
}

/* Tree length and estimated parameters. */
static int put_parameters(buffer *out, const posterior *p)
{
    parameter_row *row;
    const int status = parameter_rows(&row, p);
    if (status || !row)
        return status;
    int width = 10; /* of the names */
    for (int k = 0; k < p->n_columns; k++)
        width = (int)strlen(row[k].name) > width ? (int)strlen(row[k].name) : width;
    buffer_printf(out, "Parameters\n  %-*s %10s %10s %10s %23s %8s\n", width, "", "mean", "sd",
                  "median", "95 % HPD interval", "ESS");
    for (int k = 0; k < p->n_columns; k++)
        if (isnan(row[k].median)) /* too few rows of the sample have it */
            buffer_printf(out, "  %-*s %10.4g %10.3g %10s  %10s %10s %8.0f\n", width, row[k].name,
                          row[k].mean, row[k].deviation, "-", "-", "-", row[k].ess);
        else
            buffer_printf(out, "  %-*s %10.4g %10.3g %10.4g  %10.4g %10.4g %8.0f\n", width,
                          row[k].name, row[k].mean, row[k].deviation, row[k].median, row[k].low,
                          row[k].high, row[k].ess);
    for (int k = 0; k < p->n_columns; k++)
        if (row[k].share < 1)
            buffer_printf(out, "  %s is given the models that have it, of probability %.4f\n",
                          row[k].name, row[k].share);
    buffer_char(out, '\n');
    free(row);
    return ART_OK;
}

static int put_topologies(buffer *out, const tree_set *trees, const rooting *r)
{
    char text[PAGE_FIGURE_SIZE];
    page_count(text, trees);
    buffer_printf(out, "Topologies: %s\n", text);
    for (const double *share = PAGE_CREDIBLE; *share > 0; share++) {
        page_credible(text, trees, *share);
        buffer_printf(out, "  %2.0f %% credible set  %s\n", 100 * *share, text);
    }
    if (!page_lists_topologies(trees)) {
        buffer_printf(out, "\n%s\n", PAGE_NO_LIST);
        return ART_OK;
    }
    tree_writer writer = {0};
    int status = tree_writer_init(&writer, &trees->taxa);
    writer.rooting = r;
    buffer_text(out, "\nThe most probable topologies\n");
    for (size_t i = 0; i < trees->count && i < PAGE_TOPOLOGIES && !status; i++) {
        page_probability(text, tree_set_probability(trees, i));
        buffer_printf(out, "  %s  ", text);
        tree_write_newick(out, &writer, tree_set_decision(trees, i), NULL);
        buffer_char(out, '\n');
    }
    tree_writer_free(&writer);
    return status;
}

int page_text(buffer *out, const page *p)
{
    buffer_printf(out, "ARTreeFormer %s: Bayesian inference of a tree\n", art_version());
    put_verdict(out, p->verdict, p->evidence);
    for (int i = 0; i < p->n_facts; i++)
        buffer_printf(out, "  %-27s %s\n", p->fact[i].name, p->fact[i].value);
    buffer_char(out, '\n');
    put_evidence(out, p->evidence, p->verdict);
    buffer_char(out, '\n');
    if (p->models)
        model_table_text(out, p->models);
    put_sample(out, p->posterior);
    int status = put_parameters(out, p->posterior);
    if (!status)
        status = put_topologies(out, &p->posterior->trees, p->rooting);
    buffer_text(out, "\nMajority consensus, ");
    rooting_describe(out, p->rooting, &p->posterior->trees.taxa, &p->posterior->splits);
    buffer_text(out, ";\nnumbers are posterior probabilities of splits in percent;\n"
                     "horizontal distances are mean branch lengths\n\n");
    if (!status)
        status = page_tree(out, p->posterior, p->rooting);
    if (p->methods)
        buffer_printf(out, "\nFor a publication\n\n%s", p->methods);
    return status ? status : buffer_status(out);
}

/* The files and who fills them, in the same order. */
const char *const PAGE_SUFFIXES[] = {".report.txt", ".report.html", NULL};
static int (*const COMPOSE[])(buffer *, const page *) = {page_text, page_html};

int page_write(const char *prefix, const page *p, diag *d)
{
    int status = ART_OK;
    buffer text;
    buffer_init(&text);
    for (int i = 0; PAGE_SUFFIXES[i] && !status; i++) {
        buffer_clear(&text);
        status = COMPOSE[i](&text, p);
        if (!status)
            status = output_result(prefix, PAGE_SUFFIXES[i], &text, d);
    }
    buffer_free(&text);
    return status;
}
