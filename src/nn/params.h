/* params.h: the parameters of a model as one block of numbers and one table of names and shapes.
 * The table is the contents of checkpoints and model files; values, gradients and optimiser moments
 * are blocks of the same layout.
 *
 *     params p = {0};
 *     status = params_add(&p, "tree.mlp.0.weight", d, N);    every entry, in order
 *     status = params_add(&p, "tree.mlp.0.bias", d, 0);
 *     status = params_alloc(&p);                              then no entry can be added
 *     real *w = params_value(&p, 0);
 *     params_free(&p);
 *
 * Every entry begins on a cache line; the numbers between entries are padding and stay 0, so that a
 * loop over a whole block (optimiser, norm) needs no table. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include "base/real.h"
#include "io/saved_state.h"

#include <stddef.h>

enum { PARAM_NAME = 64 };

typedef struct param {
    char name[PARAM_NAME]; /* as in the model file, for example "tree.mlp.0.weight" */
    int rank;              /* 1 or 2 */
    size_t shape[2];       /* rows, columns; row-major as torch stores it; columns 1 at rank 1 */
    size_t offset;         /* of its first number in a block */
    size_t size;           /* how many numbers */
} param;

/* All zero is an empty table. */
typedef struct params {
    param *entry; /* [count] */
    int count;
    size_t total; /* numbers in a block, padding included */
    real *value;  /* [total] */
    real *grad;   /* [total]; backward passes add, the caller clears */
} params;

/* Adds an entry; columns 0 makes a vector of rows numbers. ART_ERR_USAGE for a name that is too
 * long or already used, for zero rows, and after params_alloc. */
int params_add(params *p, const char *name, size_t rows, size_t columns);

/* Allocates value and grad, all zero. */
int params_alloc(params *p);
void params_free(params *p); /* safe on a zeroed or half-built table */

/* A block [total] of the same layout, all zero, on a cache line; free with free(). */
real *params_block(const params *p);

/* The entry with a name; NULL if there is none. O(count). */
const param *params_find(const params *p, const char *name);

/* The numbers of entry i. */
static inline real *params_value(const params *p, int i)
{
    return p->value + p->entry[i].offset;
}

static inline real *params_grad(const params *p, int i)
{
    return p->grad + p->entry[i].offset;
}

void params_clear_grad(params *p);

/* The number of parameters, without padding, as quoted in publications. */
size_t params_numbers(const params *p);

/* Adds every entry of a block (p->value, or any of its layout) to s, under prefix + name. The
 * numbers are not copied: the block must live until s is freed. F32, or F64 in the build
 * with double. */
int params_store(safetensors *s, const params *p, const real *block, const char *prefix);

/* Fills a block from the tensors prefix + name of s (F32 or F64, converted) and marks them as used
 * (safetensors_unused then finds superfluous ones). Every tensor must be present with the right
 * shape, and its numbers must stay finite as real: otherwise ART_ERR_MISMATCH, d lists all
 * differences, and the block is unchanged. */
int params_load(real *block, const params *p, safetensors *s, const char *prefix, const char *file,
                diag *d);

/* The entries of a block as fields of a saved state, under their names. */
void params_fields(const params *p, real *block, saved_state *s);

#endif
