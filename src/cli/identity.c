#include "cli/identity.h"

#include "artreeformer.h"
#include "cli/settings_file.h"

#include <stdio.h>
#include <stdlib.h>

/* The first field in which two identities differ, as text; false if they are the same. */
static bool difference(char *text, size_t size, const json_t *before, const json_t *now,
                       const char *name)
{
    if (json_equal(before, now))
        return false;
    if (json_is_object(before) && json_is_object(now)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)now, key, value)
        {
            if (difference(text, size, json_object_get(before, key), value, key))
                return true;
        }
        json_object_foreach((json_t *)(uintptr_t)before, key, value)
        {
            if (!json_object_get(now, key))
                return difference(text, size, value, NULL, key);
        }
    }
    char *old = before ? json_dumps(before, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *new = now ? json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(text, size, "%s was %s and is now %s", name, old ? old : "not set",
             new ? new : "not set");
    free(old);
    free(new);
    return true;
}

bool identity_difference(char *text, size_t size, const json_t *before, const json_t *now)
{
    return difference(text, size, before, now, "run");
}

json_t *identity_make(const session *s, json_t *data)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "version", art_version(), "command", s->command->name,
                     "settings", options_json(&s->options), "data", data);
}

json_t *identity_of_results(const json_t *results)
{
    json_t *version = json_object_get(results, "version");
    json_t *name = json_object_get(results, "command");
    json_t *settings = json_object_get(results, "settings");
    json_t *data = json_object_get(results, "data");
    json_t *identity = NULL;
    if (version && name && settings && data)
        identity = json_pack("{s:O, s:O, s:O, s:O}", "version", version, "command", name,
                             "settings", settings, "data", data);
    return identity;
}
