#include "io/saved_state.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a float is that the file cannot hold. */
enum { FINITE, PLUS_INFINITE, MINUS_INFINITE, NOT_A_NUMBER, SPECIALS };

static const char INFINITE[] = ".infinite";

/* A field: `rows` times `width` numbers, rows `stride` bytes from one to the next. */
typedef struct field {
    tensor_dtype dtype;
    char *data;
    size_t rows, width, stride;
    bool has_infinite; /* F64: may be infinite or NaN */
} field;

static size_t row_bytes(const field *f)
{
    return f->width * tensor_width(f->dtype);
}

void saved_state_free(saved_state *s)
{
    for (size_t i = 0; i < s->n_memory; i++)
        free(s->memory[i]);
    free(s->memory);
    free(s->file);
    safetensors_free(&s->tensors);
    *s = (saved_state){0};
}

int saved_state_write(const saved_state *s, const char *path, diag *d)
{
    return s->status ? s->status : safetensors_write(&s->tensors, path, d);
}

int saved_state_from(saved_state *s, safetensors *tensors, const char *file, diag *d)
{
    *s = (saved_state){.tensors = *tensors, .is_loading = true, .d = d};
    *tensors = (safetensors){0};
    s->file = mem_text(file, strlen(file));
    if (s->file)
        return ART_OK;
    saved_state_free(s);
    return ART_ERR_NOMEM;
}

int saved_state_read(saved_state *s, const char *path, diag *d)
{
    safetensors tensors = {0};
    *s = (saved_state){0};
    int status = safetensors_read(&tensors, path, d);
    return status ? status : saved_state_from(s, &tensors, path, d);
}

int saved_state_end(saved_state *s)
{
    for (size_t i = 0; i < s->tensors.count && state_loaded(s); i++)
        if (!s->tensors.tensor[i].used) {
            char quoted[STATE_NAME];
            const char *name = s->tensors.tensor[i].name;
            state_refuse(s, "%s was not saved by this run",
                         diag_quote(quoted, sizeof quoted, name, strlen(name)));
        }
    return s->status;
}

void state_fail(saved_state *s, int status)
{
    if (s->status == ART_OK)
        s->status = status;
}

void state_refuse(saved_state *s, const char *format, ...)
{
    char text[256];
    if (s->status)
        return;
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    s->status = diag_error(s->d, ART_ERR_MISMATCH, (diag_place){.file = s->file},
                           "%s -- start the run again", text);
    diag_advise(s->d, ADVICE_START_AGAIN);
}

size_t state_group(saved_state *s, const char *name)
{
    const size_t before = strlen(s->group), size = sizeof s->group - before;
    if ((size_t)snprintf(s->group + before, size, "%s.", name) >= size)
        state_fail(s, ART_ERR_USAGE);
    return before;
}

void state_group_end(saved_state *s, size_t before)
{
    s->group[before] = '\0';
}

/* The name in the file; false if it is too long. */
static bool full_name(char full[STATE_NAME], const saved_state *s, const char *name,
                      const char *suffix)
{
    return snprintf(full, STATE_NAME, "%s%s%s", s->group, name, suffix) < STATE_NAME;
}

void *state_memory(saved_state *s, size_t count, size_t size)
{
    void **grown = mem_grow(s->memory, &s->memory_room, s->n_memory, sizeof *grown);
    if (grown)
        s->memory = grown;
    void *block = grown ? mem_zeros(count, size) : NULL;
    if (!block)
        state_fail(s, ART_ERR_NOMEM);
    else
        s->memory[s->n_memory++] = block;
    return block;
}

/* Saving */

/* The numbers one behind the other: where they are, or a copy. */
static char *gather(saved_state *s, const field *f, bool must_copy)
{
    if (!must_copy && f->stride == row_bytes(f))
        return f->data;
    char *copy = state_memory(s, f->rows, row_bytes(f));
    for (size_t i = 0; copy && i < f->rows && row_bytes(f) > 0; i++)
        memcpy(copy + i * row_bytes(f), f->data + i * f->stride, row_bytes(f));
    return copy;
}

/* Replaces numbers that the file cannot hold in the copy and records them in code [n]. */
static void take_out(uint8_t *code, double *copy, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isfinite(copy[i]))
            continue;
        code[i] = isnan(copy[i]) ? NOT_A_NUMBER : copy[i] > 0 ? PLUS_INFINITE : MINUS_INFINITE;
        copy[i] = 0;
    }
}

static void add(saved_state *s, const char *name, const char *suffix, tensor_dtype dtype,
                const field *f, const void *data)
{
    char full[STATE_NAME];
    const size_t shape[] = {f->rows, f->width};
    state_fail(s, full_name(full, s, name, suffix)
                      ? safetensors_add(&s->tensors, full, dtype, 2, shape, data)
                      : ART_ERR_USAGE);
}

static void save(saved_state *s, const char *name, const field *f)
{
    const size_t numbers = f->rows * f->width;
    const bool is_single = numbers == 1; /* and may be a variable that is gone tomorrow */
    char *data = gather(s, f, is_single);
    const tensor all = {.dtype = f->dtype, .count = numbers, .data = data};
    if (s->status)
        return;
    if (f->has_infinite && tensor_first_bad(&all) < numbers) {
        uint8_t *code = state_memory(s, numbers, sizeof *code);
        if (data == f->data)
            data = gather(s, f, true);
        if (s->status)
            return;
        take_out(code, (double *)(void *)data, numbers);
        add(s, name, INFINITE, TENSOR_U8, f, code);
    }
    add(s, name, "", f->dtype, f, data);
}

/* Loading */

/* The matrix of that name if it is there as it should be; otherwise it is refused. */
static const tensor *find(saved_state *s, const char *name, const field *f)
{
    char full[STATE_NAME];
    if (!full_name(full, s, name, "")) {
        state_fail(s, ART_ERR_USAGE);
        return NULL;
    }
    const tensor *t = safetensors_use(&s->tensors, full);
    if (t && t->dtype == f->dtype && t->rank == 2 && t->shape[0] == f->rows &&
        t->shape[1] == f->width)
        return t;
    state_refuse(s, "%s is missing or does not hold %zu x %zu numbers of type %s", full, f->rows,
                 f->width, tensor_dtype_name(f->dtype));
    return NULL;
}

/* Puts in again what the file could not hold. */
static void put_in(saved_state *s, const char *name, const field *f)
{
    static const double VALUE[] = {
        [PLUS_INFINITE] = HUGE_VAL, [MINUS_INFINITE] = -HUGE_VAL, [NOT_A_NUMBER] = NAN};
    char full[STATE_NAME];
    if (!full_name(full, s, name, INFINITE))
        return;
    const tensor *t = safetensors_use(&s->tensors, full);
    if (!t)
        return;
    const uint8_t *code = t->data;
    bool is_right =
        t->dtype == TENSOR_U8 && t->rank == 2 && t->shape[0] == f->rows && t->shape[1] == f->width;
    for (size_t i = 0; i < f->rows * f->width && is_right; i++) {
        is_right = code[i] < SPECIALS;
        if (is_right && code[i] != FINITE)
            memcpy(f->data + i / f->width * f->stride + i % f->width * sizeof(double),
                   &VALUE[code[i]], sizeof(double));
    }
    if (!is_right)
        state_refuse(s, "%s has the wrong size", full);
}

static void load(saved_state *s, const char *name, const field *f)
{
    const tensor *t = find(s, name, f);
    if (!t)
        return;
    for (size_t i = 0; i < f->rows && row_bytes(f) > 0; i++)
        memcpy(f->data + i * f->stride, (const char *)t->data + i * row_bytes(f), row_bytes(f));
    if (f->has_infinite)
        put_in(s, name, f);
}

/* Fields */

static void transfer(saved_state *s, const char *name, field f)
{
    if (s->status == ART_OK)
        (s->is_loading ? load : save)(s, name, &f);
}

static void array(saved_state *s, const char *name, tensor_dtype dtype, void *data, size_t rows,
                  size_t width)
{
    transfer(s, name, (field){dtype, data, rows, width, width * tensor_width(dtype), false});
}

void state_i32_array(saved_state *s, const char *name, int32_t *data, size_t rows, size_t width)
{
    array(s, name, TENSOR_I32, data, rows, width);
}

void state_f32_array(saved_state *s, const char *name, float *data, size_t rows, size_t width)
{
    array(s, name, TENSOR_F32, data, rows, width);
}

void state_f64_array(saved_state *s, const char *name, double *data, size_t rows, size_t width)
{
    array(s, name, TENSOR_F64, data, rows, width);
}

void state_log_array(saved_state *s, const char *name, double *data, size_t rows, size_t width)
{
    transfer(s, name, (field){TENSOR_F64, (char *)data, rows, width, width * sizeof *data, true});
}

void state_u8_array(saved_state *s, const char *name, uint8_t *data, size_t rows, size_t width)
{
    array(s, name, TENSOR_U8, data, rows, width);
}

void state_i64_column(saved_state *s, const char *name, int64_t *first, size_t rows, size_t stride)
{
    transfer(s, name, (field){TENSOR_I64, (char *)first, rows, 1, stride, false});
}

void state_f64_column(saved_state *s, const char *name, double *first, size_t rows, size_t stride)
{
    transfer(s, name, (field){TENSOR_F64, (char *)first, rows, 1, stride, true});
}

static bool log_mean_is_right(const log_mean *m)
{
    return m->count >= 0 && isfinite(m->top) && m->sum >= 0 && isfinite(m->sum) &&
           m->squares >= 0 && isfinite(m->squares);
}

void state_log_mean_column(saved_state *s, const char *name, log_mean *first, size_t rows,
                           size_t stride)
{
    const size_t before = state_group(s, name);
    state_i64_column(s, "count", rows ? &first->count : NULL, rows, stride);
    state_f64_column(s, "top", rows ? &first->top : NULL, rows, stride);
    state_f64_column(s, "sum", rows ? &first->sum : NULL, rows, stride);
    state_f64_column(s, "squares", rows ? &first->squares : NULL, rows, stride);
    state_group_end(s, before);
    for (size_t i = 0; i < rows && state_loaded(s); i++)
        if (!log_mean_is_right((const log_mean *)(const void *)((const char *)first + i * stride)))
            state_refuse(s, "%s%s is not a valid mean", s->group, name);
}

void state_log_mean(saved_state *s, const char *name, log_mean *value)
{
    log_mean kept = *value;
    state_log_mean_column(s, name, &kept, 1, sizeof kept);
    if (state_loaded(s))
        *value = kept;
}

void state_i64(saved_state *s, const char *name, int64_t *value)
{
    array(s, name, TENSOR_I64, value, 1, 1);
}

void state_i64_in(saved_state *s, const char *name, int64_t *value, int64_t least, int64_t most)
{
    int64_t kept = *value;
    state_i64(s, name, &kept);
    if (state_loaded(s) && (kept < least || kept > most))
        state_refuse(s, "%s%s is %lld, not in %lld .. %lld", s->group, name, (long long)kept,
                     (long long)least, (long long)most);
    if (state_loaded(s))
        *value = kept;
}

void state_int_in(saved_state *s, const char *name, int *value, int least, int most)
{
    int64_t kept = *value;
    state_i64_in(s, name, &kept, least, most);
    *value = (int)kept;
}

int state_choice(saved_state *s, const char *name, int value, int count)
{
    state_int_in(s, name, &value, 0, count - 1);
    return value;
}

void state_bool(saved_state *s, const char *name, bool *value)
{
    *value = state_choice(s, name, *value, 2) != 0;
}

void state_f64(saved_state *s, const char *name, double *value)
{
    state_log_array(s, name, value, 1, 1);
}

size_t state_rows(const saved_state *s, const char *name, size_t rows, size_t width)
{
    char full[STATE_NAME];
    if (!s->is_loading)
        return rows;
    const tensor *t = full_name(full, s, name, "") ? safetensors_find(&s->tensors, full) : NULL;
    return t && t->rank == 2 && t->shape[1] == width ? t->shape[0] : 0;
}

static void load_keys(saved_state *s, const char *name, key_table *t, field f)
{
    key_table_clear(t);
    f.rows = state_rows(s, name, 0, f.width);
    if (!find(s, name, &f))
        return;
    if (t->size == 0 && f.rows > 1) {
        state_refuse(s, "%s%s has the empty row %zu times", s->group, name, f.rows);
        return;
    }
    state_fail(s, key_table_reserve(t, f.rows));
    f.data = (char *)t->key; /* it may have moved */
    transfer(s, name, f);
    for (size_t i = 0; i < f.rows && state_loaded(s); i++)
        if (key_table_put(t, key_table_at(t, i)) != i)
            state_refuse(s, "%s%s has a row twice", s->group, name);
    if (s->status)
        key_table_clear(t);
}

void state_keys(saved_state *s, const char *name, key_table *t, tensor_dtype dtype)
{
    const field f = {dtype,   (char *)t->key, t->count, t->size / tensor_width(dtype),
                     t->size, false};
    if (!s->is_loading)
        transfer(s, name, f);
    else if (s->status == ART_OK)
        load_keys(s, name, t, f);
}
