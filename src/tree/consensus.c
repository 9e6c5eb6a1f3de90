#include "tree/consensus.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void consensus_free(consensus *c)
{
    free(c->node);
    memset(c, 0, sizeof *c);
}

/* A branch to be: a split, as the taxa below it; for the branch of taxon 0 that taxon alone. */
typedef struct cluster {
    const uint64_t *bits; /* NULL for taxon 0 */
    int32_t smallest;
    int32_t size;
    int32_t parent;      /* number of the cluster around it, -1 as long as it is not known */
    consensus_node node; /* all but its parent */
} cluster;

static consensus_node unknown_node(int32_t taxon)
{
    const double nan = (double)NAN;
    return (consensus_node){-1, taxon, nan, nan, nan, {nan, nan, nan, nan}};
}

static cluster make_cluster(const uint64_t *bits, int32_t n_taxa)
{
    cluster c = {.bits = bits, .size = split_size(bits, n_taxa), .parent = -1};
    size_t w = 0;
    while (bits[w] == 0)
        w++;
    c.smallest = (int32_t)(64 * w) + __builtin_ctzll(bits[w]);
    if (c.size == n_taxa - 1) {
        c.bits = NULL;
        c.smallest = 0;
        c.size = 1;
    }
    c.node = unknown_node(c.size == 1 ? c.smallest : -1);
    return c;
}

static int by_size(const void *a, const void *b)
{
    const cluster *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

/* Clusters as a tree: they count from 1, in the order of list; 0 is the root, and the end of a
 * list of children. */
typedef struct nesting {
    cluster *list;
    int32_t *top;   /* [n_taxa] the largest cluster with the taxon so far, 0 if there is none */
    int32_t *first; /* first child of each */
    int32_t *last;  /* last child of each */
    int32_t *next;  /* next child of the same parent */
    int32_t *place; /* node of each in the consensus tree */
} nesting;

/* What is inside becomes the children of cluster i, by their smallest taxon. */
static void adopt(nesting *n, int32_t i, int32_t taxon)
{
    int32_t child = n->top[taxon];
    n->top[taxon] = i;
    if (child == 0 || child == i || n->list[child - 1].parent >= 0)
        return;
    n->list[child - 1].parent = i;
    if (n->last[i])
        n->next[n->last[i]] = child;
    else
        n->first[i] = child;
    n->last[i] = child;
}

/* Fills c->node, by depth. */
static void number_nodes(consensus *c, const nesting *n)
{
    int32_t at = n->first[0];
    for (int32_t i = 1; i < c->count; i++) {
        n->place[at] = i;
        c->node[i] = n->list[at - 1].node;
        c->node[i].parent = n->place[n->list[at - 1].parent];
        if (n->first[at]) {
            at = n->first[at];
            continue;
        }
        while (at && !n->next[at])
            at = n->list[at - 1].parent;
        at = n->next[at];
    }
}

/* The tree of compatible clusters, among them every single taxon. */
static int arrange(consensus *c, cluster *list, int32_t count, int32_t n_taxa)
{
    size_t nodes = (size_t)count + 1;
    int32_t *block = mem_zeros((size_t)n_taxa + 4 * nodes, sizeof *block);
    c->node = mem_zeros(nodes, sizeof *c->node);
    if (!block || !c->node) {
        free(block);
        return ART_ERR_NOMEM;
    }
    nesting n = {.list = list, .top = block, .first = block + n_taxa};
    n.last = n.first + nodes;
    n.next = n.last + nodes;
    n.place = n.next + nodes;
    c->n_taxa = n_taxa;
    c->count = count + 1;
    c->node[0] = unknown_node(-1);
    qsort(list, (size_t)count, sizeof *list, by_size);
    for (int32_t i = 1; i <= count; i++) {
        const cluster *own = &list[i - 1];
        adopt(&n, i, own->smallest);
        for (int32_t t = own->smallest + 1; own->size > 1 && t < n_taxa; t++)
            if (split_has(own->bits, t))
                adopt(&n, i, t);
    }
    for (int32_t t = 0; t < n_taxa; t++)
        adopt(&n, 0, t);
    number_nodes(c, &n);
    free(block);
    return ART_OK;
}

static bool fits(const uint64_t *split, const cluster *list, int32_t count, int32_t n_taxa)
{
    for (int32_t i = 0; i < count; i++)
        if (list[i].size > 1 && !split_compatible(split, list[i].bits, n_taxa))
            return false;
    return true;
}

int consensus_build(consensus *c, const split_table *splits, consensus_kind kind)
{
    static const double rounding = 1e-9; /* frequencies are sums of many weights */
    int32_t n_taxa = splits->n_taxa, count = 0;
    double least = kind == CONSENSUS_STRICT     ? 1 - rounding
                   : kind == CONSENSUS_MAJORITY ? 0.5 + rounding
                                                : 0;
    int status = ART_ERR_NOMEM;
    memset(c, 0, sizeof *c);
    if (splits->count == 0)
        return ART_ERR_USAGE;
    size_t *order = mem_zeros(splits->count, sizeof *order);
    cluster *list = mem_zeros((size_t)topology_edges(n_taxa), sizeof *list);
    if (!order || !list || (status = split_table_order(order, splits)) != ART_OK)
        goto out;
    for (size_t k = 0; k < splits->count && count < topology_edges(n_taxa); k++) {
        size_t i = order[k];
        const uint64_t *bits = split_table_bits(splits, i);
        if (!split_is_trivial(bits, n_taxa) &&
            (split_frequency(splits, i) < least || !fits(bits, list, count, n_taxa)))
            continue;
        cluster *new = &list[count++];
        *new = make_cluster(bits, n_taxa);
        new->node.support = fmin(1, split_frequency(splits, i));
        if (splits->known[i] > 0) {
            new->node.length = splits->mean[i];
            new->node.length_sd = split_sd(splits, i);
        }
    }
    status = arrange(c, list, count, n_taxa);
out:
    free(order);
    free(list);
    return status;
}

static double support_of(const newick_node *node)
{
    double value;
    if (newick_annotation(&value, node, "prob") ||
        (node->n_children && node->label &&
         number_double(&value, node->label, node->label_length) == ART_OK))
        return value;
    return (double)NAN;
}

/* bits [count][words] becomes the taxa below every node, or beside it if taxon 0 is below. */
static void sides_without_taxon_0(uint64_t *bits, const newick *n, const int32_t *leaf,
                                  int32_t n_taxa)
{
    size_t words = split_words(n_taxa);
    for (int32_t taxon = 0; taxon < n_taxa; taxon++)
        bits[(size_t)leaf[taxon] * words + (size_t)taxon / 64] |= (uint64_t)1 << (taxon % 64);
    for (int32_t i = n->count - 1; i > 0; i--)
        for (size_t w = 0; w < words; w++)
            bits[(size_t)n->node[i].parent * words + w] |= bits[(size_t)i * words + w];
    for (int32_t i = 1; i < n->count; i++) {
        uint64_t *own = bits + (size_t)i * words;
        if (split_has(own, 0))
            for (size_t w = 0; w < words; w++)
                own[w] = bits[w] & ~own[w]; /* the root has them all */
    }
}

int consensus_from_newick(consensus *c, const newick *n, const tree_labels *labels, const input *in,
                          diag *d)
{
    int32_t n_taxa = labels->taxa->count, count = 0;
    memset(c, 0, sizeof *c);
    for (int32_t i = 0; i < n->count; i++)
        if (n->node[i].n_children == 1)
            return diag_error(d, ART_ERR_INPUT, input_place(in, n->node[i].from),
                              "a node with a single child -- remove the extra parentheses");
    int32_t *leaf = mem_zeros((size_t)n_taxa, sizeof *leaf);
    uint64_t *bits = mem_zeros((size_t)n->count * split_words(n_taxa), sizeof *bits);
    cluster *list = mem_zeros((size_t)n->count, sizeof *list);
    int status = ART_ERR_NOMEM;
    if (!leaf || !bits || !list)
        goto out;
    if ((status = tree_match_leaves(leaf, n, labels, in, d)) != ART_OK)
        goto out;
    sides_without_taxon_0(bits, n, leaf, n_taxa);
    for (int32_t i = 1; i < n->count; i++) {
        const newick_node *node = &n->node[i];
        cluster *new = &list[count++];
        *new = make_cluster(bits + (size_t)i * split_words(n_taxa), n_taxa);
        new->node.support = support_of(node);
        new->node.length = node->has_length ? node->length : (double)NAN;
        /* Both children of a root with two are one branch; the first child is node 1. */
        if (i > 1 && node->parent == 0 && n->node[0].n_children == 2) {
            list[0].node.length += new->node.length;
            if (isnan(list[0].node.support))
                list[0].node.support = new->node.support;
            count--;
        }
    }
    status = arrange(c, list, count, n_taxa);
out:
    free(leaf);
    free(bits);
    free(list);
    return status;
}

int consensus_from_topology(consensus *c, const topology *t, const int32_t *decision,
                            const double *length)
{
    const int32_t n_taxa = t->n_taxa, edges = topology_edges(n_taxa);
    const size_t words = split_words(n_taxa);
    int32_t count = 0;
    int status = ART_ERR_NOMEM;
    memset(c, 0, sizeof *c);
    uint64_t *bits = mem_zeros((size_t)edges * words, sizeof *bits);
    int32_t *order = mem_zeros((size_t)edges, sizeof *order);
    bool *is_contracted = mem_zeros((size_t)edges, sizeof *is_contracted);
    cluster *list = mem_zeros((size_t)edges, sizeof *list);
    if (!bits || !order || !is_contracted || !list)
        goto out;
    splits_of(bits, t, order);
    topology_contracted(is_contracted, t, decision);
    for (int32_t e = 0; e < edges; e++) {
        if (is_contracted[e])
            continue;
        list[count] = make_cluster(bits + (size_t)e * words, n_taxa);
        list[count++].node.length = length ? length[e] : (double)NAN;
    }
    status = arrange(c, list, count, n_taxa);
out:
    free(bits);
    free(order);
    free(is_contracted);
    free(list);
    return status;
}

/* The branches of the consensus as splits [count][words]; node 0 has none. */
static void splits_of_nodes(uint64_t *bits, const consensus *c)
{
    const size_t words = split_words(c->n_taxa);
    for (int32_t i = c->count - 1; i > 0; i--) {
        const consensus_node *node = &c->node[i];
        uint64_t *own = bits + (size_t)i * words;
        if (node->taxon >= 0)
            own[node->taxon / 64] |= (uint64_t)1 << (node->taxon % 64);
        for (size_t w = 0; w < words; w++)
            bits[(size_t)node->parent * words + w] |= own[w];
    }
    for (int32_t i = 1; i < c->count; i++)
        if (c->node[i].taxon == 0) /* the side without taxon 0 */
            for (size_t w = 0; w < words; w++)
                bits[(size_t)i * words + w] ^= bits[w];
}

/* value [nodes][rows] becomes the length of the branch of each node in each row, NaN where the tree
 * lacks it. */
static int collect_lengths(double *value, const consensus *c, const tree_rows *rows)
{
    const int32_t n_taxa = c->n_taxa, edges = topology_edges(n_taxa);
    const size_t words = split_words(n_taxa), nodes = (size_t)c->count;
    uint64_t *bits = mem_zeros((nodes + (size_t)edges) * words, sizeof *bits);
    int32_t *order = mem_zeros((size_t)edges, sizeof *order);
    bool *is_contracted = mem_zeros((size_t)edges, sizeof *is_contracted);
    topology t = {0};
    key_table known;
    key_table_init(&known, words * sizeof *bits);
    int status = bits && order && is_contracted ? topology_init(&t, n_taxa) : ART_ERR_NOMEM;
    if (!status)
        status = key_table_reserve(&known, nodes);
    if (status)
        goto out;
    splits_of_nodes(bits, c);
    for (size_t i = 1; i < nodes; i++)
        key_table_put(&known, bits + i * words);
    uint64_t *own = bits + nodes * words;
    for (size_t r = 0; r < rows->count; r++) {
        const int32_t *decision = rows->decision + r * (size_t)(n_taxa - 3);
        topology_build(&t, decision);
        splits_of(own, &t, order);
        topology_contracted(is_contracted, &t, decision);
        for (int32_t e = 0; e < edges; e++) {
            const int64_t at =
                is_contracted[e] ? KEY_NONE : key_table_find(&known, own + (size_t)e * words);
            if (at >= 0)
                value[((size_t)at + 1) * rows->count + r] =
                    rows->length[r * (size_t)edges + (size_t)e];
        }
    }
out:
    key_table_free(&known);
    topology_free(&t);
    free(bits);
    free(order);
    free(is_contracted);
    return status;
}

int consensus_add_ranges(consensus *c, const tree_rows *rows)
{
    const size_t nodes = (size_t)c->count, n = rows->count;
    double *value = mem_zeros(nodes * n + 2 * n, sizeof *value);
    if (!value)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < nodes * n; i++)
        value[i] = (double)NAN;
    double *seen = value + nodes * n, *weight = seen + n;
    int status = collect_lengths(value, c, rows);
    for (size_t i = 1; i < nodes && !status; i++) {
        size_t count = 0;
        for (size_t r = 0; r < n; r++)
            if (!isnan(value[i * n + r])) {
                seen[count] = value[i * n + r];
                weight[count++] = rows->weight ? rows->weight[r] : 1;
            }
        status = interval_of(&c->node[i].range, seen, weight, count, 0.95);
    }
    free(value);
    return status;
}

/* What stands behind a node: support and length, as Newick labels or as annotations. */
typedef struct node_style {
    bool annotate; /* as MrBayes does */
    bool support;  /* as labels */
    int digits;
} node_style;

static void write_annotation(buffer *out, const consensus_node *node)
{
    buffer_text(out, "[&length_mean=");
    buffer_double(out, node->length, 9);
    if (!isnan(node->length_sd)) {
        buffer_text(out, ",length_sd=");
        buffer_double(out, node->length_sd, 9);
    }
    if (!isnan(node->range.median)) {
        buffer_text(out, ",length_median=");
        buffer_double(out, node->range.median, 9);
        buffer_text(out, ",length_95%HPD={");
        buffer_double(out, node->range.low, 9);
        buffer_char(out, ',');
        buffer_double(out, node->range.high, 9);
        buffer_char(out, '}');
    }
    buffer_char(out, ']');
}

static void write_node(buffer *out, const consensus_node *node, node_style style)
{
    bool inner = node->taxon < 0;
    if (style.annotate && !isnan(node->support)) {
        buffer_text(out, "[&prob=");
        buffer_double(out, node->support, 9);
        buffer_text(out, ",prob(percent)=\"");
        buffer_fixed(out, 100 * node->support, 0);
        buffer_text(out, "\"]");
    } else if (style.support && inner && !isnan(node->support)) {
        buffer_double(out, node->support, 6);
    }
    if (isnan(node->length))
        return;
    buffer_char(out, ':');
    buffer_double(out, node->length, style.digits);
    if (style.annotate && !(isnan(node->length_sd) && isnan(node->range.median)))
        write_annotation(out, node);
}

/* The nodes are in the order of the text: only the closing parentheses have to be found. names
 * NULL: the numbers of the taxa. */
static void write_tree(buffer *out, const consensus *c, const taxa *names, node_style style)
{
    for (int32_t i = 0; i < c->count; i++) {
        const consensus_node *node = &c->node[i];
        if (node->taxon < 0) {
            buffer_char(out, '(');
            continue;
        }
        if (names)
            nexus_write_name(out, names->name[node->taxon], QUOTE_NEWICK);
        else
            buffer_printf(out, "%d", node->taxon + 1);
        write_node(out, node, style);
        int32_t next = i + 1 < c->count ? c->node[i + 1].parent : -1;
        for (int32_t at = node->parent; at != next; at = c->node[at].parent) {
            buffer_char(out, ')');
            write_node(out, &c->node[at], style);
        }
        buffer_char(out, next < 0 ? ';' : ',');
    }
}

void consensus_write_newick(buffer *out, const consensus *c, const taxa *names)
{
    write_tree(out, c, names, (node_style){.support = true, .digits = 9});
}

void consensus_write_plain(buffer *out, const consensus *c, const taxa *names, int digits)
{
    write_tree(out, c, names, (node_style){.digits = digits});
}

void consensus_write_nexus(buffer *out, const consensus *c, const taxa *names, const char *name)
{
    buffer_printf(out, "#NEXUS\n\nbegin taxa;\n\tdimensions ntax=%d;\n\ttaxlabels\n", names->count);
    for (int32_t i = 0; i < names->count; i++) {
        buffer_text(out, "\t\t");
        nexus_write_name(out, names->name[i], QUOTE_NEXUS);
        buffer_char(out, '\n');
    }
    buffer_text(out, "\t\t;\nend;\nbegin trees;\n\ttranslate\n");
    for (int32_t i = 0; i < names->count; i++) {
        buffer_printf(out, "\t\t%d\t", i + 1);
        nexus_write_name(out, names->name[i], QUOTE_NEXUS);
        buffer_text(out, i + 1 < names->count ? ",\n" : "\n");
    }
    buffer_text(out, "\t\t;\n   tree ");
    nexus_write_name(out, name, QUOTE_NEXUS);
    buffer_text(out, c->is_rooted ? " = [&R] " : " = [&U] ");
    write_tree(out, c, NULL, (node_style){.annotate = true, .digits = 9});
    buffer_text(out, "\nend;\n");
}
