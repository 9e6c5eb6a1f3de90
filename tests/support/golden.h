/* golden.h: the reference numbers for one model (golden_path): weights, trees, log q, branch
 * parameters and gradients. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "io/safetensors.h"
#include "nn/params.h"
#include "tree/topology.h"

#include <jansson.h>

typedef struct golden {
    int n_taxa, hidden, branch_hidden;
    int heads;           /* 0 in files of ARTree */
    int count;           /* trees */
    int32_t *decision;   /* [count][N-3] */
    double *log_q;       /* [count] */
    double *w;           /* [count] the coefficients of the gradients */
    int branch_count;    /* so many of the trees have these: */
    double *mean;        /* [branch_count][2N-3] by edge number */
    double *log_std;     /* [branch_count][2N-3] */
    json_t *json;        /* everything else */
    safetensors weights; /* F32 */
    safetensors gradients;
} golden;

/* name is "tiny_n5", "small_n8" or "ds1_d100", or one of them after "artree_". Fails the test if
 * anything is missing. */
void golden_load(golden *g, const char *name);
void golden_free(golden *g);

/* A test whose *state is the name of the model. */
#define golden_test(test, name) cmocka_unit_test_prestate(test, ((char[]){name}))

/* The edge of a tree whose one side has the taxa of a JSON list of indices; N <= 64. */
int32_t golden_edge(const topology *t, const json_t *taxa);

/* The largest |grad - golden| over the entries of p, each tensor divided by its largest golden
 * number; prints the worst tensor. */
double golden_gradient_error(const golden *g, const params *p);

#endif
