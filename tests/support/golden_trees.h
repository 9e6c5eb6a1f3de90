/* golden_trees.h: trees and numbers of the golden files about densities of topologies, and the runs
 * that they are about. */
#ifndef TESTS_GOLDEN_TREES_H
#define TESTS_GOLDEN_TREES_H

#include "tree/tree_set.h"

#include <jansson.h>
#include <stdint.h>

/* Reads a Newick tree into decision [N-3]. */
void golden_tree(int32_t *decision, const char *text, const taxa *names);

/* A number of an object. Fails the test if it is not there. */
double golden_number(const json_t *of, const char *name);

/* log q as expected: null stands for a probability of 0. */
void check_log_q(double log_q, const json_t *expected, double tolerance);

/* The path of run i of a data set, run "short" or "truth", as shared_path. */
const char *golden_run(const char *set, const char *run, int i);

/* The ten long runs as whole numbers of trees: the shares in the files are rounded. Not normalised,
 * and in the order of first appearance. */
void golden_truth(tree_set *truth, const char *set, const taxa *names);

#endif
