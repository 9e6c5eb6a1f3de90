/* tree_file.h: the trees of a file, one after another.
 *
 * A file is a list of Newick trees or a NEXUS file with TREES blocks (MrBayes .t, .trprobs, .con
 * and .con.tre, BEAST .trees, PAUP's bootstrap files); the format is detected from the content.
 * Opening the file locates all trees, the taxa and the weights; tree_file_next reads one tree.
 *
 *     tree_file f;
 *     status = tree_file_open(&f, path, &options, d);
 *     while (!status && tree_file_more(&f))
 *         if ((status = tree_file_next(&f, d)) == ART_OK)
 *             use(f.tree.decision, f.tree.weight / f.total);
 *     tree_file_free(&f);
 *
 * A tree_file points into itself: do not copy it.
 *
 * Accepted with a note: rooted trees (the root is removed), an incomplete last tree (of a run that
 * was killed), weights that do not sum to 1 or that some trees do not have, names that go on in the
 * next line, and negative branch lengths if only topologies are used. */
#ifndef TREE_TREE_FILE_H
#define TREE_TREE_FILE_H

#include "tree/tree_index.h"
#include "tree/tree_sample.h"

typedef struct tree_options {
    const taxa *taxa; /* NULL: those of the first tree, in lexicographic order; borrowed */
    const char
        *taxa_from; /* where the given taxa come from, for messages: "the alignment"; borrowed */
    tree_use use;
    bool polytomies; /* are accepted (tree_rules) */
    bool may_prune;  /* errors about taxa that differ offer prune */
    bool prune;      /* with taxa: all other taxa are removed from the trees */
    /* Burn-in: how many trees, or which fraction of them, to discard at the beginning of a file
     * without weights; the larger of the two is used. The fraction is at least 0 and below 1. */
    size_t burnin_trees;
    double burnin_share;
    tree_sample *sample; /* tree_set_read adds the trees that have lengths to it, if not NULL; it is
                            initialised there. Borrowed */
    bool burnin_by_kind; /* instead: CHAIN_BURNIN of the states of a chain (tree_index.is_chain), of
                            other trees none */
} tree_options;

#define CHAIN_BURNIN 0.25 /* the default of MrBayes */

typedef struct tree_file {
    input in;
    tree_index index;     /* the trees of the text, its taxa and labels */
    nexus words;          /* the text, read as trees */
    taxa own;             /* the taxa of the first tree, if none were given */
    const taxa *taxa;     /* the taxa of the trees: own, or the ones given */
    size_t count;         /* trees that will be read, burn-in not counted */
    size_t skipped;       /* burn-in */
    size_t next;          /* number of the next tree, 0 .. count-1 */
    bool weighted;        /* the trees have weights */
    double total;         /* sum of the weights of the count trees; above 0 */
    newick text;          /* the last tree read, as written in the file */
    tree tree;            /* the last tree */
    tree_builder builder; /* memory */
    tree_rules rules;
    bool prune;
    bool noted_root, noted_negative, noted_joined; /* said once per file */
} tree_file;

/* options may be NULL: the defaults are all zero. *f is always set, and safe to free. */
int tree_file_open(tree_file *f, const char *path, const tree_options *options, diag *d);

/* The same for a text that has already been read; f takes ownership of it, even on failure. */
int tree_file_from_input(tree_file *f, input *in, const tree_options *options, diag *d);

void tree_file_free(tree_file *f); /* safe on a zeroed or freed one */

bool tree_file_more(const tree_file *f);

/* Reads the next tree only into f->text, with nodes of any degree and without checking its taxa. */
int tree_file_next_text(tree_file *f, diag *d);

/* The taxa that all trees of the files have, in lexicographic order; burn-in not counted. A note
 * says which others there are. ART_ERR_MISMATCH if there are fewer than three. *common is always
 * safe to free. Standard input cannot be read twice, and is refused. */
int tree_file_common_taxa(taxa *common, const char *const *path, size_t n_paths,
                          const tree_options *options, diag *d);

/* Reads the next tree into f->tree. Fails at a tree that cannot be used, and with ART_ERR_USAGE
 * after the last one. */
int tree_file_next(tree_file *f, diag *d);

#endif
