/* model_input.h: how commands read a trained model: the options, and the model with its threads
 * and its cache. */
#ifndef CLI_MODEL_INPUT_H
#define CLI_MODEL_INPUT_H

#include "cli/session.h"
#include "density/model_file.h"

enum { MODEL_BATCH = 1000 }; /* trees that commands hand to a model at once */

typedef struct model_settings {
    const char *path;
    int weights;   /* of enum model_weights */
    int embedding; /* of enum embedding_method */
    int64_t cache_memory;
} model_settings;

#define MODEL_DEFAULTS                   \
    {                                    \
        .cache_memory = (int64_t)1 << 28 \
    }

/* --network --weights, and apart from them --embedding --cache-memory */
extern const option MODEL_OPTIONS[];
extern const option MODEL_SPEED_OPTIONS[];

typedef struct model_input {
    model_file file;
    pool *team;
} model_input;

/* Reads the model, reports its kind, and freezes it: its weights stay fixed, and the distributions
 * of partial trees are cached in at most cache_memory bytes. */
int model_input_open(model_input *in, session *s, const model_settings *settings);
void model_input_close(model_input *in); /* safe on a zeroed one */

#endif
