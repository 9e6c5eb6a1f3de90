#include "tree/tree_file.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void tree_file_free(tree_file *f)
{
    input_free(&f->in);
    tree_index_free(&f->index);
    taxa_free(&f->own);
    newick_free(&f->text);
    tree_free(&f->tree);
    tree_builder_free(&f->builder);
    memset(f, 0, sizeof *f);
}

/* The taxa are the given ones or those of the first tree. What the file lists may be more than its
 * trees have, internal nodes for example: the list only says what labels mean. */
static int settle_taxa(tree_file *f, const tree_options *o, diag *d)
{
    const taxa *listed = &f->index.names;
    tree_labels *labels = &f->index.labels;
    labels->may_prune = o->may_prune;
    if (o->taxa) {
        labels->taxa = o->taxa;
        labels->from = o->taxa_from ? o->taxa_from : "the given taxa";
    } else {
        f->words.at = f->index.start[0];
        int status = newick_read(&f->text, &f->words);
        if (!status)
            status = tree_collect_names(&f->own, &f->text, labels, &f->in, d);
        if (!status)
            status = taxa_sort(&f->own, NULL);
        if (status)
            return status;
        labels->taxa = &f->own;
        labels->from = "the first tree of the file";
    }
    f->taxa = labels->taxa;
    if (f->taxa->count < 3)
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the trees have %d different taxa -- at least 3 are needed",
                          f->taxa->count);
    labels->place = mem_zeros((size_t)listed->count, sizeof *labels->place);
    if (!labels->place)
        return ART_ERR_NOMEM;
    taxa_map(labels->place, listed, labels->taxa);
    return ART_OK;
}

static bool named(const tree_file *f, const char *suffix)
{
    size_t n = strlen(f->in.name), m = strlen(suffix);
    return n >= m && strcasecmp(f->in.name + n - m, suffix) == 0;
}

/* Some trees have a weight and some have none. That counts as 1, as in PAUP and DendroPy, unless
 * the others are probabilities, among which 1 would be nearly all, or must be. */
static int settle_missing_weights(tree_file *f, bool must, size_t missing, size_t first, diag *d)
{
    const double given = f->total - (double)missing;
    if (must || given <= 1)
        return diag_error(d, ART_ERR_INPUT, input_place(&f->in, f->index.start[first]),
                          "this tree has no weight -- give all trees a weight [&W w], or none in a "
                          "file that is not called .trprobs");
    diag_note(
        d, input_place(&f->in, f->index.start[first]),
        "%zu of %zu trees %s no weight, the first one here; they count 1, and the weights are "
        "normalized",
        missing, f->count, format_noun(missing, "has", "have"));
    return ART_OK;
}

/* Sums the weights, which all trees of a .trprobs file must have. */
static int sum_weights(tree_file *f, diag *d)
{
    const bool must = named(f, ".trprobs") || named(f, ".trprobs.gz");
    size_t missing = 0, first = 0;
    f->total = 0;
    for (size_t i = 0; i < f->count; i++) {
        f->words.at = f->index.start[i];
        int status = newick_read_head(&f->text, &f->words);
        if (status)
            return status;
        if (!f->text.has_weight && missing++ == 0)
            first = i;
        f->total += f->text.weight;
    }
    f->weighted = must || missing < f->count;
    if (f->weighted && missing) {
        int status = settle_missing_weights(f, must, missing, first, d);
        if (status)
            return status;
    }
    if (!(f->total > 0))
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the weights of the trees are all 0 -- at least one must be above 0");
    if (f->weighted && !missing && fabs(f->total - 1) > 1e-3)
        diag_note(d, input_file(&f->in), "the weights sum to %g, not to 1; they are normalized",
                  f->total);
    return ART_OK;
}

static int leave_out_burnin(tree_file *f, const tree_options *o, diag *d)
{
    if (!(o->burnin_share >= 0 && o->burnin_share < 1))
        return diag_error(
            d, ART_ERR_USAGE, (diag_place){0},
            "the burn-in %g is not a fraction -- give a number of at least 0 and below 1",
            o->burnin_share);
    const double share = o->burnin_by_kind && f->index.is_chain && !f->weighted ? CHAIN_BURNIN
                         : o->burnin_by_kind                                    ? 0
                                                                                : o->burnin_share;
    size_t burnin = (size_t)(share * (double)f->count);
    if (burnin < o->burnin_trees)
        burnin = o->burnin_trees;
    if (burnin == 0)
        return ART_OK;
    if (f->weighted) {
        diag_note(d, input_file(&f->in), "the trees have weights, so no burn-in is discarded");
        return ART_OK;
    }
    if (burnin >= f->count)
        return diag_error(
            d, ART_ERR_INPUT, input_file(&f->in),
            "a burn-in of %zu leaves none of the %zu trees of the file -- give a smaller one",
            burnin, f->count);
    f->skipped = burnin;
    f->count -= burnin;
    f->total = (double)f->count;
    return ART_OK;
}

/* Everything that is done before the first tree is read. */
static int prepare(tree_file *f, const tree_options *o, diag *d)
{
    int status = tree_index_build(&f->index, &f->in, d);
    if (status)
        return status;
    f->count = f->index.count;
    nexus_init(&f->words, &f->in, NEWICK_PUNCTUATION, d);
    if ((status = settle_taxa(f, o, d)) != ART_OK || (status = sum_weights(f, d)) != ART_OK ||
        (status = leave_out_burnin(f, o, d)) != ART_OK)
        return status;
    if ((status = tree_builder_init(&f->builder, f->taxa->count)) != ART_OK)
        return status;
    return tree_init(&f->tree, f->taxa->count);
}

int tree_file_from_input(tree_file *f, input *in, const tree_options *options, diag *d)
{
    static const tree_options defaults;
    memset(f, 0, sizeof *f);
    tree_index_init(&f->index);
    f->in = *in;
    memset(in, 0, sizeof *in);
    const tree_options *o = options ? options : &defaults;
    f->rules = (tree_rules){o->use, o->polytomies};
    f->prune = o->prune;
    return prepare(f, o, d);
}

int tree_file_open(tree_file *f, const char *path, const tree_options *options, diag *d)
{
    input in;
    int status = input_read(&in, path, NULL, d);
    if (status) {
        memset(f, 0, sizeof *f);
        input_free(&in);
        return status;
    }
    return tree_file_from_input(f, &in, options, d);
}

bool tree_file_more(const tree_file *f)
{
    return f->next < f->count;
}

int tree_file_next_text(tree_file *f, diag *d)
{
    if (!tree_file_more(f))
        return ART_ERR_USAGE;
    f->words.at = f->index.start[f->skipped + f->next++];
    f->words.d = d;
    return newick_read(&f->text, &f->words);
}

/* Removes the taxa that are not wanted from f->text. */
static int prune(tree_file *f)
{
    bool *drop = mem_zeros((size_t)f->text.count, sizeof *drop);
    if (!drop)
        return ART_ERR_NOMEM;
    for (int32_t i = 0; i < f->text.count; i++) {
        const newick_node *node = &f->text.node[i];
        size_t length;
        if (node->n_children)
            continue;
        const char *label = newick_label(&f->text, node, &length);
        drop[i] = tree_labels_find(&f->index.labels, label, length) < 0;
    }
    int status = newick_prune(&f->text, drop);
    free(drop);
    return status;
}

/* Says once that a name was broken into two lines. */
static void note_joined(tree_file *f, diag *d)
{
    char shown[96];
    size_t length;
    if (f->text.joined < 0 || f->noted_joined)
        return;
    const newick_node *node = &f->text.node[f->text.joined];
    const char *label = newick_label(&f->text, node, &length);
    f->noted_joined = true;
    diag_note(d, input_place(&f->in, node->label),
              "a name goes on in the next line; it is read as %s",
              diag_quote(shown, sizeof shown, label, length));
}

int tree_file_next(tree_file *f, diag *d)
{
    int status = tree_file_next_text(f, d);
    if (!status)
        note_joined(f, d);
    if (!status && f->prune)
        status = prune(f);
    if (!status)
        status =
            tree_build(&f->tree, &f->builder, &f->text, &f->index.labels, &f->rules, &f->in, d);
    if (status)
        return status;
    const char *from = f->text.node[0].from;
    if (f->tree.was_rooted && !f->noted_root) {
        f->noted_root = true;
        diag_note(d, input_place(&f->in, from),
                  "rooted trees are unrooted: the two branches at the root are joined into one");
    }
    if (f->tree.has_negative && !f->noted_negative) {
        f->noted_negative = true;
        diag_note(d, input_place(&f->in, from),
                  f->rules.use == TREE_TOPOLOGY
                      ? "negative branch lengths: only the topology is used"
                      : "negative branch lengths are not used: they count as not known");
    }
    return ART_OK;
}

/* Of the names in *common, those stay that the tree has. */
static int keep_common(taxa *common, const taxa *names)
{
    taxa both;
    taxa_init(&both);
    int status = ART_OK;
    for (int32_t i = 0; i < common->count && !status; i++) {
        const char *name = common->name[i];
        if (taxa_find(names, name, strlen(name)) >= 0)
            status = taxa_add(&both, name, strlen(name));
    }
    taxa_free(common);
    *common = both;
    return status;
}

/* Adds what the trees of one file have to `all`; the first tree of all is where *common begins. */
static int look_at_taxa(taxa *common, taxa *all, const char *path, const tree_options *o, diag *d)
{
    tree_file f;
    taxa names;
    int status = tree_file_open(&f, path, o, d);
    while (!status && tree_file_more(&f)) {
        taxa_init(&names);
        status = tree_file_next_text(&f, d);
        if (!status)
            status = tree_collect_names(&names, &f.text, &f.index.labels, &f.in, d);
        const bool is_first = all->count == 0;
        if (!status && is_first)
            status = taxa_copy(common, &names);
        for (int32_t i = 0; i < names.count && !status; i++)
            if (taxa_find(all, names.name[i], strlen(names.name[i])) < 0)
                status = taxa_add(all, names.name[i], strlen(names.name[i]));
        if (!status && !is_first && (names.count < all->count || common->count < all->count))
            status = keep_common(common, &names);
        taxa_free(&names);
    }
    tree_file_free(&f);
    return status;
}

int tree_file_common_taxa(taxa *common, const char *const *path, size_t n_paths,
                          const tree_options *options, diag *d)
{
    tree_options o = *options;
    taxa all;
    int status = ART_OK;
    o.taxa = NULL;
    o.prune = false;
    taxa_init(&all);
    taxa_init(common);
    for (size_t i = 0; i < n_paths && !status; i++)
        if (strcmp(path[i], "-") == 0)
            status = diag_error(d, ART_ERR_USAGE, (diag_place){0},
                                "standard input cannot be read twice, which the taxa in common "
                                "need -- save the trees as a file");
        else
            status = look_at_taxa(common, &all, path[i], &o, d);
    if (!status && common->count < 3)
        status = diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = path[0]},
                            "the trees have %d of their %d taxa in common -- at least 3 are needed",
                            common->count, all.count);
    if (!status)
        status = taxa_sort(common, NULL);
    if (!status && common->count < all.count)
        diag_note(d, (diag_place){.file = path[0]},
                  "all trees have %d of the %d taxa; the others are removed from the trees",
                  common->count, all.count);
    taxa_free(&all);
    return status;
}
