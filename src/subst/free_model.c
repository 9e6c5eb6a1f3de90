#include "subst/free_model.h"

#include "artreeformer.h"
#include "subst/gamma_rates.h"
#include "subst/simplex.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The model at z is the model at the nearest point within these: beyond, the likelihood does not
 * change any more, or its numbers lose their precision. The prior knows no such limits. */
static const double RATIO_LIMIT = 11.5;                     /* 1e-5 .. 1e5 */
static const double P_LIMIT_LOW = -30, P_LIMIT_HIGH = 13.8; /* 1e-13 .. 1 - 1e-6 */

model_priors model_priors_default(void)
{
    return (model_priors){.rates = {1, 1, 1, 1, 1, 1},
                          .kappa = {1, 1},
                          .frequencies = {1, 1, 1, 1},
                          .alpha_rate = 1,
                          .p_invariant = {0, 1}};
}

static int has_kappa(const free_model *f)
{
    return f->fixed.kind == SUBST_K80 || f->fixed.kind == SUBST_HKY;
}

/* The exchange rate to which the others are compared: a common one, which data determine well. */
static int reference_rate(const free_model *f)
{
    return has_kappa(f) ? RATE_GT : RATE_AG;
}

/* Where the coordinates of a group are in z: rates, frequencies, alpha, p_invariant. */
static int frequencies_at(const free_model *f)
{
    return f->rates_free ? subst_rate_classes(f->fixed.kind) - 1 : 0;
}

static int alpha_at(const free_model *f)
{
    return frequencies_at(f) + (f->frequencies_free ? 3 : 0);
}

static int p_invariant_at(const free_model *f)
{
    return alpha_at(f) + (f->alpha_free ? 1 : 0);
}

/* Inside this file the coordinates are all logarithms, l: of ratios, of kappa, of alpha. Outside,
 * those of ratios are their cube roots, z = exp(l / 3): a number that data say little about, such
 * as a rare exchange rate, is nearly gamma distributed, and the cube root of that is nearly normal,
 * as for branch lengths; its logarithm has a long tail. */
static int is_cube_root(const free_model *f, int k)
{
    return f->p_invariant_free && k == p_invariant_at(f)
               ? 1
               : k < alpha_at(f) && !(has_kappa(f) && f->rates_free && k == 0);
}

/* With alpha and p_invariant both free, data determine how much rates vary and hardly which of the
 * two makes them vary: the posterior is a long curved ridge. The relative variance v of the rates
 * and the share s of it that invariant sites have,
 *
 *     v = (1 + 1/alpha) / (1 - p) - 1,    p = s v / (1 + v),    1/alpha = v (1 - s)
 *
 * straighten it: the coordinates are log v and w = cbrt(s / (1 - s)). The Jacobian of (log alpha,
 * logit p) by them is 3 / w, as that of any cube root here.
 *
 * If p is between l and h, u in (0, 1) takes its place in v and s: the odds (p - l) / (h - p) are
 * those of u times (1 - l) / (h - l). Then 1 - p is (1 - l) (1 - u) for small u, and for all u if
 * h = 1, which keeps the ridge straight. */
static int has_ridge(const free_model *f)
{
    return f->alpha_free && f->p_invariant_free;
}

/* log odds of p between its bounds, less those of u. */
static double ridge_shift(const free_model *f)
{
    const double low = f->prior.p_invariant[0], high = f->prior.p_invariant[1];
    return log((1 - low) / (high - low));
}

/* A point of the ridge. */
typedef struct rate_variance {
    double p;     /* p_invariant, or u where that has bounds */
    double rest;  /* 1 - p, without cancellation */
    double share; /* s */
    double odds;  /* w^3 = s / (1 - s) */
    double ratio; /* v / (1 + v) */
} rate_variance;

static rate_variance rate_variance_at(double log_v, double w)
{
    rate_variance out = {.odds = w * w * w, .ratio = 1 / (1 + exp(-log_v))};
    out.share = 1 / (1 + 1 / out.odds);
    out.p = out.share * out.ratio;
    out.rest = 1 / (1 + out.odds) + out.share / (1 + exp(log_v));
    return out;
}

/* l [n_free] at z; 0 if a cube root is not positive. */
static int logarithms_of(double *l, const free_model *f, const double *z)
{
    int is_valid = 1;
    for (int k = 0; k < f->n_free; k++) {
        const int root = is_cube_root(f, k);
        is_valid &= !root || z[k] > 0;
        l[k] = !root ? z[k] : 3 * log(fmax(z[k], 1e-100));
    }
    if (has_ridge(f)) {
        const double w = fmax(z[p_invariant_at(f)], 1e-100);
        const rate_variance at = rate_variance_at(z[alpha_at(f)], w);
        l[alpha_at(f)] = -z[alpha_at(f)] + log1p(at.odds);
        l[p_invariant_at(f)] = log(at.p) - log(at.rest) + ridge_shift(f);
    }
    return is_valid;
}

/* z [n_free] from l, in place. */
static void from_logarithms(double *z, const free_model *f)
{
    if (has_ridge(f)) {
        const double alpha = exp(z[alpha_at(f)]);
        const double p = 1 / (1 + exp(ridge_shift(f) - z[p_invariant_at(f)]));
        const double v = (p + 1 / alpha) / (1 - p);
        z[alpha_at(f)] = log(v);
        z[p_invariant_at(f)] = log(p * (1 + v) * alpha);
    }
    for (int k = 0; k < f->n_free; k++)
        if (is_cube_root(f, k))
            z[k] = exp(z[k] / 3);
}

/* A gradient by l becomes one by z. */
static void through_coordinates(double *dz, const free_model *f, const double *z)
{
    const int a = alpha_at(f), p = p_invariant_at(f);
    if (has_ridge(f)) {
        const rate_variance at = rate_variance_at(z[a], z[p]);
        const double by_alpha = dz[a], by_p = dz[p] / at.rest, root = 3 * at.share / z[p];
        dz[a] = -by_alpha + by_p * (1 - at.ratio);
        dz[p] = root * (by_alpha + by_p / at.odds);
    }
    for (int k = 0; k < f->n_free; k++)
        if (is_cube_root(f, k) && !(has_ridge(f) && k == p))
            dz[k] *= 3 / z[k];
}

/* Parameters with sum 1 (simplex.h): all groups but alpha are of this kind. */
typedef struct group {
    int n;
    int reference;
    int first; /* its first coordinate */
    double shape[N_RATES];
    double offset[N_RATES];
} group;

static simplex simplex_of(const group *g)
{
    return (simplex){g->n, g->reference, g->shape, g->offset};
}

enum { GROUPS = 3 };

/* Rates of one class are equal. Their sum y_k = n_k r_k is what the class would have if its rates
 * were free: sums of parts of a Dirichlet distribution are Dirichlet distributed, with the sums of
 * the parameters. */
static group group_of_rates(const free_model *f)
{
    group s = {.n = subst_rate_classes(f->fixed.kind),
               .reference = f->rate_class[reference_rate(f)]};
    for (int i = 0; i < N_RATES; i++) {
        s.shape[f->rate_class[i]] += f->prior.rates[i];
        s.offset[f->rate_class[i]] += 1;
    }
    for (int k = 0; k < s.n; k++)
        s.offset[k] = log(s.offset[k]);
    if (has_kappa(f)) { /* kappa / (1 + kappa) and 1 / (1 + kappa) */
        const int transversions = s.reference, transitions = 1 - s.reference;
        s.shape[transitions] = f->prior.kappa[0];
        s.shape[transversions] = f->prior.kappa[1];
        s.offset[transitions] = s.offset[transversions] = 0;
    }
    return s;
}

static int groups_of(group out[GROUPS], const free_model *f)
{
    int n = 0;
    if (f->rates_free)
        out[n++] = group_of_rates(f);
    if (f->frequencies_free) {
        out[n] = (group){.n = 4, .reference = 3, .first = frequencies_at(f)};
        memcpy(out[n++].shape, f->prior.frequencies, sizeof f->prior.frequencies);
    }
    if (f->p_invariant_free) /* the place between the ends of the uniform distribution */
        out[n++] = (group){.n = 2, .reference = 1, .first = p_invariant_at(f), .shape = {1, 1}};
    return n;
}

static double within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static int is_within(double x, double low, double high)
{
    return x >= low && x <= high;
}

/* The share of sites whose characters may all be the same base. */
static double constant_share(const alignment *a)
{
    double constant = 0, all = 0;
    for (size_t k = 0; k < a->n_patterns; k++) {
        unsigned common = STATE_ANY;
        for (int i = 0; i < a->n_taxa; i++) {
            const unsigned state = a->state[(size_t)i * a->n_patterns + k];
            common &= state & STATE_GAP ? STATE_ANY : state;
        }
        constant += common ? a->weight[k] : 0;
        all += a->weight[k];
    }
    return all > 0 ? constant / all : 0;
}

/* Numbers for what is free: transitions twice as fast as transversions, the frequencies of the
 * alignment, half of its constant sites invariant. */
static void set_start(free_model *f, const alignment *a)
{
    subst_model *m = &f->fixed;
    double counted[4];
    int absent;
    if (f->rates_free) {
        m->rate[RATE_AG] = m->rate[RATE_CT] = 2;
        for (int i = 0; i < N_RATES && !has_kappa(f) && m->kind != SUBST_TN93; i++)
            m->rate[i] /= 8;
    }
    if (f->frequencies_free && a && subst_frequencies(counted, &absent, a) == ART_OK)
        memcpy(m->frequency, counted, sizeof counted);
    if (f->alpha_free)
        m->alpha = f->p_invariant_free ? 1 : 0.5;
    if (f->p_invariant_free) {
        const double low = f->prior.p_invariant[0], high = f->prior.p_invariant[1];
        const double guess = a ? 0.5 * constant_share(a) : 0.2;
        m->p_invariant = within(guess, 0.95 * low + 0.05 * high, 0.05 * low + 0.95 * high);
    }
}

int free_model_parse(free_model *f, const char *text, const alignment *a,
                     const model_priors *priors, diag *d)
{
    model_text t;
    int status = model_text_parse(&t, text, a, d);
    if (status)
        return status;
    *f = (free_model){.fixed = t.model,
                      .prior = priors ? *priors : model_priors_default(),
                      .rates_free = t.rates_free,
                      .frequencies_free = t.frequencies_free,
                      .alpha_free = t.alpha_free,
                      .p_invariant_free = t.p_invariant_free};
    memcpy(f->rate_class, subst_rate_class(t.model.kind), sizeof f->rate_class);
    f->n_free = p_invariant_at(f) + (f->p_invariant_free ? 1 : 0);
    set_start(f, a);
    subst_model_finish(&f->fixed);
    if (f->rates_free || f->frequencies_free)
        f->fixed.is_jc = 0;
    return ART_OK;
}

char *free_model_print(char out[MODEL_STRING_SIZE], const free_model *f)
{
    const model_text t = {.model = f->fixed,
                          .rates_free = f->rates_free,
                          .frequencies_free = f->frequencies_free,
                          .alpha_free = f->alpha_free,
                          .p_invariant_free = f->p_invariant_free};
    return model_text_print(out, &t);
}

void free_model_start(double *z, const free_model *f)
{
    free_model_coordinates(z, f, &f->fixed);
}

/* The given numbers of the model at z; what is derived from them is not. */
static void set_numbers(subst_model *m, const free_model *f, const double *z)
{
    *m = f->fixed;
    if (f->rates_free) {
        const int reference = f->rate_class[reference_rate(f)];
        double sum = 0;
        for (int i = 0; i < N_RATES; i++) {
            const int k = f->rate_class[i], at = k - (k > reference);
            m->rate[i] = k == reference ? 1 : exp(within(z[at], -RATIO_LIMIT, RATIO_LIMIT));
            sum += m->rate[i];
        }
        if (has_kappa(f) || m->kind == SUBST_TN93)
            sum = m->rate[RATE_GT]; /* model strings have them relative to transversions */
        for (int i = 0; i < N_RATES; i++)
            m->rate[i] /= sum;
    }
    if (f->frequencies_free) {
        const double *own = z + frequencies_at(f);
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            m->frequency[i] = i == 3 ? 1 : exp(within(own[i], -RATIO_LIMIT, RATIO_LIMIT));
            sum += m->frequency[i];
        }
        for (int i = 0; i < 4; i++)
            m->frequency[i] /= sum;
    }
    if (f->alpha_free)
        m->alpha = within(exp(z[alpha_at(f)]), ALPHA_MIN, ALPHA_MAX);
    if (f->p_invariant_free) {
        const double low = f->prior.p_invariant[0], high = f->prior.p_invariant[1];
        const double logit = within(z[p_invariant_at(f)], P_LIMIT_LOW, P_LIMIT_HIGH);
        m->p_invariant = low + (high - low) / (1 + exp(-logit));
    }
}

void free_model_at(subst_model *m, const free_model *f, const double *z)
{
    double l[FREE_MOST];
    if (f->n_free == 0) {
        *m = f->fixed;
        return;
    }
    logarithms_of(l, f, z);
    set_numbers(m, f, l);
    subst_model_finish(m);
    m->is_jc = f->fixed.is_jc;
}

void free_model_coordinates(double *z, const free_model *f, const subst_model *m)
{
    if (f->rates_free) {
        const int reference = f->rate_class[reference_rate(f)];
        for (int i = 0; i < N_RATES; i++) {
            const int k = f->rate_class[i];
            if (k != reference)
                z[k - (k > reference)] =
                    within(log(m->rate[i] / m->rate[reference_rate(f)]), -RATIO_LIMIT, RATIO_LIMIT);
        }
    }
    if (f->frequencies_free)
        for (int i = 0; i < 3; i++)
            z[frequencies_at(f) + i] =
                within(log(m->frequency[i] / m->frequency[3]), -RATIO_LIMIT, RATIO_LIMIT);
    if (f->alpha_free)
        z[alpha_at(f)] = log(within(m->alpha, ALPHA_MIN, ALPHA_MAX));
    if (f->p_invariant_free) {
        const double low = f->prior.p_invariant[0], high = f->prior.p_invariant[1];
        const double p = within(m->p_invariant, low, high);
        z[p_invariant_at(f)] = within(log((p - low) / (high - p)), P_LIMIT_LOW, P_LIMIT_HIGH);
    }
    from_logarithms(z, f);
}

double free_model_log_prior(const free_model *f, const double *z)
{
    group g[GROUPS];
    const int n = groups_of(g, f);
    double value = 0, l[FREE_MOST];
    if (!logarithms_of(l, f, z))
        return -INFINITY;
    for (int i = 0; i < n; i++) {
        const simplex s = simplex_of(&g[i]);
        value += simplex_log_density(&s, l + g[i].first);
    }
    if (f->alpha_free) {
        const double log_alpha = l[alpha_at(f)];
        value += log(f->prior.alpha_rate) - f->prior.alpha_rate * exp(log_alpha) + log_alpha;
    }
    for (int k = 0; k < f->n_free; k++) /* dl/dz */
        value += is_cube_root(f, k) ? log(3 / z[k]) : 0;
    return value;
}

double free_model_stated_prior(const free_model *f, const double *z)
{
    group g[GROUPS];
    const int n = groups_of(g, f);
    double value = 0, l[FREE_MOST], log_y[N_RATES];
    logarithms_of(l, f, z);
    for (int i = 0; i < n; i++) {
        const simplex s = simplex_of(&g[i]);
        value += simplex_log_density(&s, l + g[i].first);
        simplex_place(log_y, &s, l + g[i].first);
        for (int k = 0; k < s.n; k++) /* without the Jacobian */
            value -= log_y[k];
    }
    if (f->alpha_free)
        value += log(f->prior.alpha_rate) - f->prior.alpha_rate * exp(l[alpha_at(f)]);
    if (f->p_invariant_free)
        value -= log(f->prior.p_invariant[1] - f->prior.p_invariant[0]);
    return value;
}

void free_model_bounds(double *low, double *high, const free_model *f)
{
    const double inside = 1e-6; /* of the limits: at the edge slopes are not yet those of a clip */
    const double limit = RATIO_LIMIT - inside;
    for (int k = 0; k < f->n_free; k++) {
        const int root = is_cube_root(f, k);
        low[k] = root ? exp(-limit / 3) : -limit;
        high[k] = root ? exp(limit / 3) : limit;
    }
    if (f->alpha_free) { /* log alpha, or log v, which is -log alpha without invariant sites */
        low[alpha_at(f)] = log(ALPHA_MIN) + inside;
        high[alpha_at(f)] = log(ALPHA_MAX) - inside;
    }
    if (f->p_invariant_free) {
        low[p_invariant_at(f)] = 1e-3;
        high[p_invariant_at(f)] = exp((P_LIMIT_HIGH - inside) / 3);
    }
}

static void add_prior_gradient(double *dz, const free_model *f, const double *z)
{
    group g[GROUPS];
    const int n = groups_of(g, f);
    for (int i = 0; i < n; i++) {
        const simplex s = simplex_of(&g[i]);
        simplex_add_gradient(dz + g[i].first, &s, z + g[i].first);
    }
    if (f->alpha_free)
        dz[alpha_at(f)] += 1 - f->prior.alpha_rate * exp(z[alpha_at(f)]);
}

/* By the exchange rates and the frequencies, all taken as independent. With Q_ij = s_ij pi_j / mu,
 * mu = sum_i,j pi_i pi_j s_ij and Q_ii = -sum_j Q_ij, the derivative by an entry off the diagonal
 * is G_ij = dL/dQ_ij - dL/dQ_ii, and by mu it is -sum G_ij Q_ij / mu. */
static void through_rate_matrix(double by_rate[N_RATES], double by_frequency[4],
                                const subst_model *m, const double slope[4][4])
{
    double mu = 0, by_mu = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i != j) {
                const double s = m->rate[subst_exchange(i, j)];
                mu += m->frequency[i] * m->frequency[j] * s;
                by_mu -= (slope[i][j] - slope[i][i]) * s * m->frequency[j];
            }
    by_mu /= mu * mu;
    memset(by_rate, 0, N_RATES * sizeof *by_rate);
    memset(by_frequency, 0, 4 * sizeof *by_frequency);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i != j) {
                const int k = subst_exchange(i, j);
                const double by_entry = (slope[i][j] - slope[i][i]) / mu;
                by_rate[k] += m->frequency[j] * (by_entry + m->frequency[i] * by_mu);
                by_frequency[j] += m->rate[k] * (by_entry + 2 * m->frequency[i] * by_mu);
            }
}

static void add_likelihood_gradient(double *dz, const free_model *f, const double *z,
                                    const model_slopes *by)
{
    subst_model m;
    double by_rate[N_RATES], by_frequency[4], gamma_rate[SUBST_CATEGORIES];
    set_numbers(&m, f, z);
    through_rate_matrix(by_rate, by_frequency, &m, by->rate_matrix);
    if (f->rates_free) /* Q does not change if all rates grow by one factor: one of them is fixed */
        for (int i = 0; i < N_RATES; i++) {
            const int k = f->rate_class[i], reference = f->rate_class[reference_rate(f)];
            const int at = k - (k > reference);
            if (k != reference && is_within(z[at], -RATIO_LIMIT, RATIO_LIMIT))
                dz[at] += m.rate[i] * by_rate[i];
        }
    if (f->frequencies_free) {
        const int first = frequencies_at(f);
        double mean = 0;
        for (int i = 0; i < 4; i++) {
            by_frequency[i] += by->frequency[i];
            mean += m.frequency[i] * by_frequency[i];
        }
        for (int i = 0; i < 3; i++)
            if (is_within(z[first + i], -RATIO_LIMIT, RATIO_LIMIT))
                dz[first + i] += m.frequency[i] * (by_frequency[i] - mean);
    }
    if (f->alpha_free && is_within(exp(z[alpha_at(f)]), ALPHA_MIN, ALPHA_MAX)) {
        gamma_rate_slopes(gamma_rate, m.n_categories, m.alpha);
        for (int k = 0; k < m.n_categories; k++)
            dz[alpha_at(f)] += by->category_rate[k] * gamma_rate[k] / (1 - m.p_invariant) * m.alpha;
    }
    if (f->p_invariant_free && is_within(z[p_invariant_at(f)], P_LIMIT_LOW, P_LIMIT_HIGH)) {
        const double low = f->prior.p_invariant[0], high = f->prior.p_invariant[1];
        const double left = 1 - m.p_invariant;
        double by_p = by->p_invariant - by->category_weight / m.n_categories;
        gamma_rate[0] = 1;
        if (m.alpha > 0)
            gamma_rates(gamma_rate, m.n_categories, m.alpha);
        for (int k = 0; k < m.n_categories; k++)
            by_p += by->category_rate[k] * gamma_rate[k] / (left * left);
        const double logit = z[p_invariant_at(f)];
        dz[p_invariant_at(f)] += by_p * (high - low) / ((1 + exp(-logit)) * (1 + exp(logit)));
    }
}

void free_model_likelihood_gradient(double *dz, const free_model *f, const double *z,
                                    const model_slopes *by)
{
    double l[FREE_MOST];
    memset(dz, 0, (size_t)f->n_free * sizeof *dz);
    logarithms_of(l, f, z);
    add_likelihood_gradient(dz, f, l, by);
    through_coordinates(dz, f, z);
}

void free_model_gradient(double *dz, const free_model *f, const double *z, const model_slopes *by)
{
    double l[FREE_MOST];
    memset(dz, 0, (size_t)f->n_free * sizeof *dz);
    logarithms_of(l, f, z);
    add_likelihood_gradient(dz, f, l, by);
    add_prior_gradient(dz, f, l);
    through_coordinates(dz, f, z);
    for (int k = 0; k < f->n_free; k++) /* of log dl/dz */
        dz[k] -= is_cube_root(f, k) ? 1 / z[k] : 0;
}

void free_model_draw(double *z, const free_model *f, rng *stream)
{
    group g[GROUPS];
    const int n = groups_of(g, f);
    for (int i = 0; i < n; i++) {
        const simplex s = simplex_of(&g[i]);
        simplex_draw(z + g[i].first, &s, stream);
    }
    if (f->alpha_free)
        z[alpha_at(f)] = log(rng_exponential(stream) / f->prior.alpha_rate);
    from_logarithms(z, f);
}

int free_model_columns(char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE], const free_model *f)
{
    static const char BASES[] = "ACGT";
    int n = 0;
    if (f->rates_free && has_kappa(f))
        snprintf(name[n++], PARAMETER_NAME_SIZE, "kappa");
    for (int i = 0; i < 4 && f->rates_free && !has_kappa(f); i++)
        for (int j = i + 1; j < 4; j++)
            snprintf(name[n++], PARAMETER_NAME_SIZE, "r(%c<->%c)", BASES[i], BASES[j]);
    for (int i = 0; i < 4 && f->frequencies_free; i++)
        snprintf(name[n++], PARAMETER_NAME_SIZE, "pi(%c)", BASES[i]);
    if (f->alpha_free)
        snprintf(name[n++], PARAMETER_NAME_SIZE, "alpha");
    if (f->p_invariant_free)
        snprintf(name[n++], PARAMETER_NAME_SIZE, "pinvar");
    return n;
}

void free_model_values(double *value, const free_model *f, const double *z)
{
    subst_model m;
    double l[FREE_MOST];
    logarithms_of(l, f, z);
    set_numbers(&m, f, l);
    if (f->rates_free && has_kappa(f))
        *value++ = m.rate[RATE_AG];
    else if (f->rates_free) {
        double sum = 0;
        for (int i = 0; i < N_RATES; i++)
            sum += m.rate[i];
        for (int i = 0; i < N_RATES; i++)
            *value++ = m.rate[i] / sum;
    }
    for (int i = 0; i < 4 && f->frequencies_free; i++)
        *value++ = m.frequency[i];
    if (f->alpha_free)
        *value++ = m.alpha;
    if (f->p_invariant_free)
        *value++ = m.p_invariant;
}

/* "name ~ dirichlet(1,1,1,1)" */
static void print_prior(char *out, size_t size, const char *name, const char *kind,
                        const double *number, int n)
{
    int used = snprintf(out, size, "%s ~ %s", name, kind);
    for (int i = 0; i < n && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%c%g%s", i ? ',' : '(', number[i],
                         i == n - 1 ? ")" : "");
}

int free_model_prior_text(char *out, size_t size, const free_model *f, int i)
{
    const model_priors *p = &f->prior;
    if (f->rates_free && i-- == 0) {
        const group s = group_of_rates(f);
        if (has_kappa(f))
            print_prior(out, size, "kappa / (1 + kappa)", "beta", p->kappa, 2);
        else
            print_prior(out, size,
                        s.n == N_RATES ? "exchange rates" : "exchange rates, equal ones summed",
                        "dirichlet", s.shape, s.n);
    } else if (f->frequencies_free && i-- == 0)
        print_prior(out, size, "frequencies", "dirichlet", p->frequencies, 4);
    else if (f->alpha_free && i-- == 0)
        print_prior(out, size, "alpha", "exponential", &p->alpha_rate, 1);
    else if (f->p_invariant_free && i-- == 0)
        print_prior(out, size, "pinvar", "uniform", p->p_invariant, 2);
    else
        return 0;
    return 1;
}
