#include "support/state.h"

#include "support/check.h"

#include <stdlib.h>
#include <string.h>

/* A state that loads the tensors, by the bytes of their file. */
static void reread(saved_state *s, const safetensors *from, diag *d)
{
    safetensors tensors = {0};
    void *bytes;
    size_t n;
    check_status(safetensors_format(from, &bytes, &n, "memory", NULL));
    check_status(safetensors_parse(&tensors, bytes, n, "memory", NULL));
    free(bytes);
    check_status(saved_state_from(s, &tensors, "memory", d));
}

void state_turn(saved_state *s, diag *d)
{
    saved_state loads;
    check_status(s->status);
    assert_false(s->is_loading);
    reread(&loads, &s->tensors, d);
    saved_state_free(s);
    *s = loads;
}

static void set_number(void *data, tensor_dtype dtype, size_t at, double value)
{
    switch (dtype) {
    case TENSOR_F32:
        ((float *)data)[at] = (float)value;
        break;
    case TENSOR_F64:
        ((double *)data)[at] = value;
        break;
    case TENSOR_I32:
        ((int32_t *)data)[at] = (int32_t)value;
        break;
    case TENSOR_I64:
        ((int64_t *)data)[at] = (int64_t)value;
        break;
    case TENSOR_U8:
        ((uint8_t *)data)[at] = (uint8_t)value;
        break;
    }
}

void state_damaged(saved_state *copy, const saved_state *s, const char *name, size_t at,
                   double value)
{
    safetensors all = {0};
    void *changed = NULL;
    for (size_t i = 0; i < s->tensors.count; i++) {
        const tensor *t = &s->tensors.tensor[i];
        const void *data = t->data;
        if (name && strcmp(t->name, name) == 0) {
            assert_true(at < t->count);
            data = changed = malloc(tensor_bytes(t));
            assert_non_null(changed);
            memcpy(changed, t->data, tensor_bytes(t));
            set_number(changed, t->dtype, at, value);
        }
        check_status(safetensors_add(&all, t->name, t->dtype, t->rank, t->shape, data));
    }
    assert_true(!name || changed);
    reread(copy, &all, s->d);
    safetensors_free(&all);
    free(changed);
}

void state_without(saved_state *copy, const saved_state *s, const char *name)
{
    safetensors all = {0};
    for (size_t i = 0; i < s->tensors.count; i++) {
        const tensor *t = &s->tensors.tensor[i];
        if (strcmp(t->name, name) != 0)
            check_status(safetensors_add(&all, t->name, t->dtype, t->rank, t->shape, t->data));
    }
    assert_int_equal(all.count, s->tensors.count - 1);
    reread(copy, &all, s->d);
    safetensors_free(&all);
}
