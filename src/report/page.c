#include "report/page.h"

#include "artreeformer.h"
#include "base/output.h"
#include "report/draw.h"
#include "tree/tree_write.h"

#include <stdio.h>

enum { DRAWN_COLUMNS = 50, BEST_TOPOLOGIES = 10, PATH = 4096 };

int page_tree(buffer *out, const posterior *p)
{
    consensus c = {0};
    int status = consensus_build(&c, &p->splits, CONSENSUS_MAJORITY);
    if (!status)
        status = draw_tree(out, &c, &p->trees.taxa, DRAWN_COLUMNS);
    consensus_free(&c);
    return status;
}

static void put_evidence(buffer *out, const evidence *e)
{
    buffer_printf(out, "Log marginal likelihood (evidence)\n");
    buffer_printf(out, "  estimate                 %.3f\n", e->log_evidence);
    buffer_printf(out, "  standard error           %.3f\n", e->log_evidence_se);
    buffer_printf(out, "  deviation of one repeat  %.3f\n", e->log_evidence_sd);
    buffer_printf(out, "  1-sample lower bound     %.3f\n", e->lower_bound_1);
    buffer_printf(out, "  10-sample lower bound    %.3f\n", e->lower_bound_10);
    buffer_printf(out, "  effective sample size    %.0f of %ld draws\n", e->ess, e->total);
    buffer_printf(out, "  Pareto k                 %.2f\n", e->pareto_k);
    const char *warning = evidence_warning(e->pareto_k);
    if (*warning)
        buffer_printf(out, "  WARNING: %s\n", warning);
}

static int put_topologies(buffer *out, const tree_set *trees)
{
    static const double LEVEL[] = {0.5, 0.9, 0.95, 0.99};
    buffer_printf(out, "Topologies: %zu distinct among the draws\n", trees->count);
    for (size_t i = 0; i < sizeof LEVEL / sizeof LEVEL[0]; i++)
        buffer_printf(out, "  %2.0f %% credible set  %zu\n", 100 * LEVEL[i],
                      tree_set_credible(trees, LEVEL[i]));
    tree_writer writer = {0};
    int status = tree_writer_init(&writer, &trees->taxa);
    buffer_printf(out, "\nThe most probable ones\n");
    for (size_t i = 0; i < trees->count && i < BEST_TOPOLOGIES && !status; i++) {
        buffer_printf(out, "  %.4f  ", trees->weight[i]);
        tree_write_newick(out, &writer, tree_set_decision(trees, i), NULL);
        buffer_char(out, '\n');
    }
    tree_writer_free(&writer);
    return status;
}

int page_compose(buffer *out, const page_fact *facts, int n_facts, const evidence *e,
                 const posterior *p)
{
    buffer_printf(out, "ARTreeFormer %s: Bayesian inference of a tree\n\n", art_version());
    for (int i = 0; i < n_facts; i++)
        buffer_printf(out, "  %-24s %s\n", facts[i].name, facts[i].value);
    buffer_char(out, '\n');
    put_evidence(out, e);
    buffer_char(out, '\n');
    int status = put_topologies(out, &p->trees);
    buffer_printf(out, "\nMajority consensus; the numbers are posterior probabilities of splits in "
                       "percent,\nthe columns mean branch lengths\n\n");
    if (!status)
        status = page_tree(out, p);
    return status ? status : buffer_status(out);
}

int page_write(const char *prefix, const buffer *text, diag *d)
{
    char path[PATH];
    output o = {0};
    if (snprintf(path, sizeof path, "%s.report.txt", prefix) >= PATH)
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the prefix is too long -- shorten it");
    int status = output_open(&o, path, d);
    if (status)
        return status;
    output_write(&o, text->text, text->length);
    return output_close(&o, d);
}
