/* embed: the node embeddings of trees. */
#include "artreeformer.h"
#include "base/mem.h"
#include "cli/session.h"
#include "density/artreeformer/embedding.h"
#include "tree/tree_file.h"

#include <stdlib.h>

typedef struct settings {
    common_settings common;
    option_files trees;
    int embedding; /* of enum embedding_method */
    double tolerance;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .tolerance = 1e-12};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREE", REQUIRED, "Newick or NEXUS trees; - is standard input"),
    OPTION_HEADING("What to do"),
    OPTION_CHOICE(settings, embedding, "--embedding", OPTIONAL, EMBEDDING_METHODS,
                  "method: elimination (the first two choices are the same here), iteration, or "
                  "iteration by repeated squaring"),
    OPTION_REAL(
        settings, tolerance, "--tolerance", OPTIONAL, 1e-15, 1,
        "tolerance of the iterative methods: the largest distance of a column from its limit"),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* Memory reused for each tree; all trees have the same taxa. */
typedef struct embedder {
    topology tree;
    embedding_plan plan;
    double *f;    /* [2N-2][N] */
    double *work; /* of embedding_matrix */
} embedder;

static int embedder_init(embedder *e, int32_t n_taxa)
{
    const size_t n = (size_t)n_taxa;
    int status = topology_init(&e->tree, n_taxa);
    if (status == ART_OK)
        status = embedding_plan_init(&e->plan, n_taxa);
    if (status != ART_OK)
        return status;
    e->f = mem_zeros((2 * n - 2) * n, sizeof *e->f);
    e->work = mem_zeros(embedding_work(n_taxa), sizeof *e->work);
    return e->f && e->work ? ART_OK : ART_ERR_NOMEM;
}

static void embedder_free(embedder *e)
{
    topology_free(&e->tree);
    embedding_plan_free(&e->plan);
    free(e->f);
    free(e->work);
}

static void put_header(output *o, const taxa *names)
{
    output_text(o, "tree\tnode\tname\tparent");
    for (int32_t i = 0; i < names->count; i++) {
        output_text(o, "\t");
        output_field(o, names->name[i]);
    }
    output_text(o, "\n");
}

/* One line per node: first the taxa in their order, then the internal nodes. */
static void put_tree(output *o, const embedder *e, const taxa *names, size_t number)
{
    const int32_t n = names->count;
    for (int32_t node = 0; node < topology_nodes(n); node++) {
        const double *f = e->f + (ptrdiff_t)node_row(node, n) * n;
        output_printf(o, "%zu\t%d\t", number, node + 1);
        output_field(o, node < n ? names->name[node] : "");
        if (node == 0)
            output_text(o, "\t");
        else
            output_printf(o, "\t%d", e->tree.parent[node] + 1);
        for (int32_t i = 0; i < n; i++)
            output_printf(o, "\t%.15g", f[i]);
        output_text(o, "\n");
    }
}

static int embed_file(session *s, const settings *set, const char *path)
{
    tree_file f;
    embedder e = {0};
    int status = tree_file_open(&f, path, &(tree_options){.use = TREE_TOPOLOGY}, &s->diag);
    if (status == ART_OK)
        status = embedder_init(&e, f.taxa->count);
    if (status == ART_OK)
        put_header(&s->table, f.taxa);
    for (size_t i = 1; status == ART_OK && tree_file_more(&f); i++) {
        status = tree_file_next(&f, &s->diag);
        if (status != ART_OK)
            break;
        topology_build(&e.tree, f.tree.decision);
        embedding_plan_set(&e.plan, &e.tree);
        int rounds = embedding_matrix(e.f, &e.plan, (embedding_method)set->embedding,
                                      set->tolerance, e.work);
        put_tree(&s->table, &e, f.taxa, i);
        if (rounds)
            log_info(&s->log, "%s: tree %zu: %d %s", path, i, rounds,
                     set->embedding == EMBEDDING_SQUARED ? "squarings" : "iterations");
    }
    embedder_free(&e);
    tree_file_free(&f);
    return status;
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    int status = ART_OK;
    for (int i = 0; i < set->trees.count && status == ART_OK; i++)
        status = embed_file(s, set, set->trees.path[i]);
    return status;
}

const command embed_command = {
    .name = "embed",
    .summary = "node embeddings of trees",
    .description = "Prints the embedding of every node of a tree, with one column per taxon in "
                   "lexicographic order. The embedding of a taxon is a unit vector; that of an "
                   "internal node is the mean of its three neighbours, which gives the probability "
                   "that a random walk from this node ends at each taxon. Nodes are numbered from "
                   "1, taxa first; parent is the neighbour on the path to the first taxon.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
