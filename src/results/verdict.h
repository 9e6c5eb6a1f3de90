/* verdict.h: whether a result can be relied on, with the figures that say so and what to do if it
 * cannot. It comes first in the log, in the report and in <prefix>.json.
 *
 *     verdict v;
 *     verdict_init(&v);                            converged, so far
 *     v.asdsf = 0.034;                             what is known; the rest stays NaN
 *     if (v.asdsf > VERDICT_ASDSF)
 *         verdict_warn(&v, true, "Independent chains disagree: ...");
 *     verdict_of_evidence(&v, &evidence, verdict_remedy(is_cut));
 *
 * A zeroed verdict is that of a method that does not judge itself. A verdict owns nothing and can
 * be copied. */
#ifndef RESULTS_VERDICT_H
#define RESULTS_VERDICT_H

#include "train/evidence.h"

#include <jansson.h>
#include <stdbool.h>

/* The customary thresholds. */
#define VERDICT_ASDSF    0.01
#define VERDICT_R_HAT    1.01
#define VERDICT_ESS      200
#define VERDICT_PARETO_K 0.7

enum { VERDICT_WARNINGS = 8, VERDICT_TEXT = 320 };

typedef struct verdict {
    bool is_given; /* false: the method does not judge itself, and nothing else here counts */
    bool converged;
    bool has_evidence_error; /* the standard errors are earned; otherwise they are not shown */
    int n_warnings;
    int n_fatal; /* warnings because of which it has not converged: the first ones */
    char warning[VERDICT_WARNINGS][VERDICT_TEXT]; /* whole sentences */
    /* NaN where there is none */
    double asdsf;             /* average standard deviation of split frequencies between chains */
    double largest_deviation; /* the largest of these standard deviations */
    double r_hat;             /* of the log density, between and within chains */
    double ess_log_density;   /* effective sample size of the log density along the chains */
    double ess_splits;        /* the smallest over splits that are neither certain nor absent */
} verdict;

/* Converged, no warnings, no figures. */
void verdict_init(verdict *v);

/* Adds a sentence: what is wrong, whether to believe the result, what to do. If it is fatal, the
 * run has not converged and its standard errors are not earned; fatal ones come first. Beyond
 * VERDICT_WARNINGS, fatal ones replace others, and the rest is dropped. Texts are ASCII; longer
 * ones are cut. */
void verdict_warn(verdict *v, bool is_fatal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What to do about weights or chains that say too little: a sentence. is_cut: a time limit ended
 * the run; otherwise more time would change nothing. */
const char *verdict_remedy(bool is_cut);
extern const char VERDICT_TRAIN[]; /* the same where a network was trained for so many steps */

/* Adds what an estimate by importance sampling says of itself. */
void verdict_of_evidence(verdict *v, const evidence *e, const char *remedy);

/* Of that only whether the search for trees, or the run, came to its end. */
void verdict_of_search(verdict *v, const evidence *e);

/* Whether the standard errors of the evidence are shown: they are earned, or nobody has judged.
 * Those of splits may be earned where these are not. */
bool verdict_shows_errors(const verdict *v);
bool verdict_shows_split_errors(const verdict *v);

/* What stands in the place of errors that are not shown. */
const char *verdict_no_error(const verdict *v);

/* The evidence as it may be shown: what is not known becomes NaN. That are the standard errors,
 * unless they are earned, and the fraction of the posterior outside the table after a search that
 * is unfinished. */
evidence verdict_shown(const verdict *v, const evidence *e);

/* Whether the search for trees came to its end, so that what is outside the table is known. */
bool verdict_search_is_finished(const evidence *e);

/* "converged" or "NOT CONVERGED -- " with the first reason. The text fits in VERDICT_LINE. */
enum { VERDICT_LINE = VERDICT_TEXT + 32 };
void verdict_line(char text[VERDICT_LINE], const verdict *v);

/* The first warning that verdict_line does not have. */
int verdict_first_other(const verdict *v);

/* The figures that there are, as text, with the values that are customary (may be ""). Returns
 * their number. */
enum { VERDICT_FIGURES = 6, VERDICT_VALUE = 32 };
typedef struct verdict_figure {
    const char *name;
    char value[VERDICT_VALUE];
    const char *customary; /* "below 0.01" */
} verdict_figure;
int verdict_figures(verdict_figure figure[VERDICT_FIGURES], const verdict *v, const evidence *e);

/* Sets the keys of the verdict in <prefix>.json; none if it is not given. */
int verdict_json(json_t *out, const verdict *v);

#endif
