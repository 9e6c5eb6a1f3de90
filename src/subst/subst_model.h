/* subst_model.h: reversible nucleotide substitution with rates among sites.
 *
 * Bases are numbered A, C, G, T. With exchange rates s and frequencies pi the rate from i to
 * j is Q_ij = s_ij pi_j / c, where c makes the expected number of substitutions per unit of
 * branch length 1. A site is invariant with probability p_invariant; otherwise it has one of
 * n_categories rates with equal probability. The rates are those of the discrete gamma
 * distribution (1 without +G) divided by 1 - p_invariant, so that the mean over all sites is
 * 1, as in IQ-TREE. A subst_model is a plain value: copy it freely, there is nothing to free.
 *
 *     subst_model m;
 *     status = model_string_parse(&m, "HKY{2.5}+F+G4{0.5}", &alignment, &diag);
 *     for (int k = 0; k < m.n_categories; k++)
 *         subst_model_transition(p, &m, m.category_rate[k] * length);
 *
 * model_string.h turns text into a model and back. */
#ifndef SUBST_SUBST_MODEL_H
#define SUBST_SUBST_MODEL_H

#include "seq/alignment.h"

enum { SUBST_CATEGORIES = 16 }; /* at most */

/* By which exchange rates are equal; names that differ in their frequencies only are kinds of their
 * own where they are common. */
typedef enum subst_kind {
    SUBST_JC,
    SUBST_K80,
    SUBST_F81,
    SUBST_HKY,
    SUBST_TN93,
    SUBST_SYM,
    SUBST_GTR,
    SUBST_K81, /* also TPM1 */
    SUBST_TPM2,
    SUBST_TPM3,
    SUBST_TIM,
    SUBST_TIM2,
    SUBST_TIM3,
    SUBST_TVM,
    SUBST_KINDS,
} subst_kind;

/* Exchange rates in the order of model strings. */
enum { RATE_AC, RATE_AG, RATE_AT, RATE_CG, RATE_CT, RATE_GT, N_RATES };

/* The class of every exchange rate [N_RATES] under a kind of model: rates of one class are equal.
 * Classes are numbered from 0 in the order in which they appear. */
const int *subst_rate_class(subst_kind kind);

/* The number of classes. */
int subst_rate_classes(subst_kind kind);

typedef struct subst_model {
    /* Given. */
    subst_kind kind; /* the name it was given; the parameters below define the model */
    double rate[N_RATES];
    double frequency[4]; /* pi, sums to 1 */
    double p_invariant;  /* 0 without +I */
    int n_categories;    /* 1 without +G */
    double alpha;        /* shape of the gamma distribution; 0 without +G */
    /* Derived by subst_model_finish. */
    double category_rate[SUBST_CATEGORIES];
    double category_weight; /* (1 - p_invariant) / n_categories, the same for all */
    double eigenvalue[4];   /* of Q; eigenvalue[0] = 0, the others negative */
    double right[4][4];     /* Q = right diag(eigenvalue) left, left right = 1 */
    double left[4][4];
    int is_jc; /* equal rates and frequencies: Q has a closed form. A free_model, whose numbers
                  may become equal by chance, has it 0 although they are */
} subst_model;

/* Number of the exchange rate between two different bases. */
int subst_exchange(int i, int j);

/* Computes what is derived from rate, frequency, p_invariant, n_categories and alpha, which
 * must be valid: rates and frequencies positive, 0 <= p_invariant < 1. */
void subst_model_finish(subst_model *m);

/* p = exp(Q t), t >= 0, with high relative precision in every entry, however short t is. */
void subst_model_transition(double p[4][4], const subst_model *m, double t);

/* d = dp/dt = Q exp(Q t) */
void subst_model_derivative(double d[4][4], const subst_model *m, double t);

/* Empirical base frequencies: maximum likelihood with all characters independent. A set of bases
 * (IUPAC) counts for its members in proportion to their frequencies; gaps and unknown bases are
 * ignored. ART_ERR_INPUT if a base never occurs unambiguously; *absent is then its number. */
int subst_frequencies(double frequency[4], int *absent, const alignment *a);

#endif
