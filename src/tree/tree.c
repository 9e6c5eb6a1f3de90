#include "tree/tree.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tree_init(tree *t, int32_t n_taxa)
{
    memset(t, 0, sizeof *t);
    t->n_taxa = n_taxa;
    t->decision = mem_zeros((size_t)n_taxa, sizeof *t->decision);
    t->length = mem_zeros((size_t)topology_nodes(n_taxa), sizeof *t->length);
    if (t->decision && t->length)
        return ART_OK;
    tree_free(t);
    return ART_ERR_NOMEM;
}

void tree_free(tree *t)
{
    free(t->decision);
    free(t->length);
    memset(t, 0, sizeof *t);
}

void tree_labels_init(tree_labels *l, const taxa *names, const char *from)
{
    memset(l, 0, sizeof *l);
    l->taxa = names;
    l->from = from;
}

void tree_labels_free(tree_labels *l)
{
    taxa_free(&l->token);
    free(l->meaning);
    free(l->place);
    memset(l, 0, sizeof *l);
}

int tree_labels_add(tree_labels *l, const char *token, size_t length, int32_t taxon)
{
    int status = taxa_add(&l->token, token, length);
    if (status)
        return status;
    if (l->room < l->token.room) {
        int32_t *meaning = mem_resize(l->meaning, (size_t)l->token.room, sizeof *meaning);
        if (!meaning)
            return ART_ERR_NOMEM;
        l->meaning = meaning;
        l->room = l->token.room;
    }
    l->meaning[l->token.count - 1] = taxon;
    return ART_OK;
}

int32_t tree_labels_find(const tree_labels *l, const char *label, size_t length)
{
    int32_t token = taxa_find(&l->token, label, length);
    if (token < 0)
        return taxa_find(l->taxa, label, length);
    return l->place ? l->place[l->meaning[token]] : l->meaning[token];
}

const char *tree_labels_name(const tree_labels *l, const char *label, size_t *length)
{
    const taxa *names = l->listed ? l->listed : l->taxa;
    int32_t token = taxa_find(&l->token, label, *length);
    if (token < 0)
        return label;
    const char *name = names->name[l->meaning[token]];
    *length = strlen(name);
    return name;
}

int tree_builder_init(tree_builder *b, int32_t n_taxa)
{
    memset(b, 0, sizeof *b);
    int status = topology_init(&b->topology, n_taxa);
    if (status)
        return status;
    size_t n = (size_t)n_taxa;
    b->block = mem_zeros(13 * n, sizeof *b->block);
    b->length = mem_zeros(2 * n, sizeof *b->length);
    if (!b->block || !b->length) {
        tree_builder_free(b);
        return ART_ERR_NOMEM;
    }
    b->leaf = b->block;
    b->up = b->leaf + n;
    b->id = b->up + 2 * n;
    b->edge = b->id + 2 * n;
    b->scratch = b->edge + 2 * n;
    return ART_OK;
}

void tree_builder_free(tree_builder *b)
{
    topology_free(&b->topology);
    free(b->block);
    free(b->length);
    memset(b, 0, sizeof *b);
}

static bool is_digits(const newick_node *node)
{
    for (uint32_t i = 0; i < node->label_length; i++)
        if (node->label[i] < '0' || node->label[i] > '9')
            return false;
    return node->label_length > 0;
}

/* Whether lengths have decimal commas, (a:0,5,b:1,25): every length is a whole number, and behind
 * each comes a taxon without a length that is called by a number. */
static bool has_decimal_commas(const newick *n, const tree_labels *labels)
{
    int32_t lengths = 0, pairs = 0;
    if (labels->token.count)
        return false;
    for (int32_t i = 1; i < n->count; i++) {
        const newick_node *node = &n->node[i];
        lengths += node->has_length;
        if (node->has_length && node->length != floor(node->length))
            return false;
        if (node->has_length || node->n_children)
            continue;
        if (!is_digits(node))
            return false;
        pairs++;
    }
    return pairs > 0 && pairs == lengths;
}

/* Every inner node has two children; the root may have three. */
static int check_degrees(const newick *n, const tree_labels *labels, bool polytomies,
                         const input *in, diag *d)
{
    int32_t single = 0, many = 0;
    const newick_node *first_single = NULL, *first_many = NULL;
    for (int32_t i = n->count - 1; i >= 0; i--) {
        const newick_node *node = &n->node[i];
        if (node->n_children == 1) {
            single++;
            first_single = node;
        } else if (node->n_children > (i == 0 ? 3 : 2)) {
            many++;
            first_many = node;
        }
    }
    if (single)
        return diag_error(d, ART_ERR_INPUT, input_place(in, first_single->from),
                          "the tree has %d node(s) with a single child, the first one here -- "
                          "remove the extra pair of parentheses, or collapse such nodes (in R with "
                          "ape: collapse.singles)",
                          single);
    if (many && has_decimal_commas(n, labels))
        return diag_error(d, ART_ERR_INPUT, input_place(in, first_many->from),
                          "the tree has %d multifurcating node(s), because its branch lengths have "
                          "a decimal comma -- write a decimal point, not a comma",
                          many);
    if (many && !polytomies)
        return diag_error(d, ART_ERR_INPUT, input_place(in, first_many->from),
                          "the tree has %d multifurcating node(s) (polytomies), the first one here "
                          "with %d children -- bifurcating trees are needed here; resolve it (in R "
                          "with ape: multi2di)",
                          many, first_many->n_children);
    return ART_OK;
}

int tree_match_leaves(int32_t *leaf, const newick *n, const tree_labels *labels, const input *in,
                      diag *d)
{
    const taxa *names = labels->taxa;
    char shown[128];
    int32_t wrong = 0, repeated = 0, seen = 0;
    memset(leaf, -1, (size_t)names->count * sizeof *leaf);
    for (int32_t i = 0; i < n->count; i++) {
        const newick_node *node = &n->node[i];
        if (node->n_children)
            continue;
        size_t length;
        const char *label = newick_label(n, node, &length);
        int32_t taxon = tree_labels_find(labels, label, length);
        label = tree_labels_name(labels, label, &length);
        if (taxon < 0) {
            diag_error(d, 0, input_place(in, node->from),
                       "taxon %s of the tree is not in %s -- use the same names in both",
                       diag_quote(shown, sizeof shown, label, length), labels->from);
            wrong++;
        } else if (leaf[taxon] >= 0) {
            diag_error(d, 0, input_place(in, node->from),
                       "taxon %s occurs twice in the tree -- every taxon must occur once",
                       diag_quote(shown, sizeof shown, label, length));
            wrong++;
            repeated++;
        } else {
            leaf[taxon] = i;
            seen++;
        }
    }
    for (int32_t taxon = 0; taxon < names->count && seen < names->count; taxon++)
        if (leaf[taxon] < 0) {
            const char *name = names->name[taxon];
            diag_error(d, 0, input_place(in, n->node[0].from),
                       "taxon %s of %s is missing from the tree -- use the same taxa in both",
                       diag_quote(shown, sizeof shown, name, strlen(name)), labels->from);
            wrong++;
        }
    if (wrong > repeated && labels->may_prune)
        diag_advise(d, ADVICE_COMMON_TAXA);
    return wrong ? ART_ERR_MISMATCH : ART_OK;
}

/* Fills b->length by the nodes of the text, NaN where there is none. */
static int take_lengths(tree *t, tree_builder *b, const newick *n, tree_use use, const input *in,
                        diag *d)
{
    int status = ART_OK;
    t->has_negative = false;
    b->length[0] = (double)NAN; /* a length above the root means nothing */
    for (int32_t i = 1; i < n->count; i++) {
        const newick_node *node = &n->node[i];
        b->length[i] = node->has_length ? node->length : (double)NAN;
        if (!(b->length[i] < 0))
            continue;
        t->has_negative = true;
        if (use == TREE_LENGTHS_KNOWN)
            b->length[i] = (double)NAN;
        if (use == TREE_LENGTHS)
            status =
                diag_error(d, ART_ERR_INPUT, input_place(in, node->from),
                           "the branch length %g is negative -- branch lengths must be 0 or more",
                           node->length);
    }
    return status;
}

/* Hangs the tree from taxon 0: the path from its leaf to the root is turned around, and a root
 * with two children drops out. Fills b->up; b->length moves along. */
static void hang_from_taxon_0(tree_builder *b, const newick *n)
{
    int32_t top = 0;
    for (int32_t i = 0; i < n->count; i++)
        b->up[i] = n->node[i].parent;
    if (n->node[0].n_children == 2) {
        int32_t other = n->count - 1; /* the second child of the root ... */
        while (n->node[other].parent != 0)
            other--;
        top = 1; /* ... and the first */
        for (int32_t v = b->leaf[0]; v != 0; v = n->node[v].parent)
            if (v == other) {
                other = 1;
                top = v;
            }
        b->up[other] = top;
        b->length[other] += b->length[top];
    }
    int32_t above = -1, v = b->leaf[0];
    double length = 0;
    for (;;) {
        int32_t next = b->up[v];
        double own = b->length[v];
        b->up[v] = above;
        b->length[v] = length;
        if (v == top)
            break;
        above = v;
        length = own;
        v = next;
    }
}

/* Node v of the topology becomes a child of node above. If that has two already, they go below a
 * new node, whose branch is not one of the tree. */
static void add_child(topology *t, int32_t above, int32_t v, int32_t *inner)
{
    int32_t *child = t->child[above];
    if (child[0] >= 0 && child[1] >= 0) {
        const int32_t new = (*inner)++;
        for (int i = 0; i < 2; i++) {
            t->child[new][i] = child[i];
            t->parent[child[i]] = new;
        }
        t->parent[new] = above;
        child[0] = new;
        child[1] = -1;
    }
    child[child[0] >= 0] = v;
    t->parent[v] = above;
}

/* The hanging tree as a topology, inner nodes in the order of the text; then those that resolve
 * polytomies, of which the first is returned. Children are added in the order of their smallest
 * taxon, so that a polytomy is always resolved in the same way: (((1,2),3),4). */
static int32_t fill_topology(tree_builder *b, const newick *n)
{
    topology *t = &b->topology;
    int32_t n_taxa = t->n_taxa, inner = n_taxa;
    int32_t from = n->node[0].n_children == 2; /* a removed root is not a node */
    for (int32_t i = from; i < n->count; i++)
        if (n->node[i].n_children)
            b->id[i] = inner++;
    for (int32_t taxon = 0; taxon < n_taxa; taxon++)
        b->id[b->leaf[taxon]] = taxon;
    const int32_t added = inner;
    t->child[0][0] = t->parent[0] = -1;
    memset(t->child + n_taxa, -1, (size_t)(n_taxa - 2) * sizeof *t->child);
    for (int32_t taxon = 1; taxon < n_taxa; taxon++) {
        bool is_first = true; /* below the node above: then nothing hangs there yet */
        for (int32_t v = b->leaf[taxon]; is_first && b->id[v] != 0; v = b->up[v]) {
            const int32_t above = b->id[b->up[v]];
            is_first = t->child[above][0] < 0;
            add_child(t, above, b->id[v], &inner);
        }
    }
    t->n_leaves = n_taxa;
    return added;
}

/* Marks the branches above nodes added .. 2N-3 of the built topology, and gives them lengths. */
static void mark_contracted(tree *t, const tree_builder *b, int32_t added)
{
    const topology *own = &b->topology;
    const int32_t top = b->edge[own->child[0][0]];
    t->n_contracted = topology_nodes(own->n_taxa) - added;
    for (int32_t v = added; v < topology_nodes(own->n_taxa); v++) {
        int32_t *decision = &t->decision[decision_of_edge(b->edge[v], top)];
        *decision = ~*decision;
        t->length[b->edge[v]] = t->has_lengths ? 0 : (double)NAN;
    }
}

int tree_build(tree *t, tree_builder *b, const newick *n, const tree_labels *labels,
               const tree_rules *rules, const input *in, diag *d)
{
    int status = check_degrees(n, labels, rules->polytomies, in, d);
    if (!status)
        status = tree_match_leaves(b->leaf, n, labels, in, d);
    if (!status)
        status = take_lengths(t, b, n, rules->use, in, d);
    if (status)
        return status;
    hang_from_taxon_0(b, n);
    const int32_t added = fill_topology(b, n);
    topology_decisions(t->decision, b->edge, &b->topology, b->scratch);
    t->was_rooted = n->node[0].n_children == 2;
    t->has_weight = n->has_weight;
    t->weight = n->weight;
    t->has_lengths = true;
    for (int32_t i = t->was_rooted; i < n->count; i++)
        if (b->id[i] != 0) {
            t->length[b->edge[b->id[i]]] = b->length[i];
            t->has_lengths &= !isnan(b->length[i]);
        }
    mark_contracted(t, b, added);
    return ART_OK;
}

int tree_collect_names(taxa *names, const newick *n, const tree_labels *labels, const input *in,
                       diag *d)
{
    int status = ART_OK;
    for (int32_t i = 0; i < n->count && !status; i++) {
        const newick_node *node = &n->node[i];
        if (node->n_children)
            continue;
        char shown[128], first[128];
        size_t length;
        const char *label = newick_label(n, node, &length);
        label = tree_labels_name(labels, label, &length);
        const int32_t known = taxa_find(names, label, length);
        const taxa *listed = labels->listed;
        if (listed && listed->count && taxa_find(listed, label, length) < 0)
            status =
                diag_error(d, ART_ERR_MISMATCH, input_place(in, node->from),
                           "taxon %s of the tree is not in the list of taxa of the file -- use "
                           "the same names in both",
                           diag_quote(shown, sizeof shown, label, length));
        else if (utf8_invalid(label, length) < length)
            status = diag_error(d, ART_ERR_INPUT, input_place(in, node->from),
                                "the name %s is not valid UTF-8 -- save the file as UTF-8",
                                diag_quote(shown, sizeof shown, label, length));
        else if (known < 0)
            status = taxa_add(names, label, length);
        else if (memcmp(names->name[known], label, length) != 0)
            status = diag_error(
                d, ART_ERR_INPUT, input_place(in, node->from),
                "%s and %s differ only in blanks and underscores, which tree files treat as the "
                "same -- rename one of them",
                diag_quote(first, sizeof first, names->name[known], strlen(names->name[known])),
                diag_quote(shown, sizeof shown, label, length));
    }
    return status;
}
