/* run.h: what runs and results are made of: one of the five jobs, with its data. */
#ifndef API_RUN_H
#define API_RUN_H

#include "api/objects.h"
#include "jobs/fit_job.h"
#include "jobs/infer_job.h"
#include "jobs/model_average.h"
#include "jobs/parsimony_job.h"
#include "jobs/search_job.h"
#include "results/parameters.h"

typedef struct run_core {
    /* One of these is there. */
    infer_job *infer;
    model_average *average; /* inference under several models */
    fit_job *fit;
    parsimony_job *parsimony;
    search_job *search;
    run *work; /* the job's; NULL once the model is taken */
    pool *threads;
    dataset data;          /* of all but fit; its alignment is the caller's */
    const tree_set *trees; /* of fit; the caller's */
    json_t *identity;      /* what the run is: settings and data */
    char *model;           /* the substitution model, or a title of several, of inference; owned */
    branch_prior prior;    /* of inference */
    uint64_t seed;
    bool is_under_way; /* it has advanced or was loaded: nothing is loaded into it any more */
    double seconds;    /* that it took */
} run_core;

void run_core_free(run_core *c); /* NULL is fine */

struct art_run {
    run_core *core; /* NULL once the result is taken */
};

struct art_result {
    run_core *core;
    infer_result infer; /* of averages too */
    fit_result fit;
    parsimony_result parsimony;
    search_result search;
    size_t *inner; /* [n_inner] splits of the posterior that are not of single taxa, by falling
                      frequency; owned */
    size_t n_inner;
    parameter_row *parameter; /* [n_columns of the posterior]; owned, NULL if there are none */
};

#endif
