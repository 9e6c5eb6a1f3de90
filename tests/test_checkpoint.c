#include "support/check.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct folder {
    char path[64], prefix[96], present[160], previous[160];
} folder;

static void folder_open(folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/art-checkpoint-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->prefix, sizeof f->prefix, "%s/run", f->path);
    snprintf(f->present, sizeof f->present, "%s.ckp.safetensors", f->prefix);
    snprintf(f->previous, sizeof f->previous, "%s.ckp.prev.safetensors", f->prefix);
}

static void folder_close(folder *f)
{
    check_status(checkpoint_remove(f->prefix, NULL));
    assert_int_equal(rmdir(f->path), 0);
}

/* A small checkpoint that says which one it is. */
static void save_beside(const folder *f, int64_t number, bool is_damaged)
{
    saved_state s = {0};
    float weights[6] = {1, 2, 3, 4, 5, (float)number};
    check_status(safetensors_set(&s.tensors, "identity", "{\"seed\": 1}"));
    state_i64(&s, "number", &number);
    state_f32_array(&s, "weights", weights, 2, 3);
    state_f64_array(&s, "nothing", NULL, 0, 3);
    check_status(checkpoint_write(&s, f->prefix, is_damaged, NULL));
    saved_state_free(&s);
}

static void save(const folder *f, int64_t number)
{
    save_beside(f, number, false);
}

/* The number of the checkpoint that is read, or -1. */
static int64_t load(const folder *f, diag *d)
{
    saved_state s;
    bool is_previous;
    int64_t number = -1;
    if (checkpoint_read(&s, &is_previous, f->prefix, d) != ART_OK)
        return -1;
    assert_int_equal(is_previous, strcmp(s.file, f->previous) == 0);
    state_i64(&s, "number", &number);
    check_status(s.status);
    saved_state_free(&s);
    return number;
}

static size_t slurp(char *bytes, size_t room, const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(n > 0 && n < room);
    return n;
}

static void spill(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void previous_is_kept(void **state)
{
    (void)state;
    folder f;
    folder_open(&f);
    assert_false(checkpoint_exists(f.prefix));
    assert_int_equal(load(&f, NULL), -1);
    for (int64_t i = 1; i <= 3; i++) {
        save(&f, i);
        assert_true(checkpoint_exists(f.prefix));
        assert_int_equal(load(&f, NULL), i);
    }
    assert_int_equal(unlink(f.present), 0);
    diag d;
    diag_init(&d);
    assert_int_equal(load(&f, &d), 2);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.message[0].level, DIAG_WARNING);
    diag_free(&d);
    folder_close(&f);
}

/* A damaged checkpoint does not take the place of the good one before it. */
static void the_last_good_one_stays(void **state)
{
    (void)state;
    folder f;
    folder_open(&f);
    save(&f, 1);
    save(&f, 2);
    spill(f.present, "damaged", 7);
    assert_int_equal(load(&f, NULL), 1);
    save_beside(&f, 3, true);
    assert_int_equal(load(&f, NULL), 3);
    spill(f.present, "damaged", 7);
    assert_int_equal(load(&f, NULL), 1);
    folder_close(&f);
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    folder f;
    char bytes[8192];
    folder_open(&f);
    save(&f, 1);
    save(&f, 2);
    size_t n = slurp(bytes, sizeof bytes, f.present);
    for (size_t cut = 0; cut < n; cut++) {
        spill(f.present, bytes, cut);
        assert_int_equal(load(&f, NULL), 1);
    }
    spill(f.present, bytes, n);
    assert_int_equal(load(&f, NULL), 2);
    folder_close(&f);
}

static void every_bit_flip_is_noticed(void **state)
{
    (void)state;
    folder f;
    char bytes[8192];
    folder_open(&f);
    save(&f, 1);
    save(&f, 2);
    size_t n = slurp(bytes, sizeof bytes, f.present);
    rng r = rng_at(3, RNG_TEST, 0, 0);
    for (int i = 0; i < 10000; i++) {
        size_t at = rng_below(&r, (uint32_t)n);
        char bit = (char)(1 << rng_below(&r, 8));
        bytes[at] ^= bit;
        spill(f.present, bytes, n);
        assert_int_equal(load(&f, NULL), 1);
        bytes[at] ^= bit;
    }
    folder_close(&f);
}

static void both_damaged_is_an_error(void **state)
{
    (void)state;
    folder f;
    folder_open(&f);
    save(&f, 1);
    save(&f, 2);
    spill(f.present, "x", 1);
    spill(f.previous, "y", 1);
    diag d;
    diag_init(&d);
    assert_int_equal(load(&f, &d), -1);
    assert_int_equal(d.errors, 1);
    assert_non_null(strstr(d.message[0].text, "start the run again"));
    assert_int_equal(d.message[0].advice, ADVICE_START_AGAIN);
    diag_free(&d);
    folder_close(&f);
}

/* A checkpoint whose fields are those of another version. */
static void another_format_is_refused(void **state)
{
    (void)state;
    static const char FORMAT[] = "\"checkpoint_format\":\"";
    folder f;
    char bytes[8192];
    folder_open(&f);
    save(&f, 1);
    size_t n = slurp(bytes, sizeof bytes, f.present), at = 0;
    while (at + sizeof FORMAT < n && memcmp(bytes + at, FORMAT, sizeof FORMAT - 1) != 0)
        at++;
    assert_true(at + sizeof FORMAT < n);
    bytes[at + sizeof FORMAT - 1] = '0'; /* no number begins so */
    spill(f.present, bytes, n);
    diag d;
    diag_init(&d);
    assert_int_equal(load(&f, &d), -1);
    assert_int_equal(d.errors, 1);
    assert_non_null(strstr(d.message[0].text, "another version of the program"));
    diag_free(&d);
    folder_close(&f);
}

/* A failed field is not written. */
static void failures_are_not_written(void **state)
{
    (void)state;
    folder f;
    folder_open(&f);
    saved_state s = {0};
    state_fail(&s, ART_ERR_NOMEM);
    assert_int_equal(checkpoint_write(&s, f.prefix, false, NULL), ART_ERR_NOMEM);
    assert_false(checkpoint_exists(f.prefix));
    saved_state_free(&s);
    folder_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(previous_is_kept),
        cmocka_unit_test(the_last_good_one_stays),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(every_bit_flip_is_noticed),
        cmocka_unit_test(both_damaged_is_an_error),
        cmocka_unit_test(another_format_is_refused),
        cmocka_unit_test(failures_are_not_written),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
