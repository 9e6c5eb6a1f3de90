#include "lik/transitions.h"

#include "lik/vec4.h"

#include <math.h>

static const double JC_EIGENVALUE = -4.0 / 3.0; /* all three but 0 */

size_t transitions_size(const subst_model *m)
{
    return (size_t)m->n_categories * mat4_terms(m->is_jc);
}

void transitions_fill(double *out, const subst_model *m, double b)
{
    for (int c = 0; c < m->n_categories; c++) {
        const double t = m->category_rate[c] * b;
        if (m->is_jc) {
            const double grown = expm1(JC_EIGENVALUE * t);
            *out++ = 1 + grown;
            *out++ = -0.25 * grown;
        } else {
            double matrix[4][4];
            subst_model_transition(matrix, m, t);
            memcpy(out, matrix, sizeof matrix);
            out += MATRIX_TERMS;
        }
    }
}

void transitions_derivative(double *out, const subst_model *m, double b)
{
    for (int c = 0; c < m->n_categories; c++) {
        const double rate = m->category_rate[c], t = rate * b;
        if (m->is_jc) {
            const double slope = JC_EIGENVALUE * rate * exp(JC_EIGENVALUE * t);
            *out++ = slope;
            *out++ = -0.25 * slope;
        } else {
            double matrix[4][4];
            subst_model_derivative(matrix, m, t);
            for (int i = 0; i < MATRIX_TERMS; i++)
                *out++ = rate * matrix[i / 4][i % 4];
        }
    }
}

static int rates_per_category(const subst_model *m)
{
    return m->is_jc ? 1 : 3;
}

int transitions_rates(const subst_model *m)
{
    return m->n_categories * rates_per_category(m);
}

void transitions_growth(double *value, double *first, double *second, const subst_model *m,
                        double b)
{
    const int per_category = rates_per_category(m);
    for (int k = 0; k < transitions_rates(m); k++) {
        const double lambda = m->is_jc ? JC_EIGENVALUE : m->eigenvalue[1 + k % per_category];
        const double mu = lambda * m->category_rate[k / per_category];
        const double grown = expm1(mu * b);
        value[k] = grown;
        first[k] = mu * (1 + grown);
        second[k] = mu * mu * (1 + grown);
    }
}
