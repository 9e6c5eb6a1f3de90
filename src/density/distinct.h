/* distinct.h: the distinct topologies of a batch, so that each is evaluated once.
 *
 *     distinct d = {0};
 *     status = distinct_reserve(&d, k, n_taxa);      allocates only if k is larger than before
 *     distinct_set(&d, decision, k);
 *     d.count distinct trees d.decision; tree i of the batch is number d.of[i]
 *     distinct_free(&d); */
#ifndef DENSITY_DISTINCT_H
#define DENSITY_DISTINCT_H

#include "base/key_table.h"

typedef struct distinct {
    int n_taxa;              /* N */
    int count;               /* distinct trees, in the order in which they first occur */
    const int32_t *decision; /* [count][N-3]: the keys */
    int32_t *of;             /* [k] */
    int room;                /* trees that the arrays hold */
    key_table keys;
} distinct;

/* Makes room for batches of up to k trees. */
int distinct_reserve(distinct *d, int k, int n_taxa);
void distinct_free(distinct *d); /* safe on a zeroed or half-built one */

/* decision [k][N-3], copied. O(k N). */
void distinct_set(distinct *d, const int32_t *decision, int k);

#endif
