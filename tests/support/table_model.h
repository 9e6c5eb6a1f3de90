/* table_model.h: the simplest topology model: one logit per tree of five taxa. It drives the
 * training code in tests where everything can be computed by hand. */
#ifndef TESTS_TABLE_MODEL_H
#define TESTS_TABLE_MODEL_H

#include "model/topology_model.h"

enum { TABLE_TAXA = 5, TABLE_TREES = 15 };

/* *out is freed through its ops. */
int table_model_create(topology_model **out);

int table_index(const int32_t *decision);
void table_decision(int32_t *decision, int index);

#endif
