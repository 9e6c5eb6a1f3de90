/* affordable.h: how many trees a piece of work can process with many taxa. */
#ifndef COLLAPSED_AFFORDABLE_H
#define COLLAPSED_AFFORDABLE_H

#include "collapsed/settings.h"

/* `most` up to set->taxa taxa; with more, fewer trees as each costs more, by the given power of the
 * taxa; set->least at least. */
static inline size_t affordable_trees(const affordable_settings *set, size_t most, int n_taxa,
                                      int power)
{
    size_t part = 1;
    for (int i = 0; i < power && n_taxa > set->taxa; i++) {
        most *= (size_t)set->taxa;
        part *= (size_t)n_taxa;
    }
    return most / part > set->least ? most / part : set->least;
}

#endif
