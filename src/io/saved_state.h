/* saved_state.h: the contents of an object in a checkpoint, as one list of named fields for both
 * saving and loading.
 *
 * An object has one function that lists its fields. Whether it saves or loads them depends on the
 * state that is passed:
 *
 *     int search_fields(search *x, saved_state *s)
 *     {
 *         state_i64_in(s, "search.starts", &x->starts, 0, INT64_MAX);
 *         state_f64(s, "search.before", &x->before);
 *         x->count = state_rows(s, "search.weight", x->count, 1);
 *         if (state_loaded(s))
 *             state_fail(s, make_room(x, x->count));
 *         state_f64_array(s, "search.weight", x->weight, x->count, 1);
 *         if (state_loaded(s) && !weights_are_right(x))
 *             state_refuse(s, "invalid weights");
 *         return s->status;
 *     }
 *
 *     saved_state s = {0};                                 a zeroed state saves
 *     status = search_fields(x, &s);
 *     status = saved_state_write(&s, path, d);             or checkpoint_write
 *     saved_state_free(&s);
 *
 *     status = saved_state_read(&s, path, d);              or checkpoint_read: s then loads
 *     status = search_fields(x, &s);
 *     status = saved_state_end(&s);                        nothing may be left over
 *     saved_state_free(&s);
 *
 * Loading restores what was saved, bit for bit. The first field that fails sets s->status and is
 * reported; all later fields do nothing. An object whose loading failed can only be freed or loaded
 * again.
 *
 * The file is a safetensors file with a matrix for every field. Single numbers that are infinite or
 * NaN, which such a file cannot hold, are stored as 0, with an additional matrix "NAME.infinite"
 * that holds their values. The cost is that of writing or copying the numbers; O(fields) to find
 * one. */
#ifndef IO_SAVED_STATE_H
#define IO_SAVED_STATE_H

#include "base/diag.h"
#include "base/key_table.h"
#include "base/log_mean.h"
#include "io/safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATE_NAME = 128 }; /* of a field, with its groups */

typedef struct saved_state {
    safetensors tensors; /* owned */
    bool is_loading;
    int status; /* of the first field that failed */
    char *file; /* that is loaded, for messages; owned */
    diag *d;    /* of the reader; may be NULL */
    char group[STATE_NAME];
    void **memory; /* [n_memory] state_memory; owned */
    size_t n_memory, memory_room;
} saved_state;

void saved_state_free(saved_state *s); /* leaves a state for saving; safe on a zeroed one */

/* Writes a complete file or none (io/safetensors.h). The statuses are those of safetensors_write
 * and safetensors_read, or that of the first field that failed. d must outlive s. */
int saved_state_write(const saved_state *s, const char *path, diag *d);
int saved_state_read(saved_state *s, const char *path, diag *d);

/* Makes a state for loading from tensors already read; takes ownership of them and frees them on
 * failure. */
int saved_state_from(saved_state *s, safetensors *tensors, const char *file, diag *d);

/* After the last field: ART_ERR_MISMATCH if the file has a field that was not requested. Returns
 * s->status. */
int saved_state_end(saved_state *s);

/* Whether the state loads and no field has failed so far. */
static inline bool state_loaded(const saved_state *s)
{
    return s->is_loading && s->status == 0;
}

/* The loaded data cannot have been saved by a run: reports it once, with the advice to start the
 * run again. s->status becomes ART_ERR_MISMATCH. */
void state_refuse(saved_state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records another failure, such as ART_ERR_NOMEM; 0 does nothing. */
void state_fail(saved_state *s, int status);

/* Single numbers. They are copied and may change after the call. Functions with bounds refuse a
 * loaded number outside them and leave *value unchanged. */
void state_i64(saved_state *s, const char *name, int64_t *value);
void state_i64_in(saved_state *s, const char *name, int64_t *value, int64_t least, int64_t most);
void state_int_in(saved_state *s, const char *name, int *value, int least, int most);
void state_bool(saved_state *s, const char *name, bool *value);
void state_f64(saved_state *s, const char *name, double *value);

/* One of `count` values of an enum; returns the given or the loaded value. */
int state_choice(saved_state *s, const char *name, int value, int count);

void state_log_mean(saved_state *s, const char *name, log_mean *value);

/* Arrays, data [rows][width]. A state that saves borrows them: they must not change until it is
 * freed. Floats are finite (otherwise nothing is written: ART_ERR_NUMERIC), except for logarithms
 * of weights. */
void state_i32_array(saved_state *s, const char *name, int32_t *data, size_t rows, size_t width);
void state_f32_array(saved_state *s, const char *name, float *data, size_t rows, size_t width);
void state_f64_array(saved_state *s, const char *name, double *data, size_t rows, size_t width);
void state_log_array(saved_state *s, const char *name, double *data, size_t rows, size_t width);
void state_u8_array(saved_state *s, const char *name, uint8_t *data, size_t rows, size_t width);

/* One member of `rows` structs, `stride` bytes from one to the next; copied. */
void state_i64_column(saved_state *s, const char *name, int64_t *first, size_t rows, size_t stride);
void state_f64_column(saved_state *s, const char *name, double *first, size_t rows, size_t stride);
void state_log_mean_column(saved_state *s, const char *name, log_mean *first, size_t rows,
                           size_t stride);

/* The number of rows of an array: the given number when saving, that of the file when loading (0 if
 * the array is missing or has another width). Never more than the file holds, unless width is 0. */
size_t state_rows(const saved_state *s, const char *name, size_t rows, size_t width);

/* The keys of a table, each a row of numbers of the type. Loading replaces them; a duplicate row is
 * refused. Borrowed in the same way as arrays. */
void state_keys(saved_state *s, const char *name, key_table *t, tensor_dtype dtype);

/* Names are "group.name" until the end of the group; groups can be nested.
 *     size_t before = state_group(s, "lengths");
 *     ...
 *     state_group_end(s, before); */
size_t state_group(saved_state *s, const char *name);
void state_group_end(saved_state *s, size_t before);

/* count * size zeroed bytes that live until s is freed; NULL, and s->status is ART_ERR_NOMEM, if
 * memory is short. For fields that are saved in a form in which they are not stored otherwise. */
void *state_memory(saved_state *s, size_t count, size_t size);

#endif
