#include "lik/pattern_symmetry.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static double exchange_rate(const subst_model *m, int i, int j)
{
    int low = i < j ? i : j, high = i < j ? j : i;
    return m->rate[low + high - (low == 0)]; /* AC AG AT CG CT GT */
}

static int leaves_model(const int *to, const subst_model *m)
{
    for (int i = 0; i < 4; i++) {
        if (m->frequency[to[i]] != m->frequency[i])
            return 0;
        for (int j = 0; j < i; j++)
            if (exchange_rate(m, to[i], to[j]) != exchange_rate(m, i, j))
                return 0;
    }
    return 1;
}

int model_symmetries(int exchange[BASE_EXCHANGES][4], const subst_model *m)
{
    int count = 0;
    for (int code = 0; code < 256; code++) {
        int to[4] = {code >> 6 & 3, code >> 4 & 3, code >> 2 & 3, code & 3}, seen = 0;
        for (int i = 0; i < 4; i++)
            seen |= 1 << to[i];
        if (seen == STATE_ANY && leaves_model(to, m))
            memcpy(exchange[count++], to, sizeof to);
    }
    return count;
}

/* A set of bases after an exchange. */
static uint8_t exchanged(uint8_t set, const int *to)
{
    int out = 0;
    for (int i = 0; i < 4; i++)
        if (set >> i & 1)
            out |= 1 << to[i];
    return (uint8_t)out;
}

/* A column and its weight: the record that is sorted and merged. */
typedef struct column {
    const uint8_t *state; /* [n] */
    uint32_t weight;
    size_t n;
} column;

static int by_states(const void *a, const void *b)
{
    const column *x = a, *y = b;
    return memcmp(x->state, y->state, x->n);
}

/* state [n] becomes the first in order of all that the exchanges make of it. */
static void fold_column(uint8_t *state, uint8_t *scratch, size_t n, uint8_t (*map)[16], int n_maps)
{
    uint8_t *original = scratch, *other = scratch + n;
    memcpy(original, state, n);
    for (int k = 0; k < n_maps; k++) {
        for (size_t i = 0; i < n; i++)
            other[i] = map[k][original[i]];
        if (memcmp(other, state, n) < 0)
            memcpy(state, other, n);
    }
}

int site_patterns_fold(site_patterns *p, const subst_model *m)
{
    int exchange[BASE_EXCHANGES][4];
    const int n_maps = model_symmetries(exchange, m);
    if (n_maps == 1 || p->count == 0)
        return ART_OK;
    uint8_t map[BASE_EXCHANGES][16];
    for (int k = 0; k < n_maps; k++)
        for (int set = 0; set < 16; set++)
            map[k][set] = exchanged((uint8_t)set, exchange[k]);
    const size_t n = (size_t)p->n_taxa, count = p->count;
    uint8_t *states = mem_zeros(count + 2, n);
    column *list = mem_zeros(count, sizeof *list);
    int status = ART_ERR_NOMEM;
    if (!states || !list)
        goto out;
    for (size_t k = 0; k < count; k++) {
        uint8_t *state = states + k * n;
        for (size_t i = 0; i < n; i++)
            state[i] = p->state[i * count + k];
        fold_column(state, states + count * n, n, map, n_maps);
        list[k] = (column){state, p->weight[k], n};
    }
    qsort(list, count, sizeof *list, by_states);
    size_t kept = 0;
    for (size_t k = 1; k < count; k++)
        if (by_states(&list[k], &list[kept]) == 0)
            list[kept].weight += list[k].weight;
        else
            list[++kept] = list[k];
    kept++;
    for (size_t k = 0; k < kept; k++) {
        p->weight[k] = list[k].weight;
        for (size_t i = 0; i < n; i++)
            p->state[i * kept + k] = list[k].state[i];
    }
    p->count = kept;
    status = ART_OK;
out:
    free(states);
    free(list);
    return status;
}
