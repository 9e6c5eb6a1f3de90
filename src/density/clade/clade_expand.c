/* Of the two parts of a clade one has its first taxon. So the parts of C are found among the clades
 * with the same first taxon as C: for each of them, A, the other part would be C without A, whose
 * key is one operation away. If A is not inside C, that key is the one of another set, which is
 * told by its size. */
#include "density/clade/clade_parts.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>

enum { MOST_WORK = 1 << 25, LEAST_CANDIDATES = 16 };

typedef struct candidate {
    double weight;
    uint32_t clade;
    int32_t low;
} candidate;

static int by_low_and_weight(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->clade < y->clade ? -1 : x->clade > y->clade;
}

int clade_expand(clade_density *d)
{
    size_t clades = d->clade_keys.count, n = (size_t)d->n_taxa;
    candidate *list = mem_zeros(clades, sizeof *list);
    size_t *begin = mem_zeros(n + 2, sizeof *begin); /* of the clades with the same first taxon */
    int status = list && begin ? ART_OK : ART_ERR_NOMEM;
    if (status)
        goto out;
    for (size_t c = 0; c < clades; c++) {
        list[c] = (candidate){d->clade[c].weight, (uint32_t)c, d->clade[c].low};
        begin[d->clade[c].low + 1]++;
    }
    qsort(list, clades, sizeof *list, by_low_and_weight);
    for (size_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    size_t most = MOST_WORK / clades;
    if (most < LEAST_CANDIDATES)
        most = LEAST_CANDIDATES;
    for (size_t c = n; c < clades && !status; c++) {
        int32_t size = d->clade[c].size, low = d->clade[c].low;
        if (size < 3)
            continue;
        clade_key key = clade_key_at(d, (int64_t)c);
        size_t end = begin[low + 1];
        if (end - begin[low] > most)
            end = begin[low] + most;
        for (size_t i = begin[low]; i < end && !status; i++) {
            uint32_t a = list[i].clade;
            if (d->clade[a].size >= size)
                continue;
            clade_key rest = key_xor(key, clade_key_at(d, a));
            int64_t b = key_table_find(&d->clade_keys, &rest);
            if (b < 0 || d->clade[b].size != size - d->clade[a].size)
                continue;
            status = clade_density_reserve(d, 0, 1, 0);
            if (!status)
                clade_split_put(d, c, a, (size_t)b);
        }
    }
out:
    free(list);
    free(begin);
    return status;
}
