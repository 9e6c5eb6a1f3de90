/* tree_index.h: the positions of the trees in a text, and the meaning of their labels.
 *
 * The text is a list of Newick trees or a NEXUS file; the format is detected from the content. Only
 * the beginning and the end of each tree are determined here.
 *
 *     tree_index x;
 *     tree_index_init(&x);
 *     status = tree_index_build(&x, &in, d);
 *     words.at = x.start[i]; newick_read(&t, &words);      tree i
 *     tree_index_free(&x); */
#ifndef TREE_TREE_INDEX_H
#define TREE_TREE_INDEX_H

#include "tree/tree.h"

typedef struct tree_index {
    const char **start; /* [count] where each tree begins, with its [&U] and [&W w] */
    size_t count;
    size_t room;
    taxa names;         /* as TRANSLATE or TAXLABELS list them, of several TAXA blocks that to which
                           the trees link, or all; empty if there is no list. Trees may have fewer:
                           the names of internal nodes are listed too */
    tree_labels labels; /* tokens of TRANSLATE, or numbers of TAXLABELS, for these names */
    bool is_chain;      /* states of a Markov chain, by the names of the trees: gen.N or rep.N of
                           MrBayes, STATE_N of BEAST */
} tree_index;

void tree_index_init(tree_index *x);
void tree_index_free(tree_index *x); /* safe on a zeroed or freed one */

/* Finds the trees of a text. An incomplete last tree is left out with a note. ART_ERR_INPUT if the
 * text is not a tree file or has no trees. The first line may have numbers as PAML's files do: of
 * trees, or of taxa and trees; what follows that many trees is then not read. x points into itself:
 * do not copy it. One pass over the text. */
int tree_index_build(tree_index *x, const input *in, diag *d);

#endif
