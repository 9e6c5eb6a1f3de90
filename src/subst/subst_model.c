#include "subst/subst_model.h"

#include "artreeformer.h"
#include "subst/gamma_rates.h"

#include <math.h>
#include <string.h>

static const int RATE_CLASS[SUBST_KINDS][N_RATES] = {
    [SUBST_JC] = {0, 0, 0, 0, 0, 0},   [SUBST_F81] = {0, 0, 0, 0, 0, 0},
    [SUBST_K80] = {0, 1, 0, 0, 1, 0},  [SUBST_HKY] = {0, 1, 0, 0, 1, 0},
    [SUBST_TN93] = {0, 1, 0, 0, 2, 0}, [SUBST_K81] = {0, 1, 2, 2, 1, 0},
    [SUBST_TPM2] = {0, 1, 0, 2, 1, 2}, [SUBST_TPM3] = {0, 1, 2, 0, 1, 2},
    [SUBST_TIM] = {0, 1, 2, 2, 3, 0},  [SUBST_TIM2] = {0, 1, 0, 2, 3, 2},
    [SUBST_TIM3] = {0, 1, 2, 0, 3, 2}, [SUBST_TVM] = {0, 1, 2, 3, 1, 4},
    [SUBST_SYM] = {0, 1, 2, 3, 4, 5},  [SUBST_GTR] = {0, 1, 2, 3, 4, 5},
};

const int *subst_rate_class(subst_kind kind)
{
    return RATE_CLASS[kind];
}

int subst_rate_classes(subst_kind kind)
{
    int n = 0;
    for (int i = 0; i < N_RATES; i++)
        if (RATE_CLASS[kind][i] >= n)
            n = RATE_CLASS[kind][i] + 1;
    return n;
}

/* Number of the exchange rate between two bases. */
static const int EXCHANGE[4][4] = {
    {-1, RATE_AC, RATE_AG, RATE_AT},
    {RATE_AC, -1, RATE_CG, RATE_CT},
    {RATE_AG, RATE_CG, -1, RATE_GT},
    {RATE_AT, RATE_CT, RATE_GT, -1},
};

int subst_exchange(int i, int j)
{
    return EXCHANGE[i][j];
}

/* Eigenvectors of the symmetric s as columns of u, by cyclic Jacobi rotations: s becomes
 * diagonal. At 4 x 4 it converges in five or six sweeps. */
static void diagonalise(double s[4][4], double u[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            u[i][j] = i == j;
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = 0;
        for (int i = 0; i < 4; i++)
            for (int j = i + 1; j < 4; j++)
                off += fabs(s[i][j]);
        if (off == 0)
            return;
        for (int i = 0; i < 4; i++)
            for (int j = i + 1; j < 4; j++) {
                if (s[i][j] == 0)
                    continue;
                double theta = (s[j][j] - s[i][i]) / (2 * s[i][j]);
                double tangent = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
                double cosine = 1 / sqrt(tangent * tangent + 1), sine = tangent * cosine;
                for (int k = 0; k < 4; k++) {
                    double a = s[k][i], b = s[k][j];
                    s[k][i] = cosine * a - sine * b;
                    s[k][j] = sine * a + cosine * b;
                }
                for (int k = 0; k < 4; k++) {
                    double a = s[i][k], b = s[j][k];
                    s[i][k] = cosine * a - sine * b;
                    s[j][k] = sine * a + cosine * b;
                    a = u[k][i], b = u[k][j];
                    u[k][i] = cosine * a - sine * b;
                    u[k][j] = sine * a + cosine * b;
                }
                s[i][j] = s[j][i] = 0;
            }
    }
}

/* D^1/2 Q D^-1/2 with D = diag(pi) is symmetric: its eigenvectors u give those of Q. */
static void decompose(subst_model *m)
{
    double root[4], s[4][4], u[4][4], scale = 0;
    for (int i = 0; i < 4; i++)
        root[i] = sqrt(m->frequency[i]);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i != j)
                scale += m->frequency[i] * m->frequency[j] * m->rate[EXCHANGE[i][j]];
    for (int i = 0; i < 4; i++) {
        s[i][i] = 0;
        for (int j = 0; j < 4; j++)
            if (i != j) {
                double rate = m->rate[EXCHANGE[i][j]] / scale;
                s[i][j] = rate * root[i] * root[j];
                s[i][i] -= rate * m->frequency[j];
            }
    }
    diagonalise(s, u);
    int zero = 0;
    for (int k = 1; k < 4; k++)
        if (s[k][k] > s[zero][zero])
            zero = k;
    for (int k = 0; k < 4; k++) {
        int from = k == 0 ? zero : k == zero ? 0 : k;
        /* The eigenvalue 0 and its vector are known exactly. */
        m->eigenvalue[k] = k == 0 ? 0 : s[from][from];
        for (int i = 0; i < 4; i++) {
            double entry = k == 0 ? root[i] : u[i][from];
            m->right[i][k] = entry / root[i];
            m->left[k][i] = entry * root[i];
        }
    }
}

void subst_model_finish(subst_model *m)
{
    if (m->alpha > 0)
        gamma_rates(m->category_rate, m->n_categories, m->alpha);
    else
        m->category_rate[0] = 1;
    for (int k = 0; k < m->n_categories; k++)
        m->category_rate[k] /= 1 - m->p_invariant;
    m->category_weight = (1 - m->p_invariant) / m->n_categories;
    m->is_jc = 1;
    for (int i = 0; i < N_RATES; i++)
        m->is_jc &= m->rate[i] == m->rate[0];
    for (int i = 0; i < 4; i++)
        m->is_jc &= m->frequency[i] == 0.25;
    decompose(m);
}

/* With x = 1 - exp(-4t/3): every change has probability x/4. */
static void jc_transition(double p[4][4], double t)
{
    double change = -0.25 * expm1(-4.0 / 3.0 * t);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            p[i][j] = i == j ? 1 - 3 * change : change;
}

void subst_model_transition(double p[4][4], const subst_model *m, double t)
{
    if (m->is_jc) {
        jc_transition(p, t);
        return;
    }
    /* exp(Qt) = 1 + R (exp(t lambda) - 1) L loses nothing when t is small. */
    double grown[4];
    for (int k = 1; k < 4; k++)
        grown[k] = expm1(m->eigenvalue[k] * t);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int k = 1; k < 4; k++)
                sum += m->right[i][k] * grown[k] * m->left[k][j];
            p[i][j] = i == j ? 1 + sum : fmax(sum, 0);
        }
}

void subst_model_derivative(double d[4][4], const subst_model *m, double t)
{
    double slope[4];
    for (int k = 1; k < 4; k++)
        slope[k] = m->eigenvalue[k] * exp(m->eigenvalue[k] * t);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            d[i][j] = 0;
            for (int k = 1; k < 4; k++)
                d[i][j] += m->right[i][k] * slope[k] * m->left[k][j];
        }
}

int subst_frequencies(double frequency[4], int *absent, const alignment *a)
{
    double count[16] = {0}; /* by set of bases */
    for (int i = 0; i < a->n_taxa; i++) {
        const uint8_t *row = a->state + (size_t)i * a->n_patterns;
        for (size_t k = 0; k < a->n_patterns; k++)
            if (!(row[k] & STATE_GAP) && row[k] != STATE_ANY)
                count[row[k]] += a->weight[k];
    }
    for (int i = 0; i < 4; i++) {
        if (count[1 << i] == 0) {
            *absent = i;
            return ART_ERR_INPUT;
        }
        frequency[i] = 0.25;
    }
    /* Expectation-maximisation; only the ambiguous sets need more than one round. */
    for (int round = 0; round < 1000; round++) {
        double next[4] = {0}, total = 0, moved = 0;
        for (int set = 1; set < STATE_ANY; set++) {
            double sum = 0;
            for (int i = 0; i < 4; i++)
                sum += set >> i & 1 ? frequency[i] : 0;
            for (int i = 0; i < 4; i++)
                if (count[set] > 0 && set >> i & 1)
                    next[i] += count[set] * frequency[i] / sum;
            total += count[set];
        }
        for (int i = 0; i < 4; i++) {
            moved = fmax(moved, fabs(next[i] / total - frequency[i]));
            frequency[i] = next[i] / total;
        }
        if (moved < 1e-15)
            break;
    }
    return ART_OK;
}
