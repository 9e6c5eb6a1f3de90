/* key_table_file.h: the keys of a table (base/key_table.h) as a tensor of a checkpoint. */
#ifndef IO_KEY_TABLE_FILE_H
#define IO_KEY_TABLE_FILE_H

#include "base/key_table.h"
#include "io/safetensors.h"

/* The keys as a tensor of a checkpoint: a row for each, of numbers of the given type. They must not
 * change until s is freed. */
int key_table_save(const key_table *t, const char *name, tensor_dtype dtype, safetensors *s);

/* Replaces all keys. ART_ERR_MISMATCH if the tensor is not there or has a row twice. */
int key_table_load(key_table *t, const char *name, tensor_dtype dtype, safetensors *s,
                   const char *file, diag *d);

#endif
