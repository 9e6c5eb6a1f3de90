/* model_config.h: the sizes and other numbers by which a model is made, as a list of keys with
 * their defaults and ranges, and one number for each key.
 *
 * A kind of model (topology_kind, branch_kind) has an array of keys that ends with a key without
 * a name; its configurations have the numbers in the same order. The names are those under which
 * model files keep them, so two kinds that stand in one file share no name. */
#ifndef DENSITY_MODEL_CONFIG_H
#define DENSITY_MODEL_CONFIG_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum { CONFIG_KEYS = 8 /* of a kind at most */, CONFIG_TEXT = 256 };

typedef struct config_key {
    const char *name; /* "hidden_dim" */
    double initial;   /* of those who say nothing */
    double least, most;
    bool is_whole;       /* a whole number */
    const char *divides; /* the key whose number it must divide; NULL if there is none */
    const char *tensor;  /* a tensor with as many rows: in a file it is looked at before anything of
                          * that size is allocated; NULL for numbers that cost no memory */
} config_key;

/* How many keys. In all of these keys may be NULL: none. */
int config_count(const config_key *keys);

void config_defaults(double *value, const config_key *keys); /* value [CONFIG_KEYS] */
int config_find(const config_key *keys, const char *name);   /* its place, or -1 */

/* Looks at every number. The message calls keys "metadata": it is for the readers of files.
 * ART_ERR_INPUT if one is not valid. */
int config_check(const double *value, const config_key *keys, diag_place place, diag *d);

/* A number as a file keeps it, and back (ART_ERR_INPUT if the text is none of the key's type). */
char *config_print(char *out, size_t size, const config_key *key, double value);
int config_parse(double *value, const config_key *key, const char *text);

/* "hidden_dim 100, n_head 4", cut where it does not fit. Returns out. */
char *config_text(char *out, size_t size, const double *value, const config_key *keys);

#endif
