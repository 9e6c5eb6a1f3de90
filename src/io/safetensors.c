#include "io/safetensors.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/output.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t width;
} DTYPE[] = {
    [TENSOR_F32] = {"F32", 4}, [TENSOR_F64] = {"F64", 8}, [TENSOR_I32] = {"I32", 4},
    [TENSOR_I64] = {"I64", 8}, [TENSOR_U8] = {"U8", 1},
};
enum { N_DTYPES = sizeof DTYPE / sizeof DTYPE[0] };

size_t tensor_width(tensor_dtype dtype)
{
    return DTYPE[dtype].width;
}

const char *tensor_dtype_name(tensor_dtype dtype)
{
    return DTYPE[dtype].name;
}

int tensor_dtype_of(tensor_dtype *dtype, const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(DTYPE[i].name, name) == 0) {
            *dtype = (tensor_dtype)i;
            return ART_OK;
        }
    return ART_ERR_UNSUPPORTED;
}

size_t tensor_bytes(const tensor *t)
{
    return t->count * DTYPE[t->dtype].width;
}

int tensor_set_shape(tensor *t, int rank, const size_t *shape)
{
    size_t bytes = DTYPE[t->dtype].width;
    t->rank = rank;
    t->count = 1;
    for (int i = 0; i < TENSOR_RANK; i++)
        t->shape[i] = i < rank ? shape[i] : 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, shape[i], &bytes) || bytes > PTRDIFF_MAX)
            return ART_ERR_LIMIT;
    t->count = bytes / DTYPE[t->dtype].width;
    return ART_OK;
}

size_t tensor_first_bad(const tensor *t)
{
    size_t i = 0;
    if (t->dtype == TENSOR_F32) {
        const float *x = t->data;
        while (i < t->count && isfinite(x[i]))
            i++;
    } else if (t->dtype == TENSOR_F64) {
        const double *x = t->data;
        while (i < t->count && isfinite(x[i]))
            i++;
    } else {
        i = t->count;
    }
    return i;
}

void safetensors_free(safetensors *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->tensor[i].name);
    for (size_t i = 0; i < s->text_count; i++) {
        free(s->text[i].key);
        free(s->text[i].value);
    }
    free(s->tensor);
    free(s->text);
    free(s->block);
    memset(s, 0, sizeof *s);
}

static tensor *find(const safetensors *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tensor[i].name, name) == 0)
            return &s->tensor[i];
    return NULL;
}

const tensor *safetensors_find(const safetensors *s, const char *name)
{
    return find(s, name);
}

const tensor *safetensors_use(safetensors *s, const char *name)
{
    tensor *t = find(s, name);
    if (t)
        t->used = 1;
    return t;
}

int safetensors_unused(const safetensors *s, const char *file, diag *d)
{
    int status = ART_OK;
    char quoted[128];
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->tensor[i].name;
        if (!s->tensor[i].used)
            status = diag_error(d, ART_ERR_MISMATCH, (diag_place){file, 0, 0},
                                "tensor %s does not belong to this kind of file -- was it written "
                                "by another version?",
                                diag_quote(quoted, sizeof quoted, name, strlen(name)));
    }
    return status;
}

static safetensors_text *find_text(const safetensors *s, const char *key)
{
    for (size_t i = 0; i < s->text_count; i++)
        if (strcmp(s->text[i].key, key) == 0)
            return &s->text[i];
    return NULL;
}

const char *safetensors_get(const safetensors *s, const char *key)
{
    const safetensors_text *text = find_text(s, key);
    return text ? text->value : NULL;
}

/* Makes room for one more element in a growing array. */
static int grow(void *array_of_pointer, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return ART_OK;
    void *old, *grown;
    memcpy(&old, array_of_pointer, sizeof old);
    size_t more = *room ? 2 * *room : 32;
    grown = mem_resize(old, more, size);
    if (!grown)
        return ART_ERR_NOMEM;
    memcpy(array_of_pointer, &grown, sizeof grown);
    *room = more;
    return ART_OK;
}

static int append_text(safetensors *s, const char *key, const char *value)
{
    int status = grow(&s->text, s->text_count, &s->text_room, sizeof *s->text);
    if (status)
        return status;
    safetensors_text text = {mem_text(key, strlen(key)), mem_text(value, strlen(value))};
    if (!text.key || !text.value) {
        free(text.key);
        free(text.value);
        return ART_ERR_NOMEM;
    }
    s->text[s->text_count++] = text;
    return ART_OK;
}

int safetensors_set(safetensors *s, const char *key, const char *value)
{
    safetensors_text *text = find_text(s, key);
    if (!text)
        return append_text(s, key, value);
    char *copy = mem_text(value, strlen(value));
    if (!copy)
        return ART_ERR_NOMEM;
    free(text->value);
    text->value = copy;
    return ART_OK;
}

static int append(safetensors *s, const tensor *t, const char *name)
{
    int status = grow(&s->tensor, s->count, &s->room, sizeof *s->tensor);
    if (status)
        return status;
    char *copy = mem_text(name, strlen(name));
    if (!copy)
        return ART_ERR_NOMEM;
    s->tensor[s->count] = *t;
    s->tensor[s->count++].name = copy;
    return ART_OK;
}

int safetensors_add(safetensors *s, const char *name, tensor_dtype dtype, int rank,
                    const size_t *shape, const void *data)
{
    tensor t = {.dtype = dtype, .data = data};
    if (!*name || strcmp(name, SAFETENSORS_METADATA) == 0 || find(s, name) || rank < 0 ||
        rank > TENSOR_RANK || tensor_set_shape(&t, rank, shape) != ART_OK)
        return ART_ERR_USAGE;
    return append(s, &t, name);
}

/* Writing */

/* A tensor's entry of the header; NULL when memory is short. */
static json_t *entry_json(const tensor *t, size_t begin, size_t end)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank && shape; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)t->shape[i]))) {
            json_decref(shape);
            shape = NULL;
        }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", tensor_dtype_name(t->dtype), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header as text, to be freed; *n bytes of numbers follow it. NULL when memory is short. */
static char *header_text(const safetensors *s, size_t *n)
{
    char *text = NULL;
    json_t *header = json_object(), *metadata = json_object();
    size_t at = 0;
    for (size_t i = 0; i < s->text_count; i++)
        if (json_object_set_new(metadata, s->text[i].key, json_string(s->text[i].value)))
            goto out;
    if (s->text_count && json_object_set(header, SAFETENSORS_METADATA, metadata))
        goto out;
    for (size_t i = 0; i < s->count; i++) {
        const tensor *t = &s->tensor[i];
        size_t end = at + tensor_bytes(t);
        if (json_object_set_new(header, t->name, entry_json(t, at, end)))
            goto out;
        at = end;
    }
    *n = at;
    text = json_dumps(header, JSON_COMPACT);
out:
    json_decref(metadata);
    json_decref(header);
    return text;
}

static int is_utf8(const char *text)
{
    size_t n = strlen(text);
    return utf8_invalid(text, n) == n;
}

/* Is there anything that may not be in a file? */
static int check_writable(const safetensors *s, diag_place place, diag *d)
{
    char quoted[128];
    int status = ART_OK;
    for (size_t i = 0; i < s->text_count && !status; i++)
        if (!is_utf8(s->text[i].key) || !is_utf8(s->text[i].value))
            status = diag_error(
                d, ART_ERR_INPUT, place, "not written: metadata %s is not UTF-8",
                diag_quote(quoted, sizeof quoted, s->text[i].key, strlen(s->text[i].key)));
    for (size_t i = 0; i < s->count && !status; i++) {
        const tensor *t = &s->tensor[i];
        size_t bad = tensor_first_bad(t);
        diag_quote(quoted, sizeof quoted, t->name, strlen(t->name));
        if (!is_utf8(t->name))
            status = diag_error(d, ART_ERR_INPUT, place,
                                "not written: the name of tensor %s is not UTF-8", quoted);
        else if (bad < t->count)
            status =
                diag_error(d, ART_ERR_NUMERIC, place,
                           "not written: in tensor %s number %zu is NaN or infinite", quoted, bad);
    }
    return status;
}

/* What is before the numbers, [*n], to be freed; *data bytes of numbers follow. */
static int make_header(unsigned char **bytes, size_t *n, size_t *data, const safetensors *s,
                       const char *file, diag *d)
{
    diag_place place = {file, 0, 0};
    int status = check_writable(s, place, d);
    if (status)
        return status;
    char *text = header_text(s, data);
    /* Spaces bring the data to a multiple of 8 bytes, as readers that map the file like it. */
    const uint64_t length = text ? strlen(text) : 0, header = (length + 7) / 8 * 8;
    *n = sizeof header + (size_t)header;
    *bytes = text ? mem_resize(NULL, *n, 1) : NULL;
    if (!*bytes)
        status = diag_error(d, ART_ERR_NOMEM, place, "not written: out of memory");
    else if (header > SAFETENSORS_HEADER)
        status = diag_error(d, ART_ERR_LIMIT, place, "not written: the header is too long");
    if (!status) {
        memset(*bytes, ' ', *n);
        memcpy(*bytes, &header, sizeof header);
        memcpy(*bytes + sizeof header, text, (size_t)length);
    }
    free(text);
    return status;
}

int safetensors_format(const safetensors *s, void **bytes, size_t *n, const char *file, diag *d)
{
    unsigned char *header = NULL, *out = NULL;
    size_t before = 0, data = 0;
    int status = make_header(&header, &before, &data, s, file, d);
    if (!status && !(out = mem_resize(header, before + data, 1)))
        status =
            diag_error(d, ART_ERR_NOMEM, (diag_place){file, 0, 0}, "not written: out of memory");
    if (status) {
        free(header);
        return status;
    }
    unsigned char *to = out + before;
    for (size_t i = 0; i < s->count; i++) {
        const size_t width = tensor_bytes(&s->tensor[i]);
        if (width)
            memcpy(to, s->tensor[i].data, width);
        to += width;
    }
    *bytes = out;
    *n = before + data;
    return ART_OK;
}

int safetensors_write(const safetensors *s, const char *path, diag *d)
{
    unsigned char *header = NULL;
    size_t n = 0, data = 0;
    output o;
    int status = make_header(&header, &n, &data, s, path, d);
    if (!status)
        status = output_open(&o, path, d);
    if (!status) {
        output_write(&o, header, n);
        for (size_t i = 0; i < s->count; i++)
            output_write(&o, s->tensor[i].data, tensor_bytes(&s->tensor[i]));
        status = output_close(&o, d);
    }
    free(header);
    return status;
}
