#include "density/artreeformer/network.h"

#include "artreeformer.h"
#include "base/rng.h"

#include <math.h>

/* How a tensor begins. */
enum start { START_ZERO, START_ONE, START_LINEAR, START_XAVIER };

int network_params(params *p, int n_taxa, int hidden)
{
    const size_t n = (size_t)n_taxa, d = (size_t)hidden;
    int status = ART_OK;
#define NETWORK_ADD(id, name, rows, columns, start) \
    if (!status)                                    \
        status = params_add(p, name, rows, columns);
    NETWORK_TENSORS(NETWORK_ADD)
#undef NETWORK_ADD
    return status ? status : params_alloc(p);
}

static void fill_uniform(real *x, size_t n, double bound, uint64_t seed, int index)
{
    rng r = rng_at(seed, RNG_INIT, (uint32_t)index, 0);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)(bound * (2 * rng_uniform(&r) - 1));
}

void network_initialise(params *p, uint64_t seed)
{
    static const enum start start_of[] = {
#define NETWORK_START(id, name, rows, columns, start) start,
        NETWORK_TENSORS(NETWORK_START)
#undef NETWORK_START
    };
    double inputs = 1; /* of the last weight: a linear layer's bias follows its weight */
    for (int t = 0; t < NETWORK_COUNT; t++) {
        const param *e = &p->entry[t];
        real *x = params_value(p, t);
        if (e->rank == 2)
            inputs = (double)e->shape[1];
        switch (start_of[t]) {
        case START_LINEAR:
            fill_uniform(x, e->size, 1 / sqrt(inputs), seed, t);
            break;
        case START_XAVIER:
            fill_uniform(x, e->size, sqrt(6 / (double)(e->shape[0] + e->shape[1])), seed, t);
            break;
        default:
            for (size_t i = 0; i < e->size; i++)
                x[i] = start_of[t] == START_ONE;
        }
    }
}
