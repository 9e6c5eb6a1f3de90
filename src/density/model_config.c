#include "density/model_config.h"

#include "artreeformer.h"
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int config_count(const config_key *keys)
{
    int count = 0;
    while (keys && keys[count].name)
        count++;
    assert(count <= CONFIG_KEYS);
    return count;
}

void config_defaults(double *value, const config_key *keys)
{
    memset(value, 0, CONFIG_KEYS * sizeof *value);
    for (int i = 0; i < config_count(keys); i++)
        value[i] = keys[i].initial;
}

int config_find(const config_key *keys, const char *name)
{
    for (int i = 0; i < config_count(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            return i;
    return -1;
}

char *config_print(char *out, size_t size, const config_key *key, double value)
{
    snprintf(out, size, key->is_whole ? "%.0f" : "%.17g", value);
    return out;
}

int config_parse(double *value, const config_key *key, const char *text)
{
    int64_t whole;
    if (!key->is_whole)
        return number_double(value, text, strlen(text)) ? ART_ERR_INPUT : ART_OK;
    if (number_int(&whole, text, strlen(text)))
        return ART_ERR_INPUT;
    *value = (double)whole;
    return ART_OK;
}

static int check_multiple(double value, const config_key *key, diag_place place, diag *d)
{
    if (key->multiple == 0 || fmod(value, key->multiple) == 0)
        return ART_OK;
    return diag_error(d, ART_ERR_INPUT, place, "metadata '%s' is %g, expected a multiple of %d",
                      key->name, value, key->multiple);
}

static int check_range(double value, const config_key *key, diag_place place, diag *d)
{
    if (value >= key->least && value <= key->most && (!key->is_whole || value == floor(value)))
        return ART_OK;
    return diag_error(d, ART_ERR_INPUT, place, "metadata '%s' is %.17g, expected a %s%g to %g",
                      key->name, value, key->is_whole ? "whole number from " : "number from ",
                      key->least, key->most);
}

int config_check(const double *value, const config_key *keys, diag_place place, diag *d)
{
    int status = ART_OK;
    for (int i = 0; i < config_count(keys) && !status; i++)
        status = check_range(value[i], &keys[i], place, d);
    for (int i = 0; i < config_count(keys) && !status; i++)
        status = check_multiple(value[i], &keys[i], place, d);
    for (int i = 0; i < config_count(keys) && !status; i++) {
        if (!keys[i].divides)
            continue;
        const int of = config_find(keys, keys[i].divides);
        assert(of >= 0);
        if (fmod(value[of], value[i]) != 0)
            status = diag_error(d, ART_ERR_INPUT, place,
                                "metadata '%s' is %g and does not divide '%s' %g", keys[i].name,
                                value[i], keys[of].name, value[of]);
    }
    return status;
}

char *config_text(char *out, size_t size, const double *value, const config_key *keys)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < config_count(keys) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s %g", i ? ", " : "", keys[i].name,
                                 value[i]);
    return out;
}
