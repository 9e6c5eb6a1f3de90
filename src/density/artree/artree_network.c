#include "density/artree/artree_network.h"

#include "artreeformer.h"
#include "base/rng.h"

#include <math.h>

/* How a tensor begins. */
enum start { ARTREE_ZERO, ARTREE_ONE, ARTREE_LINEAR };

int artree_params(params *p, int n_taxa, int hidden)
{
    const size_t n = (size_t)n_taxa, d = (size_t)hidden;
    int status = ART_OK;
#define ARTREE_ADD(id, name, rows, columns, start) \
    if (!status)                                   \
        status = params_add(p, name, rows, columns);
    ARTREE_TENSORS(ARTREE_ADD)
#undef ARTREE_ADD
    return status ? status : params_alloc(p);
}

void artree_initialise(params *p, uint64_t seed)
{
    static const enum start start_of[] = {
#define ARTREE_START(id, name, rows, columns, start) start,
        ARTREE_TENSORS(ARTREE_START)
#undef ARTREE_START
    };
    double inputs = 1; /* of the last weight: a linear layer's bias follows its weight */
    for (int t = 0; t < ARTREE_COUNT; t++) {
        const param *e = &p->entry[t];
        real *x = params_value(p, t);
        rng r = rng_at(seed, RNG_INIT, (uint32_t)t, 0);
        if (e->rank == 2)
            inputs = (double)e->shape[1];
        for (size_t i = 0; i < e->size; i++)
            x[i] = start_of[t] == ARTREE_LINEAR ? (real)((2 * rng_uniform(&r) - 1) / sqrt(inputs))
                                                : (real)(start_of[t] == ARTREE_ONE);
    }
}
