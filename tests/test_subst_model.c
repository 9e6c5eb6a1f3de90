#include "support/check.h"

#include "artreeformer.h"
#include "base/rng.h"
#include "subst/gamma_rates.h"
#include "subst/model_string.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static subst_model parsed(const char *text)
{
    subst_model m;
    diag d;
    diag_init(&d);
    int status = model_string_parse(&m, text, NULL, &d);
    if (status)
        print_error("%s\n", d.count ? d.message[0].text : text);
    diag_free(&d);
    check_status(status);
    return m;
}

/* Q itself, by its definition. */
static void rate_matrix(long double q[4][4], const subst_model *m)
{
    static const int between[4][4] = {{0, 0, 1, 2}, {0, 0, 3, 4}, {1, 3, 0, 5}, {2, 4, 5, 0}};
    long double mean = 0;
    for (int i = 0; i < 4; i++) {
        q[i][i] = 0;
        for (int j = 0; j < 4; j++)
            if (i != j) {
                q[i][j] = m->rate[between[i][j]] * m->frequency[j];
                q[i][i] -= q[i][j];
            }
        mean -= m->frequency[i] * q[i][i];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            q[i][j] /= mean;
}

static void multiply(long double out[4][4], long double a[4][4], long double b[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            out[i][j] = 0;
            for (int k = 0; k < 4; k++)
                out[i][j] += a[i][k] * b[k][j];
        }
}

/* exp(Q t) by its series and repeated squaring, which doubles the rounding error every time:
 * hence long double. */
static void exponential(long double out[4][4], long double q[4][4], double t)
{
    int halvings = 0;
    long double term[4][4], next[4][4], largest = 0;
    for (int i = 0; i < 4; i++)
        largest = fmaxl(largest, -q[i][i]);
    for (; t * (double)largest > 0.25; t /= 2)
        halvings++;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            out[i][j] = term[i][j] = i == j;
    for (int k = 1; k < 20; k++) {
        multiply(next, term, q);
        for (int i = 0; i < 16; i++) {
            term[i / 4][i % 4] = next[i / 4][i % 4] * t / k;
            out[i / 4][i % 4] += term[i / 4][i % 4];
        }
    }
    while (halvings--) {
        multiply(next, out, out);
        memcpy(out, next, sizeof next);
    }
}

static const char *const MODELS[] = {
    "JC",
    "K80{2.5}",
    "F81+F{0.1,0.2,0.3,0.4}",
    "HKY{2.5}+F{0.3,0.15,0.2,0.35}",
    "TN93{2,5}+F{0.3,0.15,0.2,0.35}",
    "SYM{1.2,3.1,0.8,0.9,4.2,1}",
    "GTR{1.2,3.1,0.8,0.9,4.2,1}+F{0.3,0.15,0.2,0.35}",
    "GTR{0.01,30,0.2,9,40,1}+F{0.7,0.01,0.02,0.27}",
    "K80{1}", /* Jukes-Cantor by another name: three equal eigenvalues */
};
enum { N_MODELS = sizeof MODELS / sizeof MODELS[0] };

static void transitions_are_the_matrix_exponential(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODELS; i++) {
        subst_model m = parsed(MODELS[i]);
        long double q[4][4], expected[4][4], slope[4][4];
        double p[4][4], d[4][4];
        rate_matrix(q, &m);
        for (double t = 1e-3; t < 30; t *= 3) {
            exponential(expected, q, t);
            subst_model_transition(p, &m, t);
            multiply(slope, q, expected);
            subst_model_derivative(d, &m, t);
            for (int k = 0; k < 16; k++) {
                /* A few roundings of sums whose terms are below 10 (slopes: below 100). */
                check_near(p[k / 4][k % 4], (double)expected[k / 4][k % 4], 1e-14);
                check_near(d[k / 4][k % 4], (double)slope[k / 4][k % 4], 1e-12);
            }
        }
    }
}

/* To first order exp(Qt) - 1 is Qt: every entry keeps its relative precision. */
static void short_branches_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODELS; i++) {
        subst_model m = parsed(MODELS[i]);
        long double q[4][4];
        double p[4][4];
        rate_matrix(q, &m);
        for (double t = 1e-300; t < 1e-15; t *= 1e10) {
            subst_model_transition(p, &m, t);
            for (int k = 0; k < 16; k++)
                if (k / 4 == k % 4)
                    check_near(p[k / 4][k % 4], 1, 1e-13);
                else /* entries differ in size by up to 1e5 */
                    check_close(p[k / 4][k % 4] / t, (double)q[k / 4][k % 4], 1e-10);
        }
        subst_model_transition(p, &m, 0);
        for (int k = 0; k < 16; k++)
            assert_true(p[k / 4][k % 4] == (k / 4 == k % 4));
    }
    subst_model jc = parsed("JC");
    double p[4][4];
    subst_model_transition(p, &jc, 1e-20);
    check_close(p[0][1], 1e-20 / 3, 1e-15);
}

/* P(a, x) has closed forms for whole and half a. */
static void incomplete_gamma(void **state)
{
    (void)state;
    for (double x = 1e-8; x < 50; x *= 1.7) {
        check_close(gamma_below(1, x), -expm1(-x), 1e-14);
        check_close(gamma_below(0.5, x), erf(sqrt(x)), 1e-14);
        double tail = 0, term = exp(-x); /* P(a+1, x) = P(a, x) - x^a e^-x / a!, for the sum */
        for (int k = 0; k < 30; k++) {
            tail += term;
            term *= x / (k + 1);
        }
        check_near(gamma_below(30, x), 1 - tail, 1e-14);
    }
    for (double a = 0.01; a < 1000; a *= 2.3)
        for (double x = 1e-5; x < 2000; x *= 1.9) /* the recurrence across both methods */
            check_near(gamma_below(a, x) - gamma_below(a + 1, x),
                       exp(a * log(x) - x - lgamma(a + 1)), 1e-12);
    assert_true(gamma_below(2, 0) == 0);
}

static void quantiles_invert_it(void **state)
{
    (void)state;
    for (double a = 1e-3; a <= 1e3; a *= 1.37)
        for (int i = 1; i < 64; i++) {
            double x = gamma_quantile(a, i / 64.0);
            if (x > 0) /* P changes by a * dx/x at most */
                check_close(gamma_below(a, x), i / 64.0, 1e-11);
            else
                assert_true(log(i / 64.0) / a < -690);
        }
    check_close(gamma_quantile(1, 0.5), log(2), 1e-15);
}

/* The mean of the part of a gamma distribution between two cuts, by Simpson's rule in the
 * logarithm of the rate. */
static double part_mean(double alpha, double from, double to)
{
    enum { STEPS = 20000 };
    double low = log(from > 0 ? from : 1e-12), high = log(to), sum = 0;
    double h = (high - low) / STEPS;
    for (int i = 0; i <= STEPS; i++) {
        double u = low + i * h, r = exp(u);
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * r * exp(alpha * (log(alpha) + u) - alpha * r - lgamma(alpha));
    }
    return sum * h / 3;
}

static void gamma_categories_have_their_means(void **state)
{
    (void)state;
    static const double alphas[] = {0.05, 0.4, 0.5, 0.7, 1, 3, 50};
    double rate[16];
    for (size_t k = 0; k < sizeof alphas / sizeof alphas[0]; k++)
        for (int n = 1; n <= 16; n++) {
            double alpha = alphas[k], sum = 0;
            gamma_rates(rate, n, alpha);
            for (int i = 0; i < n; i++) {
                double from = i == 0 ? 0 : gamma_quantile(alpha, (double)i / n) / alpha;
                double to = i == n - 1 ? fmax(700, 700 / alpha)
                                       : gamma_quantile(alpha, (i + 1.0) / n) / alpha;
                check_near(rate[i], n * part_mean(alpha, from, to), 1e-8 * n); /* Simpson's error */
                assert_true(i == 0 || rate[i] >= rate[i - 1]);
                sum += rate[i];
            }
            check_near(sum / n, 1, 1e-14);
        }
    /* As printed in Yang (1994) for alpha = 0.5, four categories. */
    gamma_rates(rate, 4, 0.5);
    static const double yang[] = {0.0334, 0.2519, 0.8203, 2.8944};
    for (int i = 0; i < 4; i++)
        check_near(rate[i], yang[i], 5e-5);
    /* Nothing breaks at the ends of the range. */
    for (int n = 1; n <= 16; n++)
        for (double alpha = 1e-3; alpha <= 1e3; alpha *= 1e6) {
            gamma_rates(rate, n, alpha);
            for (int i = 0; i < n; i++)
                assert_true(rate[i] >= 0 && rate[i] < n * 1.0000001);
        }
}

/* Values of mpmath with 40 digits. */
static void digamma_is_known(void **state)
{
    (void)state;
    check_close(digamma(1e-3), -1000.57557193181, 1e-14);
    check_close(digamma(0.4), -2.561384544585116, 1e-14);
    check_close(digamma(1), -0.5772156649015329, 1e-14);
    check_close(digamma(2.5), 0.7031566406452432, 1e-14);
    check_close(digamma(57), 4.034253689881698, 1e-14);
    check_close(digamma(1000), 6.907255195648812, 1e-14);
}

static void category_rates_change_with_alpha(void **state)
{
    (void)state;
    /* The same by mpmath: differences of quantiles with 40 digits, which are good to 17. */
    static const struct {
        int n;
        double alpha, slope[8];
    } known[] = {
        {4,
         0.05,
         {2.8064147952530515e-10, 0.00029418459000927962, 0.60929946360213082,
          -0.60959364847278158}},
        {4,
         0.5,
         {0.18534686757461476, 0.65282533774140207, 0.72762293374831109, -1.5657951390643279}},
        {4,
         3,
         {0.077361177401965848, 0.055367167479530555, 0.0049398578049093227, -0.13766820268640573}},
        {4,
         200,
         {0.00021713668067680938, 6.4370551660360936e-5, -5.0090629982202497e-5,
          -0.00023141660235496782}},
        {8,
         1,
         {0.13714110959349801, 0.26191692833335791, 0.30499361768408421, 0.29615587172055735,
          0.23395518253450107, 0.097434028889465545, -0.1829614245238704, -1.1486353142315937}},
    };
    double slope[16], low[16], high[16];
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        gamma_rate_slopes(slope, known[k].n, known[k].alpha);
        for (int i = 0; i < known[k].n; i++) /* as the header promises, and small ones too */
            check_close(slope[i], known[k].slope[i], 1e-9);
    }
    /* All of the range, by differences in log alpha: rates have errors of 1e-13. */
    for (int n = 1; n <= 16; n++)
        for (double alpha = 1e-3; alpha <= 1e3; alpha *= 1.9) {
            const double h = 1e-4;
            gamma_rate_slopes(slope, n, alpha);
            gamma_rates(low, n, alpha * exp(-h));
            gamma_rates(high, n, alpha * exp(h));
            double sum = 0;
            for (int i = 0; i < n; i++) {
                check_near(alpha * slope[i], (high[i] - low[i]) / (2 * h), 1e-6);
                sum += slope[i];
            }
            check_near(alpha * sum, 0, 1e-12);
        }
}

static void invariant_sites_speed_up_the_others(void **state)
{
    (void)state;
    subst_model m = parsed("JC+I{0.2}+G4{0.5}");
    double rate[4], mean = 0;
    gamma_rates(rate, 4, 0.5);
    for (int i = 0; i < 4; i++) {
        check_close(m.category_rate[i], rate[i] / 0.8, 1e-15);
        mean += m.category_weight * m.category_rate[i];
    }
    check_near(mean, 1, 1e-14);
    check_near(m.category_weight, 0.2, 1e-16);
    m = parsed("JC+I{0.25}");
    assert_int_equal(m.n_categories, 1);
    check_close(m.category_rate[0], 1 / 0.75, 1e-15);
    check_close(m.category_weight, 0.75, 1e-15);
}

static void spellings(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"jc69", "JC"},
        {"K2P{2}", "K80{2}"},
        {"K80{2/5}", "K80{2.5}"},
        {"HKY{1,2}+FQ", "HKY{2}+FQ"},
        {"HKY{2,4}+FQ", "HKY{2}+FQ"},
        {"HKY85{1.0/2.5}+FU{0.3/0.15/0.2/0.35}", "HKY{2.5}+F{0.3,0.15,0.2,0.35}"},
        {"TrN{2,5}+FQ", "TN93{2,5}+FQ"},
        {"TNe{2,5}", "TN93{2,5}+FQ"},
        {"TN93ef{0.5,1,2.5}", "TN93{2,5}+FQ"},
        {"GTR{1,2,3,4,5}+FE", "GTR{1,2,3,4,5,1}+FQ"},
        {"JC+G{0.5}", "JC+G4{0.5}"},
        {"JC+g016{0.5}+iu{1e-1}", "JC+I{0.1}+G16{0.5}"},
        {"JC+F{.1,.2,.3,.4}", "JC+F{0.1,0.2,0.3,0.4}"},
        {"JC+I{0}", "JC"},
        {"F81+F{0.25,0.25,0.25,0.25}", "F81+FQ"},
        {"GTR{1/2/3/4/5/6}+FU{0.1/0.2/0.3/0.4}+IU{0.2}+G4m{0.5}",
         "GTR{1,2,3,4,5,6}+F{0.1,0.2,0.3,0.4}+I{0.2}+G4{0.5}"},
        {"tim2e{2,3,5}+Gm{1}", "TIM2{2,3,1,5}+FQ+G4{1}"},
        {"TPM1{2,3,4}", "K81{2,3,4}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[MODEL_STRING_SIZE];
        subst_model m = parsed(pairs[i][0]);
        assert_string_equal(model_string_print(text, &m), pairs[i][1]);
    }
    assert_true(parsed("JC").is_jc && parsed("K80{1}+G4{1}").is_jc && parsed("F81+FQ").is_jc);
    assert_false(parsed("K80{2}").is_jc || parsed("JC+F{0.1,0.2,0.3,0.4}").is_jc);
}

/* The rates that IQ-TREE 2 reports for the same strings. */
static void restricted_models_are_those_of_iqtree(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate[N_RATES];
    } known[] = {
        {"TIM2e{2,3,5}", {2, 3, 2, 1, 5, 1}}, {"TIM3e{2,3,5}", {2, 3, 1, 2, 5, 1}},
        {"TIMe{2,3,5}", {1, 2, 3, 3, 5, 1}},  {"TVMe{2,3,5,7}", {2, 3, 5, 7, 3, 1}},
        {"K81{2,3}", {1, 2, 3, 3, 2, 1}},     {"TPM2{2,3}", {2, 3, 2, 1, 3, 1}},
        {"TPM3{2,3}", {2, 3, 1, 2, 3, 1}},    {"TPM2{2,3,4}", {0.5, 0.75, 0.5, 1, 0.75, 1}},
        {"TNe{2,3}", {1, 2, 1, 1, 3, 1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        subst_model m = parsed(known[i].text);
        for (int k = 0; k < N_RATES; k++)
            check_close(m.rate[k] / m.rate[RATE_GT], known[i].rate[k], 1e-15);
    }
    static const char *const equal[] = {"K81",   "TPM2",  "TPM3", "TIMe",
                                        "TIM2e", "TIM3e", "TVMe", "TVMef"};
    static const char *const unequal[] = {"K81u", "TPM2u",  "TPM3uf", "TIM", "TIM1",
                                          "TIM2", "TIM3uf", "TVM",    "K3Pu"};
    model_text t;
    for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++) {
        check_status(model_text_parse(&t, equal[i], NULL, NULL));
        assert_false(t.frequencies_free);
    }
    for (size_t i = 0; i < sizeof unequal / sizeof unequal[0]; i++) {
        check_status(model_text_parse(&t, unequal[i], NULL, NULL));
        assert_true(t.frequencies_free && t.rates_free);
    }
}

/* print and parse are inverse, also for numbers that need 17 digits. */
static void what_is_printed_reads_back(void **state)
{
    (void)state;
    rng r = rng_at(1, RNG_TEST, 0, 0);
    for (int i = 0; i < 1000; i++) {
        subst_model m = {.kind = (subst_kind)rng_below(&r, SUBST_KINDS), .n_categories = 1};
        double sum = 0, rate[N_RATES];
        const int *class = subst_rate_class(m.kind);
        for (int k = 0; k < N_RATES; k++)
            rate[k] = rng_exponential(&r) + 1e-9;
        if (m.kind < SUBST_SYM) /* transversions are 1 */
            rate[0] = 1;
        for (int k = 0; k < N_RATES; k++)
            m.rate[k] = rate[class[k]];
        for (int k = 0; k < 4; k++)
            sum += m.frequency[k] = rng_uniform(&r);
        for (int k = 0; k < 4; k++)
            m.frequency[k] = i % 3 ? m.frequency[k] / sum : 0.25;
        m.p_invariant = i % 2 ? rng_uniform(&r) : 0;
        if (i % 5) {
            m.n_categories = 1 + (int)rng_below(&r, 16);
            m.alpha = 0.1 + rng_uniform(&r);
        }
        subst_model_finish(&m);
        char text[MODEL_STRING_SIZE], again[MODEL_STRING_SIZE];
        subst_model back = parsed(model_string_print(text, &m));
        assert_memory_equal(&back, &m, sizeof m);
        assert_string_equal(model_string_print(again, &back), text);
    }
}

typedef struct refusal {
    const char *text;
    int column;
    const char *words;
} refusal;

static void what_is_not_a_model_is_refused(void **state)
{
    (void)state;
    static const refusal table[] = {
        {"", 1, "unexpected end"},
        {"HKY+G4", 4, "kappa"},
        {"K80", 4, "kappa"},
        {"TN93+F{0.1,0.2,0.3,0.4}", 5, "AG and CT"},
        {"GTR+F", 4, "as in GTR{AC,AG,AT,CG,CT,GT}"},
        {"HKY{2}+G4{0.5}", 15, "base frequencies are missing"},
        {"JC+F", 5, "alignment"},
        {"JC+G4", 6, "shape alpha"},
        {"JC+G", 5, "shape alpha"},
        {"JC+I", 5, "invariant"},
        {"JC+I+G4{1}", 5, "invariant"},
        {"JC+FU", 6, "frequencies"},
        {"JC+FO", 6, "does not give the base frequencies"},
        {"JC+R4{1}", 4,
         "'R4' is not supported -- it has a free rate and weight for every "
         "category; use +G4"},
        {"JC+GA{1}", 4, "'GA' is not supported"},
        {"JC+ASC", 4, "'ASC' is not supported -- it corrects"},
        {"JC+ASC_LEWIS", 4, "'ASC_LEWIS' is not supported -- it corrects"},
        {"JC+ASC_STAM{1/2/3/4}+G4", 4, "'ASC_STAM' is not supported -- it corrects"},
        {"LG+G4", 1, "'LG' is a model of proteins -- this program analyses nucleotides"},
        {"JC+G4a{1}", 4, "medians"},
        {"JC+IC", 4, "counts constant sites"},
        {"JC+IO", 6, "does not give the proportion of invariant"},
        {"JC+IO{0.1}", 4, "give none"},
        {"JC+IU", 6, "needs the proportion"},
        {"JC+FO{0.1,0.2,0.3,0.4}", 4, "give none"},
        {"JC+", 4, "unexpected end"},
        {"JC++G{1}", 4, "unexpected '+'"},
        {"JC G4", 3, "unexpected ' '"},
        {"JC+G4{1}x", 9, "unexpected 'x'"},
        {"JC{1}", 1, "1 number -- give none"},
        {"HKY{1,2,3}+F{0.1,0.2,0.3,0.4}", 1, "{kappa}"},
        {"GTR{1,2,3,4}+FQ", 1, "{AC,AG,AT,CG,CT,GT}"},
        {"GTR{1,2,3,4,5,6,7}+FQ", 17, "more than 6"},
        {"K80{}", 5, "'' is not a number"},
        {"K80{2", 4, "not closed"},
        {"K80{2,}", 7, "'' is not a number"},
        {"K80{nan}", 5, "'nan' is not a number"},
        {"K80{0x2}", 5, "'0x2' is not a number"},
        {"K80{-2}", 5, "out of range"},
        {"K80{0}", 5, "out of range"},
        {"K80{1e999}", 5, "is not a number"},
        {"JC+I{1}", 6, "out of range"},
        {"JC+G4{0}", 7, "out of range"},
        {"JC+G4{1e4}", 7, "out of range"},
        {"JC+G4{1,2}", 4, "give {alpha}"},
        {"JC+G0{1}", 4, "between 1 and 16"},
        {"JC+G17{1}", 4, "between 1 and 16"},
        {"JC+G1", 4, "nothing to estimate -- leave 'G1' out, or use +G4"},
        {"auto", 1, "only inference takes it"},
        {"Auto+G4", 1, "auto stands for an average over 24 models"},
        {"JC+G4{1}+G4{1}", 10, "repeats an earlier part"},
        {"JC+F{0.1,0.2,0.3,0.4}+FQ", 23, "repeats an earlier part"},
        {"JC+F{0.1,0.2,0.3,0.5}", 4, "sum to 1.1"},
        {"JC+F{0.1,0.2,0.7}", 4, "give {A,C,G,T}"},
        {"JC+F{0,0.2,0.3,0.5}", 6, "out of range"},
        {"JC+FQ{1}", 4, "give none"},
        {"JC+FC{0.1,0.2,0.3,0.4}", 4, "give none"},
        {"LG+G4{1}", 1, "'LG' is a model of proteins"},
        {"TPM2{1,2,3,4}", 1, "4 numbers -- give {AC,AG,CG}"},
        {"TIM3+FQ", 5, "as in TIM3{AC,AG,AT,CT}"},
        {"TIM4+FQ", 1, "quote the model in the shell"},
        {"GTR1", 1, "quote the model in the shell"},
        {"GTR{1", 4, "quote the model in the shell"},
        {"HKY2.5+G4", 5, "quote the model in the shell"},
        {"MFP", 1, "'MFP' is not supported"},
        {"J\x01", 2, "unexpected '\\x01'"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        subst_model m;
        diag d;
        diag_init(&d);
        assert_int_equal(model_string_parse(&m, table[i].text, NULL, &d), ART_ERR_INPUT);
        assert_int_equal(d.count, 1);
        char quoted[128], head[256];
        diag_quote(quoted, sizeof quoted, table[i].text, strlen(table[i].text));
        snprintf(head, sizeof head, "%s:1:%d: error: ", quoted, table[i].column);
        if (strncmp(d.message[0].text, head, strlen(head)) != 0 ||
            !strstr(d.message[0].text, table[i].words))
            fail_msg("%s\nexpected %s %s", d.message[0].text, head, table[i].words);
        diag_free(&d);
        assert_int_equal(model_string_parse(&m, table[i].text, NULL, NULL), ART_ERR_INPUT);
    }
}

static void empirical_frequencies(void **state)
{
    (void)state;
    /* 4 A, 3 C, 2 G, 1 T and a purine, which is A or G in proportion 2:1. */
    uint8_t states[] = {STATE_A, STATE_C,   STATE_C | STATE_GAP, STATE_G, STATE_T, STATE_ANY,
                        STATE_A, STATE_GAP, STATE_A | STATE_G,   STATE_G, STATE_C, STATE_ANY};
    uint32_t weight[] = {2, 2, 1, 1, 1, 5};
    alignment a = {.n_taxa = 2, .n_sites = 12, .n_patterns = 6, .state = states, .weight = weight};
    double f[4];
    int absent = -1;
    check_status(subst_frequencies(f, &absent, &a));
    /* f_A = (4 + f_A/(f_A+f_G)) / 11 and f_G likewise: the purine splits 4:2. */
    check_close(f[0], (4 + 2.0 / 3) / 11, 1e-14);
    check_close(f[1], 3.0 / 11, 1e-14);
    check_close(f[2], (2 + 1.0 / 3) / 11, 1e-14);
    check_close(f[3], 1.0 / 11, 1e-14);
    subst_model m;
    check_status(model_string_parse(&m, "HKY{2}+F", &a, NULL));
    assert_memory_equal(m.frequency, f, sizeof f);
    states[4] = STATE_G;
    assert_int_equal(subst_frequencies(f, &absent, &a), ART_ERR_INPUT);
    assert_int_equal(absent, 3);
    assert_int_equal(model_string_parse(&m, "F81+F", &a, NULL), ART_ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transitions_are_the_matrix_exponential),
        cmocka_unit_test(short_branches_are_exact),
        cmocka_unit_test(incomplete_gamma),
        cmocka_unit_test(quantiles_invert_it),
        cmocka_unit_test(gamma_categories_have_their_means),
        cmocka_unit_test(digamma_is_known),
        cmocka_unit_test(category_rates_change_with_alpha),
        cmocka_unit_test(invariant_sites_speed_up_the_others),
        cmocka_unit_test(spellings),
        cmocka_unit_test(restricted_models_are_those_of_iqtree),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(what_is_not_a_model_is_refused),
        cmocka_unit_test(empirical_frequencies),
    };
    return cmocka_run_group_tests_name("subst_model", tests, NULL, NULL);
}
