#include "density/model_file.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/number.h"
#include "subst/branch_prior_string.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char AVERAGE[] = "ema.";

/* Writing */

static int set_int(safetensors *s, const char *key, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return safetensors_set(s, key, text);
}

static int set_text(safetensors *s, const char *key, const char *value)
{
    return value ? safetensors_set(s, key, value) : ART_OK;
}

static int set_taxa(safetensors *s, const taxa *names)
{
    json_t *list = json_array();
    int bad = list == NULL;
    for (int32_t i = 0; i < names->count && !bad; i++)
        bad = json_array_append_new(list, json_string(names->name[i]));
    char *text = bad ? NULL : json_dumps(list, 0);
    int status = text ? safetensors_set(s, "taxa", text) : ART_ERR_NOMEM;
    free(text);
    json_decref(list);
    return status;
}

static int set_config(safetensors *s, const double *value, const config_key *keys)
{
    char text[32];
    int status = ART_OK;
    for (int i = 0; i < config_count(keys) && !status; i++)
        status =
            safetensors_set(s, keys[i].name, config_print(text, sizeof text, &keys[i], value[i]));
    return status;
}

static int fill(safetensors *s, const model_contents *c)
{
    int status = safetensors_set(s, "format", "pt");
    if (!status)
        status = safetensors_set(s, "version", art_version());
    if (!status)
        status = safetensors_set(s, "kind", topology_model_name(c->trees));
    if (!status)
        status = set_taxa(s, c->taxa);
    if (!status)
        status = set_int(s, "n_taxa", c->trees->n_taxa);
    if (!status)
        status = set_config(s, c->trees->config.value, c->trees->config.kind->keys);
    if (!status && c->branches)
        status = safetensors_set(s, "branch_kind", branch_model_name(c->branches));
    if (!status && c->branches)
        status = set_config(s, c->branches->config.value, c->branches->config.kind->keys);
    if (!status)
        status = set_text(s, "substitution_model", c->substitution);
    if (!status)
        status = set_text(s, "settings", c->settings);
    if (!status)
        status = topology_model_save_structure(c->trees, s);
    if (!status)
        status = params_store(s, &c->trees->params, c->trees->params.value, "");
    if (!status && c->average)
        status = params_store(s, &c->trees->params, c->average, AVERAGE);
    if (!status && c->branches)
        status = params_store(s, &c->branches->params, c->branches->params.value, "");
    return status;
}

int model_file_write(const char *path, const model_contents *c, diag *d)
{
    safetensors s = {0};
    if (c->taxa->count != c->trees->n_taxa)
        return ART_ERR_USAGE;
    int status = fill(&s, c);
    if (!status)
        status = safetensors_write(&s, path, d);
    safetensors_free(&s);
    return status;
}

/* Reading */

typedef struct reader {
    model_file *m;
    safetensors s;
    diag_place place;
    diag *d;
} reader;

static int need_text(reader *r, const char *key, const char **text)
{
    *text = safetensors_get(&r->s, key);
    return *text ? ART_OK
                 : diag_error(r->d, ART_ERR_INPUT, r->place,
                              "metadata '%s' is missing -- is this a model file?", key);
}

/* A metadata count in 1 .. 2^30. */
static int get_int(reader *r, const char *key, int *out)
{
    const char *text;
    char quoted[64];
    int64_t value;
    int status = need_text(r, key, &text);
    if (status)
        return status;
    if (number_int(&value, text, strlen(text)) || value < 1 || value > 1 << 30)
        return diag_error(r->d, ART_ERR_INPUT, r->place,
                          "metadata '%s' is %s, expected a positive number", key,
                          diag_quote(quoted, sizeof quoted, text, strlen(text)));
    *out = (int)value;
    return ART_OK;
}

/* A kind of which the table has no row. */
static int refuse_kind(reader *r, const char *key, const char *first)
{
    const char *text = safetensors_get(&r->s, key);
    char quoted[64];
    return diag_error(r->d, ART_ERR_UNSUPPORTED, r->place,
                      "metadata '%s' is %s, which this version does not know -- it knows '%s'", key,
                      diag_quote(quoted, sizeof quoted, text, strlen(text)), first);
}

static int get_text(reader *r, const char *key, char **out)
{
    const char *text = safetensors_get(&r->s, key);
    *out = text ? mem_text(text, strlen(text)) : NULL;
    return text && !*out ? ART_ERR_NOMEM : ART_OK;
}

static int add_name(reader *r, const json_t *name)
{
    const char *text = json_string_value(name);
    char quoted[128];
    if (!text || !*text)
        return diag_error(r->d, ART_ERR_INPUT, r->place, "metadata 'taxa' is not a list of names");
    int status = taxa_add(&r->m->taxa, text, strlen(text));
    if (status == ART_ERR_INPUT)
        diag_error(r->d, status, r->place, "metadata 'taxa' lists %s twice",
                   diag_quote(quoted, sizeof quoted, text, strlen(text)));
    return status;
}

/* The names, as many as n_taxa says. */
static int get_taxa(reader *r)
{
    const char *text = safetensors_get(&r->s, "taxa");
    int n_taxa = 0, status = get_int(r, "n_taxa", &n_taxa);
    if (status)
        return status;
    json_t *list = text ? json_loads(text, 0, NULL) : NULL;
    if (!json_is_array(list))
        status = diag_error(r->d, ART_ERR_INPUT, r->place,
                            "metadata 'taxa' is missing or not a JSON list");
    for (size_t i = 0; i < json_array_size(list) && !status; i++)
        status = add_name(r, json_array_get(list, i));
    json_decref(list);
    if (!status && r->m->taxa.count != n_taxa)
        status = diag_error(
            r->d, ART_ERR_INPUT, r->place, "metadata 'n_taxa' is %d, but 'taxa' has %d %s", n_taxa,
            (int)r->m->taxa.count, format_noun((uint64_t)r->m->taxa.count, "name", "names"));
    if (!status && n_taxa < 3)
        status = diag_error(r->d, ART_ERR_INPUT, r->place, "a model needs at least 3 taxa");
    return status;
}

/* Nothing is allocated from sizes that the tensors do not bear out. */
static int check_rows(reader *r, const config_key *key, double value)
{
    const tensor *t = safetensors_find(&r->s, key->tensor);
    if (!t)
        return diag_error(r->d, ART_ERR_MISMATCH, r->place, "tensor '%s' is missing", key->tensor);
    if (t->rank >= 1 && (double)t->shape[0] == value)
        return ART_OK;
    return diag_error(r->d, ART_ERR_MISMATCH, r->place,
                      "tensor '%s' does not have the %.0f rows that metadata '%s' says",
                      key->tensor, value, key->name);
}

/* The numbers of a configuration. */
static int get_config(reader *r, double *value, const config_key *keys)
{
    const int count = config_count(keys);
    int status = ART_OK;
    for (int i = 0; i < count && !status; i++) {
        const char *text;
        char quoted[64];
        value[i] = keys[i].initial;
        if (keys[i].is_optional && !safetensors_get(&r->s, keys[i].name))
            continue;
        status = need_text(r, keys[i].name, &text);
        if (!status && config_parse(&value[i], &keys[i], text))
            status = diag_error(r->d, ART_ERR_INPUT, r->place, "metadata '%s' is %s, expected a %s",
                                keys[i].name, diag_quote(quoted, sizeof quoted, text, strlen(text)),
                                keys[i].is_whole ? "whole number" : "number");
    }
    if (!status)
        status = config_check(value, keys, r->place, r->d);
    for (int i = 0; i < count && !status; i++)
        if (keys[i].tensor)
            status = check_rows(r, &keys[i], value[i]);
    return status;
}

static bool has_tensor(const reader *r, const char *prefix)
{
    for (size_t i = 0; i < r->s.count; i++)
        if (strncmp(r->s.tensor[i].name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static int make_trees(reader *r, const topology_kind *kinds, pool *team)
{
    const char *key = safetensors_get(&r->s, "kind") ? "kind" : "model";
    const char *name = safetensors_get(&r->s, key);
    const topology_kind *kind = name ? topology_kind_find(kinds, name) : kinds;
    if (!kind)
        return refuse_kind(r, key, kinds->name);
    topology_config config = {.kind = kind};
    int status = get_config(r, config.value, kind->keys);
    return status ? status : topology_model_create(&r->m->trees, &config, r->m->taxa.count, team);
}

static int read_trees(reader *r, model_weights which, const topology_kind *kinds, pool *team)
{
    model_file *m = r->m;
    int status = make_trees(r, kinds, team);
    if (!status)
        status = topology_model_load_structure(m->trees, &r->s, r->place, r->d);
    if (status)
        return status;
    params *p = &m->trees->params;
    status = params_load(p->value, p, &r->s, "", r->place.file, r->d);
    if (!status && has_tensor(r, AVERAGE)) {
        real *average = params_block(p);
        status =
            average ? params_load(average, p, &r->s, AVERAGE, r->place.file, r->d) : ART_ERR_NOMEM;
        m->averaged = !status && which == MODEL_AVERAGE;
        if (m->averaged)
            memcpy(p->value, average, p->total * sizeof *average);
        free(average);
    }
    if (!status)
        topology_model_changed(m->trees);
    return status;
}

static int make_branches(reader *r, const branch_kind *kinds, pool *team)
{
    const char *name = safetensors_get(&r->s, "branch_kind");
    const branch_kind *kind =
        name ? branch_kind_find(kinds, name) : branch_kind_beside(kinds, r->m->trees->config.kind);
    if (!kind)
        return refuse_kind(r, "branch_kind", kinds->name);
    branch_config config = {.kind = kind};
    int status = get_config(r, config.value, kind->keys);
    return status ? status : branch_model_create(&r->m->branches, &config, r->m->taxa.count, team);
}

static int read_branches(reader *r, const branch_kind *kinds, pool *team)
{
    model_file *m = r->m;
    if (!has_tensor(r, "branch."))
        return ART_OK;
    int status = make_branches(r, kinds, team);
    if (status)
        return status;
    params *p = &m->branches->params;
    status = params_load(p->value, p, &r->s, "", r->place.file, r->d);
    branch_model_changed(m->branches);
    return status;
}

int model_file_read_kinds(model_file *m, const char *path, model_weights which,
                          const model_kinds *kinds, pool *team, diag *d)
{
    reader r = {.m = m, .place = {.file = path}, .d = d};
    memset(m, 0, sizeof *m);
    taxa_init(&m->taxa);
    int status = safetensors_read(&r.s, path, d);
    if (!status)
        status = get_taxa(&r);
    if (!status)
        status = read_trees(&r, which, kinds->trees, team);
    if (!status)
        status = read_branches(&r, kinds->branches, team);
    if (!status)
        status = safetensors_unused(&r.s, path, d);
    if (!status)
        status = get_text(&r, "version", &m->version);
    if (!status)
        status = get_text(&r, "substitution_model", &m->substitution);
    if (!status)
        status = get_text(&r, "settings", &m->settings);
    safetensors_free(&r.s);
    if (status)
        model_file_free(m);
    return status;
}

int model_file_read(model_file *m, const char *path, model_weights which, pool *team, diag *d)
{
    const model_kinds kinds = {TOPOLOGY_KINDS, BRANCH_KINDS};
    return model_file_read_kinds(m, path, which, &kinds, team, d);
}

int model_file_prior(branch_prior *out, const model_file *m, diag *d)
{
    json_t *all = m->settings ? json_loads(m->settings, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(all, "branch_prior"));
    const double rate = json_number_value(json_object_get(all, "prior_rate"));
    int status = ART_OK;
    *out = branch_prior_exponential(rate > 0 ? rate : MODEL_PRIOR_RATE);
    if (text)
        status = branch_prior_parse(out, text, d);
    json_decref(all);
    return status;
}

void model_file_free(model_file *m)
{
    topology_model_free(m->trees);
    branch_model_free(m->branches);
    taxa_free(&m->taxa);
    free(m->version);
    free(m->substitution);
    free(m->settings);
    memset(m, 0, sizeof *m);
}
