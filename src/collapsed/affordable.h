/* affordable.h: how many trees a piece of work can process with many taxa. */
#ifndef COLLAPSED_AFFORDABLE_H
#define COLLAPSED_AFFORDABLE_H

#include <stddef.h>

enum { AFFORDABLE_TAXA = 40, AFFORDABLE_LEAST = 16 };

/* `most` up to AFFORDABLE_TAXA taxa; with more taxa, fewer trees because each costs more, by the
 * given power of the number of taxa; at least AFFORDABLE_LEAST. */
static inline size_t affordable_trees(size_t most, int n_taxa, int power)
{
    size_t part = 1;
    for (int i = 0; i < power && n_taxa > AFFORDABLE_TAXA; i++) {
        most *= AFFORDABLE_TAXA;
        part *= (size_t)n_taxa;
    }
    return most / part > AFFORDABLE_LEAST ? most / part : AFFORDABLE_LEAST;
}

#endif
