#include "support/check.h"

#include "artreeformer.h"
#include "subst/free_model.h"
#include "subst/gamma_rates.h"
#include "support/exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Models of every kind, fixed and free in different places, with their number of coordinates. */
static const struct {
    const char *text;
    int n_free, n_columns;
} MODELS[] = {
    {"JC", 0, 0},
    {"JC+G4", 1, 1},
    {"JC+I", 1, 1},
    {"JC+FO", 3, 4},
    {"F81", 3, 4},
    {"K80", 1, 1},
    {"K80{2}+I+G8{0.3}", 1, 1},
    {"HKY", 4, 5},
    {"HKY{2.5}+FO+G4", 4, 5},
    {"HKY+F{0.1,0.2,0.3,0.4}+I{0.2}+G2", 2, 2},
    {"TN93+I+G4", 7, 12},
    {"TNe+G2", 3, 7},
    {"SYM", 5, 6},
    {"GTR{1,2,3,4,5,6}", 3, 4},
    {"GTR+FQ+G4", 6, 7},
    {"GTR+I+G4", 10, 12},
    {"K81", 2, 6},
    {"K81u+G4", 6, 11},
    {"TPM2", 2, 6},
    {"TPM3uf", 5, 10},
    {"TIM+I", 7, 11},
    {"TIM2+G16", 7, 11},
    {"TIM3e", 3, 6},
    {"TVM+IO+G4m", 9, 12},
};
enum { N_MODELS = sizeof MODELS / sizeof MODELS[0] };

static free_model parsed(const char *text, const alignment *a, const model_priors *priors)
{
    free_model f;
    diag d;
    diag_init(&d);
    int status = free_model_parse(&f, text, a, priors, &d);
    if (status)
        print_error("%s\n", d.count ? d.message[0].text : text);
    diag_free(&d);
    check_status(status);
    return f;
}

/* Priors that are not the defaults, and not symmetric. */
static model_priors odd_priors(void)
{
    return (model_priors){.rates = {1, 2, 0.5, 1.5, 3, 0.7},
                          .kappa = {2, 0.6},
                          .frequencies = {0.8, 2, 1.5, 3},
                          .alpha_rate = 0.7,
                          .p_invariant = {0.1, 0.6}};
}

/* Whether coordinate k is a cube root, which must be positive: the prior says so. */
static int is_root(const free_model *f, int k)
{
    double z[FREE_MOST];
    free_model_start(z, f);
    z[k] = -1;
    return isinf(free_model_log_prior(f, z));
}

/* A coordinate from a number of any sign: z = exp(l / 3) of a root. */
static double coordinate_of(const free_model *f, int k, double l)
{
    return is_root(f, k) ? exp(l / 3) : l;
}

static void draw_point(double *z, const free_model *f, uint32_t index)
{
    rng r = rng_at(3, RNG_TEST, 1, index);
    for (int i = 0; i < f->n_free; i++)
        z[i] = 0.8 * rng_normal(&r);
    for (int k = 0; k < f->n_free; k++)
        z[k] = coordinate_of(f, k, z[k]);
}

static void the_parts_are_counted(void **state)
{
    (void)state;
    char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE], prior[128];
    for (int k = 0; k < N_MODELS; k++) {
        free_model f = parsed(MODELS[k].text, NULL, NULL);
        assert_int_equal(f.n_free, MODELS[k].n_free);
        assert_true(f.n_free <= FREE_MOST);
        assert_int_equal(free_model_columns(name, &f), MODELS[k].n_columns);
        int groups = 0;
        while (free_model_prior_text(prior, sizeof prior, &f, groups))
            groups++;
        assert_int_equal(groups,
                         f.rates_free + f.frequencies_free + f.alpha_free + f.p_invariant_free);
    }
}

static void names_and_priors_are_said(void **state)
{
    (void)state;
    static const char *const names[] = {"r(A<->C)", "r(A<->G)", "r(A<->T)", "r(C<->G)",
                                        "r(C<->T)", "r(G<->T)", "pi(A)",    "pi(C)",
                                        "pi(G)",    "pi(T)",    "alpha",    "pinvar"};
    static const char *const priors[] = {"exchange rates ~ dirichlet(1,1,1,1,1,1)",
                                         "frequencies ~ dirichlet(1,1,1,1)",
                                         "alpha ~ exponential(1)", "pinvar ~ uniform(0,1)"};
    char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE], text[128];
    free_model f = parsed("GTR+I+G4", NULL, NULL);
    assert_int_equal(free_model_columns(name, &f), 12);
    for (int i = 0; i < 12; i++)
        assert_string_equal(name[i], names[i]);
    for (int i = 0; i < 4; i++) {
        assert_true(free_model_prior_text(text, sizeof text, &f, i));
        assert_string_equal(text, priors[i]);
    }
    f = parsed("TN93+FQ", NULL, NULL);
    assert_true(free_model_prior_text(text, sizeof text, &f, 0));
    assert_string_equal(text, "exchange rates, equal ones summed ~ dirichlet(4,1,1)");
    const model_priors odd = odd_priors();
    f = parsed("K80+I", NULL, &odd);
    assert_int_equal(free_model_columns(name, &f), 2);
    assert_string_equal(name[0], "kappa");
    assert_true(free_model_prior_text(text, sizeof text, &f, 0));
    assert_string_equal(text, "kappa / (1 + kappa) ~ beta(2,0.6)");
    assert_true(free_model_prior_text(text, sizeof text, &f, 1));
    assert_string_equal(text, "pinvar ~ uniform(0.1,0.6)");
    assert_false(free_model_prior_text(text, sizeof text, &f, 2));
}

/* print, parse, print; the fixed model, and the free one with its start. */
static void what_is_printed_reads_back(void **state)
{
    (void)state;
    small_alignment data;
    small_alignment_init(&data, 3, (const char *[]){"AACCGTTTRA", "AACCGTGTAA", "AACGGTTTAC"});
    const model_priors odd = odd_priors();
    for (int k = 0; k < N_MODELS; k++) {
        char text[MODEL_STRING_SIZE], again[MODEL_STRING_SIZE];
        free_model f = parsed(MODELS[k].text, &data.a, &odd);
        free_model back = parsed(free_model_print(text, &f), &data.a, &odd);
        assert_memory_equal(&back, &f, sizeof f);
        assert_string_equal(free_model_print(again, &back), text);
        /* The model at a point has all its numbers in its string. */
        double z[FREE_MOST];
        subst_model m, read;
        draw_point(z, &f, (uint32_t)k);
        free_model_at(&m, &f, z);
        check_status(model_string_parse(&read, model_string_print(text, &m), NULL, NULL));
        read.is_jc = m.is_jc;
        assert_memory_equal(&read, &m, sizeof m);
    }
    char text[MODEL_STRING_SIZE];
    free_model f = parsed("gtr+i+g", NULL, NULL);
    assert_string_equal(free_model_print(text, &f), "GTR+FO+I+G4");
    f = parsed("HKY{2}+FO+IU{0.1}+Gm", NULL, NULL);
    assert_string_equal(free_model_print(text, &f), "HKY{2}+FO+I{0.1}+G4");
    f = parsed("TIM2e", NULL, NULL);
    assert_string_equal(free_model_print(text, &f), "TIM2+FQ");
}

static void starts_are_taken_from_the_alignment(void **state)
{
    (void)state;
    small_alignment data;
    small_alignment_init(&data, 3, (const char *[]){"AACCGTTTNA", "AACCGTGTAA", "AACGGT-TAC"});
    free_model f = parsed("GTR+I+G4", &data.a, NULL);
    double z[FREE_MOST], counted[4];
    int absent;
    check_status(subst_frequencies(counted, &absent, &data.a));
    subst_model m;
    free_model_start(z, &f);
    free_model_at(&m, &f, z);
    for (int i = 0; i < 4; i++)
        check_close(m.frequency[i], counted[i], 1e-14);
    check_close(m.p_invariant, 0.35, 1e-14); /* 7 of 10 columns may be constant */
    /* Without a base there is nothing to count, and the start is inside. */
    small_alignment_init(&data, 3, (const char *[]){"AACC", "AACC", "AACC"});
    f = parsed("GTR+I+G4", &data.a, NULL);
    free_model_start(z, &f);
    free_model_at(&m, &f, z);
    check_close(m.frequency[3], 0.25, 1e-14);
    check_close(m.p_invariant, 0.5, 1e-14);
    assert_true(isfinite(free_model_log_prior(&f, z)));
}

static void fixed_models_are_themselves(void **state)
{
    (void)state;
    static const char *const texts[] = {"JC", "GTR{1,2,3,4,5,6}+F{0.1,0.2,0.3,0.4}+I{0.2}+G4{0.5}",
                                        "K80{1}", "TIM2{2,3,4}+FQ"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        free_model f = parsed(texts[k], NULL, NULL);
        subst_model m, fixed;
        assert_int_equal(f.n_free, 0);
        free_model_at(&m, &f, NULL);
        check_status(model_string_parse(&fixed, texts[k], NULL, NULL));
        assert_memory_equal(&m, &fixed, sizeof m);
        assert_true(free_model_log_prior(&f, NULL) == 0);
    }
}

static void the_closed_form_depends_on_what_is_free(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int is_jc;
    } known[] = {{"JC+G4", 1}, {"JC+I+G4", 1}, {"F81+FQ+I", 1}, {"K80{1}+G4", 1},
                 {"F81", 0},   {"JC+FO", 0},   {"K80", 0},      {"SYM+G4", 0}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        free_model f = parsed(known[k].text, NULL, NULL);
        double z[FREE_MOST], equal[FREE_MOST]; /* rates and frequencies */
        subst_model m;
        for (int i = 0; i < f.n_free; i++)
            z[i] = equal[i] = coordinate_of(&f, i, 0);
        for (int i = 0; i < 2; i++) {
            free_model_at(&m, &f, z);
            assert_int_equal(m.is_jc, known[k].is_jc);
            assert_int_equal(m.n_categories, f.fixed.n_categories);
            draw_point(z, &f, (uint32_t)k);
        }
        /* Equal eigenvalues: the general form gives what the closed one does. */
        double p[4][4];
        free_model_at(&m, &f, equal);
        for (double t = 1e-8; t < 10; t *= 7) {
            subst_model_transition(p, &m, t);
            for (int i = 0; i < 16; i++)
                check_near(p[i / 4][i % 4],
                           i / 4 == i % 4 ? 0.25 + 0.75 * exp(-4 * t / 3)
                                          : -0.25 * expm1(-4 * t / 3),
                           1e-15);
        }
    }
}

static void coordinates_invert(void **state)
{
    (void)state;
    const model_priors odd = odd_priors();
    for (int k = 0; k < N_MODELS; k++)
        for (uint32_t i = 0; i < 20; i++) {
            free_model f = parsed(MODELS[k].text, NULL, &odd);
            double z[FREE_MOST], back[FREE_MOST], value[FREE_COLUMNS_MOST];
            subst_model m;
            draw_point(z, &f, 100 * i + (uint32_t)k);
            free_model_at(&m, &f, z);
            free_model_coordinates(back, &f, &m);
            for (int j = 0; j < f.n_free; j++)
                check_near(back[j], z[j], 1e-12 * (1 + fabs(z[j])));
            free_model_values(value, &f, z);
            const double *v = value;
            if (f.rates_free && (m.kind == SUBST_K80 || m.kind == SUBST_HKY))
                check_close(*v++, m.rate[RATE_CT] / m.rate[RATE_AC], 1e-14);
            else if (f.rates_free) {
                double sum = 0;
                for (int j = 0; j < N_RATES; j++) {
                    check_close(v[j] / v[RATE_GT], m.rate[j] / m.rate[RATE_GT], 1e-14);
                    sum += v[j];
                }
                check_close(sum, 1, 1e-14);
                v += N_RATES;
            }
            for (int j = 0; j < 4 && f.frequencies_free; j++)
                assert_true(*v++ == m.frequency[j]);
            if (f.alpha_free)
                assert_true(*v++ == m.alpha);
            if (f.p_invariant_free) {
                assert_true(*v++ == m.p_invariant);
                assert_true(m.p_invariant > 0.1 && m.p_invariant < 0.6);
            }
            assert_int_equal(v - value, MODELS[k].n_columns);
        }
}

/* Whatever z, the model is one that can be computed with. */
static void far_points_are_finite(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k++)
        for (uint32_t i = 0; i < 50; i++) {
            free_model f = parsed(MODELS[k].text, NULL, NULL);
            double z[FREE_MOST], dz[FREE_MOST], p[4][4];
            model_slopes by = {.rate_matrix = {{1, 2, 3, 4}}, .frequency = {1, 2, 3, 4}};
            rng r = rng_at(5, RNG_TEST, (uint32_t)k, i);
            for (int j = 0; j < f.n_free; j++)
                z[j] = 300 * (rng_uniform(&r) - 0.5);
            subst_model m;
            free_model_at(&m, &f, z);
            for (int c = 0; c < m.n_categories; c++) {
                assert_true(m.category_rate[c] >= 0 && isfinite(m.category_rate[c]));
                subst_model_transition(p, &m, 0.1 * m.category_rate[c]);
                for (int row = 0; row < 4; row++)
                    check_near(p[row][0] + p[row][1] + p[row][2] + p[row][3], 1, 1e-6);
            }
            for (int j = 1; j < 4; j++)
                assert_true(m.eigenvalue[j] < 0 && isfinite(m.eigenvalue[j]));
            assert_true(m.p_invariant < 1 && m.category_weight > 0);
            free_model_gradient(dz, &f, z, &by);
            for (int j = 0; j < f.n_free; j++)
                assert_true(isfinite(dz[j]));
        }
}

/* Trapezoidal sums of functions that are smooth and vanish at both ends converge faster than any
 * power of the step: the error is exp(-2 pi^2 / step) where the nearest pole is pi away. */
static double integral(const free_model *f, double *z, int at, double end, double step)
{
    double sum = 0;
    if (at == f->n_free)
        return exp(free_model_log_prior(f, z));
    const int root = is_root(f, at);
    for (double l = -end; l <= end; l += step) {
        z[at] = root ? exp(l / 3) : l;
        sum += step * (root ? z[at] / 3 : 1) * integral(f, z, at + 1, end, step);
    }
    return sum;
}

static void priors_integrate_to_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double end, step; /* the tails fall as exp(-shape z) */
    } cases[] = {{"K80", 40, 0.05}, {"JC+G4", 40, 0.02}, {"JC+I", 40, 0.05},  {"TNe", 40, 0.25},
                 {"K81", 40, 0.25}, {"F81", 28, 0.7},    {"K80+I", 40, 0.25}, {"JC+I+G4", 40, 0.2}};
    const model_priors odd = odd_priors();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double z[FREE_MOST];
        free_model f = parsed(cases[k].text, NULL, NULL);
        check_near(integral(&f, z, 0, cases[k].end, cases[k].step), 1, 1e-8);
        f = parsed(cases[k].text, NULL, &odd);
        check_near(integral(&f, z, 0, cases[k].end, cases[k].step), 1, 1e-8);
    }
}

/* What the priors are stated for, at z: returns how many, which is the number of coordinates. */
static int stated_of(double *out, const free_model *f, const double *z)
{
    subst_model m;
    int n = 0;
    free_model_at(&m, f, z);
    if (f->rates_free && (m.kind == SUBST_K80 || m.kind == SUBST_HKY))
        out[n++] = 1 / (1 + m.rate[RATE_AC] / m.rate[RATE_AG]);
    else if (f->rates_free) {
        const int classes = subst_rate_classes(m.kind);
        double class[N_RATES] = {0}, sum = 0;
        for (int i = 0; i < N_RATES; i++) {
            class[f->rate_class[i]] += m.rate[i];
            sum += m.rate[i];
        }
        for (int k = 0; k < classes - 1; k++)
            out[n++] = class[k] / sum;
    }
    for (int i = 0; i < 3 && f->frequencies_free; i++)
        out[n++] = m.frequency[i];
    if (f->alpha_free)
        out[n++] = m.alpha;
    if (f->p_invariant_free)
        out[n++] = m.p_invariant;
    return n;
}

/* log |determinant| of a [n][n], which is overwritten, by elimination with pivots. */
static double log_determinant(double a[FREE_MOST][FREE_MOST], int n)
{
    double value = 0;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k; i < n; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        for (int j = 0; j < n; j++) {
            const double other = a[pivot][j];
            a[pivot][j] = a[k][j];
            a[k][j] = other;
        }
        value += log(fabs(a[k][k]));
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return value;
}

/* The two forms of the prior differ by the Jacobian, here by central differences: relative errors
 * of 1e-9 from the step, in each of ten columns. */
static void the_stated_prior_lacks_the_jacobian(void **state)
{
    (void)state;
    const model_priors odd = odd_priors();
    for (int k = 0; k < 2 * N_MODELS; k++)
        for (uint32_t i = 0; i < 5; i++) {
            free_model f = parsed(MODELS[k / 2].text, NULL, k % 2 ? &odd : NULL);
            double z[FREE_MOST], up[FREE_MOST], down[FREE_MOST], by[FREE_MOST][FREE_MOST];
            draw_point(z, &f, 1000 + 100 * i + (uint32_t)k);
            for (int j = 0; j < f.n_free; j++) {
                const double at = z[j], h = 1e-5;
                z[j] = at + h;
                assert_int_equal(stated_of(up, &f, z), f.n_free);
                z[j] = at - h;
                stated_of(down, &f, z);
                z[j] = at;
                for (int l = 0; l < f.n_free; l++)
                    by[l][j] = (up[l] - down[l]) / (2 * h);
            }
            check_near(free_model_stated_prior(&f, z) + log_determinant(by, f.n_free),
                       free_model_log_prior(&f, z), 1e-6);
        }
}

/* Searches start inside; at every corner all is finite, and beyond the edges of rates, frequencies
 * and alpha there is no other model. */
static void bounds_hold_all_models(void **state)
{
    (void)state;
    for (int k = 0; k < N_MODELS; k++) {
        free_model f = parsed(MODELS[k].text, NULL, NULL);
        double z[FREE_MOST], low[FREE_MOST], high[FREE_MOST];
        free_model_bounds(low, high, &f);
        free_model_start(z, &f);
        for (int j = 0; j < f.n_free; j++)
            assert_true(low[j] < z[j] && z[j] < high[j]);
        for (unsigned corner = 0; corner < 1u << f.n_free; corner++) {
            subst_model m;
            for (int j = 0; j < f.n_free; j++)
                z[j] = corner >> j & 1 ? high[j] : low[j];
            assert_true(isfinite(free_model_stated_prior(&f, z)));
            free_model_at(&m, &f, z);
            for (int j = 1; j < 4; j++)
                assert_true(m.eigenvalue[j] < 0 && isfinite(m.eigenvalue[j]));
            assert_true(m.p_invariant >= 0 && m.p_invariant < 1 && m.category_weight > 0);
        }
        for (int j = 0; j < f.n_free && !f.p_invariant_free; j++) {
            double here[FREE_MOST], beyond[FREE_MOST];
            free_model_start(z, &f);
            for (int side = 0; side < 2; side++) {
                z[j] = side ? high[j] : low[j];
                stated_of(here, &f, z);
                z[j] = side ? 1.1 * high[j] : is_root(&f, j) ? 0.9 * low[j] : 1.1 * low[j];
                stated_of(beyond, &f, z);
                for (int l = 0; l < f.n_free; l++)
                    check_close(here[l], beyond[l], 2e-6); /* the edge is that far inside */
            }
        }
    }
}

/* What cannot be integrated on a grid: with draws from the prior the mean of a normal density over
 * the prior's is 1. It fails if the draws are not of that density, or that is not normalised. */
static void draws_are_of_the_prior(void **state)
{
    (void)state;
    enum { N = 100000 };
    const model_priors odd = odd_priors();
    for (int k = 0; k < N_MODELS; k++) {
        free_model f = parsed(MODELS[k].text, NULL, k % 2 ? &odd : NULL);
        double z[FREE_MOST], sum = 0, squares = 0;
        int roots[FREE_MOST];
        for (int j = 0; j < f.n_free; j++)
            roots[j] = is_root(&f, j);
        rng r = rng_at(7, RNG_TEST, (uint32_t)k, 0);
        for (int i = 0; i < N; i++) {
            free_model_draw(z, &f, &r);
            double log_ratio = -free_model_log_prior(&f, z);
            for (int j = 0; j < f.n_free; j++) { /* sd 0.7 around 0.1 */
                const double l = roots[j] ? 3 * log(z[j]) : z[j];
                log_ratio += roots[j] ? log(3 / z[j]) : 0;
                log_ratio -= 0.5 * (l - 0.1) * (l - 0.1) / 0.49 + log(0.7 * sqrt(2 * M_PI));
            }
            sum += exp(log_ratio);
            squares += exp(2 * log_ratio);
        }
        const double mean = sum / N, error = sqrt((squares / N - mean * mean) / N);
        assert_true(error < 0.2);
        check_near(mean, 1, 4.5 * error + 1e-12); /* of 24 models: one in 6000 such tests fails */
    }
}

/* Means and variances of what is reported, from the textbook. */
static void reported_numbers_have_their_moments(void **state)
{
    (void)state;
    enum { N = 40000 };
    static const char *const texts[] = {"GTR+I+G4", "TN93+I+G4", "HKY+I+G4", "TIM2+I+G4"};
    const model_priors p = odd_priors();
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        free_model f = parsed(texts[k], NULL, &p);
        char name[FREE_COLUMNS_MOST][PARAMETER_NAME_SIZE];
        const int n = free_model_columns(name, &f);
        double mean[FREE_COLUMNS_MOST], variance[FREE_COLUMNS_MOST];
        double sum[FREE_COLUMNS_MOST][3] = {{0}}, z[FREE_MOST], value[FREE_COLUMNS_MOST];
        int c = 0;
        if (f.fixed.kind == SUBST_HKY) {
            const double a = p.kappa[0], b = p.kappa[1]; /* of kappa / (1 + kappa) */
            mean[c] = a / (a + b);
            variance[c++] = a * b / ((a + b) * (a + b) * (a + b + 1));
        } else {
            double total = 0, shape[N_RATES] = {0}, members[N_RATES] = {0};
            for (int i = 0; i < N_RATES; i++) {
                shape[f.rate_class[i]] += p.rates[i];
                members[f.rate_class[i]] += 1;
                total += p.rates[i];
            }
            for (int i = 0; i < N_RATES; i++) {
                const double a = shape[f.rate_class[i]], share = members[f.rate_class[i]];
                mean[c] = a / total / share;
                variance[c++] = a * (total - a) / (total * total * (total + 1)) / (share * share);
            }
        }
        const double all =
            p.frequencies[0] + p.frequencies[1] + p.frequencies[2] + p.frequencies[3];
        for (int i = 0; i < 4; i++) {
            const double a = p.frequencies[i];
            mean[c] = a / all;
            variance[c++] = a * (all - a) / (all * all * (all + 1));
        }
        mean[c] = 1 / p.alpha_rate;
        variance[c++] = 1 / (p.alpha_rate * p.alpha_rate);
        mean[c] = 0.35;
        variance[c++] = 0.25 / 12;
        assert_int_equal(c, n);
        rng r = rng_at(11, RNG_TEST, (uint32_t)k, 0);
        for (int i = 0; i < N; i++) {
            free_model_draw(z, &f, &r);
            free_model_values(value, &f, z);
            if (f.fixed.kind == SUBST_HKY)
                value[0] /= 1 + value[0];
            for (int j = 0; j < n; j++) {
                const double from_mean = value[j] - mean[j], square = from_mean * from_mean;
                sum[j][0] += from_mean;
                sum[j][1] += square;
                sum[j][2] += square * square;
            }
        }
        for (int j = 0; j < n; j++) { /* 4 standard errors */
            check_near(sum[j][0] / N, 0, 4 * sqrt(variance[j] / N));
            check_near(sum[j][1] / N, variance[j],
                       4 * sqrt((sum[j][2] / N - variance[j] * variance[j]) / N));
        }
    }
}

/* A function of all that a model holds, and its derivatives: sines of sums with random
 * coefficients. */
typedef struct test_function {
    double matrix[4][4], frequency[4], rate[SUBST_CATEGORIES], weight, p;
} test_function;

static double value_of(model_slopes *by, const test_function *t, const subst_model *m)
{
    double mu = 0, angle[3] = {0};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            mu += i == j ? 0 : m->frequency[i] * m->frequency[j] * m->rate[subst_exchange(i, j)];
    for (int i = 0; i < 4; i++) {
        double diagonal = 0;
        for (int j = 0; j < 4; j++)
            if (i != j) {
                const double q = m->rate[subst_exchange(i, j)] * m->frequency[j] / mu;
                angle[0] += t->matrix[i][j] * q;
                diagonal -= q;
            }
        angle[0] += t->matrix[i][i] * diagonal;
        angle[1] += t->frequency[i] * m->frequency[i];
    }
    for (int c = 0; c < m->n_categories; c++)
        angle[2] += t->rate[c] * m->category_rate[c];
    angle[2] += t->weight * m->category_weight + t->p * m->p_invariant;
    const double slope[3] = {cos(angle[0]), cos(angle[1]), cos(angle[2])};
    *by = (model_slopes){.category_weight = slope[2] * t->weight, .p_invariant = slope[2] * t->p};
    for (int i = 0; i < 4; i++) {
        by->frequency[i] = slope[1] * t->frequency[i];
        for (int j = 0; j < 4; j++)
            by->rate_matrix[i][j] = slope[0] * t->matrix[i][j];
    }
    for (int c = 0; c < m->n_categories; c++)
        by->category_rate[c] = slope[2] * t->rate[c];
    return sin(angle[0]) + sin(angle[1]) + sin(angle[2]);
}

static test_function random_function(rng *r)
{
    test_function t;
    for (int i = 0; i < 16; i++) {
        t.matrix[i / 4][i % 4] = rng_normal(r);
        t.rate[i] = rng_normal(r);
        t.frequency[i % 4] = rng_normal(r);
    }
    t.weight = rng_normal(r);
    t.p = rng_normal(r);
    return t;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    const model_priors odd = odd_priors();
    for (int k = 0; k < N_MODELS; k++)
        for (uint32_t i = 0; i < 20; i++) {
            free_model f = parsed(MODELS[k].text, NULL, i % 2 ? &odd : NULL);
            rng r = rng_at(13, RNG_TEST, (uint32_t)k, i);
            test_function t = random_function(&r);
            double z[FREE_MOST], dz[FREE_MOST], alone[FREE_MOST];
            subst_model m;
            model_slopes by, ignored;
            draw_point(z, &f, 1000 + 100 * i + (uint32_t)k);
            free_model_at(&m, &f, z);
            value_of(&by, &t, &m);
            free_model_gradient(dz, &f, z, &by);
            free_model_likelihood_gradient(alone, &f, z, &by);
            for (int j = 0; j < f.n_free; j++) {
                const double at = z[j], h = 1e-3 * (is_root(&f, j) ? at / 3 : 1);
                double likelihood[4], prior[4];
                for (int s = 0; s < 4; s++) {
                    static const double steps[] = {-2, -1, 1, 2};
                    z[j] = at + h * steps[s];
                    free_model_at(&m, &f, z);
                    likelihood[s] = value_of(&ignored, &t, &m);
                    prior[s] = free_model_log_prior(&f, z);
                }
                z[j] = at;
                /* The fourth-order rule: errors of h^4 times fifth derivatives, which grow with the
                 * rates, up to 50 here, and of 1e-15 / h. */
                const double d_likelihood =
                    (likelihood[0] - 8 * likelihood[1] + 8 * likelihood[2] - likelihood[3]) /
                    (12 * h);
                const double d_prior =
                    (prior[0] - 8 * prior[1] + 8 * prior[2] - prior[3]) / (12 * h);
                check_near(alone[j], d_likelihood, 1e-6 * (1 + fabs(d_likelihood)));
                check_near(dz[j] - alone[j], d_prior, 1e-8 * (1 + fabs(d_prior)));
            }
        }
}

/* The messages are those of model strings (test_subst_model.c); what only a free model has: */
static void what_is_not_a_model_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *words;
    } table[] = {
        {"GTR+F", 6, "needs an alignment"},
        {"GTR+FU", 7, "needs the list of frequencies"},
        {"GTR+IU", 7, "needs the proportion"},
        {"GTR+ASC", 5, "leave it out"},
        {"GTR+R4", 5, "use +G4"},
        {"GTR+G4a", 5, "means"},
        {"GTR{1,2+G4", 7, "'2+G4' is not a number"},
        {"GTR{1", 4, "quote the model in the shell"},
        {"GTR1+G4", 1, "quote the model in the shell"},
        {"GTR+G4+G", 8, "repeats"},
        {"GTR+FO+F{0.1,0.2,0.3,0.4}", 8, "repeats"},
        {"", 1, "unexpected end"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        free_model f;
        diag d;
        diag_init(&d);
        assert_int_equal(free_model_parse(&f, table[i].text, NULL, NULL, &d), ART_ERR_INPUT);
        assert_int_equal(d.count, 1);
        char head[256];
        snprintf(head, sizeof head, "'%s':1:%d: error: ", table[i].text, table[i].column);
        if (strncmp(d.message[0].text, head, strlen(head)) != 0 ||
            !strstr(d.message[0].text, table[i].words))
            fail_msg("%s\nexpected %s %s", d.message[0].text, head, table[i].words);
        diag_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_are_counted),
        cmocka_unit_test(names_and_priors_are_said),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(starts_are_taken_from_the_alignment),
        cmocka_unit_test(fixed_models_are_themselves),
        cmocka_unit_test(the_closed_form_depends_on_what_is_free),
        cmocka_unit_test(coordinates_invert),
        cmocka_unit_test(far_points_are_finite),
        cmocka_unit_test(priors_integrate_to_one),
        cmocka_unit_test(the_stated_prior_lacks_the_jacobian),
        cmocka_unit_test(bounds_hold_all_models),
        cmocka_unit_test(draws_are_of_the_prior),
        cmocka_unit_test(reported_numbers_have_their_moments),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(what_is_not_a_model_is_refused),
    };
    return cmocka_run_group_tests_name("free_model", tests, NULL, NULL);
}
