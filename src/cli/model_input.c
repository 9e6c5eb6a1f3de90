#include "cli/model_input.h"

#include "artreeformer.h"
#include "density/artreeformer/artreeformer_model.h"

#include <string.h>

const option MODEL_OPTIONS[] = {
    OPTION_FILE(model_settings, path, "--network | --model", REQUIRED,
                "trained network, the .model.safetensors file of a run"),
    OPTION_CHOICE(model_settings, weights, "--weights", OPTIONAL, "average|last",
                  "moving average of the weights, where the model has one, or the last ones"),
    OPTION_END,
};

const option MODEL_SPEED_OPTIONS[] = {
    OPTION_HEADING("Running"),
    OPTION_CHOICE(model_settings, embedding, "--embedding", OPTIONAL, EMBEDDING_METHODS,
                  "how node embeddings are computed; the results agree to rounding"),
    OPTION_SIZE(model_settings, cache_memory, "--cache-memory", LOCAL,
                "memory for partial trees that may come again; 0 for none"),
    OPTION_END,
};

int model_input_open(model_input *in, session *s, const model_settings *settings)
{
    memset(in, 0, sizeof *in);
    model_file *m = &in->file;
    int status = session_pool(s, &in->team);
    if (status == ART_OK)
        status = model_file_read(m, settings->path, (model_weights)settings->weights, in->team,
                                 &s->diag);
    if (status == ART_OK)
        status = artreeformer_embedding(m->trees, (embedding_method)settings->embedding);
    if (status == ART_OK && settings->cache_memory > 0)
        status = m->trees->ops->freeze(m->trees, (size_t)settings->cache_memory);
    if (status != ART_OK)
        return status;
    session_notes(s);
    log_info(&s->log, "%s: %s on %d taxa, hidden size %d, %d heads, %s%s%s", settings->path,
             m->trees->ops->name, (int)m->taxa.count, m->hidden, m->heads,
             m->branches ? m->branches->ops->name : "no", " branch lengths",
             m->averaged ? ", averaged weights" : "");
    return ART_OK;
}

void model_input_close(model_input *in)
{
    model_file_free(&in->file);
    pool_free(in->team);
    memset(in, 0, sizeof *in);
}
