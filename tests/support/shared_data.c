#include "support/shared_data.h"

#include "base/mem.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_diag(int status, diag *d)
{
    if (status && d->count)
        print_error("%s\n", d->message[d->count - 1].text);
    diag_free(d);
    check_status(status);
}

void shared_data_open(shared_data *set, const char *name)
{
    char path[64];
    if (strcmp(set->name, name) == 0)
        return;
    shared_data_free(set);
    diag d;
    diag_init(&d);
    snprintf(set->name, sizeof set->name, "%s", name);
    snprintf(path, sizeof path, "data/alignments/%s.fasta", name);
    check_diag(alignment_read(&set->alignment, shared_path(path), NULL, &d), &d);
    const alignment *a = &set->alignment;
    taxa_init(&set->taxa);
    int32_t *moved = mem_zeros((size_t)a->n_taxa, sizeof *moved);
    set->taxon = mem_zeros((size_t)a->n_taxa, sizeof *set->taxon);
    assert_true(moved && set->taxon);
    for (int i = 0; i < a->n_taxa; i++)
        check_status(taxa_add(&set->taxa, a->name[i], strlen(a->name[i])));
    check_status(taxa_sort(&set->taxa, moved));
    for (int i = 0; i < a->n_taxa; i++)
        set->taxon[moved[i]] = i;
    free(moved);
}

void shared_data_tree(shared_data *set, const char *text)
{
    input in;
    diag d;
    diag_init(&d);
    tree_options options = {.taxa = &set->taxa, .taxa_from = "the alignment", .use = TREE_LENGTHS};
    tree_file_free(&set->trees);
    int status = input_from_memory(&in, "golden tree", text, strlen(text), NULL, &d);
    if (!status)
        status = tree_file_from_input(&set->trees, &in, &options, &d);
    if (!status)
        status = tree_file_next(&set->trees, &d);
    check_diag(status, &d);
}

void shared_data_free(shared_data *set)
{
    tree_file_free(&set->trees);
    alignment_free(&set->alignment);
    taxa_free(&set->taxa);
    free(set->taxon);
    memset(set, 0, sizeof *set);
}

void shared_data_edges(uint64_t *below, const shared_data *set)
{
    int32_t n_taxa = set->trees.tree.n_taxa, n_edges = topology_edges(n_taxa);
    int32_t *order = mem_zeros((size_t)n_edges, sizeof *order);
    topology t;
    assert_true(order && n_taxa <= 64);
    check_status(topology_init(&t, n_taxa));
    topology_build(&t, set->trees.tree.decision);
    topology_postorder(order, &t);
    for (int32_t k = 0; k < n_edges; k++) {
        int32_t v = order[k], *child = t.child[v];
        below[node_edge(v, n_taxa)] =
            v < n_taxa ? (uint64_t)1 << v
                       : below[node_edge(child[0], n_taxa)] | below[node_edge(child[1], n_taxa)];
    }
    topology_free(&t);
    free(order);
}

uint64_t shared_data_names(const shared_data *set, const json_t *names)
{
    uint64_t bits = 0, all = ~(uint64_t)0 >> (64 - set->taxa.count);
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        int32_t taxon = taxa_find(&set->taxa, json_string_value(name), json_string_length(name));
        assert_true(taxon >= 0);
        bits |= (uint64_t)1 << taxon;
    }
    return bits & 1 ? all & ~bits : bits;
}

json_t *shared_golden(const char *name)
{
    json_error_t error;
    json_t *root = json_load_file(golden_path(name), 0, &error);
    if (!root)
        fail_msg("%s: %s", name, error.text);
    return root;
}
