/* driver_parts.h: the state of a run of collapsed inference (driver.h), and what it is made of: the
 * way of the table is in driver.c, that of the chains in driver_chains.c. For these files only. */
#ifndef COLLAPSED_DRIVER_PARTS_H
#define COLLAPSED_DRIVER_PARTS_H

#include "base/interrupt.h"
#include "collapsed/driver.h"
#include "collapsed/parameter_stage.h"

typedef struct collapsed_run {
    run base;
    collapsed_problem problem;
    collapsed_settings set;
    parameter_stage *parameters; /* NULL when it is done, or if there are none */
    bool centre_reported;
    rounds *rounds;
    final_sampling *final; /* NULL during the rounds */
    chain_stage *chains;   /* NULL unless the posterior is too diffuse for a table */
    chain_answer *answer;  /* NULL before the chains have ended */
    joint_stage *joint;    /* NULL unless lengths cannot be integrated out well; with `final` or
                              `answer`, if the draws of the table or of lengths have shown that */
    bool joint_gave_up;    /* in this session: the likelihood was no number in one of them */
    chain_check check;     /* once it is finished */
    int chains_reported;   /* rounds of the chains, of one kind or the other */
    int reported;          /* rounds */
    bool way_reported;     /* in this session */
    double pass_seconds;   /* of the last draws and a pass, expected; 0 if not known */
    double value;          /* log evidence by the table's sum; NaN at first */
    bool is_cut;  /* the time limit ended the rounds, or passes or picks that would have followed */
    bool is_late; /* it is past the limit */
    bool finish_now;
    interrupt stop; /* of the work of a stage: its share of a time limit */
} collapsed_run;

/* The stage, what is done of it, and in words where the run is (driver_progress.c). */
void driver_progress(const run *r, run_progress *out);

/* ---- time limits (driver_limits.c) ---- */

/* Whether only `reserve` seconds of the limit are left. */
bool driver_is_near_limit(const collapsed_run *c, double reserve);

/* Seconds of the limit that are left for the final sampling. */
double driver_final_reserve(const collapsed_run *c);

/* Seconds of the limit that are left for summaries and files. */
double driver_closing_reserve(const collapsed_run *c);

/* The reserve of a stage that has this share of the limit. */
double driver_rest(const collapsed_run *c, double share);

/* What a piece of work can do without ends when only `reserve` seconds of the limit are left. */
void driver_set_deadline(collapsed_run *c, double reserve);

/* ---- chains, of either kind (driver_chains.c) ---- */

/* The rounds of the chains; NULL if there are no chains. */
const chain_rounds *driver_chain_rounds(const collapsed_run *c);

/* From the search to chains that start at its peaks. */
int driver_begin_chains(collapsed_run *c);

/* From the table, or from chains and their answer, whose draws have weights with too heavy a tail,
 * to chains with branch lengths. */
bool driver_needs_joint(const collapsed_run *c);
int driver_begin_joint(collapsed_run *c);
int driver_advance_chains(collapsed_run *c);

/* The next round that was not yet reported. */
int driver_report_chains(collapsed_run *c, run_report *out);
int driver_chain_fields(collapsed_run *c, saved_state *s);
int driver_finish_chains(collapsed_run *c, answer *out);

/* Whether chains with branch lengths could still take over, given time. */
bool driver_may_follow(const collapsed_run *c);

/* Whether chains that took over have ended without agreeing, and are worth no more trees than the
 * draws before them. */
bool driver_joint_failed(const collapsed_run *c);

/* The share of the posterior that lengths integrated out leave out, in other modes (other_modes.h).
 */
double driver_other_modes(const collapsed_run *c);

/* Warns if peaks of weight that few climbs have found tell of others that none has (driver.c). */
void driver_judge_climbs(verdict *v, const collapsed_run *c);

/* Warns if few climbs have found the top, which is all that chains know of other peaks (driver.c).
 */
void driver_judge_starts(verdict *v, const collapsed_run *c);

#endif
