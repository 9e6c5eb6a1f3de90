/* model_config.h: the sizes and other numbers that configure a model, as a list of keys with their
 * defaults and ranges, and one value for each key.
 *
 * A kind of model (topology_kind, branch_kind) has an array of keys that ends with a key without a
 * name; its configurations have the values in the same order. The names are those used in model
 * files, so two kinds that occur in the same file must not share a name. */
#ifndef DENSITY_MODEL_CONFIG_H
#define DENSITY_MODEL_CONFIG_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum { CONFIG_KEYS = 8 /* of a kind at most */, CONFIG_TEXT = 256 };

typedef struct config_key {
    const char *name; /* "hidden_dim" */
    double initial;   /* the default */
    double least, most;
    bool is_whole;       /* a whole number */
    bool is_optional;    /* a file that does not have it has the default */
    int multiple;        /* it must be a multiple of this; 0 for no such condition */
    const char *divides; /* the key whose value it must divide; NULL if there is none */
    const char
        *tensor; /* a tensor with this number of rows: when reading a file it is checked before
                    anything of that size is allocated; NULL for values that do not affect memory */
} config_key;

/* The number of keys. In all of these functions keys may be NULL for none. */
int config_count(const config_key *keys);

void config_defaults(double *value, const config_key *keys); /* value [CONFIG_KEYS] */
int config_find(const config_key *keys, const char *name);   /* its place, or -1 */

/* Checks every value. The message calls keys "metadata" because it is meant for reading files.
 * ART_ERR_INPUT if one is not valid. */
int config_check(const double *value, const config_key *keys, diag_place place, diag *d);

/* A value as written in a file, and its parsing (ART_ERR_INPUT if the text is not a value of the
 * type of the key). */
char *config_print(char *out, size_t size, const config_key *key, double value);
int config_parse(double *value, const config_key *key, const char *text);

/* "hidden_dim 100, n_head 4", truncated if it does not fit. Returns out. */
char *config_text(char *out, size_t size, const double *value, const config_key *keys);

#endif
