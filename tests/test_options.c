#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/settings_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct inner {
    bool flag;
    const char *config;
} inner;

typedef struct settings {
    int64_t number;
    double rate;
    const char *text;
    const char *input;
    int gap;
    double limit;
    int64_t memory;
    int64_t threads;
    option_files trees;
    option_files truth;
    inner inner;
} settings;

static const option INNER[] = {
    OPTION_HEADING("Inner"),
    OPTION_FLAG(inner, flag, "-f --flag", LOCAL, "a flag"),
    OPTION_FILE(inner, config, "--config", LOCAL, "settings"),
    OPTION_END,
};

static const option TABLE[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, trees, "TREES", OPTIONAL, "trees"),
    OPTION_FILES(settings, truth, "--truth", OPTIONAL, "the truth"),
    OPTION_FILE(settings, input, "-s --msa", REQUIRED, "alignment"),
    OPTION_HEADING("Numbers"),
    OPTION_INT(settings, number, "-n --number | -num", OPTIONAL, 1, 100, "how many"),
    OPTION_REAL(settings, rate, "--learning-rate", OPTIONAL, OPTION_ABOVE_0, 10, "how fast"),
    OPTION_TEXT(settings, text, "--text", OPTIONAL, "WORD", "a word"),
    OPTION_CHOICE(settings, gap, "--gap", OPTIONAL, "fifth|missing", "what a gap is"),
    OPTION_DURATION(settings, limit, "--time-limit", LOCAL, "stop then"),
    OPTION_SIZE(settings, memory, "--memory", OPTIONAL, "at most"),
    OPTION_THREADS(settings, threads, "-T --threads", LOCAL, "threads"),
    OPTION_INCLUDE(settings, inner, INNER),
    OPTION_END,
};

static const settings DEFAULTS = {.number = 10, .rate = 1e-4, .gap = 1, .memory = 64 << 20};

enum { ARGUMENTS = 32 };

/* Parses "a b c" with the blanks as separators; the words stay valid until the next call. */
static int parse(option_set *s, const settings **out, const char *line, diag *d)
{
    static char copy[1024];
    char *argv[ARGUMENTS];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word && argc < ARGUMENTS; word = strtok(NULL, " "))
        argv[argc++] = word;
    check_status(options_init(s, TABLE, &DEFAULTS, sizeof DEFAULTS));
    *out = s->settings;
    return options_parse(s, argc, argv, d);
}

static void good_lines(void **state)
{
    (void)state;
    option_set s;
    const settings *o;
    check_status(parse(&s, &o, "-s a.fasta", NULL));
    assert_string_equal(o->input, "a.fasta");
    assert_int_equal(o->number, 10);
    check_near(o->rate, 1e-4, 0);
    assert_int_equal(o->gap, 1);
    assert_int_equal(o->threads, 0);
    assert_false(o->inner.flag);
    options_free(&s);

    check_status(parse(&s, &o,
                       "t1 --msa=- t2 -num 7 --learning-rate=1e-2 --gap FIFTH -T 4 -f "
                       "--time-limit 1.5h --memory 2G --text=a=b -- -t3",
                       NULL));
    assert_string_equal(o->input, "-");
    assert_int_equal(o->number, 7);
    check_near(o->rate, 0.01, 0);
    assert_int_equal(o->gap, 0);
    assert_int_equal(o->threads, 4);
    assert_true(o->inner.flag);
    check_near(o->limit, 5400, 0);
    assert_int_equal(o->memory, (int64_t)2 << 30);
    assert_string_equal(o->text, "a=b");
    assert_int_equal(o->trees.count, 3);
    assert_string_equal(o->trees.path[0], "t1");
    assert_string_equal(o->trees.path[1], "t2");
    assert_string_equal(o->trees.path[2], "-t3");
    options_free(&s);

    check_status(parse(&s, &o, "--truth a b --truth c -s x --threads auto", NULL));
    assert_int_equal(o->truth.count, 3);
    assert_string_equal(o->truth.path[2], "c");
    assert_int_equal(o->threads, 0);
    options_free(&s);
}

static void check_refused(const char *line, const char *words)
{
    option_set s;
    const settings *o;
    diag d;
    diag_init(&d);
    int status = parse(&s, &o, line, &d);
    if (status != ART_ERR_USAGE || d.count != 1)
        fail_msg("%s: status %d, %zu messages", line, status, d.count);
    if (!strstr(d.message[0].text, words))
        fail_msg("%s: '%s' is not in: %s", line, words, d.message[0].text);
    options_free(&s);
    diag_free(&d);
}

static void bad_lines(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"", "-s FILE is missing"},
        {"-s a --numbr 4", "unknown option '--numbr' -- did you mean --number?"},
        {"-s a -number 4", "did you mean --number?"},
        {"-s a --xyzzy", "unknown option '--xyzzy' -- see --help"},
        {"-s a --trees", "unknown option '--trees' -- see --help"}, /* TREES is no option */
        {"-s a --numb=4", "unknown option '--numb'"},
        {"-s a -n4", "unknown option '-n4'"},
        {"-s a -n 4 --number 5", "--number is given twice"},
        {"-s a -f --flag", "--flag is given twice"},
        {"-s a --flag=yes", "--flag takes no value"},
        {"-s a -n", "-n needs a value: N"},
        {"-s a -n --flag", "-n needs a value"},
        {"-s a -n -- 5", "-n needs a value"},
        {"-s a -n 0", "-n: bad value '0' -- expected a whole number from 1 to 100"},
        {"-s a -n 101", "bad value '101'"},
        {"-s a -n -5", "bad value '-5'"},
        {"-s a -n 5x", "bad value '5x'"},
        {"-s a -n 1e1", "bad value '1e1'"},
        {"-s a -n 99999999999999999999", "bad value '99999999999999999999'"},
        {"-s a --number=", "bad value ''"},
        {"-s a --text=", "bad value ''"},
        {"-s a --learning-rate 0", "expected a number above 0 and up to 10"},
        {"-s a --learning-rate nan", "bad value 'nan'"},
        {"-s a --learning-rate 0x1p-3", "bad value '0x1p-3'"},
        {"-s a --gap fith", "expected fifth|missing; did you mean fifth?"},
        {"-s a --gap zzz", "expected fifth|missing"},
        {"-s a -T 0", "expected AUTO or a number"},
        {"-s a -T 2000", "expected AUTO or a number"},
        {"-s a --time-limit 5x", "expected a time such as"},
        {"-s a --time-limit -5s", "expected a time such as"},
        {"-s a --memory 3Q", "expected a size such as"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_refused(table[i][0], table[i][1]);
}

static void no_files_where_none_are_taken(void **state)
{
    (void)state;
    char word[] = "stray", *argv[] = {word};
    option_set s;
    inner o = {0};
    diag d;
    diag_init(&d);
    check_status(options_init(&s, INNER, &o, sizeof o));
    assert_int_equal(options_parse(&s, 1, argv, &d), ART_ERR_USAGE);
    assert_non_null(strstr(d.message[0].text, "unexpected argument 'stray'"));
    options_free(&s);
    diag_free(&d);
    /* what the shell makes of --config HKY{2,3}+G4 */
    char name[] = "--config", first[] = "HKY2+G4", second[] = "HKY3+G4";
    char *braces[] = {name, first, second};
    diag_init(&d);
    check_status(options_init(&s, INNER, &o, sizeof o));
    assert_int_equal(options_parse(&s, 3, braces, &d), ART_ERR_USAGE);
    assert_non_null(strstr(d.message[0].text, "unexpected argument 'HKY3+G4'"));
    assert_non_null(strstr(d.message[0].text, "quote it"));
    options_free(&s);
    diag_free(&d);
}

static void values_are_printed_as_they_can_be_given(void **state)
{
    (void)state;
    static const struct {
        const char *line, *name, *value;
    } table[] = {
        {"-s a", "--number", "10"},
        {"-s a", "--learning-rate", "0.0001"},
        {"-s a", "--gap", "missing"},
        {"-s a", "--memory", "64M"},
        {"-s a", "--threads", "AUTO"},
        {"-s a -T 3", "--threads", "3"},
        {"-s a --memory 0", "--memory", "0"},
        {"-s a --memory 1000", "--memory", "1000"},
        {"-s a --time-limit 2m", "--time-limit", "120s"},
        {"-s a --learning-rate 0.123456789", "--learning-rate", "0.123456789"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        option_set s;
        const settings *o;
        check_status(parse(&s, &o, table[i].line, NULL));
        for (int k = 0; k < s.count; k++) {
            char value[OPTION_VALUE];
            if (!strstr(s.item[k].row->names, table[i].name))
                continue;
            option_value(value, &s, &s.item[k]);
            assert_string_equal(value, table[i].value);
        }
        options_free(&s);
    }
}

/* Parses the line with --config naming a file of the given text. */
static int parse_with_file(option_set *s, const settings **o, const char *line, const char *text,
                           diag *d)
{
    char whole[600];
    scratch_make();
    snprintf(whole, sizeof whole, "%s --config %s", line, scratch_write("settings.json", text));
    int status = parse(s, o, whole, d);
    scratch_remove();
    return status;
}

static void settings_files(void **state)
{
    (void)state;
    option_set s;
    const settings *o;
    check_status(
        parse_with_file(&s, &o, "-n 3",
                        "{\"msa\": \"x\", \"number\": 50, \"learning_rate\": 0.25,"
                        " \"gap\": \"fifth\", \"flag\": true, \"trees\": [\"a\", \"b\"],"
                        " \"time-limit\": \"2h\", \"memory\": 4096, \"threads\": \"AUTO\"}",
                        NULL));
    assert_string_equal(o->input, "x");
    assert_int_equal(o->number, 3); /* the command line wins */
    check_near(o->rate, 0.25, 0);
    assert_int_equal(o->gap, 0);
    assert_true(o->inner.flag);
    assert_int_equal(o->trees.count, 2);
    assert_string_equal(o->trees.path[1], "b");
    check_near(o->limit, 7200, 0);
    assert_int_equal(o->memory, 4096);
    options_free(&s);

    /* The results of a run, and a text that was not given. */
    check_status(parse_with_file(&s, &o, "-s a",
                                 "{\"command\": \"x\", \"seconds\": 3, \"number\": [1],"
                                 " \"settings\": {\"number\": 6, \"text\": null}}",
                                 NULL));
    assert_int_equal(o->number, 6);
    options_free(&s);

    static const char *const bad[][2] = {
        {"{\"numbr\": 5}",
         "settings.json: error: unknown setting 'numbr' -- did you mean 'number'?"},
        {"{\"zzzzz\": 5}", "unknown setting 'zzzzz'"},
        {"{\"number\": 0}", "number: bad value '0'"},
        {"{\"number\": 5.5}", "number: bad value '5.5'"},
        {"{\"number\": null}", "'number' has the wrong type"},
        {"{\"number\": [1]}", "'number' has the wrong type"},
        {"{\"text\": 5}", "'text' has the wrong type"},
        {"{\"flag\": 1}", "'flag' must be true or false"},
        {"{\"gap\": \"fiftth\"}", "did you mean fifth?"},
        {"{\"number\": 1, \"number\": 2}", "duplicate object key"},
        {"[1]", "one JSON object"},
        {"{\"number\": 1,\n  oops}", "settings.json:2:"},
        {"", "not a settings file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        diag d;
        diag_init(&d);
        int status = parse_with_file(&s, &o, "-s a", bad[i][0], &d);
        if (status != ART_ERR_INPUT || d.count != 1 || !strstr(d.message[0].text, bad[i][1]))
            fail_msg("%s: status %d: %s", bad[i][0], status, d.count ? d.message[0].text : "");
        options_free(&s);
        diag_free(&d);
    }
    assert_int_equal(parse(&s, &o, "-s a --config /does/not/exist", NULL), ART_ERR_INPUT);
    options_free(&s);
}

static void settings_in_force_as_json(void **state)
{
    (void)state;
    option_set s;
    const settings *o;
    check_status(parse(&s, &o, "t1 -s a -n 7 -T 3 -f --gap fifth", NULL));
    json_t *json = options_json(&s);
    assert_non_null(json);
    char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(text, "{\"gap\":\"fifth\",\"learning_rate\":0.0001,\"memory\":67108864,"
                              "\"msa\":\"a\",\"number\":7,\"text\":null,\"trees\":[\"t1\"],"
                              "\"truth\":[]}");
    free(text);
    json_decref(json);
    options_free(&s);
}

static void help_has_names_values_and_live_defaults(void **state)
{
    (void)state;
    static const settings other = {.number = 42, .rate = 0.5};
    const command c = {.name = "test",
                       .summary = "does nothing",
                       .description = "Nothing at all.",
                       .options = TABLE,
                       .defaults = &other,
                       .size = sizeof other};
    scratch_make();
    const char *path = scratch_path("help");
    output o;
    check_status(output_open(&o, path, NULL));
    check_status(help_command(&o, &c, HELP_ALL));
    check_status(output_close(&o, NULL));
    char *text = file_text(path);
    static const char *const expected[] = {"usage: artreeformer test -s FILE [options] [TREES...]",
                                           "\nInput:\n",
                                           "\nNumbers:\n",
                                           "\nInner:\n",
                                           "  -n, --number N",
                                           "how many [42]",
                                           "how fast [0.5]",
                                           "--gap fifth|missing",
                                           "what a gap is [fifth]",
                                           "threads [AUTO]",
                                           "alignment (required)",
                                           "-f, --flag "};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (!strstr(text, expected[i]))
            fail_msg("'%s' is not in\n%s", expected[i], text);
    assert_null(strstr(text, "-num "));
    free(text);
    scratch_remove();
}

/* Whichever allocation fails: the status says so, and nothing leaks (the sanitizers look). */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char line[] = "t1 t2 -s a --truth b c -- d";
    int status = ART_ERR_NOMEM;
    for (long k = 1; status != ART_OK; k++) {
        char copy[sizeof line], *argv[ARGUMENTS];
        int argc = 0;
        strcpy(copy, line);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
            argv[argc++] = word;
        option_set s;
        memory_fail_at(k);
        status = options_init(&s, TABLE, &DEFAULTS, sizeof DEFAULTS);
        if (status == ART_OK)
            status = options_parse(&s, argc, argv, NULL);
        memory_fail_at(0);
        options_free(&s);
        assert_true(status == ART_OK ? k > 5 : status == ART_ERR_NOMEM);
    }
}

/* Every subcommand's table is sound: names start with dashes and are used once, there is a key, a
 * line of help and a heading, choices contain the default. */
static void tables_of_all_commands(void **state)
{
    (void)state;
    for (const command *const *c = COMMANDS; *c; c++) {
        option_set s;
        check_status(options_init(&s, (*c)->options, (*c)->defaults, (*c)->size));
        int positionals = 0;
        char name[OPTION_NAME], other[OPTION_NAME], value[OPTION_VALUE];
        for (int i = 0; i < s.count; i++) {
            const option *row = s.item[i].row;
            positionals += option_is_positional(row);
            assert_non_null(s.item[i].heading);
            assert_true(strlen(row->help) > 3);
            option_key(name, row);
            assert_true(strlen(name) > 1);
            option_value(value, &s, &s.item[i]);
            for (int k = 0; option_name(name, row, k, true); k++)
                for (int j = 0; j < s.count; j++)
                    for (int m = 0; option_name(other, s.item[j].row, m, true); m++)
                        if ((j != i || m != k) && strcmp(name, other) == 0)
                            fail_msg("%s: %s is in the table twice", (*c)->name, name);
        }
        assert_true(positionals <= 1);
        options_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(no_files_where_none_are_taken),
        cmocka_unit_test(values_are_printed_as_they_can_be_given),
        cmocka_unit_test(settings_files),
        cmocka_unit_test(settings_in_force_as_json),
        cmocka_unit_test(help_has_names_values_and_live_defaults),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(tables_of_all_commands),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
