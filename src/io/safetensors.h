/* safetensors.h: named tensors and metadata strings in one file.
 *
 * The file: 8 bytes of little-endian header length, a JSON header, the numbers. The header gives
 * for every tensor its dtype, its shape and the bytes it occupies after the header, and under
 * "__metadata__" a map of strings. Reading is strict: the header is bounded, no key is duplicated
 * or unknown, the tensors cover the rest of the file exactly, without gap, overlap or trailing
 * byte, sizes follow from shapes, and no float is NaN or infinite (neither read nor written). So
 * whatever is accepted can be used without further checks.
 *
 *     safetensors s = {0};
 *     int status = safetensors_read(&s, "run.model.safetensors", d);
 *     const tensor *t = safetensors_find(&s, "tree.mlp.0.weight");
 *     safetensors_free(&s);
 *
 * and for writing
 *
 *     safetensors s = {0};
 *     status = safetensors_set(&s, "n_taxa", "27");
 *     status = safetensors_add(&s, "weight", TENSOR_F32, 2, (size_t[]){8, 5}, numbers);
 *     status = safetensors_write(&s, "run.model.safetensors", d);
 *     safetensors_free(&s);
 *
 * Numbers are in the byte order of the file, so the machine must be little-endian. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "base/diag.h"

#include <stddef.h>

#define SAFETENSORS_METADATA "__metadata__" /* no tensor has this name */
enum { TENSOR_RANK = 4, SAFETENSORS_HEADER = 1 << 24 /* bytes of header at most */ };

typedef enum tensor_dtype {
    TENSOR_F32,
    TENSOR_F64,
    TENSOR_I32,
    TENSOR_I64,
    TENSOR_U8
} tensor_dtype;

typedef struct tensor {
    char *name; /* owned by the set */
    tensor_dtype dtype;
    int rank;
    size_t shape[TENSOR_RANK]; /* row-major; the first [rank] entries are used, the others are 1 */
    size_t count;              /* numbers: the product of the shape */
    const void *data;          /* [count], aligned to 8 bytes at least */
    int used;                  /* set by safetensors_use */
} tensor;

typedef struct safetensors_text {
    char *key;
    char *value;
} safetensors_text;

/* All zero is an empty set. */
typedef struct safetensors {
    tensor *tensor; /* [count], in the order of their bytes in the file */
    size_t count;
    size_t room;
    safetensors_text *text; /* [text_count], the metadata */
    size_t text_count;
    size_t text_room;
    void *block; /* the numbers of a set that was read; NULL otherwise */
} safetensors;

/* Reads a file, or its n bytes in memory (file is then only a name for messages). On failure s is
 * empty and d says why: ART_ERR_INPUT (no such file, or not valid), ART_ERR_IO (reading failed),
 * ART_ERR_LIMIT (header too long), ART_ERR_UNSUPPORTED (dtype or rank), ART_ERR_NOMEM. The numbers
 * are copied: bytes may be freed. */
int safetensors_read(safetensors *s, const char *path, diag *d);
int safetensors_parse(safetensors *s, const void *bytes, size_t n, const char *file, diag *d);

/* Adds a tensor. The name is copied, the data is not: it must live until the set is freed.
 * ART_ERR_USAGE for a name that is empty, reserved or already used, for a rank above TENSOR_RANK
 * and for a size that does not fit in memory. */
int safetensors_add(safetensors *s, const char *name, tensor_dtype dtype, int rank,
                    const size_t *shape, const void *data);

/* Adds (or replaces) a metadata string; both are copied. */
int safetensors_set(safetensors *s, const char *key, const char *value);

/* The set as the bytes of a file, in *bytes [*n], to be freed with free(). ART_ERR_NUMERIC if
 * a float is NaN or infinite; ART_ERR_INPUT if a text is not UTF-8. */
int safetensors_format(const safetensors *s, void **bytes, size_t *n, const char *file, diag *d);

/* Writes the set to a file, completely or not at all (io/output.h). */
int safetensors_write(const safetensors *s, const char *path, diag *d);

/* NULL if there is no such tensor or string. O(count). */
const tensor *safetensors_find(const safetensors *s, const char *name);
const char *safetensors_get(const safetensors *s, const char *key);

/* As find, and marks the tensor as used; safetensors_unused then reports every tensor that was
 * never requested and returns ART_ERR_MISMATCH if there is any. */
const tensor *safetensors_use(safetensors *s, const char *name);
int safetensors_unused(const safetensors *s, const char *file, diag *d);

/* Bytes of one number; "F32" etc., and the inverse (ART_ERR_UNSUPPORTED for other texts). */
size_t tensor_width(tensor_dtype dtype);
const char *tensor_dtype_name(tensor_dtype dtype);
int tensor_dtype_of(tensor_dtype *dtype, const char *name);

/* Sets rank, shape and count of a tensor whose dtype is set; rank is at most TENSOR_RANK.
 * ART_ERR_LIMIT if its bytes do not fit in ptrdiff_t. */
int tensor_set_shape(tensor *t, int rank, const size_t *shape);

size_t tensor_bytes(const tensor *t);

/* The index of the first float that is NaN or infinite; count if there is none. */
size_t tensor_first_bad(const tensor *t);

void safetensors_free(safetensors *s); /* leaves an empty set; safe on a zeroed one */

#endif
