/* training.h: the options of training that infer, fit and parsimony share, and presets. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/session.h"
#include "density/factory.h"
#include "train/objective.h"
#include "train/trainer.h"
#include "train/defaults.h"

typedef enum preset { PRESET_STANDARD, PRESET_PAPER } preset;

/* The kinds of tree models, in the order of --density: networks first, which all commands know,
 * then those of fit. */
typedef enum density_kind {
    DENSITY_ARTREEFORMER,
    DENSITY_ARTREE,
    DENSITY_SBN,
    DENSITY_CCD0,
    DENSITY_CCD1,
    DENSITY_CCD2
} density_kind;

typedef struct training_settings {
    int preset;
    int density; /* of enum density_kind */
    int64_t steps;
    double tree_rate;
    double decay;
    int64_t decay_every;
    double clip;
    int64_t hidden;
    int64_t heads;
} training_settings;

extern const option
    TRAINING_OPTIONS[]; /* --preset --steps --tree-rate --decay --decay-every --clip */
extern const option DENSITY_OPTIONS[]; /* --density, of parsimony */
extern const option NETWORK_OPTIONS[]; /* --hidden --heads */

/* Of parsimony. */
#define TRAINING_DEFAULTS                                                                      \
    {                                                                                          \
        .steps = PARSIMONY_STEPS, .tree_rate = PARSIMONY_RATE, .decay = DEFAULT_DECAY,         \
        .decay_every = PARSIMONY_DECAY_EVERY, .hidden = DEFAULT_HIDDEN, .heads = DEFAULT_HEADS \
    }

/* Additional options of infer and parsimony: particles and annealing. */
typedef struct variational_options {
    int64_t particles;
    int estimator; /* of enum estimator */
    int64_t anneal;
    int anneal_shape; /* of enum anneal_shape */
} variational_options;

extern const option VARIATIONAL_OPTIONS[]; /* --particles --estimator --anneal --anneal-shape */

/* A value that a preset gives to an option that the user has not given. */
typedef struct preset_value {
    const char *key; /* the option's long name without dashes */
    const char *value;
} preset_value;

/* A number of train/defaults.h as such a value. */
#define PRESET_TEXT(number)    PRESET_TEXT_OF(number)
#define PRESET_TEXT_OF(number) #number

/* Gives the values (up to a NULL key) to the options that the user has not given. */
int preset_apply(option_set *s, const preset_value *values, diag *d);

/* Applies the preset: if --preset paper was given, sets the options that were not, to what all
 * published runs have in common and to what is in the list (ends with a NULL key). Then looks at
 * what options must have in common. variational may be NULL. Both point into the settings of the
 * session. */
int training_settle(session *s, const training_settings *o, const variational_options *variational,
                    const preset_value *paper);

/* The network that the options ask for. */
topology_config training_config(const training_settings *o);

/* The training settings without those that only some tasks have. */
train_settings training_plan(const training_settings *o);

#endif
