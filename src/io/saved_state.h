/* saved_state.h: what an object keeps in a checkpoint, as one list of named fields for both ways.
 *
 * An object has one function that lists its fields. Whether it saves or loads them is a matter of
 * the state that it is given:
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
 *             state_refuse(s, "weights that cannot be");
 *         return s->status;
 *     }
 *
 *     saved_state s = {0};                                 all zero is a state that saves
 *     status = search_fields(x, &s);
 *     status = saved_state_write(&s, path, d);             or checkpoint_write
 *     saved_state_free(&s);
 *
 *     status = saved_state_read(&s, path, d);              or checkpoint_read: a state that loads
 *     status = search_fields(x, &s);
 *     status = saved_state_end(&s);                        nothing is left over
 *     saved_state_free(&s);
 *
 * What comes back is what was given, bit for bit. The first field that
 * fails sets s->status and is reported; all that follow do nothing. An object whose loading failed
 * can be freed, or loaded again, and nothing else.
 *
 * The file is a safetensors file with a matrix for every field. Single numbers that are infinite or
 * NaN, which such a file cannot hold, are 0 there, and a matrix "NAME.infinite" beside it says what
 * they are.
 * Cost: that of writing or copying the numbers; O(fields) to find one. */
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
    diag *d;    /* of who reads; may be NULL */
    char group[STATE_NAME];
    void **memory; /* [n_memory] state_memory; owned */
    size_t n_memory, memory_room;
} saved_state;

void saved_state_free(saved_state *s); /* leaves a state that saves; safe on a zeroed one */

/* A whole file, or nothing (io/safetensors.h). The statuses are those of safetensors_write and
 * safetensors_read, or that of the first field that failed. d must outlive s. */
int saved_state_write(const saved_state *s, const char *path, diag *d);
int saved_state_read(saved_state *s, const char *path, diag *d);

/* A state that loads from tensors that were read; they are taken over, on failure freed. */
int saved_state_from(saved_state *s, safetensors *tensors, const char *file, diag *d);

/* After the last field: ART_ERR_MISMATCH if there is something in the file that nobody asked for.
 * Returns s->status. */
int saved_state_end(saved_state *s);

/* The state loads, and all went well so far. */
static inline bool state_loaded(const saved_state *s)
{
    return s->is_loading && s->status == 0;
}

/* What was loaded cannot be what a run has saved: says so, once, with the advice to start the run
 * again. s->status becomes ART_ERR_MISMATCH. */
void state_refuse(saved_state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something else went wrong, such as ART_ERR_NOMEM; 0 is nothing. */
void state_fail(saved_state *s, int status);

/* Single numbers. They are copied: they may change as soon as the call is over. Those with bounds
 * refuse a number beyond them when they load; then *value is as it was. */
void state_i64(saved_state *s, const char *name, int64_t *value);
void state_i64_in(saved_state *s, const char *name, int64_t *value, int64_t least, int64_t most);
void state_int_in(saved_state *s, const char *name, int *value, int least, int most);
void state_bool(saved_state *s, const char *name, bool *value);
void state_f64(saved_state *s, const char *name, double *value);

/* One of `count` values of an enum: what was given, or what was loaded. */
int state_choice(saved_state *s, const char *name, int value, int count);

void state_log_mean(saved_state *s, const char *name, log_mean *value);

/* Arrays, data [rows][width]. A state that saves borrows them: they must not change until it is
 * freed. Floats are finite (a file with others is not written: ART_ERR_NUMERIC), but for logarithms
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

/* How many rows of that width an array has: as given when saving, as in the file when loading (0 if
 * it is not there or has another width). No more than the file holds, unless width is 0. */
size_t state_rows(const saved_state *s, const char *name, size_t rows, size_t width);

/* The keys of a table, each a row of numbers of the type. Loading replaces them; a row that is
 * there twice is refused. Borrowed as arrays are. */
void state_keys(saved_state *s, const char *name, key_table *t, tensor_dtype dtype);

/* Names are "group.name" until the end of the group; groups can be nested.
 *     size_t before = state_group(s, "lengths");
 *     ...
 *     state_group_end(s, before); */
size_t state_group(saved_state *s, const char *name);
void state_group_end(saved_state *s, size_t before);

/* count * size zeroed bytes that live until s is freed; NULL, and s->status is ART_ERR_NOMEM, if
 * memory is short. For fields that are nowhere else in the form in which they are saved. */
void *state_memory(saved_state *s, size_t count, size_t size);

#endif
