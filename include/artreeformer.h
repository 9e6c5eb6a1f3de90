/* artreeformer.h: the library's public face.
 *
 * The library gives every unrooted tree topology on N taxa a probability q(tree), learned from an
 * alignment or from a sample of trees, together with a density of branch lengths. The objects:
 *
 *     art_alignment   nucleotide sequences, read from FASTA, PHYLIP, NEXUS, Clustal, MSF, Stockholm
 *     art_trees       distinct topologies with weights, read from Newick or NEXUS, or drawn
 *     art_model       q(tree), and q(branch lengths | tree) where it has one
 *     art_run         an inference under way: it advances in pieces, can be saved and resumed
 *     art_result      what a finished run found: evidence, trees, parameters, consensus, files
 *     art_messages    what was noted about users' files
 *
 * The order of calls is that of the data: read an alignment and infer a model from it, or read
 * trees and fit one to them, or read a model from a file; then score trees, draw trees, or
 * estimate the evidence. The smallest program:
 *
 *     art_alignment *a = NULL;
 *     art_model *q = NULL;
 *     art_evidence e;
 *     if (art_alignment_read(&a, "primates.fasta", NULL) == ART_OK &&
 *         art_infer(&q, a, "JC", NULL, NULL, NULL, NULL) == ART_OK &&
 *         art_model_answer(&e, NULL, q) == ART_OK)
 *         printf("log evidence %.6f +- %.6f\n", e.log_evidence, e.log_evidence_se);
 *     art_model_free(q);
 *     art_alignment_free(a);
 *
 * art_infer does it all at once. A run does the same in pieces, with checkpoints, a time limit and
 * the files that the program writes:
 *
 *     art_run *r = NULL;
 *     art_result *found = NULL;
 *     art_drive_settings files = {"primates", 600, 60};
 *     if (art_run_infer(&r, a, "JC", NULL, NULL) == ART_OK &&
 *         art_run_drive(r, &files, NULL, NULL, NULL) == ART_OK &&
 *         art_run_result(&found, r, NULL) == ART_OK)
 *         art_result_write(found, "primates", NULL);
 *     art_result_free(found);
 *     art_run_free(r);
 *
 * Every function that can fail returns ART_OK or a negative status. What it gives comes first, and
 * is undefined after a failure; but a constructor then sets *out to NULL. No pointer may be NULL
 * unless it says so; every _free accepts NULL. Whoever gets an object from a constructor frees
 * it; strings that are returned belong to the object and live as long. The library never prints,
 * exits, reads the environment or keeps global state. One object belongs to one thread at a time,
 * and what is borrowed from it too; different objects may be used by different threads. Results
 * depend on the seed and not on the number of threads. */
#ifndef ARTREEFORMER_H
#define ARTREEFORMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ART_API __attribute__((visibility("default")))
#else
#define ART_API
#endif

/* ---- status ---- */

#define ART_STATUS_TABLE(X)                                       \
    X(ART_OK, 0, "success")                                       \
    X(ART_ERR_NOMEM, -1, "out of memory")                         \
    X(ART_ERR_IO, -2, "reading or writing failed")                \
    X(ART_ERR_INPUT, -3, "the input is not valid")                \
    X(ART_ERR_USAGE, -4, "the arguments are not valid")           \
    X(ART_ERR_LIMIT, -5, "the input is larger than the limit")    \
    X(ART_ERR_UNSUPPORTED, -6, "not supported")                   \
    X(ART_ERR_EXISTS, -7, "results exist already")                \
    X(ART_ERR_NUMERIC, -8, "numerical failure")                   \
    X(ART_ERR_STOPPED, -9, "stopped by a signal or a time limit") \
    X(ART_ERR_MISMATCH, -10, "the inputs do not belong together")

enum art_status {
#define ART_STATUS_ENUM(name, value, text) name = value,
    ART_STATUS_TABLE(ART_STATUS_ENUM)
#undef ART_STATUS_ENUM
};

/* The text of a status code; a fixed text for codes that do not exist. Never NULL. */
ART_API const char *art_strerror(int status);

/* "X.Y.Z" */
ART_API const char *art_version(void);

/* ---- messages ----
 * Functions that look at users' files take an art_messages (NULL: not interested) and add to it
 * lines of the form `file:line:column: error: what was found -- how to fix it`. */

typedef struct art_messages art_messages;

enum art_level { ART_NOTE, ART_WARNING, ART_ERROR };

ART_API int art_messages_create(art_messages **out);
ART_API void art_messages_free(art_messages *m);
ART_API size_t art_messages_count(const art_messages *m);

/* The i-th message, without a newline; NULL for an index out of range. */
ART_API const char *art_messages_text(const art_messages *m, size_t i);
/* Its level; ART_NOTE for an index out of range. */
ART_API enum art_level art_messages_level(const art_messages *m, size_t i);

/* ---- callbacks ----
 * What a callback asks for by its return value: to continue; to stop with ART_ERR_STOPPED; to
 * finish soon, with what there is (where that is not said to be possible, the same as stopping). */

enum art_action { ART_GO_ON, ART_STOP, ART_FINISH_NOW };

/* ---- alignments ---- */

typedef struct art_alignment art_alignment;

/* Reads a file (gzipped or not, "-" is standard input); the content decides the format. */
ART_API int art_alignment_read(art_alignment **out, const char *path, art_messages *m);
ART_API void art_alignment_free(art_alignment *a);
ART_API int art_alignment_taxa(const art_alignment *a);
ART_API size_t art_alignment_sites(const art_alignment *a);
ART_API size_t art_alignment_patterns(const art_alignment *a);

/* The name of taxon i in the order of the file; NULL for an index out of range. */
ART_API const char *art_alignment_name(const art_alignment *a, int i);

/* log p(alignment | tree) of one Newick text with branch lengths, under a model string such as
 * "HKY{2.5}+F+G4{0.5}". */
ART_API int art_log_likelihood(double *value, const art_alignment *a, const char *model,
                               const char *newick, art_messages *m);

/* The greatest log p(alignment | tree) of one Newick text over its branch lengths and over those
 * parameters that the model has no numbers for, as in "GTR+I+G4". Lengths in the text are where the
 * search starts; it needs none. The tree with the best lengths goes to fitted, and the model with
 * all its numbers to fitted_model, as art_trees_newick does; 512 bytes have room for any model. The
 * value is there also if one of them did not fit (ART_ERR_LIMIT). */
ART_API int art_maximum_likelihood(double *value, char *fitted, size_t size, size_t *length,
                                   char *fitted_model, size_t model_size, const art_alignment *a,
                                   const char *model, const char *newick, art_messages *m);

/* Fitch score of one Newick text; gaps are a fifth state, or missing data. */
ART_API int art_parsimony_score(int64_t *score, const art_alignment *a, int gap_is_state,
                                const char *newick, art_messages *m);

/* ---- models ---- */

typedef struct art_model art_model;

/* Reads PREFIX.model.safetensors as the program writes it. threads >= 1. */
ART_API int art_model_read(art_model **out, const char *path, int threads, art_messages *m);
ART_API int art_model_write(const art_model *q, const char *path, art_messages *m);
ART_API void art_model_free(art_model *q);
ART_API int art_model_taxa(const art_model *q);

/* The name of taxon i in the order of the model; NULL for an index out of range. */
ART_API const char *art_model_name(const art_model *q, int i);

/* ---- trees ---- */

typedef struct art_trees art_trees;

/* Distinct topologies of several files with their weights: the average of the files'
 * distributions, by falling weight. burnin is the share of each unweighted file to leave out,
 * 0 <= burnin < 1. With a model the taxa must be the model's (ART_ERR_MISMATCH, all
 * differences in m), and the trees can be scored by it. */
ART_API int art_trees_read(art_trees **out, const char *const *paths, size_t n_paths, double burnin,
                           const art_model *like, art_messages *m);
ART_API void art_trees_free(art_trees *t);
ART_API size_t art_trees_count(const art_trees *t);

/* The weight of tree i; NaN for an index out of range. They sum to 1; those of a result of infer,
 * which are the trees that it met, to the share of the posterior that these have together. */
ART_API double art_trees_weight(const art_trees *t, size_t i);

/* Tree i as Newick, like snprintf: writes at most size bytes with the NUL and returns in *length
 * (may be NULL) how many the whole text has without it. A text that did not fit is
 * ART_ERR_LIMIT; it is cut. */
ART_API int art_trees_newick(const art_trees *t, size_t i, char *text, size_t size, size_t *length);

/* log_q[count] of all the trees. ART_ERR_MISMATCH unless they were read or drawn for a model of
 * the same taxa in the same order. */
ART_API int art_model_score(double *log_q, art_model *q, const art_trees *t);

/* Draws n topologies, 1 to 2^32 - 1; equal ones are merged, their weights are the shares. */
ART_API int art_model_sample(art_trees **out, art_model *q, size_t n, uint64_t seed);

/* Takes one tree that was drawn, the i-th, i from 0: its Newick text, with branch lengths if the
 * model has them, which lives until the function returns; log q of its topology; and log q of its
 * branch lengths, 0 without. Returns an art_action. */
typedef int art_draw(void *context, size_t i, const char *newick, double log_q,
                     double log_q_lengths);

/* Draws n trees, 1 to 2^32 - 1, one after the other: those of `artreeformer sample` with this
 * seed. */
ART_API int art_model_draw(art_model *q, size_t n, uint64_t seed, art_draw *take, void *context);

/* KL(trees || q) and total variation, with the weights of t as the distribution. */
ART_API int art_model_divergence(double *kl, double *total_variation, art_model *q,
                                 const art_trees *t);

/* ---- learning ---- */

/* Called after every piece of work with the number of pieces so far and a value: the log evidence
 * by the sum over the table (ART_COLLAPSED; -inf at first), the bound of the step (ART_VBPI), the
 * mean log q of the step (art_fit; NaN for a step that was skipped). A piece takes a second or two,
 * or more where there are very many taxa. Returns an art_action; ART_FINISH_NOW is possible. */
typedef int art_progress(void *context, int64_t step, double value);

/* Densities of topologies. Networks, which give every tree a probability: ARTreeFormer, and ARTree,
 * its recurrent predecessor. Tables, which come from trees and give probability 0 to others: a
 * subsplit network, and conditional clade distributions. Not all tasks know all of them. */
enum art_density { ART_ARTREEFORMER, ART_ARTREE, ART_SBN, ART_CCD0, ART_CCD1, ART_CCD2 };

/* Two methods. ART_COLLAPSED, the default: branch lengths are integrated out, topologies are
 * explored, and the network is fitted to a table of them; minutes. ART_VBPI: topologies and lengths
 * are learned together, as published; hours. */
enum art_method { ART_COLLAPSED, ART_VBPI };

/* Anything out of its range is ART_ERR_USAGE. */
typedef struct art_infer_settings {
    enum art_method method;
    double prior_rate; /* of the exponential prior on branch lengths; above 0, up to 1e6 */
    int hidden, heads; /* of the network of topologies; heads divides hidden (ART_ARTREEFORMER),
                          hidden is even (ART_ARTREE); not of ART_SBN */
    int branch_hidden; /* of the network of branch lengths */
    int threads;       /* 1 and more */
    uint64_t seed;
    /* ART_COLLAPSED */
    double standard_error; /* of the log evidence that is wanted; above 0, up to 10 */
    int rounds;            /* of fitting and drawing, at most; 1 to 64 */
    int64_t fit_steps;     /* of fitting in one round, at most; 1 and more */
    double fit_kl;         /* nats from the table that the network is fitted to after the rounds;
                              0: as the rounds leave it; up to 100 */
    size_t table_bytes; /* memory for the table of topologies, which has room for 1000 at least */
    /* ART_VBPI */
    int64_t steps;        /* of training; 1 and more */
    int64_t anneal_steps; /* over which the data's weight rises from 0.001 to 1, by the same factor
                             in every step; 0: it is 1 */
    int particles;        /* trees drawn in each step; 2 and more */
    double tree_rate;     /* learning rates; above 0, up to 1 */
    double branch_rate;
    double decay;        /* the rates are multiplied by it, above 0, up to 1, .. */
    int64_t decay_every; /* .. after so many steps; 0: never */
    /* Both */
    const char
        *branch_prior; /* the prior on branch lengths in MrBayes' words: "exponential(10)", or
                          "gammadir(1,0.1,1,1)", shape and rate of the tree length, Dirichlet
                          parameter of external branches, ratio of internal to external ones;
                          NULL: exponential, with prior_rate. Read during the call alone. A
                          text that cannot be read is ART_ERR_INPUT, with a message */
    const char
        *parameter_priors; /* of estimated parameters of the substitution model, where they are not
                              MrBayes': "kappa=beta(2,1),alpha=exponential(2)". Those not named, or
                              all for NULL: kappa=beta(1,1) of kappa / (1 + kappa),
                              rates=dirichlet(1,1,1,1,1,1), frequencies=dirichlet(1,1,1,1),
                              alpha=exponential(1), pinvar=uniform(0,1). As branch_prior; a prior of
                              what is not estimated is ART_ERR_INPUT too */
    enum art_density density; /* a network; with ART_VBPI also ART_SBN, for which the program has a
                                 tree_rate of 0.01 */
    /* ART_SBN */
    const art_trees *support; /* whose splits its trees are made of; NULL: found by a search
                                        in the alignment, first. Read during the call alone. Other
                                        names than those of the alignment are ART_ERR_MISMATCH,
                                        with messages; their order does not matter */
    double floor; /* least factor of the probability of a tree: 1e-6 as published, 0 for none; up to
                     0.5 */
} art_infer_settings;

/* The defaults of the program, but one thread. */
ART_API void art_infer_defaults(art_infer_settings *s);

/* Learns the posterior of trees and branch lengths under a substitution model (as for
 * art_maximum_likelihood). Parameters that have no number are estimated; ART_VBPI needs numbers for
 * all (ART_ERR_USAGE). An average over models is a run's: ART_ERR_UNSUPPORTED. settings, progress
 * and context may be NULL. What must be said beside the answer of ART_COLLAPSED is in m, as
 * warnings. */
ART_API int art_infer(art_model **out, const art_alignment *a, const char *model,
                      const art_infer_settings *settings, art_progress *progress, void *context,
                      art_messages *m);

typedef struct art_evidence {
    double log_evidence;    /* art_model_evidence: mean over repeats of the log of the mean weight;
                               art_model_answer: log of the mean of all weights, NaN where branch
                               lengths could not be integrated out */
    double log_evidence_sd; /* of the log of the mean weight, over repeats; NaN for one repeat */
    double log_evidence_se; /* both NaN where they are not earned: the run has not converged, or
                               Pareto k is 0.7 or more */
    double lower_bound_1;   /* 1-sample and 10-sample bounds; -inf where draws have no weight */
    double lower_bound_10;  /* NaN for fewer than 10 particles */
    long draws;
    double ess;            /* effective sample size */
    double pareto_k;       /* 0.7 or more: not dependable; 1 or more: not an estimate; +inf: too few
                              draws to say */
    double outside_weight; /* share of the posterior in trees that are not in the table, and its
                              standard error; NaN for art_model_evidence, and if the search for
                              trees is unfinished */
    double outside_weight_se;
} art_evidence;

/* What ART_COLLAPSED found: the evidence, and the topologies with their probabilities; trees may be
 * NULL, and is the caller's. ART_ERR_UNSUPPORTED for other models: they are
 * art_model_evidence's. */
ART_API int art_model_answer(art_evidence *e, art_trees **trees, const art_model *q);

/* Importance sampling from a model that art_infer made, or that `infer` wrote: repeats >= 1 of
 * particles >= 1, at most 2^31 - 1 together. ART_ERR_UNSUPPORTED for models of topologies
 * alone. */
ART_API int art_model_evidence(art_evidence *out, art_model *q, const art_alignment *a,
                               int particles, int repeats, uint64_t seed, art_messages *m);

/* How the tables of ART_SBN are fitted: EM with a Dirichlet prior, EM, simple average, or
 * stochastic gradients, as the networks. */
enum art_sbn_method { ART_SBN_EM_ALPHA, ART_SBN_EM, ART_SBN_SA, ART_SBN_SGA };

/* Anything out of its range is ART_ERR_USAGE. */
typedef struct art_fit_settings {
    int hidden, heads; /* of a network; heads divides hidden (ART_ARTREEFORMER), hidden is even
                          (ART_ARTREE) */
    int threads;       /* 1 and more */
    uint64_t seed;
    int64_t steps;       /* 1 and more */
    int batch;           /* trees of a step; 1 and more */
    double rate;         /* of learning; above 0, up to 1 */
    double decay;        /* the rate is multiplied by it, above 0, up to 1, .. */
    int64_t decay_every; /* .. after so many steps; 0: never */
    double average; /* what a moving average of the weights, which becomes the model, keeps in a
                       step; 0: no average; below 1 */
    int64_t average_from; /* step at which it begins */
    double cooling; /* of networks: share of the steps, the last ones, over which the rate falls to
                       0, 0 to 1; 0: it does not */
    int counts; /* of networks: 1: the model is the network mixed with a subsplit network, together
                   with the counts of the sample, which say more about trees that were sampled
                   often; 0: the network alone */
    enum art_density density; /* steps to average_from are of networks and of ART_SBN_SGA, which the
                                 program has 200,000 steps for, a rate of 0.001 that falls every
                                 20,000 steps, and no average */
    enum art_sbn_method sbn_method; /* of ART_SBN */
    double sbn_alpha;               /* of ART_SBN_EM_ALPHA: strength of the prior; 0 to 1e6 */
    int sbn_zero_start; /* of ART_SBN_SGA: start at zero, as published; 0: at the simple average */
    double smooth;      /* of tables: share of the uniform distribution over all topologies that is
                           mixed in; 0 to 0.99 */
} art_fit_settings;

/* The defaults of the program, but one thread. */
ART_API void art_fit_defaults(art_fit_settings *s);

/* A density fitted to weighted trees, by maximum likelihood; the model has no branch lengths, and
 * its taxa are those of the trees, in the same order. settings, progress and context may be NULL.
 */
ART_API int art_fit(art_model **out, const art_trees *t, const art_fit_settings *settings,
                    art_progress *progress, void *context, art_messages *m);

/* ---- runs ----
 * The work of art_infer and art_fit in pieces of about a second, and maximum parsimony. What a
 * constructor is given besides settings is borrowed until the run and its result are freed. */

typedef struct art_run art_run;

/* settings may be NULL in all of them. model may also be several, as "HKY+G4,GTR+G4", or "auto" for
 * 24 of them (docs/parameters.md): the result is an average, each model weighted by its evidence.
 * Such a run begins by comparing the models, without a value. ART_VBPI takes one (ART_ERR_USAGE).
 */
ART_API int art_run_infer(art_run **out, const art_alignment *a, const char *model,
                          const art_infer_settings *settings, art_messages *m);
ART_API int art_run_fit(art_run **out, const art_trees *t, const art_fit_settings *settings,
                        art_messages *m);

/* The trees of the least parsimony score, by a search: the starts, rearrangements and counts are
 * those of the command `parsimony` (docs/parsimony.md). Anything out of its range is
 * ART_ERR_USAGE. */
typedef struct art_search_settings {
    int gap_is_state; /* a gap is a fifth state; 0: missing data */
    int threads;      /* 1 and more */
    uint64_t seed;
    int hits;      /* starts that must agree on the best score; 1 and more */
    int starts;    /* at most; 1 and more */
    int rounds;    /* of the ratchet in each start; 0 and more */
    int max_trees; /* fully resolved trees that are kept at most; 1 and more */
} art_search_settings;

/* The defaults of the program, but one thread. */
ART_API void art_search_defaults(art_search_settings *s);

ART_API int art_run_search(art_run **out, const art_alignment *a,
                           const art_search_settings *settings, art_messages *m);

/* Maximum parsimony by annealed inference: a density is fitted to exp(-score) / Z over all trees.
 * Anything out of its range is ART_ERR_USAGE. */
typedef struct art_parsimony_settings {
    int gap_is_state;  /* a gap is a fifth state; 0: missing data */
    int hidden, heads; /* of the network; heads divides hidden (ART_ARTREEFORMER), hidden is even
                          (ART_ARTREE) */
    int threads;       /* 1 and more */
    uint64_t seed;
    int64_t steps;            /* of training; 1 and more */
    int64_t anneal_steps;     /* over which the scores' weight rises to 1; 0: it is 1 */
    int particles;            /* trees drawn in each step; 2 and more */
    double rate;              /* of learning; above 0, up to 1 */
    double decay;             /* the rate is multiplied by it, above 0, up to 1, .. */
    int64_t decay_every;      /* .. after so many steps; 0: never */
    enum art_density density; /* a network */
} art_parsimony_settings;

/* The defaults of the program, but one thread. */
ART_API void art_parsimony_defaults(art_parsimony_settings *s);

ART_API int art_run_parsimony(art_run **out, const art_alignment *a,
                              const art_parsimony_settings *settings, art_messages *m);

ART_API void art_run_free(art_run *r);

/* One piece of work; nothing if the run is done. As all that follow ART_ERR_USAGE once the result
 * is taken. After any other failure the run can be freed, and nothing else. */
ART_API int art_run_advance(art_run *r, art_messages *m);

/* How far a run is. The texts of stage and unit live as long as the run. */
typedef struct art_run_state {
    const char *stage; /* "exploring", "training", "evidence" */
    const char *unit;  /* that done and total count: "steps", "trees", "draws" */
    double done;
    double total; /* 0 if not known */
    double value; /* as for art_progress; NaN if there is none yet */
    int is_done;
    char detail[128]; /* more, for people */
} art_run_state;

ART_API void art_run_look(const art_run *r, art_run_state *out);

/* The run ends as soon as it can, with what it has. */
ART_API void art_run_finish_now(art_run *r);

/* Between any two pieces: the state of the run as a file, whole or not at all; and back, into a run
 * that was just made (ART_ERR_USAGE if it has advanced) from the same data with the same settings
 * (ART_ERR_MISMATCH for others). It then continues, byte for byte, as the one that was saved; but
 * art_run_finish_now must be asked for again. A file that is damaged is ART_ERR_INPUT, and one
 * of another kind that or ART_ERR_LIMIT. */
ART_API int art_run_save(art_run *r, const char *path, art_messages *m);
ART_API int art_run_load(art_run *r, const char *path, art_messages *m);

typedef struct art_drive_settings {
    const char *prefix; /* <prefix>.ckp.safetensors are checkpoints, <prefix>.metrics.jsonl says
                           how it went; NULL: neither is written */
    double time_limit;  /* seconds, 0 for none: ART_COLLAPSED finishes when the whole run has taken
                           so long, the others stop with a checkpoint when this call has */
    double
        checkpoint_every; /* seconds between checkpoints, at least; 0 as default is two minutes */
} art_drive_settings;

/* Takes the run to its end and removes its checkpoints. A run that was just made resumes from the
 * checkpoint of the same run beside the prefix, if there is one (ART_ERR_MISMATCH for one of
 * another run, which stays as it is); one that has advanced continues from where it is.
 * ART_ERR_STOPPED: stopped by progress or by the limit, with a checkpoint if there is a prefix; the
 * run can be driven again. settings, progress and context may be NULL. */
ART_API int art_run_drive(art_run *r, const art_drive_settings *settings, art_progress *progress,
                          void *context, art_messages *m);

/* ---- results ---- */

typedef struct art_result art_result;

/* What a run that is done has found (ART_ERR_USAGE before); one time. The run can be freed. */
ART_API int art_run_result(art_result **out, art_run *r, art_messages *m);
ART_API void art_result_free(art_result *found);

/* Look at this first: *converged is 1 if the run has judged its result reliable, otherwise 0, and
 * the warnings say why and what to do. Of art_run_infer; ART_ERR_UNSUPPORTED for others, which do
 * not judge themselves. The same warnings are in the messages of art_run_result. */
ART_API int art_result_converged(int *converged, const art_result *found);
ART_API size_t art_result_warnings(const art_result *found);

/* The i-th warning, whole sentences; NULL for an index out of range. */
ART_API const char *art_result_warning(const art_result *found, size_t i);

/* Figures behind the verdict, besides Pareto k (art_evidence). NaN where the run has none. */
typedef struct art_diagnostics {
    double asdsf; /* average standard deviation of split frequencies between independent chains;
                     below 0.01 is customary */
    double largest_split_deviation; /* the largest of these standard deviations */
    double r_hat;                   /* of the log density; below 1.01 */
    double ess_log_density; /* effective sample sizes along the chains; 200 or more: of the log */
    double ess_splits;      /* density, and the smallest of an uncertain split */
} art_diagnostics;

/* ART_ERR_UNSUPPORTED as above. */
ART_API int art_result_diagnostics(art_diagnostics *out, const art_result *found);

/* The log evidence with its errors; of parsimony, log of the sum over trees of exp(-score).
 * ART_ERR_UNSUPPORTED for art_run_fit. */
ART_API int art_result_evidence(art_evidence *e, const art_result *found);

/* Topologies with their probabilities, the best first; of parsimony, the trees of the best score,
 * each with the same weight. ART_ERR_UNSUPPORTED for art_run_fit. The trees are the caller's. */
ART_API int art_result_trees(art_trees **out, const art_result *found);

/* The best parsimony score; ART_ERR_UNSUPPORTED for other runs. */
ART_API int art_result_score(int64_t *score, const art_result *found);

/* What art_run_search found; ART_ERR_UNSUPPORTED for other runs. */
typedef struct art_search_counts {
    int64_t score;
    int64_t trees; /* optimal trees, after branches of greatest length 0 were collapsed; of each of
                      them art_result_trees has one resolution */
    int64_t resolved; /* fully resolved optimal trees that were met */
    int starts;       /* independent ones, .. */
    int hits;         /* .. and how many of them ended with this score */
    int islands;      /* of optimal trees that no rearrangement connects */
    int is_complete;  /* the search ended by itself: enough starts agree on the score, and the
                         neighbours of all optimal trees were looked at */
} art_search_counts;

ART_API int art_result_search(art_search_counts *out, const art_result *found);

enum art_consensus { ART_STRICT, ART_MAJORITY, ART_EXTENDED };

/* The consensus tree as Newick with supports and mean branch lengths; text, size and length as for
 * art_trees_newick. Of art_run_infer and art_run_search (of the optimal trees, without lengths), as
 * the report: ART_ERR_UNSUPPORTED for others. */
ART_API int art_result_consensus(const art_result *found, enum art_consensus kind, char *text,
                                 size_t size, size_t *length);

/* The splits by falling probability, those of single taxa left out: how many there are, and the
 * i-th with its standard error (NaN where it is not known or not earned), the mean length of the
 * branch (NaN where no tree was drawn that has it), and the names of its smaller side separated by
 * commas (text, size, length as above). */
ART_API size_t art_result_splits(const art_result *found);
ART_API int art_result_split(const art_result *found, size_t i, double *probability, double *se,
                             double *mean_length, char *text, size_t size, size_t *length);

/* The posterior of a number: the tree length, or a parameter of the substitution model. What is not
 * known is NaN: the error, the median and the interval where fewer than three draws carry the
 * weight, as in a run that was cut short. */
typedef struct art_parameter {
    const char *name; /* as in .trace.tsv: "TL", "kappa", "r(A<->C)", "pi(A)", "alpha", "pinvar" */
    double mean;
    double mean_se; /* Monte Carlo standard error of the mean */
    double sd;      /* standard deviation of the posterior */
    double median;
    double low, high; /* 95 % highest posterior density interval */
    double ess;       /* effective sample size of the mean */
    double share;     /* probability of the models that have the parameter, which all this is given:
                         1 unless models are averaged */
} art_parameter;

/* How many there are: the tree length, then what is estimated; 0 for other runs than inference. */
ART_API size_t art_result_parameters(const art_result *found);

/* The i-th of them, as in <prefix>.json. ART_ERR_USAGE for an index out of range,
 * ART_ERR_UNSUPPORTED for other runs than inference. */
ART_API int art_result_parameter(art_parameter *out, const art_result *found, size_t i);

/* One of several models that were averaged over. */
typedef struct art_candidate {
    const char *model;
    int parameters;      /* that are estimated, besides the branch lengths */
    double log_evidence; /* NaN, as all that follow, for a model that was not run .. */
    double log_evidence_se;
    double probability;
    double probability_se; /* from the errors of the evidences */
    int was_run;           /* .. because it has next to no probability, or for want of time: then
                              a warning of the result says so */
    int converged;         /* as art_result_converged, of its own run */
} art_candidate;

/* How many there are; 0 for one model, and for other runs. */
ART_API size_t art_result_candidates(const art_result *found);

/* The i-th of them, the most probable first. ART_ERR_USAGE for an index out of range,
 * ART_ERR_UNSUPPORTED where there are none. */
ART_API int art_result_candidate(art_candidate *out, const art_result *found, size_t i);

/* The report as text: what was done, the evidence, the best topologies, the consensus drawn. */
ART_API int art_result_report(const art_result *found, char *text, size_t size, size_t *length);

/* All files that the program writes: <prefix>.trees, .trprobs, .contree, .report.html, .json and
 * the others (docs/files.md). Existing ones are overwritten. */
ART_API int art_result_write(art_result *found, const char *prefix, art_messages *m);

/* The trained model; it becomes the caller's, one time, and files cannot be written afterwards.
 * ART_ERR_UNSUPPORTED where none was trained: inference of a diffuse posterior does without, and
 * so does an average over models. */
ART_API int art_result_model(art_model **out, art_result *found);

#ifdef __cplusplus
}
#endif
#endif
