#include "lik/pattern_data.h"

void pattern_data_tip(double *rows, const site_patterns *p, int taxon, size_t first, size_t width)
{
    const size_t left = p->count - first, there = left < width ? left : width;
    const uint8_t *state = p->state + (size_t)taxon * p->count + first;
    for (int base = 0; base < 4; base++)
        for (size_t k = 0; k < width; k++)
            rows[(size_t)base * width + k] = k < there ? state[k] >> base & 1 : 1;
}

double pattern_data_weights(double *weight, const site_patterns *p)
{
    double sites = 0;
    for (size_t k = 0; k < p->count; k++)
        sites += weight[k] = p->weight[k];
    return sites;
}

void pattern_data_common(uint8_t *common, const site_patterns *p)
{
    for (size_t k = 0; k < p->count; k++) {
        int sets = STATE_ANY;
        for (int i = 0; i < p->n_taxa; i++)
            sets &= p->state[(size_t)i * p->count + k];
        common[k] = (uint8_t)sets;
    }
}

double pattern_data_invariant_of(uint8_t common, const subst_model *m)
{
    double sum = 0;
    for (int base = 0; base < 4; base++)
        if (common >> base & 1)
            sum += m->p_invariant * m->frequency[base];
    return sum;
}

void pattern_data_invariant(double *invariant, const site_patterns *p, const subst_model *m)
{
    for (size_t k = 0; k < p->count; k++) {
        int common = STATE_ANY;
        for (int i = 0; i < p->n_taxa; i++)
            common &= p->state[(size_t)i * p->count + k];
        invariant[k] = pattern_data_invariant_of((uint8_t)common, m);
    }
}
