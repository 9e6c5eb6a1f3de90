/* table_model.h: the simplest topology model: one logit per tree of five taxa, in the order of
 * exact_tree (support/exact.h). It drives the training code in tests where everything can be
 * computed by hand. */
#ifndef TESTS_TABLE_MODEL_H
#define TESTS_TABLE_MODEL_H

#include "density/topology_model.h"

enum { TABLE_TAXA = 5, TABLE_TREES = 15 };

/* Through the factory, as a kind of its own. */
int table_model_create(topology_model **out);

#endif
