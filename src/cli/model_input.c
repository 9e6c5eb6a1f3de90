#include "cli/model_input.h"

#include "artreeformer.h"
#include "density/artreeformer/embedding.h"

#include <string.h>

const option MODEL_OPTIONS[] = {
    OPTION_FILE(model_settings, path, "--network | --model", REQUIRED,
                "trained network, the .model.safetensors file of a run"),
    OPTION_CHOICE(
        model_settings, weights, "--weights", OPTIONAL, "average|last",
        "use the moving average of the weights, if the model has one, or the last weights"),
    OPTION_END,
};

const option MODEL_SPEED_OPTIONS[] = {
    OPTION_HEADING("Running"),
    OPTION_CHOICE(model_settings, embedding, "--embedding", OPTIONAL, EMBEDDING_METHODS,
                  "how node embeddings are computed; the results agree to rounding"),
    OPTION_SIZE(model_settings, cache_memory, "--cache-memory", LOCAL,
                "memory for caching partial trees; 0 for no cache"),
    OPTION_END,
};

/* The default fits every model; another choice needs a model with node embeddings. */
static int set_embedding(topology_model *m, int method, diag *d)
{
    if (topology_model_can(m, TOPOLOGY_EMBEDDING))
        return topology_model_set_embedding(m, method);
    return method == EMBEDDING_PROJECTED
               ? ART_OK
               : diag_error(d, ART_ERR_UNSUPPORTED, (diag_place){0},
                            "a model of kind '%s' has no node embeddings -- remove --embedding",
                            topology_model_name(m));
}

int model_input_open(model_input *in, session *s, const model_settings *settings)
{
    memset(in, 0, sizeof *in);
    model_file *m = &in->file;
    int status = session_pool(s, &in->team);
    if (status == ART_OK)
        status = model_file_read(m, settings->path, (model_weights)settings->weights, in->team,
                                 &s->diag);
    if (status == ART_OK)
        status = set_embedding(m->trees, settings->embedding, &s->diag);
    if (status == ART_OK && settings->cache_memory > 0)
        status = topology_model_freeze(m->trees, (size_t)settings->cache_memory);
    if (status != ART_OK)
        return status;
    session_notes(s);
    const topology_config *c = &m->trees->config;
    char numbers[CONFIG_TEXT];
    config_text(numbers, sizeof numbers, c->value, c->kind->keys);
    log_info(&s->log, "%s: %s on %d taxa%s%s, %s branch lengths%s", settings->path,
             topology_model_name(m->trees), (int)m->taxa.count, *numbers ? ", " : "", numbers,
             m->branches ? branch_model_name(m->branches) : "no",
             m->averaged ? ", averaged weights" : "");
    return ART_OK;
}

void model_input_close(model_input *in)
{
    model_file_free(&in->file);
    pool_free(in->team);
    memset(in, 0, sizeof *in);
}
