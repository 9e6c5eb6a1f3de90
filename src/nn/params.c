#include "nn/params.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 / sizeof(real), TENSOR_NAME = 2 * PARAM_NAME };

#if REAL_IS_DOUBLE
#define REAL_DTYPE TENSOR_F64
#else
#define REAL_DTYPE TENSOR_F32
#endif

const param *params_find(const params *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->entry[i].name, name) == 0)
            return &p->entry[i];
    return NULL;
}

int params_add(params *p, const char *name, size_t rows, size_t columns)
{
    size_t size = 0, width = columns ? columns : 1;
    if (p->value || strlen(name) >= PARAM_NAME || params_find(p, name) || rows == 0 ||
        __builtin_mul_overflow(rows, width, &size) || size > SIZE_MAX / 64 - p->total)
        return ART_ERR_USAGE;
    param *grown = mem_resize(p->entry, (size_t)p->count + 1, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    p->entry = grown;
    param *e = &p->entry[p->count++];
    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "%s", name);
    e->rank = columns ? 2 : 1;
    e->shape[0] = rows;
    e->shape[1] = width;
    e->offset = p->total;
    e->size = size;
    p->total += (size + LINE - 1) / LINE * LINE;
    return ART_OK;
}

real *params_block(const params *p)
{
    return mem_aligned(p->total, sizeof(real));
}

int params_alloc(params *p)
{
    p->value = params_block(p);
    p->grad = params_block(p);
    return p->value && p->grad ? ART_OK : ART_ERR_NOMEM;
}

void params_free(params *p)
{
    free(p->entry);
    free(p->value);
    free(p->grad);
    memset(p, 0, sizeof *p);
}

void params_clear_grad(params *p)
{
    memset(p->grad, 0, p->total * sizeof *p->grad);
}

size_t params_numbers(const params *p)
{
    size_t n = 0;
    for (int i = 0; i < p->count; i++)
        n += p->entry[i].size;
    return n;
}

int params_store(safetensors *s, const params *p, const real *block, const char *prefix)
{
    char name[TENSOR_NAME];
    for (int i = 0; i < p->count; i++) {
        const param *e = &p->entry[i];
        if (snprintf(name, sizeof name, "%s%s", prefix, e->name) >= (int)sizeof name)
            return ART_ERR_USAGE;
        int status = safetensors_add(s, name, REAL_DTYPE, e->rank, e->shape, block + e->offset);
        if (status)
            return status;
    }
    return ART_OK;
}

/* "[24, 8]" */
static const char *shape_text(char *out, size_t size, int rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i ? ", %zu" : "%zu", shape[i]);
    if (used < size)
        snprintf(out + used, size - used, "]");
    return out;
}

/* Whether tensor t can fill entry e. */
static int check_tensor(const param *e, const tensor *t, const char *name, const char *file,
                        diag *d)
{
    diag_place place = {file, 0, 0};
    char found[64], wanted[64];
    if (!t)
        return diag_error(d, ART_ERR_MISMATCH, place, "tensor '%s' is missing", name);
    if (t->dtype != TENSOR_F32 && t->dtype != TENSOR_F64)
        return diag_error(d, ART_ERR_MISMATCH, place, "tensor '%s' is %s, expected F32 or F64",
                          name, tensor_dtype_name(t->dtype));
    if (t->rank != e->rank || t->shape[0] != e->shape[0] || t->shape[1] != e->shape[1])
        return diag_error(d, ART_ERR_MISMATCH, place, "tensor '%s' has shape %s, expected %s", name,
                          shape_text(found, sizeof found, t->rank, t->shape),
                          shape_text(wanted, sizeof wanted, e->rank, e->shape));
    if (t->dtype == TENSOR_F64)
        for (size_t i = 0; i < t->count; i++)
            if (!isfinite((real)((const double *)t->data)[i]))
                return diag_error(d, ART_ERR_MISMATCH, place,
                                  "tensor '%s': number %zu is too large for single precision", name,
                                  i);
    return ART_OK;
}

static void copy_tensor(real *to, const tensor *t)
{
    if (t->dtype == TENSOR_F32)
        for (size_t i = 0; i < t->count; i++)
            to[i] = (real)((const float *)t->data)[i];
    else
        for (size_t i = 0; i < t->count; i++)
            to[i] = (real)((const double *)t->data)[i];
}

int params_load(real *block, const params *p, safetensors *s, const char *prefix, const char *file,
                diag *d)
{
    char name[TENSOR_NAME];
    int status = ART_OK;
    for (int i = 0; i < p->count; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, p->entry[i].name);
        int one = check_tensor(&p->entry[i], safetensors_use(s, name), name, file, d);
        status = one ? one : status;
    }
    for (int i = 0; i < p->count && status == ART_OK; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, p->entry[i].name);
        copy_tensor(block + p->entry[i].offset, safetensors_find(s, name));
    }
    return status;
}

void params_fields(const params *p, real *block, saved_state *s)
{
    if (s->status)
        return;
    if (!s->is_loading)
        state_fail(s, params_store(&s->tensors, p, block, s->group));
    else if (params_load(block, p, &s->tensors, s->group, s->file, NULL) != ART_OK)
        state_refuse(s, "the tensors %s%s etc. do not match this network", s->group,
                     p->count ? p->entry[0].name : "");
}
