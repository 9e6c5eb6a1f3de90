#include "cli/options.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/suggest.h"
#include "cli/settings_file.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const diag_place NOWHERE = {0};

/* expert: all of the table is. */
static void flatten(option_set *s, const option *table, size_t offset, const option **heading,
                    bool expert)
{
    for (const option *row = table; row->kind != OPTION_KIND_END; row++) {
        const bool own = expert || (row->trait & EXPERT) != 0;
        if (row->kind == OPTION_KIND_HEADING) {
            *heading = row;
        } else if (row->kind == OPTION_KIND_INCLUDE) {
            flatten(s, row->table, offset + row->offset, heading, own);
        } else {
            assert(s->count < OPTIONS_MAX);
            s->item[s->count++] =
                (option_item){.row = row,
                              .heading = *heading ? (*heading)->help : NULL,
                              .offset = offset + row->offset,
                              .expert = own || (*heading && (*heading)->trait & EXPERT)};
        }
    }
}

int options_init(option_set *s, const option *table, const void *defaults, size_t size)
{
    memset(s, 0, sizeof *s);
    s->settings = mem_zeros(1, size);
    if (!s->settings)
        return ART_ERR_NOMEM;
    memcpy(s->settings, defaults, size);
    const option *heading = NULL;
    flatten(s, table, 0, &heading, false);
    return ART_OK;
}

void *option_target(const option_set *s, const option_item *item)
{
    return (char *)s->settings + item->offset;
}

void options_free(option_set *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->item[i].row->kind == OPTION_KIND_FILES)
            free(((option_files *)option_target(s, &s->item[i]))->path);
    json_decref(s->settings_file);
    free(s->settings);
    memset(s, 0, sizeof *s);
}

bool option_is_positional(const option *row)
{
    return row->names[0] != '-';
}

bool option_name(char name[OPTION_NAME], const option *row, int k, bool hidden)
{
    const char *s = row->names;
    for (;;) {
        s += strspn(s, " ");
        size_t n = strcspn(s, " ");
        if (n == 0 || (*s == '|' && !hidden))
            return false;
        if (*s != '|' && k-- == 0) {
            snprintf(name, OPTION_NAME, "%.*s", (int)n, s);
            return true;
        }
        s += n;
    }
}

void option_key(char key[OPTION_NAME], const option *row)
{
    char name[OPTION_NAME] = "";
    for (int k = 0; option_name(name, row, k, false); k++)
        if (name[0] != '-' || name[1] == '-')
            break;
    const char *start = name + strspn(name, "-");
    snprintf(key, OPTION_NAME, "%s", start);
    for (char *c = key; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* The index of the option with that name, -1 if there is none. */
static int find_name(const option_set *s, const char *written)
{
    char name[OPTION_NAME];
    for (int i = 0; i < s->count; i++)
        for (int k = 0; option_name(name, s->item[i].row, k, true); k++)
            if (name[0] == '-' && strcmp(name, written) == 0)
                return i;
    return -1;
}

static option_item *find_option(option_set *s, const char *written)
{
    int i = find_name(s, written);
    return i < 0 ? NULL : &s->item[i];
}

bool options_given(const option_set *s, const char *name)
{
    int i = find_name(s, name);
    return i >= 0 && s->item[i].given;
}

static int unknown_option(option_set *s, const char *written, diag *d)
{
    char quoted[OPTION_VALUE], name[OPTION_NAME];
    suggestion nearest = {0};
    for (int i = 0; i < s->count; i++)
        for (int k = 0; option_name(name, s->item[i].row, k, false); k++)
            if (name[0] == '-')
                suggest(&nearest, written, name);
    diag_quote(quoted, sizeof quoted, written, strlen(written));
    if (nearest.word[0])
        return diag_error(d, ART_ERR_USAGE, NOWHERE, "unknown option %s -- did you mean %s?",
                          quoted, nearest.word);
    return diag_error(d, ART_ERR_USAGE, NOWHERE, "unknown option %s -- see --help", quoted);
}

/* Number and unit: the value becomes number * factor of the unit. */
typedef struct unit {
    const char *name;
    double factor;
} unit;

static const unit TIME_UNITS[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {0}};
static const unit SIZE_UNITS[] = {
    {"", 1}, {"B", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}, {0}};

static int parse_with_unit(double *value, const char *text, const unit *units)
{
    size_t n = strlen(text), letters = 0;
    while (letters < n && isalpha((unsigned char)text[n - letters - 1]))
        letters++;
    for (const unit *u = units; u->name; u++)
        if (strcasecmp(text + n - letters, u->name) == 0) {
            int status = number_double(value, text, n - letters);
            *value *= status == ART_OK ? u->factor : 1;
            return status;
        }
    return ART_ERR_INPUT;
}

static int bad_value(const char *text, const char *name, const char *expected, diag_place place,
                     diag *d)
{
    char quoted[OPTION_VALUE];
    diag_quote(quoted, sizeof quoted, text, strlen(text));
    return diag_error(d, ART_ERR_USAGE, place, "%s: bad value %s -- expected %s", name, quoted,
                      expected);
}

/* "a whole number from 1 to 100", "a number above 0" */
static void describe_range(char *out, size_t size, const option *row, const char *what)
{
    char low[FORMAT_SIZE], high[FORMAT_SIZE];
    format_real(high, sizeof high, row->high);
    int above_0 = row->low == OPTION_ABOVE_0;
    format_real(low, sizeof low, above_0 ? 0 : row->low);
    if (row->high >= 0x1p62)
        snprintf(out, size, "%s %s %s", what, above_0 ? "above" : "of at least", low);
    else
        snprintf(out, size, "%s %s %s %s %s", what, above_0 ? "above" : "from", low,
                 above_0 ? "and up to" : "to", high);
}

static int set_number(void *target, const option *row, const char *text, const char *name,
                      diag_place place, diag *d)
{
    char expected[160];
    double value = 0;
    int64_t whole = 0;
    int status;
    bool is_auto = false;
    switch (row->kind) {
    case OPTION_KIND_INT:
        describe_range(expected, sizeof expected, row, "a whole number");
        status = number_grouped(&whole, text, strlen(text));
        value = (double)whole;
        break;
    case OPTION_KIND_THREADS:
        snprintf(expected, sizeof expected, "AUTO or a number from 1 to %.0f", row->high);
        is_auto = strcasecmp(text, "AUTO") == 0;
        status = is_auto ? ART_OK : number_int(&whole, text, strlen(text));
        value = (double)whole;
        break;
    case OPTION_KIND_DURATION:
        snprintf(expected, sizeof expected, "a time such as 90s, 5m, 2h or 1d");
        status = parse_with_unit(&value, text, TIME_UNITS);
        break;
    case OPTION_KIND_SIZE:
        snprintf(expected, sizeof expected, "a size such as 512K, 64M or 2G");
        status = parse_with_unit(&value, text, SIZE_UNITS);
        break;
    default:
        describe_range(expected, sizeof expected, row, "a number");
        status = number_double(&value, text, strlen(text));
        break;
    }
    if (status == ART_ERR_NOMEM)
        return status;
    if (row->kind == OPTION_KIND_SIZE && value != floor(value))
        return bad_value(text, name, expected, place, d);
    if (status != ART_OK || (!is_auto && !(value >= row->low && value <= row->high)))
        return bad_value(text, name, expected, place, d);
    if (row->kind == OPTION_KIND_INT || row->kind == OPTION_KIND_THREADS)
        *(int64_t *)target = whole;
    else if (row->kind == OPTION_KIND_SIZE)
        *(int64_t *)target = (int64_t)value;
    else
        *(double *)target = value;
    return ART_OK;
}

/* The k-th of "a|b|c"; false when there is none. */
static bool choice_word(char word[OPTION_NAME], const char *words, int k)
{
    for (; k > 0; k--) {
        words = strchr(words, '|');
        if (!words)
            return false;
        words++;
    }
    snprintf(word, OPTION_NAME, "%.*s", (int)strcspn(words, "|"), words);
    return true;
}

static int set_choice(int *target, const option *row, const char *text, const char *name,
                      diag_place place, diag *d)
{
    char word[OPTION_NAME], expected[256];
    suggestion nearest = {0};
    for (int k = 0; choice_word(word, row->value, k); k++) {
        if (strcasecmp(word, text) == 0) {
            *target = k;
            return ART_OK;
        }
        suggest(&nearest, text, word);
    }
    snprintf(expected, sizeof expected, "%s%s%s%s", row->value,
             nearest.word[0] ? "; did you mean " : "", nearest.word, nearest.word[0] ? "?" : "");
    return bad_value(text, name, expected, place, d);
}

int options_set(option_set *s, option_item *item, const char *text, const char *name,
                diag_place place, diag *d)
{
    void *target = option_target(s, item);
    switch (item->row->kind) {
    case OPTION_KIND_TEXT:
    case OPTION_KIND_FILE:
        if (!*text)
            return bad_value(text, name, "a text that is not empty", place, d);
        *(const char **)target = text;
        return ART_OK;
    case OPTION_KIND_CHOICE:
        return set_choice(target, item->row, text, name, place, d);
    case OPTION_KIND_FILES:
        return options_add_file(s, item, text, d);
    default:
        return set_number(target, item->row, text, name, place, d);
    }
}

int options_add_file(option_set *s, option_item *item, const char *path, diag *d)
{
    if (!*path)
        return diag_error(d, ART_ERR_USAGE, NOWHERE, "a file name is empty");
    option_files *files = option_target(s, item);
    const char **grown = mem_resize(files->path, (size_t)files->count + 1, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    files->path = grown;
    files->path[files->count++] = path;
    item->given = true;
    return ART_OK;
}

static bool looks_like_option(const char *text)
{
    return text[0] == '-' && text[1] != '\0';
}

/* Whether the argument looks like what a shell makes of braces: from X{1,2} come X1 and X2. */
static bool looks_like_braces(const char *before, const char *text)
{
    enum { LEAST = 2 }; /* letters in common at the beginning */
    return before && strncmp(before, text, LEAST) == 0 && strlen(before) > LEAST &&
           strlen(text) > LEAST && !looks_like_option(before);
}

/* before: the argument in front of it, NULL if there is none. */
static int add_positional(option_set *s, const char *text, const char *before, diag *d)
{
    for (int i = 0; i < s->count; i++)
        if (option_is_positional(s->item[i].row))
            return options_add_file(s, &s->item[i], text, d);
    char quoted[OPTION_VALUE];
    diag_quote(quoted, sizeof quoted, text, strlen(text));
    if (looks_like_braces(before, text))
        return diag_error(d, ART_ERR_USAGE, NOWHERE,
                          "unexpected argument %s -- if the value before it had braces, the shell "
                          "has made several of it: quote it, as in 'GTR{1,2,1,1,3,1}'",
                          quoted);
    return diag_error(d, ART_ERR_USAGE, NOWHERE,
                      "unexpected argument %s -- files are given with an option here, see --help",
                      quoted);
}

/* Parses the option at argv[i]; returns the number of arguments used, or a negative status. */
static int parse_option(option_set *s, int argc, char *const *argv, int i, diag *d)
{
    char name[OPTION_NAME];
    const char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
    size_t n = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
    snprintf(name, sizeof name, "%.*s", (int)(n < OPTION_NAME ? n : OPTION_NAME - 1), argv[i]);
    option_item *item = find_option(s, name);
    if (!item)
        return unknown_option(s, name, d);
    bool is_list = item->row->kind == OPTION_KIND_FILES;
    if (item->given && !is_list)
        return diag_error(d, ART_ERR_USAGE, NOWHERE, "%s is given twice -- remove one of them",
                          name);
    item->given = true;
    if (item->row->kind == OPTION_KIND_FLAG) {
        if (equals)
            return diag_error(d, ART_ERR_USAGE, NOWHERE, "%s takes no value", name);
        *(bool *)option_target(s, item) = true;
        return 1;
    }
    int status = ART_OK, taken = 1;
    if (equals) {
        status = options_set(s, item, equals + 1, name, NOWHERE, d);
    } else if (i + 1 >= argc || strcmp(argv[i + 1], "--") == 0 || find_option(s, argv[i + 1])) {
        return diag_error(d, ART_ERR_USAGE, NOWHERE, "%s needs a value: %s", name,
                          item->row->value);
    } else {
        do
            status = options_set(s, item, argv[i + taken++], name, NOWHERE, d);
        while (is_list && status == ART_OK && i + taken < argc &&
               !looks_like_option(argv[i + taken]));
    }
    return status == ART_OK ? taken : status;
}

static int check_required(option_set *s, diag *d)
{
    int status = ART_OK;
    for (int i = 0; i < s->count; i++) {
        const option *row = s->item[i].row;
        if (!(row->trait & REQUIRED) || s->item[i].given)
            continue;
        if (option_is_positional(row))
            status =
                diag_error(d, ART_ERR_USAGE, NOWHERE, "%s are missing: %s", row->names, row->help);
        else
            status = diag_error(d, ART_ERR_USAGE, NOWHERE, "option %.*s %s is missing: %s",
                                (int)strcspn(row->names, " "), row->names, row->value, row->help);
    }
    return status;
}

/* Standard input can be read only once. */
static int check_standard_input(const option_set *s, diag *d)
{
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        option_files files = option_inputs(s, &s->item[i]);
        for (int k = 0; k < files.count; k++)
            count += strcmp(files.path[k], "-") == 0;
    }
    if (count > 1)
        return diag_error(d, ART_ERR_USAGE, NOWHERE,
                          "standard input (-) is given %d times, but can be read only once", count);
    return ART_OK;
}

int options_parse(option_set *s, int argc, char *const *argv, diag *d)
{
    bool ended = false;
    for (int i = 0; i < argc;) {
        int taken = 1;
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && looks_like_option(argv[i])) {
            taken = parse_option(s, argc, argv, i, d);
        } else {
            int status = add_positional(s, argv[i], i ? argv[i - 1] : NULL, d);
            taken = status == ART_OK ? 1 : status;
        }
        if (taken < 0)
            return taken;
        i += taken;
    }
    option_item *config = find_option(s, "--config");
    if (config && config->given) {
        int status = settings_file_read(s, *(const char **)option_target(s, config), d);
        if (status != ART_OK)
            return status;
    }
    int status = check_required(s, d);
    return status ? status : check_standard_input(s, d);
}

option_files option_inputs(const option_set *s, const option_item *item)
{
    void *target = option_target(s, item);
    const char **single = target;
    if (item->row->kind == OPTION_KIND_FILES)
        return *(const option_files *)target;
    if (item->row->kind == OPTION_KIND_FILE && *single)
        return (option_files){single, 1};
    return (option_files){0};
}

void option_value(char value[OPTION_VALUE], const option_set *s, const option_item *item)
{
    const void *target = option_target(s, item);
    const char *text;
    value[0] = '\0';
    switch (item->row->kind) {
    case OPTION_KIND_INT:
        snprintf(value, OPTION_VALUE, "%lld", (long long)*(const int64_t *)target);
        break;
    case OPTION_KIND_THREADS:
        if (*(const int64_t *)target == 0)
            strcpy(value, "AUTO");
        else
            snprintf(value, OPTION_VALUE, "%lld", (long long)*(const int64_t *)target);
        break;
    case OPTION_KIND_SIZE: {
        int64_t bytes = *(const int64_t *)target;
        const unit *u = &SIZE_UNITS[5];
        while (u->factor > 1 && (bytes == 0 || bytes % (int64_t)u->factor != 0))
            u--;
        snprintf(value, OPTION_VALUE, "%lld%s", (long long)(bytes / (int64_t)u->factor),
                 u->factor > 1 ? u->name : "");
        break;
    }
    case OPTION_KIND_REAL:
    case OPTION_KIND_DURATION:
        if (isnan(*(const double *)target))
            break;
        format_real(value, OPTION_VALUE, *(const double *)target);
        if (item->row->kind == OPTION_KIND_DURATION)
            strcat(value, "s");
        break;
    case OPTION_KIND_TEXT:
    case OPTION_KIND_FILE:
        text = *(const char *const *)target;
        if (text)
            snprintf(value, OPTION_VALUE, "%s", text);
        break;
    case OPTION_KIND_CHOICE:
        choice_word(value, item->row->value, *(const int *)target);
        break;
    default:
        break;
    }
}

int options_refuse(option_set *s, const option *table, const char *why, diag *d)
{
    for (; table->kind != OPTION_KIND_END; table++)
        for (int i = 0; i < s->count; i++)
            if (s->item[i].row == table) {
                s->item[i].unused = true;
                if (!s->item[i].given)
                    continue;
                char key[OPTION_NAME];
                option_key(key, table);
                return diag_error(d, ART_ERR_USAGE, (diag_place){0}, "--%s %s", key, why);
            }
    return ART_OK;
}
