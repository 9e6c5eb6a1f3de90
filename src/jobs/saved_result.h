/* saved_result.h: the result of a finished inference (infer_job.h) in a checkpoint, for runs that
 * are made of several. */
#ifndef JOBS_SAVED_RESULT_H
#define JOBS_SAVED_RESULT_H

#include "jobs/infer_job.h"

/* Everything as fields of a saved state. Loading fills a zeroed result, which the caller frees; the
 * model and the names are those of the inference. */
int saved_result_fields(infer_result *r, const taxa *names, const free_model *model,
                        saved_state *s);

#endif
