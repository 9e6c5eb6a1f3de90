/* objects.h: what the public handles are made of. */
#ifndef API_OBJECTS_H
#define API_OBJECTS_H

#include "artreeformer.h"
#include "base/diag.h"
#include "model/model_file.h"
#include "phylo/subst_model.h"
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
    double prior_rate;
};

/* NULL for NULL. */
static inline diag *messages_diag(art_messages *m)
{
    return m ? &m->diag : NULL;
}

#endif
