#include "collapsed/driver_parts.h"

#include "base/host.h"

#include <math.h>

bool driver_is_near_limit(const collapsed_run *c, double reserve)
{
    const double limit = c->base.time_limit;
    return limit > 0 && c->base.seconds >= limit - reserve;
}

double driver_final_reserve(const collapsed_run *c)
{
    const double limit = c->base.time_limit;
    const limit_settings *set = &c->set.limit;
    const double usual =
        fmax(set->answer_least * limit, fmin(set->answer_seconds, set->answer_most * limit));
    return fmax(usual, fmin(c->pass_seconds, set->answer_measured * limit));
}

double driver_closing_reserve(const collapsed_run *c)
{
    const limit_settings *set = &c->set.limit;
    const double limit = c->base.time_limit;
    return fmin(set->closing_seconds, set->closing_share * limit) +
           fmin(set->closing_taxon * c->problem.posterior->n_taxa, set->taxon_share * limit);
}

void driver_set_deadline(collapsed_run *c, double reserve)
{
    const double limit = c->base.time_limit, left = limit - reserve - c->base.seconds;
    c->stop.deadline = limit > 0 ? clock_seconds() + fmax(left, 0) : HUGE_VAL;
}

double driver_rest(const collapsed_run *c, double share)
{
    return (1 - share) * c->base.time_limit;
}
