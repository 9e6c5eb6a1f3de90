#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "io/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_file(const char *path, const char *expected)
{
    char *text = file_text(path);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void appears_only_when_closed(void **state)
{
    (void)state;
    const char *path = scratch_write("result", "old");
    output o;
    check_status(output_open(&o, path, NULL));
    output_printf(&o, "%d %s\n", 7, "new");
    check_status(output_flush(&o));
    check_file(path, "old");
    check_status(output_close(&o, NULL));
    check_file(path, "7 new\n");
    assert_int_equal(scratch_count(), 1);
    check_status(output_close(&o, NULL)); /* a closed one: nothing happens */
    check_file(path, "7 new\n");
    output zero = {0};
    check_status(output_close(&zero, NULL));
}

static void long_texts_arrive_whole(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    char *text = malloc(SIZE + 1);
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 26);
    text[SIZE] = '\0';
    const char *path = scratch_path("long");
    output o;
    check_status(output_open(&o, path, NULL));
    output_printf(&o, "%s", text);
    for (int i = 0; i < SIZE; i += 1000)
        output_write(&o, text + i, 1000);
    check_status(output_close(&o, NULL));
    char *read = file_text(path);
    assert_int_equal(strlen(read), 2 * SIZE);
    assert_memory_equal(read, text, SIZE);
    assert_memory_equal(read + SIZE, text, SIZE);
    free(read);
    free(text);
}

static void fields_keep_tables_whole(void **state)
{
    (void)state;
    output o;
    check_status(output_open(&o, scratch_path("table"), NULL));
    output_field(&o, "plain");
    output_text(&o, "\t");
    output_field(&o, "a\tb\nc\rd\\e");
    output_text(&o, "\t");
    output_field(&o, "");
    check_status(output_close(&o, NULL));
    check_file(scratch_path("table"), "plain\ta\\tb\\nc\\rd\\\\e\t");
}

static void has_the_permissions_of_a_new_file(void **state)
{
    (void)state;
    mode_t old = umask(027);
    output o;
    check_status(output_open(&o, scratch_path("result"), NULL));
    check_status(output_close(&o, NULL));
    umask(old);
    struct stat info;
    assert_int_equal(stat(scratch_path("result"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

/* One that fails at the end: ART_ERR_IO and a message with the name and the reason. */
static void check_full(output *o, const char *name)
{
    diag d;
    diag_init(&d);
    output_text(o, "some text");
    assert_int_equal(output_close(o, &d), ART_ERR_IO);
    assert_int_equal(d.count, 1);
    assert_non_null(strstr(d.message[0].text, name));
    assert_non_null(strstr(d.message[0].text, "No space left"));
    diag_free(&d);
}

static void full_device_is_reported(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full");
    output o;
    check_status(output_open(&o, "/dev/full", NULL));
    check_full(&o, "/dev/full");

    const char *link = scratch_path("link");
    assert_int_equal(symlink("/dev/full", link), 0);
    check_status(output_open(&o, link, NULL));
    check_full(&o, link);
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode)); /* it was not replaced */

    check_status(output_append(&o, link, -1, NULL));
    output_text(&o, "a line\n");
    assert_int_equal(output_flush(&o), ART_ERR_IO);
    check_full(&o, link);

    int descriptor = open("/dev/full", O_WRONLY);
    check_status(output_descriptor(&o, descriptor, "standard output", NULL));
    check_full(&o, "standard output");
    assert_int_equal(close(descriptor), 0); /* it was not closed */
}

static void links_are_followed(void **state)
{
    (void)state;
    const char *target = scratch_write("target", "old");
    const char *link = scratch_path("link");
    assert_int_equal(symlink("target", link), 0);
    output o;
    check_status(output_open(&o, link, NULL));
    output_text(&o, "new");
    check_status(output_close(&o, NULL));
    check_file(target, "new");
    assert_int_equal(scratch_count(), 2);
}

static void impossible_places_are_refused(void **state)
{
    (void)state;
    scratch_write("file", "");
    const char *bad[] = {scratch_path("absent/file"), scratch_path("file/below"), scratch_path(""),
                         ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        diag d;
        diag_init(&d);
        output o;
        assert_int_equal(output_open(&o, bad[i], &d), ART_ERR_IO);
        assert_int_equal(d.errors, 1);
        check_status(output_close(&o, NULL)); /* nothing is open */
        diag_free(&d);
    }
    assert_int_equal(scratch_count(), 1);
}

static void logs_grow_and_are_cut_back(void **state)
{
    (void)state;
    const char *path = scratch_path("log");
    output o;
    check_status(output_append(&o, path, -1, NULL));
    output_text(&o, "one\n");
    check_status(output_flush(&o));
    check_file(path, "one\n");
    assert_int_equal(o.length, 4);
    output_text(&o, "two\n");
    check_status(output_sync(&o));
    check_file(path, "one\ntwo\n");
    check_status(output_close(&o, NULL));
    check_status(output_sync(&o)); /* a closed one: nothing */
    check_status(output_append(&o, path, 4, NULL));
    output_text(&o, "three\n");
    check_status(output_close(&o, NULL));
    check_file(path, "one\nthree\n");
    assert_int_equal(output_append(&o, path, 100, NULL), ART_ERR_IO);
    check_file(path, "one\nthree\n");
}

/* A file that a process with this number would have been writing. */
static const char *left_by(const char *name, pid_t process)
{
    char text[128];
    snprintf(text, sizeof text, "%s.%ld.0.tmp", name, (long)process);
    return scratch_write(text, "half");
}

static void dead_writers_are_swept_away(void **state)
{
    (void)state;
    char prefix[512];
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    left_by("run.ckp.safetensors", gone);
    left_by("run.json", getpid());
    assert_int_equal(scratch_count(), 2);
    snprintf(prefix, sizeof prefix, "%s", scratch_path("run"));
    output_sweep(prefix);
    assert_int_equal(scratch_count(), 0);
    left_by("run.json", getppid()); /* at work */
    left_by("runner.json", gone);   /* another prefix */
    scratch_write("run.tmp", "mine");
    scratch_write("run.1.tmp", "mine");
    scratch_write("run.a.b.tmp", "mine");
    scratch_write("run.json.12x.0.tmp", "mine");
    scratch_write("run.json", "mine");
    output_sweep(prefix);
    assert_int_equal(scratch_count(), 7);
    output_sweep(scratch_path("none/run")); /* no such folder */
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char *path = scratch_write("result", "old");
    int status = ART_ERR_NOMEM;
    for (long k = 1; status != ART_OK; k++) {
        memory_fail_at(k);
        output o;
        status = output_open(&o, path, NULL);
        if (status == ART_OK) {
            output_printf(&o, "%100000d", 7); /* longer than the buffer */
            status = output_close(&o, NULL);
        }
        memory_fail_at(0);
        assert_true(status == ART_OK ? k > 3 : status == ART_ERR_NOMEM);
        assert_int_equal(scratch_count(), 1);
        if (status != ART_OK)
            check_file(path, "old");
    }
}

static void results_are_named_by_prefix_and_suffix(void **state)
{
    (void)state;
    buffer text;
    buffer_init(&text);
    buffer_text(&text, "(a,b,c);\n");
    check_status(output_result(scratch_path("run"), ".contree", &text, NULL));
    char *found = file_text(scratch_path("run.contree"));
    assert_string_equal(found, "(a,b,c);\n");
    free(found);
    assert_int_equal(output_result(scratch_path("absent/run"), ".x", &text, NULL), ART_ERR_IO);
    text.failed = true; /* memory ran short while it was made */
    assert_int_equal(output_result(scratch_path("run"), ".x", &text, NULL), ART_ERR_NOMEM);
    assert_int_equal(scratch_count(), 1);
    buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_scratch_folder(appears_only_when_closed),
                                       in_scratch_folder(long_texts_arrive_whole),
                                       in_scratch_folder(fields_keep_tables_whole),
                                       in_scratch_folder(has_the_permissions_of_a_new_file),
                                       in_scratch_folder(full_device_is_reported),
                                       in_scratch_folder(every_allocation_may_fail),
                                       in_scratch_folder(links_are_followed),
                                       in_scratch_folder(impossible_places_are_refused),
                                       in_scratch_folder(logs_grow_and_are_cut_back),
                                       in_scratch_folder(dead_writers_are_swept_away),
                                       in_scratch_folder(results_are_named_by_prefix_and_suffix)};
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
