/* tensor_parts.h: what an object keeps in a checkpoint, as a list that both ways go by.
 *
 *     const tensor_part parts[] = {
 *         {"table.counts", TENSOR_I64, 1, 2, t->counts},
 *         {"table.g", TENSOR_F64, t->count, 1, t->g},
 *     };
 *     status = tensor_parts_save(s, parts, 2);
 *
 * and, with as much room at the same places,
 *
 *     status = tensor_parts_load(parts, 2, s, file, d); */
#ifndef IO_TENSOR_PARTS_H
#define IO_TENSOR_PARTS_H

#include "io/safetensors.h"

#include <stdbool.h>

typedef struct tensor_part {
    const char *name;
    tensor_dtype dtype;
    size_t rows;
    size_t width; /* numbers of a row */
    void *data;   /* [rows][width]; borrowed until the set is freed */
} tensor_part;

int tensor_parts_save(safetensors *s, const tensor_part *part, size_t n);

/* Copies the tensors to their places and marks them as used. ART_ERR_MISMATCH, with the name of
 * the first that is not there in this type and shape; then nothing is copied. */
int tensor_parts_load(const tensor_part *part, size_t n, safetensors *s, const char *file, diag *d);

/* The same without copying; data does not matter. */
int tensor_parts_check(const tensor_part *part, size_t n, safetensors *s, const char *file,
                       diag *d);

/* The rows that a tensor has in the file; 0 if there is none. */
size_t tensor_rows(const safetensors *s, const char *name);

/* Parts are there, but cannot be what a run has saved: says so, with the advice to start anew, and
 * returns ART_ERR_MISMATCH. */
int tensor_parts_error(diag *d, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
