/* settings.h: every number of collapsed inference (rounds.h, final_sampling.h) that was chosen, in
 * one place: what it is, its unit, and why it has its value. What was measured about them, and how
 * to measure again (`bench/constants`), is in docs/constants.md. Sizes that nothing but memory and
 * speed depend on stay in the files that use them.
 *
 *     collapsed_settings set = collapsed_defaults(seed);
 *     set.error = 0.01;
 *     status = rounds_create(&c, &problem, &alignment, taxon, trees, &set, threads);
 *
 * A nat is a difference of 1 in a natural logarithm, here of an evidence. A "weight" is a share of
 * the posterior. The slacks of cheap scores are numbers of the branch room: branch/settings.h. */
#ifndef COLLAPSED_SETTINGS_H
#define COLLAPSED_SETTINGS_H

#include "branch/climb.h"
#include "chain/joint_chain.h"
#include "chain/tree_chain.h"
#include "train/defaults.h"

#include <stddef.h>
#include <stdint.h>

/* What users choose, by options of the program and by fields of the library's settings; constants,
 * because tables of options are. */
#define DEFAULT_NEW_MASS       0.02 /* share of the posterior: rounds_settings.new_mass */
#define DEFAULT_STANDARD_ERROR 0.02 /* nats: collapsed_settings.error */
#define DEFAULT_TABLE_MEMORY   ((int64_t)512 << 20) /* bytes: 1.6 million trees of 27 taxa */
#define NETWORK_FIT_RATE       1e-3                 /* network_fit_settings.rate */
enum { DEFAULT_ROUNDS = 8, NETWORK_FIT_BATCH = 16, NETWORK_FIT_STEPS = 2000 };

/* How many trees a piece of work can deal with where there are many taxa (affordable.h). */
typedef struct affordable_settings {
    int taxa;     /* up to so many, the whole number: about as many as the data have that the sizes
                     were chosen on */
    size_t least; /* trees: fewer would be too few to say anything */
} affordable_settings;

/* The table of trees (tree_table.h). */
typedef struct table_settings {
    size_t capacity;  /* trees, at most; the programs take what DEFAULT_TABLE_MEMORY or the user's
                         choice holds */
    int evicted_part; /* one tree in so many goes when it is full: seldom enough for sorting to
                         cost little, and few enough for the table to stay nearly full */
} table_settings;

/* The search for trees (search.h). */
typedef struct search_settings {
    double window;          /* nats below the best tree: what enters the table. exp -15 is 3e-7, so
                               that a million trees at its edge weigh a third of the best one */
    double tolerance;       /* nats, of the modes (branch_solver_mode) */
    double unexpanded_mass; /* weight of trees whose neighbours were not looked at, at which
                               expansion ends: a twentieth of DEFAULT_NEW_MASS */
    int small_search;       /* trees: as long as no more are expanded, which takes seconds, .. */
    int small_factor;       /* .. unexpanded_mass is divided by this */
    double unfitted;        /* weight of trees with a cheap score only, at which fitting ends */
    int batch;              /* trees that a round expands, at most: memory for their neighbours */
    int least_batch;        /* at least: enough for some threads */
    int batch_part;         /* between, one in so many trees of the table: rounds are to cost more
                               than choosing what they expand */
    int least_neighbours;   /* that a tree may bring: a limit where subtree moves bring many */
    int starts;             /* climbs before the first expansion, and more, fewer than most_starts
                               with many taxa, as long as few of them have found the top: each
                               counts less by a factor of e .. */
    double found_scale;     /* .. for so many nats below it, and h of them leave a share of 2^-h */
    int shake_pieces;       /* that shake a peak (climb_shake), fewer with many taxa, .. */
    int least_pieces;       /* .. but not fewer than this */
    int shaken;             /* the best peaks, that are shaken before chains begin */
    double rugged;          /* if less than this share of the climbs found the top, .. */
    int most_shaken;        /* .. so many are before anything else, fewer with many taxa */
    int more_starts;        /* climbs in every batch after that */
    int start_batch;        /* climbs in a piece of work */
    int idle_starts;        /* the last so many climbs brought no more than .. */
    double new_mass;        /* .. this share of the table's weight: then it is done, if .. */
    double missing;         /* .. no more than this share is probably in peaks that were never found
                               (basins.h): a peak of 3 % must have been found four times, .. */
    size_t basin_trees;     /* .. by the heaviest trees, so many of them; .. */
    int64_t most_starts;    /* .. or after so many climbs */
    int widen;              /* trees, the best, that are widened by subtree moves */
    int widen_batch;        /* trees that a round widens: each costs as much as many expansions */
    int widen_share;        /* expansions to one widening, while there is something to expand */
    int radius;             /* branches, of the longest subtree move */
    double spr_margin;      /* nats by which a whole fit may improve on the cheap score of a subtree
                               move: so much below what is wanted it is still fitted in widening */
    /* A climb. */
    climb_settings climb; /* its radius and tolerance are the above */
    double rough;         /* nats, of the mode of a parsimony tree for which there is no time to
                             climb */
    double start_length;  /* changes per site: of branches of which nothing is known, the mean of
                             the usual prior */
} search_settings;

/* Sampling and approximation blended (blend.h; the statistics are in docs/blend.md). */
typedef struct blend_settings {
    double least_scatter; /* nats: no approximation counts as better than that */
    double farthest;      /* standard errors: a tree that is farther off the mean difference counts
                             as that far, lest one tree decides about the scatter */
    double doubt;         /* standard errors of the scatter that are taken off it, because few draws
                             say little: then the approximation is believed */
    double borrowed;      /* draws with the mean variance of all that a tree's own variance is mixed
                             with: one of few draws is mostly luck */
    double share;         /* of the table's weight in the trees that a round blends: those that the
                             network is fitted to and the offset of the others comes from */
    size_t most;          /* trees that a round blends, fewer with many taxa */
    int draws;            /* of lengths for each; the standard error is then about 0.1 nats
                             (an effective sample size of 0.8 to 0.9 a draw, docs/collapsed.md) */
    double tolerance;     /* nats, of their modes */
} blend_settings;

/* The network fitted to the table (network_fit.h). */
typedef struct network_fit_settings {
    int batch;        /* trees of a step */
    double rate;      /* of learning, per step */
    int64_t steps;    /* of one fit, at most */
    double fit_kl;    /* nats, KL(table || q) at which a fit ends: good enough to draw new trees */
    double polish;    /* nats, the same that is wanted in the end; 0 for no polishing */
    int polish_batch; /* trees of the steps of polishing; more where few are distinct */
    size_t targets;   /* trees that stand for a larger table: what fits memory and a fit's time */
    int look_every;   /* steps between two looks at the gap: looks cost a part of the steps only */
    size_t gap_trees; /* that it is measured on, fewer with many taxa */
    int least_steps;  /* of a fit */
    double fall;      /* what look_every steps must make of the gap for the fit to go on */
    double average;   /* what the average of the weights keeps in a step */
    int average_from; /* step at which it begins */
    double clip;      /* largest norm of a gradient: only accidents are larger */
    /* Polishing. */
    int growth;        /* times polish_batch, at most */
    int window;        /* steps in which the gap must fall by `gain`, or the rate does; .. */
    int window_part;   /* .. later one in so many of the steps before */
    double gain;       /* share of the gap */
    double decay;      /* of the rate, where the gap does not fall */
    double least_rate; /* at which polishing ends: nothing changes any more */
    double recent;     /* one in so many of the steps is what the average is over */
    double steady;     /* steps at the full rate; then it goes with one over their root */
    double lost;       /* times the least gap: the weights go back to those that had it */
} network_fit_settings;

/* The rounds (rounds.h). */
typedef struct rounds_settings {
    int64_t expansions;  /* of trees in one round, at most: the network is to help before that */
    int draws;           /* from the network in one round */
    int rounds;          /* at most */
    double new_mass;     /* criterion: weight of the trees that a round's draws brought */
    double agree;        /* criterion, nats: evidence by the table and by the network .. */
    double agree_errors; /* .. or so many standard errors of the latter */
} rounds_settings;

/* Estimates of a pass of the answer, each of `particles` draws; their scatter is reported. Fixed:
 * help and files say ten. */
enum { SAMPLER_REPEATS = 10 };

/* The draws of the answer (sampler.h). */
typedef struct sampler_settings {
    int particles;     /* draws of a repeat, two at least; a pass has SAMPLER_REPEATS of them */
    int sample;        /* draws that are kept, with their lengths */
    int outside_draws; /* of lengths for a tree outside the table .. */
    int single_draws;  /* .. or drawn once: finding its mode costs more than they do */
    double light;      /* weight over the mean of all: trees outside below it are kept with a chance
                          of their share of it */
    double judged;     /* nats, tolerance of the mode for seeing that */
    double tolerance;  /* nats, of all other modes */
} sampler_settings;

/* From the end of the rounds to the answer (final_sampling.h). */
typedef struct final_settings {
    int64_t passes;       /* at most */
    int least_passes;     /* for the probabilities of trees, where the error is small at once */
    int doubtful_passes;  /* where only Pareto k is not as wanted: an end to waiting. Where chains
                             then take over (joint_stage_settings.pareto_k), in any case */
    size_t cache;         /* bytes for partial trees that are drawn again and again */
    double flatness;      /* power of the network's probabilities, for trees outside: the table it
                             was fitted to ends somewhere, and it is too low beyond */
    double least_network; /* share of the draws: what is outside is looked at in any case .. */
    double most_network;  /* .. and the table, which has the probabilities that are reported */
    /* The model of branch lengths, for draws beyond the table; the answer does not depend on it. */
    int64_t length_steps;   /* 0: it is not fitted */
    int length_batch;       /* trees of a step, fewer with many taxa */
    double length_rate;     /* of learning, per step */
    double length_decay;    /* of the rate .. */
    int length_decay_parts; /* .. so many times */
} final_settings;

/* Which way the posterior is found: by a table of trees, or by chains and a density of clades. */
typedef struct route_settings {
    int table_taxa;     /* with more taxa: chains, once there are starts */
    int64_t expansions; /* of trees in the first search: if it has not ended by then .. */
    double open;        /* .. and trees that were not expanded have more of the weight: chains. Only
                           with free parameters, whose likelihoods cost most; otherwise 0: on DS8
                           under JC chains take 24 s and the table 4 min */
    int starts;      /* climbs where it is chains from the beginning: for them to choose from .. */
    int start_batch; /* .. in pieces of so many */
    double search_share; /* of a time limit: so long the first search may take */
    double window;       /* nats below the best peak: worse ones are no start for a chain */
} route_settings;

/* How many states of chains are kept (chain_states.h). */
typedef struct state_room {
    size_t memory; /* bytes for those of all chains, .. */
    size_t least;  /* .. but at least so many of each .. */
    size_t most;   /* .. and at most; even */
} state_room;

/* The rounds of chains of either kind (chain_rounds.h). */
typedef struct chain_round_settings {
    int64_t first_blocks; /* of each chain in the first round; twice as many in all in the next */
    int most;             /* rounds */
    int64_t most_blocks;  /* of each chain: no further round after so many */
    size_t shortest;      /* states of each chain before a request to finish is heeded */
    /* Criteria for the end, the customary limits. */
    double asdsf; /* average standard deviation of split frequencies between the chains */
    double r_hat; /* of what chain_states keeps as the value of a state */
} chain_round_settings;

/* The chains over topologies (chain_stage.h), for posteriors that no table holds. */
typedef struct chain_stage_settings {
    chain_settings chain; /* of one chain; jumps and parts that are drawn again begin with the first
                             density */
    int chains;           /* two at least: they are compared with each other */
    int whole_jumps;      /* up to so many taxa, chain.jump is as it is; with more it goes down with
                             the square of their number, and parts are drawn in place of trees */
    int jump_taxa;        /* with more taxa no jumps: few are accepted, each costs a fit of all
                             branches, and parts of all sizes are drawn again in any case */
    chain_round_settings rounds;
    state_room room;        /* for the states */
    int whole_taxa;         /* up to so many, blocks and pilot draws are whole; with more .. */
    int least_block;        /* .. blocks have fewer steps, each of which then changes more; at least
                               so many .. */
    int least_pilots;       /* .. and there are fewer pilot draws, as each costs more */
    int pilot_draws;        /* from the density after every round, fewer with many taxa */
    double pilot_tolerance; /* nats, of their modes */
    double planned_draws; /* that the results will have: what the states are worth depends on it */
    double error; /* nats, wanted for the end: part of the states in the standard error of the log
                     evidence */
} chain_stage_settings;

/* Chains over topologies with their branch lengths (joint_stage.h), for trees whose lengths cannot
 * be integrated out well. */
typedef struct joint_stage_settings {
    joint_settings chain;
    int taxa;             /* with more taxa, from the beginning; with fewer .. */
    int64_t trial_blocks; /* .. once the other chains have made so many blocks each .. */
    double returned; /* .. and more than this share of them did not stand (docs/chain.md): their
                        target is then not well defined. Measured: 0.00 to 0.14 on good data,
                        0.7 on 354.phy .. */
    double returned_errors; /* .. by so many standard errors: the first blocks are few */
    double pareto_k; /* and where the weights of draws of lengths and parameters, for the trees of a
                        table, have a heavier tail: these chains take over */
    int chains;      /* two at least */
    chain_round_settings rounds;
    state_room room; /* for the states, lengths included */
    int least_whole; /* from so many taxa .. */
    int most_whole; /* .. to so many, blocks are whole; with fewer and more they have fewer steps */
    int least_block;    /* but not fewer than this */
    int parameter_taxa; /* with so many, a step of the parameters takes as long as another */
    double ess;         /* effective number of trees, wanted for the end */
} joint_stage_settings;

/* The results from chains and draws of the density (chain_answer.h). */
typedef struct chain_answer_settings {
    int draws;           /* of trees in a pass, fewer with many taxa, .. */
    int least_draws;     /* .. but not fewer than this */
    int passes;          /* at most */
    int least_passes;    /* for an error that can be believed */
    double hopeless;     /* effective draws in the first passes: with fewer the density is no use
                            as a proposal, and the chains are all there is */
    int evaluated;       /* trees that are picked in a pass, fewer with many taxa, .. */
    int least_evaluated; /* .. but not fewer than this */
    int pick_passes;     /* passes of picks, at most */
    int trial_passes;    /* after which they end if the lengths are no use */
    int length_draws;    /* of lengths for each tree, each time that it is picked */
    int full_taxa;       /* with more taxa, lengths come from the diagonal approximation: the
                            Hessian would take minutes a tree */
    double tolerance;    /* nats, of the modes */
    /* However late it is: */
    int late_draws;   /* of trees: there is no bridge with fewer */
    int late_lengths; /* trees whose lengths are drawn: one on each of two cores */
} chain_answer_settings;

/* Whether trees have other modes of their branch lengths (other_modes.h). */
typedef struct mode_settings {
    int trees;        /* that are fitted from other starts, fewer with many taxa, .. */
    int least_trees;  /* .. but not fewer than this */
    double tolerance; /* nats, of the modes */
    double gap;       /* modes are different if g differs by so much, in nats */
    double left_out;  /* share of the posterior in modes that were left out: at most */
} mode_settings;

/* When the results of chains are not to be relied on (chain_verdict.h). Between these and the
 * customary values, which the report shows, errors are large but right. */
typedef struct chain_judgement {
    double asdsf;   /* average standard deviation of split frequencies: at most */
    double r_hat;   /* of g: at most */
    double ess;     /* effective number of trees of the chains: at least */
    double overlap; /* of density and posterior: with less, the evidence has no error bar */
    double
        missing; /* share of the posterior in peaks that climbs have probably not found: at most */
    double errors;           /* standard errors by which chains and draws may differ .. */
    double least_difference; /* .. if it is more than so many nats: both may be exact */
    double finite_variance;  /* Pareto k of the draws above which their mean may well be too low by
                                more than its error says: then only a larger one is compared */
} chain_judgement;

/* How a time limit is divided (of the program). */
typedef struct limit_settings {
    double answer_seconds;  /* kept for the answer, but .. */
    double answer_least;    /* .. this share of the limit at least .. */
    double answer_most;     /* .. and this at most, .. */
    double answer_measured; /* .. or this, where the cost of a pass was measured, .. */
    size_t measured_trees;  /* .. on so many trees at least */
    double closing_seconds; /* kept for summaries and files, but .. */
    double closing_share;   /* .. no more than this share of the limit, .. */
    double closing_taxon;   /* .. and seconds for each taxon, but .. */
    double taxon_share;     /* .. no more than this share */
} limit_settings;

typedef struct collapsed_settings {
    uint64_t seed; /* of everything */
    double error;  /* nats: standard error of the log evidence that is wanted */
    affordable_settings affordable;
    table_settings table;
    search_settings search;
    blend_settings blend;
    network_fit_settings fit;
    rounds_settings rounds;
    sampler_settings sampler;
    final_settings final;
    route_settings route;
    chain_stage_settings chains;
    joint_stage_settings joint;
    chain_answer_settings answer;
    mode_settings modes;
    chain_judgement judgement;
    limit_settings limit;
} collapsed_settings;

collapsed_settings collapsed_defaults(uint64_t seed);

#endif
