#include "io/tensor_parts.h"

#include "artreeformer.h"

#include <stdio.h>
#include <string.h>

int tensor_parts_save(safetensors *s, const tensor_part *part, size_t n)
{
    int status = ART_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = safetensors_add(s, part[i].name, part[i].dtype, 2,
                                 (size_t[]){part[i].rows, part[i].width}, part[i].data);
    return status;
}

static int is_there(const tensor_part *part, const tensor *t)
{
    return t && t->dtype == part->dtype && t->rank == 2 && t->shape[0] == part->rows &&
           t->shape[1] == part->width;
}

int tensor_parts_check(const tensor_part *part, size_t n, safetensors *s, const char *file, diag *d)
{
    for (size_t i = 0; i < n; i++)
        if (!is_there(&part[i], safetensors_use(s, part[i].name)))
            return tensor_parts_error(d, file, "%s is not there as %zu x %zu numbers of type %s",
                                      part[i].name, part[i].rows, part[i].width,
                                      tensor_dtype_name(part[i].dtype));
    return ART_OK;
}

int tensor_parts_load(const tensor_part *part, size_t n, safetensors *s, const char *file, diag *d)
{
    int status = tensor_parts_check(part, n, s, file, d);
    for (size_t i = 0; i < n && !status; i++) {
        const tensor *t = safetensors_find(s, part[i].name);
        if (tensor_bytes(t) > 0)
            memcpy(part[i].data, t->data, tensor_bytes(t));
    }
    return status;
}

size_t tensor_rows(const safetensors *s, const char *name)
{
    const tensor *t = safetensors_find(s, name);
    return t && t->rank > 0 ? t->shape[0] : 0;
}

int tensor_parts_error(diag *d, const char *file, const char *format, ...)
{
    char text[256];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    return diag_error(d, ART_ERR_MISMATCH, (diag_place){.file = file},
                      "%s -- start anew with --redo", text);
}
