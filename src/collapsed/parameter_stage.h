/* parameter_stage.h: the first stage of collapsed inference where the substitution model has free
 * parameters: finds the parameters at which topologies will be compared (branch_posterior.h), the
 * joint mode of a good tree.
 *
 * A parsimony tree gives a first fit; then climbs at the parameters so far, each followed by a
 * joint fit of its peak, of which the best counts. Joint fits also start from a tree with all
 * branches much longer, because rates that differ among sites can have a second mode there.
 *
 *     parameter_stage *s;
 *     status = parameter_stage_create(&s, &problem, &alignment, taxon, &settings);
 *     while (!s->is_done)
 *         status = parameter_stage_advance(s, &stop);       one climb, or one fit
 *     parameter_stage_free(s);
 *
 * At the end the problem has its centre. The result depends on the arguments alone, unless stop was
 * due: the stage then ends with what it has, which may be where the search started. */
#ifndef COLLAPSED_PARAMETER_STAGE_H
#define COLLAPSED_PARAMETER_STAGE_H

#include "branch/parameter_mode.h"
#include "collapsed/search_worker.h"
#include "io/saved_state.h"

typedef struct parameter_stage {
    branch_posterior *problem; /* borrowed; its centre moves */
    uint64_t seed;
    search_settings search;
    search_worker worker;
    parameter_mode *mode;
    fitted_tree tree;   /* the last one */
    fitted_tree best;   /* with its lengths at the joint mode */
    double log_density; /* of that mode; -inf before there is one */
    double *z;          /* [p] and .. */
    double *spread;     /* .. [p][p], of the fit under way */
    int climbs;         /* done */
    int most_climbs;    /* parameter_stage_climbs; may be changed before the first piece of work */
    bool has_first;     /* the fit of the parsimony tree */
    bool is_long;       /* the best mode was found from longer branches */
    bool is_done;
} parameter_stage;

/* Climbs of the stage: fewer for many taxa, where one takes long. */
int parameter_stage_climbs(int n_taxa);

/* The problem has free parameters and is borrowed; settings as for the search. */
int parameter_stage_create(parameter_stage **out, branch_posterior *problem, const alignment *a,
                           const int *taxon, const search_settings *settings, uint64_t seed);
void parameter_stage_free(parameter_stage *s); /* NULL is fine */

/* A piece of work. ART_ERR_NUMERIC if no parameters are found at which the data have a
 * likelihood. */
int parameter_stage_advance(parameter_stage *s, const interrupt *stop);

/* The centre of a problem as fields of a saved state, if is_known. */
void parameter_centre_fields(branch_posterior *problem, bool is_known, saved_state *s);

#endif
