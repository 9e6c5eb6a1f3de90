#include "cli/training.h"

#include "artreeformer.h"

#include <string.h>

const option TRAINING_OPTIONS[] = {
    OPTION_CHOICE(
        training_settings, preset, "--preset", OPTIONAL, "standard|paper",
        "paper: exactly the published schedule; options given explicitly take precedence"),
    OPTION_INT(training_settings, steps, "--steps", OPTIONAL, 1, 4e9, "training steps"),
    OPTION_REAL(training_settings, tree_rate, "--tree-rate", EXPERT, OPTION_ABOVE_0, 1,
                "learning rate of the tree model"),
    OPTION_REAL(training_settings, decay, "--decay", EXPERT, OPTION_ABOVE_0, 1,
                "factor on the learning rates ..."),
    OPTION_INT(training_settings, decay_every, "--decay-every", EXPERT, 0, 4e9,
               "... applied after this many steps, repeatedly; 0 for never"),
    OPTION_REAL(training_settings, clip, "--clip", EXPERT, 0, 1e9,
                "maximum norm of the gradient; 0 for no limit"),
    OPTION_END,
};

const option DENSITY_OPTIONS[] = {
    OPTION_CHOICE(training_settings, density, "--density", EXPERT, "artreeformer|artree",
                  "model of topologies: ARTreeFormer, or ARTree, its recurrent predecessor"),
    OPTION_END,
};

const option NETWORK_OPTIONS[] = {
    OPTION_INT(training_settings, hidden, "--hidden", EXPERT, 1, 4096,
               "hidden size of the tree model"),
    OPTION_INT(training_settings, heads, "--heads", EXPERT, 1, 64,
               "attention heads of artreeformer; must divide the hidden size"),
    OPTION_END,
};

enum { HEADS_ROW = 1 }; /* of this table, the last */

const option VARIATIONAL_OPTIONS[] = {
    OPTION_INT(variational_options, particles, "-K --particles", OPTIONAL, 1, 10000,
               "trees drawn in each step"),
    OPTION_CHOICE(variational_options, estimator, "--estimator", EXPERT,
                  "vimco|vimco-arithmetic|rws",
                  "gradient estimator of the tree model: VIMCO with geometric or arithmetic "
                  "control variate, or RWS"),
    OPTION_INT(variational_options, anneal, "--anneal", OPTIONAL, 0, 4e9,
               "annealing steps, over which the weight of the data rises to 1; 0 for none"),
    OPTION_CHOICE(variational_options, anneal_shape, "--anneal-shape", EXPERT, "linear|geometric",
                  "how it rises, from 0.001: by the same amount, or by the same factor, in every "
                  "step"),
    OPTION_END,
};

/* Settings common to all published runs. */
static const preset_value PUBLISHED[] = {
    {"tree-rate", PRESET_TEXT(PUBLISHED_RATE)},
    {"decay", PRESET_TEXT(PUBLISHED_DECAY)},
    {"decay-every", PRESET_TEXT(PUBLISHED_DECAY_EVERY)},
    {"clip", "0"},
    {"hidden", PRESET_TEXT(PUBLISHED_HIDDEN)},
    {"heads", PRESET_TEXT(PUBLISHED_HEADS)},
    {"particles", PRESET_TEXT(PUBLISHED_PARTICLES)},
    {"estimator", "vimco"},
    {NULL, NULL},
};

int preset_apply(option_set *s, const preset_value *values, diag *d)
{
    int status = ART_OK;
    for (; values->key && status == ART_OK; values++)
        for (int i = 0; i < s->count; i++) {
            char key[OPTION_NAME];
            option_key(key, s->item[i].row);
            if (strcmp(key, values->key) == 0 && !s->item[i].given)
                status = options_set(s, &s->item[i], values->value, values->key,
                                     (diag_place){.file = "preset"}, d);
        }
    return status;
}

/* What the sizes of the network must have in common. */
static int check_network(session *s, const training_settings *o)
{
    if (o->density == DENSITY_ARTREE && o->hidden % 2)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "--hidden %lld is odd, and artree needs an even size -- change it",
                          (long long)o->hidden);
    if (o->density == DENSITY_ARTREEFORMER && o->hidden % o->heads)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "--hidden %lld is not divisible by --heads %lld -- change one of them",
                          (long long)o->hidden, (long long)o->heads);
    return ART_OK;
}

int training_settle(session *s, const training_settings *o, const variational_options *variational,
                    const preset_value *paper)
{
    int status = ART_OK;
    if (o->density != DENSITY_ARTREEFORMER)
        status = options_refuse(&s->options, NETWORK_OPTIONS + HEADS_ROW,
                                "is an option of --density artreeformer -- remove it, or choose "
                                "that density",
                                &s->diag);
    if (o->preset == PRESET_PAPER && !status)
        status = preset_apply(&s->options, PUBLISHED, &s->diag);
    if (o->preset == PRESET_PAPER && !status)
        status = preset_apply(&s->options, paper, &s->diag);
    if (!status)
        status = check_network(s, o);
    if (status)
        return status;
    if (variational && variational->estimator != ESTIMATOR_RWS && variational->particles < 2)
        return diag_error(&s->diag, ART_ERR_USAGE, (diag_place){0},
                          "VIMCO compares particles with each other and needs at least two -- "
                          "increase --particles, or choose --estimator rws");
    return ART_OK;
}

topology_config training_config(const training_settings *o)
{
    return o->density == DENSITY_ARTREE ? artree_config((int)o->hidden)
                                        : artreeformer_config((int)o->hidden, (int)o->heads);
}

train_settings training_plan(const training_settings *o)
{
    train_settings plan = train_defaults();
    plan.steps = o->steps;
    plan.tree_rate = o->tree_rate;
    plan.decay = o->decay;
    plan.decay_every = o->decay_every;
    plan.clip = o->clip;
    return plan;
}
