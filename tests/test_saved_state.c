#include "support/check.h"
#include "support/files.h"
#include "support/state.h"

#include "artreeformer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct pair {
    double value;
    log_mean mean;
    int64_t count;
} pair;

typedef enum colour { RED, GREEN, BLUE, COLOURS } colour;

/* An object with a field of every kind. */
typedef struct object {
    int64_t steps;
    int rows;
    bool is_done;
    double level;
    colour paint;
    log_mean mean;
    int32_t number[2][3];
    float single[4];
    double twofold[4], weight[4];
    uint8_t mark[5];
    pair pairs[3];
} object;

static int object_fields(object *o, saved_state *s)
{
    state_i64(s, "steps", &o->steps);
    state_int_in(s, "rows", &o->rows, 0, 4);
    state_bool(s, "is_done", &o->is_done);
    state_f64(s, "level", &o->level);
    o->paint = (colour)state_choice(s, "paint", (int)o->paint, COLOURS);
    state_log_mean(s, "mean", &o->mean);
    const size_t before = state_group(s, "arrays");
    state_i32_array(s, "number", o->number[0], 2, 3);
    state_f32_array(s, "single", o->single, 4, 1);
    state_f64_array(s, "twofold", o->twofold, 2, 2);
    state_log_array(s, "weight", o->weight, 1, 4);
    state_u8_array(s, "mark", o->mark, state_rows(s, "mark", 5, 1), 1);
    state_group_end(s, before);
    state_f64_column(s, "pair.value", &o->pairs[0].value, 3, sizeof o->pairs[0]);
    state_i64_column(s, "pair.count", &o->pairs[0].count, 3, sizeof o->pairs[0]);
    state_log_mean_column(s, "pair.mean", &o->pairs[0].mean, 3, sizeof o->pairs[0]);
    state_f64_array(s, "nothing", NULL, 0, 7);
    return s->status;
}

static object example(void)
{
    object o;
    memset(&o, 0, sizeof o); /* objects are compared with their padding */
    o.steps = INT64_MIN;
    o.rows = 4;
    o.is_done = true;
    o.level = -HUGE_VAL;
    o.paint = BLUE;
    log_mean_add(&o.mean, -3);
    log_mean_add(&o.mean, -1000);
    for (int i = 0; i < 6; i++)
        o.number[i / 3][i % 3] = i - 2;
    for (int i = 0; i < 4; i++) {
        o.single[i] = 0.1f * (float)i;
        o.twofold[i] = i == 3 ? DBL_MAX : 0.1 * i;
    }
    o.weight[0] = HUGE_VAL;
    o.weight[1] = -HUGE_VAL;
    o.weight[2] = -DBL_MAX;
    o.weight[3] = 5;
    memcpy(o.mark, "abcde", 5);
    for (int i = 0; i < 3; i++) {
        o.pairs[i].value = i == 1 ? -HUGE_VAL : i + 0.5;
        o.pairs[i].count = 1 - i;
        log_mean_add(&o.pairs[i].mean, -i);
    }
    return o;
}

/* Every number comes back, infinite or not, and single ones are as they were when they were
 * given. */
static void both_ways(void **state)
{
    (void)state;
    object o = example(), back;
    saved_state s = {0};
    memset(&back, 0, sizeof back);
    check_status(object_fields(&o, &s));
    o.steps = o.rows = 0;
    o.level = 0;
    o.mean = (log_mean){0};
    o.pairs[0].count = 77;
    state_turn(&s, NULL);
    check_status(object_fields(&back, &s));
    check_status(saved_state_end(&s));
    saved_state_free(&s);
    o = example();
    assert_memory_equal(&o, &back, sizeof o);
}

static void not_a_number(void **state)
{
    (void)state;
    double nan = (double)NAN, back = 1, array[2] = {1, (double)NAN};
    saved_state s = {0};
    state_f64(&s, "nan", &nan);
    state_turn(&s, NULL);
    state_f64(&s, "nan", &back);
    check_status(saved_state_end(&s));
    assert_true(isnan(back));
    saved_state_free(&s);
    scratch_make();
    state_f64_array(&s, "array", array, 1, 2); /* which is for finite numbers */
    assert_int_equal(saved_state_write(&s, scratch_path("x"), NULL), ART_ERR_NUMERIC);
    saved_state_free(&s);
    scratch_remove();
}

static void through_a_file(void **state)
{
    (void)state;
    object o = example(), back;
    saved_state s = {0};
    scratch_make();
    const char *path = scratch_path("state.safetensors");
    memset(&back, 0, sizeof back);
    check_status(object_fields(&o, &s));
    check_status(saved_state_write(&s, path, NULL));
    saved_state_free(&s);
    check_status(saved_state_read(&s, path, NULL));
    check_status(object_fields(&back, &s));
    check_status(saved_state_end(&s));
    saved_state_free(&s);
    assert_memory_equal(&o, &back, sizeof o);
    assert_int_equal(saved_state_read(&s, scratch_path("none"), NULL), ART_ERR_INPUT);
    saved_state_free(&s);
    scratch_remove();
}

/* One message, which has the name of the file and of the field and the advice; whatever follows
 * does nothing. */
static void check_refused(saved_state *s, const char *name)
{
    object back;
    diag d;
    diag_init(&d);
    memset(&back, 0, sizeof back);
    s->d = &d;
    int status = object_fields(&back, s);
    if (!status)
        status = saved_state_end(s);
    assert_int_equal(status, ART_ERR_MISMATCH);
    assert_int_equal(d.count, 1);
    assert_non_null(strstr(d.message[0].text, "memory: error: "));
    assert_non_null(strstr(d.message[0].text, name));
    assert_non_null(strstr(d.message[0].text, "start the run again"));
    assert_int_equal(d.message[0].advice, ADVICE_START_AGAIN);
    diag_free(&d);
    saved_state_free(s);
}

static void what_is_wrong_is_refused_once(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t at;
        double value;
    } damage[] = {
        {"rows", 0, 5},
        {"rows", 0, -1},
        {"is_done", 0, 2},
        {"paint", 0, COLOURS},
        {"mean.count", 0, -1},
        {"mean.sum", 0, -1},
        {"mean.squares", 0, -1},
        {"pair.mean.count", 2, -1},
        {"arrays.weight.infinite", 2, 4},
    };
    object o = example();
    saved_state s = {0}, copy;
    check_status(object_fields(&o, &s));
    state_turn(&s, NULL);
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", damage[i].name);
        if (strncmp(name, "mean.", 5) == 0 || strncmp(name, "pair.mean.", 10) == 0)
            *strrchr(name, '.') = '\0';
        state_damaged(&copy, &s, damage[i].name, damage[i].at, damage[i].value);
        check_refused(&copy, name);
    }
    for (size_t i = 0; i < s.tensors.count; i++) {
        const char *name = s.tensors.tensor[i].name;
        if (strstr(name, ".infinite"))
            continue; /* then they are 0 */
        state_without(&copy, &s, name);
        check_refused(&copy, name);
    }
    state_damaged(&copy, &s, NULL, 0, 0);
    check_status(safetensors_add(&copy.tensors, "more", TENSOR_U8, 1, (size_t[]){1}, "x"));
    check_refused(&copy, "more");
    saved_state_free(&s);
}

/* Of another type, or another shape of as many numbers. */
static void types_and_shapes(void **state)
{
    (void)state;
    double levels[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
    float single[6] = {0};
    saved_state s = {0}, copy;
    state_f64_array(&s, "levels", levels, 3, 2);
    state_turn(&s, NULL);
    assert_int_equal(state_rows(&s, "levels", 9, 2), 3);
    assert_int_equal(state_rows(&s, "levels", 9, 3), 0);
    assert_int_equal(state_rows(&s, "other", 9, 2), 0);
    for (int kind = 0; kind < 5; kind++) {
        state_damaged(&copy, &s, NULL, 0, 0);
        if (kind == 0)
            state_f32_array(&copy, "levels", single, 3, 2);
        else
            state_f64_array(&copy, "levels", back,
                            kind == 1   ? 2
                            : kind == 2 ? 6
                                        : 3,
                            kind == 1   ? 3
                            : kind == 4 ? 2
                                        : 1);
        assert_int_equal(copy.status, kind == 4 ? ART_OK : ART_ERR_MISMATCH);
        assert_true((back[0] > 0) == (kind == 4));
        saved_state_free(&copy);
    }
    assert_memory_equal(levels, back, sizeof levels);
    saved_state_free(&s);
}

/* Into a table that had other keys; a row that is there twice is refused. */
static void keys(void **state)
{
    (void)state;
    key_table t, back;
    saved_state s = {0}, copy;
    key_table_init(&t, 2 * sizeof(int32_t));
    key_table_init(&back, 2 * sizeof(int32_t));
    size_t number;
    for (int32_t i = 0; i < 100; i++)
        check_status(key_table_add(&t, (int32_t[]){i / 7, i % 7}, &number));
    check_status(key_table_add(&back, (int32_t[]){7, 1}, &number));
    state_keys(&s, "keys", &t, TENSOR_I32);
    state_turn(&s, NULL);
    state_damaged(&copy, &s, NULL, 0, 0);
    state_keys(&copy, "keys", &back, TENSOR_I32);
    check_status(saved_state_end(&copy));
    saved_state_free(&copy);
    assert_int_equal(back.count, 100);
    for (int32_t i = 0; i < 100; i++)
        assert_int_equal(key_table_find(&back, (int32_t[]){i / 7, i % 7}), i);
    state_damaged(&copy, &s, "keys", 2 * 8, 0); /* 1 1 becomes 0 1 */
    state_keys(&copy, "keys", &back, TENSOR_I32);
    assert_int_equal(copy.status, ART_ERR_MISMATCH);
    assert_int_equal(back.count, 0);
    assert_int_equal(key_table_find(&back, (int32_t[]){0, 1}), KEY_NONE);
    saved_state_free(&copy);
    state_without(&copy, &s, "keys");
    state_keys(&copy, "keys", &back, TENSOR_I32);
    assert_int_equal(copy.status, ART_ERR_MISMATCH);
    saved_state_free(&copy);
    saved_state_free(&s);
    key_table_free(&t);
    key_table_free(&back);
}

/* Keys of no numbers: there is one at most. */
static void empty_keys(void **state)
{
    (void)state;
    for (size_t rows = 0; rows < 3; rows++) {
        key_table t;
        saved_state s = {0};
        key_table_init(&t, 0);
        state_i32_array(&s, "keys", NULL, rows, 0);
        state_turn(&s, NULL);
        state_keys(&s, "keys", &t, TENSOR_I32);
        assert_int_equal(s.status, rows < 2 ? ART_OK : ART_ERR_MISMATCH);
        assert_int_equal(t.count, rows < 2 ? rows : 0);
        saved_state_free(&s);
        key_table_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways),        cmocka_unit_test(not_a_number),
        cmocka_unit_test(through_a_file),   cmocka_unit_test(what_is_wrong_is_refused_once),
        cmocka_unit_test(types_and_shapes), cmocka_unit_test(keys),
        cmocka_unit_test(empty_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
