/* The program as a user meets it: command lines by table, exit codes, what is said and where. */
#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct line {
    const char *arguments;
    int code;
    const char *out, *err; /* words, all of which occur; NULL: no matter */
} line;

static void check_lines(const line *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_result r = run_line(NULL, table[i].arguments);
        check_run(&r, table[i].arguments, table[i].code, table[i].out, table[i].err);
        run_free(&r);
    }
}

#define CHECK_LINES(table) check_lines(table, sizeof(table) / sizeof((table)[0]))

static void without_a_command(void **state)
{
    (void)state;
    static const line table[] = {
        {"", 2, "usage: artreeformer COMMAND", NULL},
        {"-h", 0, "usage: artreeformer COMMAND", NULL},
        {"--help", 0, "usage: artreeformer COMMAND", NULL},
        {"help", 0, "usage: artreeformer COMMAND", NULL},
        {"--version", 0, "artreeformer " ART_VERSION "\n|instruction set: ", NULL},
        {"--verison", 2, NULL, "must be a command, not '--verison'"},
        {"xyzzy", 2, NULL, "unknown command 'xyzzy' -- see artreeformer --help"},
        {"help xyzzy", 2, NULL, "unknown command 'xyzzy'"},
        {"--print-completion tcsh", 2, NULL, NULL},
    };
    CHECK_LINES(table);
    run_result r = run_line(NULL, "--version");
    assert_int_equal(strncmp(r.out, "artreeformer " ART_VERSION "\n", strlen(ART_VERSION) + 14), 0);
    run_free(&r);
}

/* Help of every command: the usage, every name of the table, and the defaults. */
static void every_command_explains_itself(void **state)
{
    (void)state;
    for (const command *const *c = COMMANDS; *c; c++) {
        char text[128], name[OPTION_NAME];
        snprintf(text, sizeof text, "%s -h", (*c)->name);
        run_result r = run_line(NULL, text);
        check_run(&r, text, 0, "usage: artreeformer |--quiet|--config FILE", NULL);
        option_set s;
        check_status(options_init(&s, (*c)->options, (*c)->defaults, (*c)->size));
        for (int i = 0; i < s.count; i++)
            for (int k = 0; option_name(name, s.item[i].row, k, false); k++)
                if (!strstr(r.out, name))
                    fail_msg("%s: no %s in\n%s", text, name, r.out);
        options_free(&s);
        run_free(&r);
        snprintf(text, sizeof text, "help %s", (*c)->name);
        r = run_line(NULL, text);
        check_run(&r, text, 0, "usage: artreeformer ", NULL);
        run_free(&r);
        snprintf(text, sizeof text, "%s --quite", (*c)->name);
        r = run_line(NULL, text);
        check_run(&r, text, 2, NULL, "unknown option '--quite' -- did you mean --quiet?");
        run_free(&r);
    }
}

static void full_standard_output_is_an_error(void **state)
{
    (void)state;
    static const char *const lines[] = {"--version", "--help", "--print-manual",
                                        "--print-completion bash"};
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        run_result r = run_line(&(run_options){.out = "/dev/full"}, lines[i]);
        check_run(&r, lines[i], 1, NULL, "standard output: error: cannot write: No space left");
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_command),
        cmocka_unit_test(every_command_explains_itself),
        cmocka_unit_test(full_standard_output_is_an_error),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
