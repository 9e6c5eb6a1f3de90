/* run_facts.h: what a run of collapsed inference (driver.h) says of itself: lines for the log,
 * objects for the table of metrics and for <prefix>.json. docs/files.md describes the keys. New
 * objects are NULL if memory is short. */
#ifndef COLLAPSED_RUN_FACTS_H
#define COLLAPSED_RUN_FACTS_H

#include "collapsed/chain_answer.h"
#include "collapsed/final_sampling.h"
#include "collapsed/joint_stage.h"

#include <jansson.h>

enum { RUN_WORDS = 512 };

/* The free parameters at which topologies are compared. */
void parameter_words(char text[RUN_WORDS], const branch_posterior *problem);

/* Which way the posterior is found. */
typedef enum posterior_way {
    WAY_TABLE,             /* a table of trees and a network */
    WAY_CHAINS,            /* chains over topologies and a density of clades */
    WAY_JOINT,             /* chains over topologies with their branch lengths */
    WAY_TABLE_THEN_JOINT,  /* as well, where the weights of a table's draws were no use, .. */
    WAY_CHAINS_THEN_JOINT, /* .. or those of the lengths that were drawn after other chains */
} posterior_way;

/* The way, and why. is_cut says, of the table, that the search was ended before its end. */
void way_words(char text[RUN_WORDS], const rounds *r, posterior_way way, bool is_cut);

/* A round of the table, number 1, 2, .. : what was reached, and the targets. */
void round_words(char text[RUN_WORDS], int number, const round_figures *r,
                 const collapsed_settings *set);
json_t *round_json(const round_figures *r);

/* A round of the chains. */
void chain_round_words(char text[RUN_WORDS], int number, const chain_round *r,
                       const chain_stage *chains);
void joint_round_words(char text[RUN_WORDS], int number, const chain_round *r,
                       const joint_stage *chains);
json_t *chain_round_json(const chain_round *r);

/* Further results in addition to the evidence. */
json_t *table_facts(const rounds *r, const answer *found);
json_t *chain_facts(const rounds *r, const chain_stage *chains, const chain_check *check,
                    const answer *found);
json_t *joint_facts(const rounds *r, posterior_way way, const joint_stage *chains,
                    const answer *found);

#endif
