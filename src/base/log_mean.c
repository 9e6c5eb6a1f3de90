#include "base/log_mean.h"

#include <math.h>

/* Expresses the sums relative to another top. */
static void move_top(log_mean *m, double top)
{
    double factor = m->sum > 0 ? exp(m->top - top) : 0;
    m->sum *= factor;
    m->squares *= factor * factor;
    m->top = top;
}

void log_mean_add(log_mean *m, double logarithm)
{
    m->count++;
    if (!(logarithm > -HUGE_VAL))
        return;
    if (m->sum <= 0 || logarithm > m->top)
        move_top(m, logarithm);
    double weight = exp(logarithm - m->top);
    m->sum += weight;
    m->squares += weight * weight;
}

void log_mean_merge(log_mean *m, const log_mean *other)
{
    log_mean added = *other;
    m->count += added.count;
    if (added.sum <= 0)
        return;
    if (m->sum <= 0 || added.top > m->top)
        move_top(m, added.top);
    else
        move_top(&added, m->top);
    m->sum += added.sum;
    m->squares += added.squares;
}

double log_mean_value(const log_mean *m)
{
    return m->sum > 0 ? m->top + log(m->sum / (double)m->count) : -HUGE_VAL;
}

double log_mean_error(const log_mean *m)
{
    if (m->count < 2 || m->sum <= 0)
        return HUGE_VAL;
    double n = (double)m->count;
    double spread = n * m->squares / (m->sum * m->sum) - 1; /* variance over squared mean */
    return sqrt(fmax(spread, 0) / (n - 1));
}

double log_mean_ess(const log_mean *m)
{
    return m->sum > 0 ? m->sum * m->sum / m->squares : 0;
}
