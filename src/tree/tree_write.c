#include "tree/tree_write.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "tree/consensus.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int tree_writer_init(tree_writer *w, const taxa *names)
{
    *w = (tree_writer){.taxa = names};
    int status = topology_init(&w->topology, names->count);
    if (status)
        return status;
    w->is_contracted = mem_zeros((size_t)topology_edges(names->count), sizeof *w->is_contracted);
    return w->is_contracted ? ART_OK : ART_ERR_NOMEM;
}

void tree_writer_free(tree_writer *w)
{
    topology_free(&w->topology);
    free(w->is_contracted);
    w->is_contracted = NULL;
}

static void write_length(buffer *out, const tree_writer *w, const double *length, int32_t node)
{
    if (!length)
        return;
    double value = length[node_edge(node, w->topology.n_taxa)];
    if (isnan(value))
        return;
    buffer_char(out, ':');
    buffer_double(out, value, w->digits);
}

static void write_leaf(buffer *out, const tree_writer *w, int32_t taxon, bool numbers)
{
    if (numbers)
        buffer_printf(out, "%d", taxon + 1);
    else
        nexus_write_name(out, w->taxa->name[taxon], QUOTE_NEWICK);
}

/* The tree with its root. */
static void write_rooted(buffer *out, tree_writer *w, const int32_t *decision, const double *length,
                         bool numbers)
{
    consensus c;
    bool is_clade;
    topology_build(&w->topology, decision);
    int status = consensus_from_topology(&c, &w->topology, decision, length);
    if (!status)
        status = consensus_root(&c, w->rooting, &is_clade);
    if (status) {
        out->failed = true;
    } else {
        w->not_clades += !is_clade;
        consensus_write_plain(out, &c, numbers ? NULL : w->taxa, w->digits);
    }
    consensus_free(&c);
}

static bool is_rooted(const tree_writer *w, const double *length)
{
    if (!w->rooting || w->rooting->kind == ROOT_NOWHERE)
        return false;
    for (int32_t e = 0; w->rooting->kind == ROOT_MIDPOINT && e < topology_edges(w->taxa->count);
         e++)
        if (!length || isnan(length[e]))
            return false;
    return true;
}

/* Walks around the tree along the parents: no stack, whatever the depth. */
static void write_tree(buffer *out, tree_writer *w, const int32_t *decision, const double *length,
                       bool numbers)
{
    topology *t = &w->topology;
    if (is_rooted(w, length)) {
        write_rooted(out, w, decision, length, numbers);
        return;
    }
    topology_build(t, decision);
    topology_contracted(w->is_contracted, t, decision);
    int32_t root = t->child[0][0], node = root;
    for (;;) {
        for (; node >= t->n_taxa; node = t->child[node][0])
            if (!w->is_contracted[node_edge(node, t->n_taxa)])
                buffer_char(out, '(');
        write_leaf(out, w, node, numbers);
        write_length(out, w, length, node);
        while (node != root && node == t->child[t->parent[node]][1]) {
            node = t->parent[node];
            if (node == root)
                break;
            if (w->is_contracted[node_edge(node, t->n_taxa)])
                continue;
            buffer_char(out, ')');
            write_length(out, w, length, node);
        }
        buffer_char(out, ',');
        if (node == root)
            break;
        node = t->child[t->parent[node]][1];
    }
    write_leaf(out, w, 0, numbers);
    write_length(out, w, length, root);
    buffer_text(out, ");");
}

void tree_write_newick(buffer *out, tree_writer *w, const int32_t *decision, const double *length)
{
    write_tree(out, w, decision, length, false);
}

void tree_write_begin(buffer *out, const taxa *names)
{
    buffer_text(out, "#NEXUS\n\nbegin trees;\n   translate\n");
    for (int32_t i = 0; i < names->count; i++) {
        buffer_printf(out, "%5d ", i + 1);
        nexus_write_name(out, names->name[i], QUOTE_NEXUS);
        buffer_text(out, i + 1 < names->count ? ",\n" : ";\n");
    }
}

void tree_write_tree(buffer *out, tree_writer *w, const char *name, const double *weight,
                     const int32_t *decision, const double *length)
{
    buffer_text(out, "   tree ");
    nexus_write_name(out, name, QUOTE_NEXUS);
    buffer_text(out, is_rooted(w, length) ? " = [&R] " : " = [&U] ");
    if (weight) {
        buffer_text(out, "[&W ");
        buffer_double(out, *weight, 0);
        buffer_text(out, "] ");
    }
    write_tree(out, w, decision, length, true);
    buffer_char(out, '\n');
}

/* Whether six decimals, which MrBayes' files have, are all of it. */
static bool has_six_decimals(double p)
{
    const double rounded = round(p * 1e6) / 1e6;
    return p == 0 || (rounded > 0 && fabs(p - rounded) < 1e-11);
}

/* Three decimals as in MrBayes' files, unless nothing would be left of what those cannot have. */
static void write_rounded(buffer *out, double p)
{
    if (p < 0.0005 && !has_six_decimals(p))
        buffer_double(out, p, 2);
    else
        buffer_fixed(out, p, 3);
}

/* Six decimals as in MrBayes' files, unless they would not read back: tails have more, and where
 * every tree is rare, digits count rather than decimals. */
static void write_weight(buffer *out, double p)
{
    if (has_six_decimals(p))
        buffer_fixed(out, p, 6);
    else if (p >= 1e-4)
        buffer_fixed(out, p, 10);
    else
        buffer_double(out, p, 6);
}

void tree_write_probability(buffer *out, tree_writer *w, size_t number, double p, double sum,
                            const int32_t *decision)
{
    buffer_printf(out, "   tree tree_%zu [p = ", number);
    write_rounded(out, p);
    buffer_text(out, ", P = ");
    write_rounded(out, sum);
    buffer_text(out, is_rooted(w, NULL) ? "] = [&R] [&W " : "] = [&W ");
    write_weight(out, p);
    buffer_text(out, "] ");
    write_tree(out, w, decision, NULL, true);
    buffer_char(out, '\n');
}

void tree_write_end(buffer *out)
{
    buffer_text(out, "end;\n");
}
