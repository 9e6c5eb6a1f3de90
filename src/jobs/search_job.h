/* search_job.h: the trees of the least parsimony score by a search (pars/parsimony_search.h). Used
 * as infer_job.h. */
#ifndef JOBS_SEARCH_JOB_H
#define JOBS_SEARCH_JOB_H

#include "base/buffer.h"
#include "jobs/dataset.h"
#include "pars/parsimony_search.h"
#include "train/run.h"
#include "tree/splits.h"

typedef struct search_job search_job;

/* data and threads are borrowed until the job is freed. */
int search_job_create(search_job **out, const dataset *data, parsimony_gap gap,
                      const parsimony_search_settings *settings, pool *threads);
void search_job_free(search_job *j); /* NULL is fine */

/* A time limit ends the run with the best trees so far. */
run *search_job_run(search_job *j);

/* What was found. Trees are those of the search, in the order in which they were met. */
typedef struct search_result {
    parsimony_found found;
    bool is_complete;   /* the search ended by itself, and all trees of the plateau are kept */
    split_table splits; /* of the collapsed trees, each with the same weight */
} search_result;

void search_result_free(search_result *r); /* safe on a zeroed one */

/* Once the run is done. *out is safe to free in any case; it must not outlive the job. */
int search_job_finish(search_job *j, search_result *out);

extern const char *const SEARCH_SUFFIXES[]; /* other than <prefix>.json; NULL at the end */

/* Writes the trees, resolved and collapsed, the consensus trees and the report. source: the name of
 * the alignment, for the report. */
int search_job_write(search_job *j, const search_result *r, const char *source, const char *prefix,
                     diag *d);

/* The text of the report is added to out. */
int search_job_report(buffer *out, const search_job *j, const search_result *r, const char *source);

/* How sure the result is, in one sentence. */
enum { SEARCH_LINE = 400 };
void search_job_line(char line[SEARCH_LINE], const search_result *r);

/* The results for <prefix>.json; a new object, NULL if memory is short. */
json_t *search_job_results(const search_result *r);

#endif
