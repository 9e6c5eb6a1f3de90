/* objects.h: what the public handles are made of. */
#ifndef API_OBJECTS_H
#define API_OBJECTS_H

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "results/verdict.h"
#include "train/evidence.h"
#include "density/model_file.h"
#include "subst/subst_model.h"
#include "seq/alignment.h"
#include "tree/tree_set.h"

struct art_messages {
    diag diag;
};

struct art_alignment {
    alignment data;
    taxa rows; /* its names, in the order of the file */
};

struct art_trees {
    tree_set set; /* normalised */
};

struct art_model {
    model_file file;
    pool *threads;
    branch_prior prior;
    bool has_answer; /* of collapsed inference: evidence and topologies */
    art_evidence answer;
    tree_set found;
};

/* row[i] becomes the row of the alignment that is taxon i of the model; to be freed. */
int model_match_rows(int **row, const art_model *q, const art_alignment *a, diag *d);

/* As far as it may be shown (verdict_shown). */
art_evidence model_evidence(const evidence *e, const verdict *v);

/* A model without networks: threads, and the names, copied; NULL: not yet. */
int model_begin(art_model **out, const taxa *names, int threads);

/* Ready for use; frees the model and returns the status if there is one. */
int model_end(art_model **out, art_model *q, int status);

/* A text for the caller, as art_trees_newick says. */
int text_hand_out(char *text, size_t size, size_t *length, const buffer *whole);

/* Adds the warnings of a verdict; m may be NULL. */
void messages_verdict(art_messages *m, const verdict *v);

/* False for NaN. */
static inline bool is_within(double x, double low, double high)
{
    return x >= low && x <= high;
}

/* NULL for NULL. */
static inline diag *messages_diag(art_messages *m)
{
    return m ? &m->diag : NULL;
}

#endif
