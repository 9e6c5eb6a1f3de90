#include "tree/tree_file.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void tree_file_free(tree_file *f)
{
    input_free(&f->in);
    tree_index_free(&f->index);
    newick_free(&f->text);
    tree_free(&f->tree);
    tree_builder_free(&f->builder);
    memset(f, 0, sizeof *f);
}

/* Brings the labels from the order in which the file lists its taxa to that of the trees. */
static int order_taxa(tree_file *f, const tree_options *o, diag *d)
{
    taxa *listed = &f->index.names;
    tree_labels *labels = &f->index.labels;
    int32_t *moved = mem_zeros((size_t)listed->count, sizeof *moved);
    if (!moved)
        return ART_ERR_NOMEM;
    int status = ART_OK;
    if (!o->taxa)
        status = taxa_sort(listed, moved);
    else if (listed->count)
        status =
            taxa_compare(listed, "the tree file", o->taxa, labels->from, input_file(&f->in), d);
    if (!status && o->taxa)
        taxa_map(moved, listed, o->taxa);
    for (int32_t i = 0; !status && i < labels->token.count; i++)
        labels->meaning[i] = moved[labels->meaning[i]];
    free(moved);
    return status;
}

/* The taxa are the given ones, those that the file lists, or those of its first tree. */
static int settle_taxa(tree_file *f, const tree_options *o, diag *d)
{
    taxa *listed = &f->index.names;
    tree_labels *labels = &f->index.labels;
    if (o->taxa) {
        labels->taxa = o->taxa;
        labels->from = o->taxa_from ? o->taxa_from : "the given taxa";
    } else if (listed->count == 0) {
        labels->from = "the first tree of the file";
        f->words.at = f->index.start[0];
        int status = newick_read(&f->text, &f->words);
        if (!status)
            status = tree_collect_names(listed, &f->text, &f->in, d);
        if (status)
            return status;
    }
    f->taxa = labels->taxa;
    if (f->taxa->count < 3)
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the trees have %d different taxa -- at least 3 are needed",
                          f->taxa->count);
    return order_taxa(f, o, d);
}

static bool named(const tree_file *f, const char *suffix)
{
    size_t n = strlen(f->in.name), m = strlen(suffix);
    return n >= m && strcasecmp(f->in.name + n - m, suffix) == 0;
}

static int wrong_weight(const tree_file *f, const char *at, diag *d)
{
    if (f->text.has_weight)
        return diag_error(d, ART_ERR_INPUT, input_place(&f->in, at),
                          "this tree has a weight, but the trees before it do not -- give all "
                          "trees a weight [&W w], or none");
    return diag_error(d, ART_ERR_INPUT, input_place(&f->in, at),
                      "this tree has no weight -- give all trees a weight [&W w], or none in a "
                      "file that is not called .trprobs");
}

/* Either all trees have weights, as those of a .trprobs file must, or none. Sums them. */
static int sum_weights(tree_file *f, diag *d)
{
    f->weighted = named(f, ".trprobs") || named(f, ".trprobs.gz");
    f->total = 0;
    for (size_t i = 0; i < f->count; i++) {
        f->words.at = f->index.start[i];
        int status = newick_read_head(&f->text, &f->words);
        if (status)
            return status;
        f->weighted |= i == 0 && f->text.has_weight;
        if (f->text.has_weight != f->weighted)
            return wrong_weight(f, f->index.start[i], d);
        f->total += f->text.weight;
    }
    if (!(f->total > 0))
        return diag_error(d, ART_ERR_INPUT, input_file(&f->in),
                          "the weights of the trees are all 0 -- at least one must be above 0");
    if (f->weighted && fabs(f->total - 1) > 1e-3)
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
    size_t burnin = (size_t)(o->burnin_share * (double)f->count);
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
    f->use = options ? options->use : defaults.use;
    return prepare(f, options ? options : &defaults, d);
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

int tree_file_next(tree_file *f, diag *d)
{
    int status = tree_file_next_text(f, d);
    if (!status)
        status = tree_build(&f->tree, &f->builder, &f->text, &f->index.labels, f->use, &f->in, d);
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
                  "negative branch lengths: only the topology is used");
    }
    return ART_OK;
}
