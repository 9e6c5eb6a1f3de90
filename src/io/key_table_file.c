#include "io/key_table_file.h"

#include "artreeformer.h"
#include "io/tensor_parts.h"

static tensor_part part_of(const key_table *t, const char *name, tensor_dtype dtype, size_t count)
{
    return (tensor_part){name, dtype, count, t->size / tensor_width(dtype), t->key};
}

int key_table_save(const key_table *t, const char *name, tensor_dtype dtype, safetensors *s)
{
    const tensor_part part = part_of(t, name, dtype, t->count);
    return tensor_parts_save(s, &part, 1);
}

int key_table_load(key_table *t, const char *name, tensor_dtype dtype, safetensors *s,
                   const char *file, diag *d)
{
    const size_t count = tensor_rows(s, name);
    tensor_part part = part_of(t, name, dtype, count);
    key_table_clear(t);
    int status = tensor_parts_check(&part, 1, s, file, d);
    if (!status && t->size == 0 && count > 1)
        status = tensor_parts_error(d, file, "%s has the empty row %zu times", name, count);
    if (!status)
        status = key_table_reserve(t, count);
    part.data = t->key; /* it may have moved */
    if (!status)
        status = tensor_parts_load(&part, 1, s, file, d);
    for (size_t i = 0; i < count && !status; i++)
        if (key_table_put(t, key_table_at(t, i)) != i)
            status = tensor_parts_error(d, file, "%s has a row twice", name);
    if (status)
        key_table_clear(t);
    return status;
}
