#include "cli/settings_file.h"

#include "artreeformer.h"
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

/* snake_case in JSON, dashes on the command line. */
static void replace(char *text, char from, char to)
{
    for (; *text; text++)
        if (*text == from)
            *text = to;
}

static option_item *find_key(option_set *s, const char *written, suggestion *nearest)
{
    char wanted[OPTION_NAME], key[OPTION_NAME];
    snprintf(wanted, sizeof wanted, "%s", written);
    replace(wanted, '_', '-');
    for (int i = 0; i < s->count; i++) {
        option_key(key, s->item[i].row);
        if (strcmp(key, wanted) == 0)
            return &s->item[i];
        suggest(nearest, wanted, key);
    }
    return NULL;
}

/* The text a value would have on the command line: strings as they are, numbers printed. */
static const char *value_text(char buffer[OPTION_NAME], const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        snprintf(buffer, OPTION_NAME, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(buffer, OPTION_NAME, "%.17g", json_real_value(value));
    else
        return NULL;
    return buffer;
}

static bool is_text_kind(option_kind kind)
{
    return kind == OPTION_KIND_TEXT || kind == OPTION_KIND_FILE || kind == OPTION_KIND_FILES;
}

/* null, which options_json writes for a text that was not given. */
static bool is_absent(const option_item *item, const json_t *value)
{
    return json_is_null(value) && is_text_kind(item->row->kind);
}

static int set_scalar(option_set *s, option_item *item, const char *key, const json_t *value,
                      diag_place place, diag *d)
{
    char buffer[OPTION_NAME];
    const char *text = value_text(buffer, value);
    if (!text || (is_text_kind(item->row->kind) && !json_is_string(value)))
        return diag_error(d, ART_ERR_INPUT, place, "the value of setting '%s' has the wrong type",
                          key);
    int status = options_set(s, item, text, key, place, d);
    return status == ART_ERR_USAGE ? ART_ERR_INPUT : status;
}

static int set_option(option_set *s, option_item *item, const char *key, const json_t *value,
                      diag_place place, diag *d)
{
    option_kind kind = item->row->kind;
    int status = ART_OK;
    if (kind == OPTION_KIND_FLAG) {
        if (!json_is_boolean(value))
            return diag_error(d, ART_ERR_INPUT, place, "setting '%s' must be true or false", key);
        *(bool *)option_target(s, item) = json_is_true(value);
    } else if (kind == OPTION_KIND_FILES && json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value) && status == ART_OK; i++)
            status = set_scalar(s, item, key, json_array_get(value, i), place, d);
    } else {
        status = set_scalar(s, item, key, value, place, d);
    }
    if (status == ART_OK)
        item->given = true;
    return status;
}

int settings_file_read(option_set *s, const char *path, diag *d)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    diag_place place = {.file = path};
    if (!root) {
        if (error.line > 0)
            place = (diag_place){path, (size_t)error.line, (size_t)error.column};
        return diag_error(d, ART_ERR_INPUT, place, "not a settings file: %s", error.text);
    }
    s->settings_file = root;
    if (!json_is_object(root))
        return diag_error(d, ART_ERR_INPUT, place,
                          "a settings file must be one JSON object, { \"option\": value, ... }");
    json_t *of_results = json_object_get(root, "settings");
    if (json_is_object(of_results) && json_is_string(json_object_get(root, "command")))
        root = of_results; /* PREFIX.json of a run: its settings */
    bool given[OPTIONS_MAX];
    for (int i = 0; i < s->count; i++)
        given[i] = s->item[i].given;
    int first = ART_OK;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        char quoted[OPTION_VALUE];
        suggestion nearest = {0};
        option_item *item = find_key(s, key, &nearest);
        int status = ART_OK;
        diag_quote(quoted, sizeof quoted, key, strlen(key));
        if (!item && nearest.word[0])
            status = diag_error(d, ART_ERR_INPUT, place, "unknown setting %s -- did you mean '%s'?",
                                quoted, nearest.word);
        else if (!item)
            status = diag_error(d, ART_ERR_INPUT, place, "unknown setting %s", quoted);
        else if (!given[item - s->item] && !is_absent(item, value))
            status = set_option(s, item, key, value, place, d);
        if (first == ART_OK)
            first = status;
    }
    return first;
}

static json_t *option_json(const option_set *s, const option_item *item)
{
    const void *target = option_target(s, item);
    char value[OPTION_VALUE];
    switch (item->row->kind) {
    case OPTION_KIND_FLAG:
        return json_boolean(*(const bool *)target);
    case OPTION_KIND_INT:
    case OPTION_KIND_SIZE:
    case OPTION_KIND_THREADS:
        return json_integer(*(const int64_t *)target);
    case OPTION_KIND_REAL:
    case OPTION_KIND_DURATION:
        return json_real(*(const double *)target);
    case OPTION_KIND_TEXT:
    case OPTION_KIND_FILE: {
        const char *text = *(const char *const *)target;
        return text ? json_string(text) : json_null();
    }
    case OPTION_KIND_FILES: {
        const option_files *files = target;
        json_t *list = json_array();
        for (int i = 0; list && i < files->count; i++)
            if (json_array_append_new(list, json_string(files->path[i])) != 0) {
                json_decref(list);
                return NULL;
            }
        return list;
    }
    default:
        option_value(value, s, item);
        return json_string(value);
    }
}

json_t *options_json(const option_set *s)
{
    json_t *object = json_object();
    for (int i = 0; object && i < s->count; i++) {
        if (s->item[i].unused || s->item[i].row->trait & LOCAL)
            continue;
        char key[OPTION_NAME];
        option_key(key, s->item[i].row);
        replace(key, '-', '_');
        if (json_object_set_new(object, key, option_json(s, &s->item[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}
