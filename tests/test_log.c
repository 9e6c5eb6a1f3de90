#include "support/check.h"
#include "support/files.h"

#include "artreeformer.h"
#include "base/format.h"
#include "cli/log.h"
#include "cli/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard error goes to a file in the scratch folder between these two. */
static int saved;

static void catch_messages(void)
{
    scratch_make();
    int file = open(scratch_path("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    saved = dup(STDERR_FILENO);
    assert_true(file >= 0 && saved >= 0 && dup2(file, STDERR_FILENO) >= 0);
    close(file);
}

static void check_messages(const char *expected)
{
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    char *text = file_text(scratch_path("err"));
    assert_string_equal(text, expected);
    free(text);
}

static void levels_choose_what_is_shown(void **state)
{
    (void)state;
    static const struct {
        log_level level;
        const char *expected;
    } table[] = {{LOG_WARNING, "error: e 1\nwarning: w\n"},
                 {LOG_INFO, "error: e 1\nwarning: w\ni\n"},
                 {LOG_DETAIL, "error: e 1\nwarning: w\ni\nd\n"}};
    for (int i = 0; i < 3; i++) {
        logger l;
        catch_messages();
        log_init(&l);
        assert_false(l.terminal);
        assert_false(l.colour);
        l.level = table[i].level;
        check_status(log_open(&l, scratch_path("log"), -1, NULL));
        log_error(&l, "e %d", 1);
        log_warning(&l, "w");
        log_info(&l, "i");
        log_detail(&l, "d");
        check_status(log_close(&l, NULL));
        check_messages(table[i].expected);
        char *file = file_text(scratch_path("log")); /* everything, whatever the level */
        assert_string_equal(file, "error: e 1\nwarning: w\ni\nd\n");
        free(file);
        scratch_remove();
    }
}

static void control_characters_are_shown_escaped(void **state)
{
    (void)state;
    logger l;
    catch_messages();
    log_init(&l);
    log_info(&l, "a\033[2Jb\tc\r\x7f");
    check_status(log_close(&l, NULL));
    check_messages("a\\x1B[2Jb\tc\\x0D\\x7F\n");
    scratch_remove();
}

static void colour_on_a_terminal(void **state)
{
    (void)state;
    logger l;
    catch_messages();
    log_init(&l);
    l.terminal = l.colour = true;
    log_error(&l, "bad");
    log_info(&l, "plain");
    check_status(log_close(&l, NULL));
    check_messages("\033[1;31merror: bad\033[0m\nplain\n");
    scratch_remove();
}

static void long_lists_are_cut(void **state)
{
    (void)state;
    logger l;
    diag d;
    diag_init(&d);
    for (int i = 0; i < DIAG_KEEP + 1234; i++)
        diag_error(&d, ART_ERR_INPUT, (diag_place){"f", (size_t)i + 1, 0}, "bad");
    diag_note(&d, (diag_place){"f", 0, 0}, "odd");
    catch_messages();
    log_init(&l);
    log_diag(&l, &d);
    check_status(log_close(&l, NULL));
    assert_int_equal(d.count, 0);
    diag_free(&d);
    char expected[1024] = "";
    for (int i = 0; i < DIAG_KEEP; i++)
        snprintf(expected + strlen(expected), 32, "f:%d: error: bad\n", i + 1);
    strcat(expected, "... and 1,234 more\nf: note: odd\n");
    check_messages(expected);
    scratch_remove();
}

static void lost_messages_are_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full");
    logger l;
    log_init(&l);
    l.level = LOG_ERROR;
    check_status(log_open(&l, "/dev/full", -1, NULL));
    log_info(&l, "lost");
    assert_int_equal(log_close(&l, NULL), ART_ERR_IO);
}

/* A message wipes the progress line before it, and the line comes back with the next update. */
static void progress_shares_the_terminal(void **state)
{
    (void)state;
    logger l;
    progress p;
    catch_messages();
    log_init(&l);
    l.terminal = true;
    progress_start(&p, &l, "fitting", "steps", 200000, 0);
    progress_update(&p, 10, "not due");
    p.next = 0;
    p.started -= 1000; /* seconds ago: so many that a busy machine does not matter */
    progress_update(&p, 100000, "bound %.1f", -7.25);
    log_info(&l, "message");
    p.next = 0;
    progress_update(&p, 150000, "%s", "");
    progress_end(&p);
    check_status(log_close(&l, NULL));
    check_messages("fitting: 100,000 of 200,000 steps (50 %), 100/s, 16 min 40 s left; bound -7.2"
                   "\r\033[Kmessage\n"
                   "fitting: 150,000 of 200,000 steps (75 %), 150/s, 5 min 33 s left\r\033[K");
    scratch_remove();
}

static void progress_elsewhere_is_plain_lines(void **state)
{
    (void)state;
    logger l;
    progress p;
    catch_messages();
    log_init(&l);
    progress_start(&p, &l, "sampling", "trees", 0, 0);
    p.next = 0;
    p.started -= 400;
    progress_update(&p, 100000000, "%s", "");
    progress_update(&p, 100000001, "not due for half a minute");
    progress_end(&p);
    check_messages("sampling: 100,000,000 trees, 2.5e+05/s\n");
    scratch_remove();
}

static void quantities(void **state)
{
    (void)state;
    char out[FORMAT_SIZE], items[FORMAT_ITEMS];
    assert_string_equal(format_count(out, sizeof out, 0), "0");
    assert_string_equal(format_count(out, sizeof out, 999), "999");
    assert_string_equal(format_items(items, sizeof items, 1, "tree", "trees"), "1 tree");
    assert_string_equal(format_items(items, sizeof items, 0, "taxon", "taxa"), "0 taxa");
    assert_string_equal(format_items(items, sizeof items, 1234, "tree", "trees"), "1,234 trees");
    assert_string_equal(format_count(out, sizeof out, 1000), "1,000");
    assert_string_equal(format_count(out, sizeof out, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(format_bytes(out, sizeof out, 1023), "1023 B");
    assert_string_equal(format_bytes(out, sizeof out, 1024), "1.0 KiB");
    assert_string_equal(format_bytes(out, sizeof out, 1048575), "1.0 MiB");
    assert_string_equal(format_bytes(out, sizeof out, 1.5 * 1073741824), "1.5 GiB");
    assert_string_equal(format_seconds(out, sizeof out, 0), "0 s");
    assert_string_equal(format_seconds(out, sizeof out, 0.25), "0.25 s");
    assert_string_equal(format_seconds(out, sizeof out, 59.94), "59.9 s");
    assert_string_equal(format_seconds(out, sizeof out, 59.96), "1 min 00 s");
    assert_string_equal(format_seconds(out, sizeof out, 3599.9), "1 h 00 min");
    assert_string_equal(format_seconds(out, sizeof out, 200000), "2 d 7 h");
    assert_string_equal(format_real(out, sizeof out, 0.1), "0.1");
    assert_string_equal(format_real(out, sizeof out, 1.0 / 3), "0.3333333333333333");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_choose_what_is_shown),
        cmocka_unit_test(control_characters_are_shown_escaped),
        cmocka_unit_test(colour_on_a_terminal),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(lost_messages_are_a_failure),
        cmocka_unit_test(progress_shares_the_terminal),
        cmocka_unit_test(progress_elsewhere_is_plain_lines),
        cmocka_unit_test(quantities),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
