#include "density/model_file.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "base/number.h"
#include "density/artreeformer/artreeformer_model.h"
#include "density/lognormal/branch_lognormal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TREE_KIND[] = "artreeformer", BRANCH_KIND[] = "lognormal", AVERAGE[] = "ema.";

/* One matrix of each model by which its sizes are recognised: [hidden][N], [hidden][hidden]. */
static const char TREE_MARK[] = "tree.mlp.0.weight";
static const char BRANCH_MARK[] = "branch.mean_std_net.net.0.weight";

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

static int fill(safetensors *s, const model_contents *c)
{
    int status = safetensors_set(s, "format", "pt");
    if (!status)
        status = safetensors_set(s, "version", art_version());
    if (!status)
        status = safetensors_set(s, "kind", c->trees->ops->name);
    if (!status)
        status = set_taxa(s, c->taxa);
    if (!status)
        status = set_int(s, "n_taxa", c->trees->n_taxa);
    if (!status)
        status = set_int(s, "hidden_dim", c->hidden);
    if (!status)
        status = set_int(s, "n_head", c->heads);
    if (!status && c->branches)
        status = safetensors_set(s, "branch_kind", c->branches->ops->name);
    if (!status && c->branches)
        status = set_int(s, "branch_hidden_dim", c->branch_hidden);
    if (!status)
        status = set_text(s, "substitution_model", c->substitution);
    if (!status)
        status = set_text(s, "settings", c->settings);
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

/* A metadata count in 1 .. 2^30. */
static int get_int(reader *r, const char *key, int *out)
{
    const char *text = safetensors_get(&r->s, key);
    char quoted[64];
    int64_t value;
    if (!text)
        return diag_error(r->d, ART_ERR_INPUT, r->place,
                          "metadata '%s' is missing -- is this a model file?", key);
    if (number_int(&value, text, strlen(text)) || value < 1 || value > 1 << 30)
        return diag_error(r->d, ART_ERR_INPUT, r->place,
                          "metadata '%s' is %s, expected a positive number", key,
                          diag_quote(quoted, sizeof quoted, text, strlen(text)));
    *out = (int)value;
    return ART_OK;
}

/* The kind of model, if the file says one, must be the one we know. */
static int check_kind(reader *r, const char *key, const char *known)
{
    const char *text = safetensors_get(&r->s, key);
    char quoted[64];
    if (!text || strcmp(text, known) == 0)
        return ART_OK;
    return diag_error(r->d, ART_ERR_UNSUPPORTED, r->place,
                      "metadata '%s' is %s; this version reads '%s' only", key,
                      diag_quote(quoted, sizeof quoted, text, strlen(text)), known);
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
        diag_error(r->d, status, r->place, "metadata 'taxa' has %s twice",
                   diag_quote(quoted, sizeof quoted, text, strlen(text)));
    return status;
}

/* The names, as many as n_taxa says. */
static int get_taxa(reader *r)
{
    const char *text = safetensors_get(&r->s, "taxa");
    int n_taxa, status = get_int(r, "n_taxa", &n_taxa);
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
        status = diag_error(r->d, ART_ERR_INPUT, r->place,
                            "metadata 'n_taxa' is %d, but 'taxa' has %d names", n_taxa,
                            (int)r->m->taxa.count);
    if (!status && n_taxa < 3)
        status = diag_error(r->d, ART_ERR_INPUT, r->place, "a model needs at least 3 taxa");
    return status;
}

/* Nothing is allocated from sizes that the tensors do not bear out. */
static int check_mark(reader *r, const char *mark, const char *key, int rows, int columns)
{
    const tensor *t = safetensors_find(&r->s, mark);
    if (!t)
        return diag_error(r->d, ART_ERR_MISMATCH, r->place, "tensor '%s' is missing", mark);
    if (t->rank == 2 && t->shape[0] == (size_t)rows && t->shape[1] == (size_t)columns)
        return ART_OK;
    return diag_error(r->d, ART_ERR_MISMATCH, r->place,
                      "tensor '%s' does not have the shape [%d, %d] that metadata '%s' and the "
                      "taxa say",
                      mark, rows, columns, key);
}

static bool has_tensor(const reader *r, const char *prefix)
{
    for (size_t i = 0; i < r->s.count; i++)
        if (strncmp(r->s.tensor[i].name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static int read_trees(reader *r, model_weights which, pool *team)
{
    model_file *m = r->m;
    int status = check_kind(r, "kind", TREE_KIND);
    if (!status)
        status = get_int(r, "hidden_dim", &m->hidden);
    if (!status)
        status = get_int(r, "n_head", &m->heads);
    if (!status && m->hidden % m->heads != 0)
        status = diag_error(r->d, ART_ERR_INPUT, r->place,
                            "metadata 'n_head' is %d and does not divide 'hidden_dim' %d", m->heads,
                            m->hidden);
    if (!status)
        status = check_mark(r, TREE_MARK, "hidden_dim", m->hidden, m->taxa.count);
    if (!status)
        status = artreeformer_create(&m->trees, m->taxa.count, m->hidden, m->heads, team);
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
        m->trees->ops->changed(m->trees);
    return status;
}

static int read_branches(reader *r, pool *team)
{
    model_file *m = r->m;
    if (!has_tensor(r, "branch."))
        return ART_OK;
    int status = check_kind(r, "branch_kind", BRANCH_KIND);
    if (!status)
        status = get_int(r, "branch_hidden_dim", &m->branch_hidden);
    if (!status)
        status =
            check_mark(r, BRANCH_MARK, "branch_hidden_dim", m->branch_hidden, m->branch_hidden);
    if (!status)
        status = branch_lognormal_create(&m->branches, m->taxa.count, m->branch_hidden, team);
    if (status)
        return status;
    params *p = &m->branches->params;
    status = params_load(p->value, p, &r->s, "", r->place.file, r->d);
    m->branches->ops->changed(m->branches);
    return status;
}

int model_file_read(model_file *m, const char *path, model_weights which, pool *team, diag *d)
{
    reader r = {.m = m, .place = {.file = path}, .d = d};
    memset(m, 0, sizeof *m);
    taxa_init(&m->taxa);
    int status = safetensors_read(&r.s, path, d);
    if (!status)
        status = get_taxa(&r);
    if (!status)
        status = read_trees(&r, which, team);
    if (!status)
        status = read_branches(&r, team);
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

double model_file_prior_rate(const model_file *m)
{
    json_t *all = m->settings ? json_loads(m->settings, 0, NULL) : NULL;
    const double rate = json_number_value(json_object_get(all, "prior_rate"));
    json_decref(all);
    return rate > 0 ? rate : MODEL_PRIOR_RATE;
}

void model_file_free(model_file *m)
{
    if (m->trees)
        m->trees->ops->free(m->trees);
    if (m->branches)
        m->branches->ops->free(m->branches);
    taxa_free(&m->taxa);
    free(m->version);
    free(m->substitution);
    free(m->settings);
    memset(m, 0, sizeof *m);
}
