/* prior_options.h: the options that state the priors of branch lengths and of the parameters of
 * substitution models, and what the log says of priors.
 *
 * --branch-prior is any prior of branch lengths, --prior-rate the short form for an exponential
 * one. A command includes both tables and calls prior_settle. --prior is for free_model_read. */
#ifndef CLI_PRIOR_OPTIONS_H
#define CLI_PRIOR_OPTIONS_H

#include "cli/session.h"
#include "subst/branch_prior.h"
#include "subst/free_model.h"

typedef struct prior_settings {
    const char *text; /* of branch lengths; NULL if it is not given */
    double rate;
    const char *parameters; /* NULL for the usual ones */
} prior_settings;

extern const option BRANCH_PRIOR_OPTIONS[];
extern const option PRIOR_RATE_OPTIONS[];
extern const option PARAMETER_PRIOR_OPTIONS[];

/* The prior of branch lengths that the options state. Those that do not apply are left out of the
 * settings of the run. ART_ERR_USAGE if both are given, ART_ERR_INPUT for a text that is not a
 * prior. */
int prior_settle(branch_prior *out, session *s, const prior_settings *set);

/* Lines of the log: the priors of what any of the models [n] estimates, and then that of branch
 * lengths. */
void prior_say_parameters(session *s, const free_model *model, int n);
void prior_say(session *s, const free_model *model, int n, branch_prior lengths);

#endif
