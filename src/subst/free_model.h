/* free_model.h: a substitution model some of whose parameters are estimated: which they are, their
 * priors, and the coordinates z in which their posterior is nearly normal.
 *
 * Numbers in braces are fixed, all others are free: HKY{2.5}+FO+G4 has free frequencies and a free
 * alpha. The groups of parameters, with their priors (the defaults are those of MrBayes 3.2) and
 * coordinates:
 *
 *     exchange rates r, sum 1     Dirichlet(1,..,1)              cbrt(r_i / r_AG)
 *     kappa                       beta(1,1) of kappa/(1+kappa)   log kappa
 *     frequencies pi, sum 1       Dirichlet(1,1,1,1)             cbrt(pi_i / pi_T)
 *     alpha                       exponential(1)                 log alpha
 *     p_invariant                 uniform(0,1)                   cbrt(p / (1 - p))
 *
 * Where p_invariant is uniform between l and h, the coordinate is cbrt((p - l) / (h - p)). With
 * alpha and p_invariant both free, they have coordinates of their own (free_model.c). Cube
 * roots are positive. They are what makes numbers nearly normal that are close to 0, as for branch
 * lengths (docs/parameters.md). K80 and HKY have kappa. In the models that are a
 * restricted GTR (TN93, K81, TPM2, TPM3, TIM, TIM2, TIM3, TVM) classes of n_k rates are equal to
 * each other; their sums n_k r_k have the distribution that the sums of these rates have under GTR:
 * sums of parts of a Dirichlet distribution are Dirichlet distributed with the sums of its
 * parameters, Dirichlet(n_1,..,n_K) by default. There is one coordinate for each class without AG.
 *
 * A free_model is a plain value: copy it freely, there is nothing to free.
 *
 *     free_model f;
 *     status = free_model_parse(&f, "GTR+I+G4", &alignment, &priors, &diag);
 *     free_model_start(z, &f);                            f.n_free coordinates
 *     free_model_at(&m, &f, z);                           the model with these parameters
 *     value = log_likelihood(&m) + free_model_log_prior(&f, z);      density in z
 *     free_model_gradient(dz, &f, z, &by_model);          its gradient: chain rule, and the prior
 *
 * With n_free = 0 it is a fixed model, free_model_at gives that model bit for bit. */
#ifndef SUBST_FREE_MODEL_H
#define SUBST_FREE_MODEL_H

#include "base/rng.h"
#include "subst/model_string.h"
#include "subst/subst_model.h"

enum {
    FREE_MOST = 10,         /* coordinates: 5 rates, 3 frequencies, alpha, p_invariant, in this
                               order */
    FREE_COLUMNS_MOST = 12, /* parameters as they are reported: 6 rates, 4 frequencies, ... */
    PARAMETER_NAME_SIZE = 16,
};

/* Derivatives of a log-likelihood by what a subst_model holds, each taken as if independent of the
 * others. */
typedef struct model_slopes {
    double rate_matrix[4][4];               /* by Q_ij, i = j included */
    double frequency[4];                    /* by pi where it is not part of Q: the root and the
                                               invariant sites */
    double category_rate[SUBST_CATEGORIES]; /* by the rate r_c of a category */
    double category_weight;                 /* by the weight that all categories share */
    double p_invariant;                     /* by p where it multiplies the invariant sites */
} model_slopes;

/* Priors, each with the parameters of its distribution. */
typedef struct model_priors {
    double rates[N_RATES]; /* Dirichlet of the exchange rates; 1 each */
    double kappa[2];       /* beta of kappa / (1 + kappa); 1, 1 */
    double frequencies[4]; /* Dirichlet; 1 each */
    double alpha_rate;     /* exponential; 1 */
    double p_invariant[2]; /* uniform between these, 0 <= and < and <= 1; 0, 1 */
} model_priors;

model_priors model_priors_default(void);

typedef struct free_model {
    subst_model fixed; /* the fixed numbers; free ones hold where a search starts */
    model_priors prior;
    int rates_free; /* K80, HKY, TN93, SYM, GTR and its restrictions without numbers */
    int frequencies_free;
    int alpha_free;
    int p_invariant_free;
    int n_free;              /* p, coordinates in all; 0 .. FREE_MOST */
    int rate_class[N_RATES]; /* which exchange rates are equal to which */
} free_model;

/* Parses a model string (model_string.h). priors may be NULL for the defaults. The alignment is
 * needed for empirical frequencies, and makes better starting values. ART_ERR_INPUT with a message
 * that points into the text. */
int free_model_parse(free_model *f, const char *text, const alignment *a,
                     const model_priors *priors, diag *d);

/* The model string: as given for what is free, with the numbers of what is fixed. Parsing it gives
 * the same free_model again. Returns out. */
char *free_model_print(char out[MODEL_STRING_SIZE], const free_model *f);

/* Where a search for the parameters starts: z [n_free]. */
void free_model_start(double *z, const free_model *f);

/* The model with the parameters z [n_free], finished. Whatever z, its is_jc and n_categories are
 * those of f->fixed, so that one set of kernels serves all z: is_jc is 0 if rates or frequencies
 * are free, also where they are equal. Numbers are kept in the range in which everything derived
 * from them is finite and precise: ratios of rates and of frequencies within 1e-5 .. 1e5, alpha
 * within ALPHA_MIN .. ALPHA_MAX, p_invariant below 1 - 1e-6. Beyond, the model does not change with
 * z. */
void free_model_at(subst_model *m, const free_model *f, const double *z);

/* The coordinates of a model's parameters: the inverse of free_model_at. */
void free_model_coordinates(double *z, const free_model *f, const subst_model *m);

/* log prior + log |d parameters / d z|: a density in z, integrating to 1; -inf where a coordinate
 * that must be positive is not. */
double free_model_log_prior(const free_model *f, const double *z);

/* log prior of the parameters themselves, a density in what the priors are stated for: exchange
 * rates (equal ones summed) and frequencies, numbers with sum 1, without the last of each;
 * kappa / (1 + kappa); alpha; p_invariant. */
double free_model_stated_prior(const free_model *f, const double *z);

/* low, high [n_free]: the box in which to search for a maximum that may lie at the edge, such as
 * p_invariant = 0. What is beyond is clipped by free_model_at, or cannot be told from the edge. */
void free_model_bounds(double *low, double *high, const free_model *f);

/* dz [n_free] = the gradient by z of log-likelihood and free_model_log_prior, from the derivatives
 * of the log-likelihood by the parts of the model at z. */
void free_model_gradient(double *dz, const free_model *f, const double *z, const model_slopes *by);

/* The gradient of the log-likelihood alone. */
void free_model_likelihood_gradient(double *dz, const free_model *f, const double *z,
                                    const model_slopes *by);

/* Draws z [n_free] from the prior. */
void free_model_draw(double *z, const free_model *f, rng *stream);

/* What is reported, with names as in MrBayes: kappa, r(A<->C) .. r(G<->T) (sum 1), pi(A) .. pi(T),
 * alpha, pinvar; the free ones only. Returns how many, at most FREE_COLUMNS_MOST. */
int free_model_columns(char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE], const free_model *f);

/* value [free_model_columns]: the reported parameters at z. */
void free_model_values(double *value, const free_model *f, const double *z);

/* The priors of the free parameters in words, "alpha ~ exponential(1)", one at a time: writes
 * number i to out and returns 1, or returns 0 if there is none. model_list.h has those of several
 * models. */
int free_model_prior_text(char *out, size_t size, const free_model *f, int i);

#endif
