/* distinct.h: the distinct topologies of a batch, so that each is evaluated once.
 *
 *     distinct d = {0};
 *     status = distinct_reserve(&d, k, n_taxa);      allocates only if k is larger than before
 *     distinct_set(&d, decision, k);
 *     d.count distinct trees d.decision; tree i of the batch is number d.of[i]
 *     distinct_free(&d); */
#ifndef MODEL_DISTINCT_H
#define MODEL_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

typedef struct distinct {
    int n_taxa;        /* N */
    int room;          /* trees that the arrays hold */
    int count;         /* distinct trees, in the order in which they first occur */
    int32_t *decision; /* [count][N-3] */
    int32_t *of;       /* [k] */
    int32_t *slot;     /* [slots] open addressing: number of a tree + 1, 0 where empty */
    size_t slots;      /* a power of two, at least twice the room */
} distinct;

/* Room for batches of up to k trees. */
int distinct_reserve(distinct *d, int k, int n_taxa);
void distinct_free(distinct *d); /* safe on a zeroed or half-built one */

/* decision [k][N-3], copied. O(k N). */
void distinct_set(distinct *d, const int32_t *decision, int k);

#endif
