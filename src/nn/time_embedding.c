#include "nn/time_embedding.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "nn/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int time_embedding_init(time_embedding *e, int d, int first, int steps)
{
    const size_t size = (size_t)steps * 2 * (size_t)d;
    *e = (time_embedding){.width = 2 * d, .steps = steps};
    e->wave = mem_aligned(4 * size, sizeof *e->wave);
    if (!e->wave)
        return ART_ERR_NOMEM;
    e->hidden = e->wave + size;
    e->out = e->hidden + size;
    e->scratch = e->out + size;
    for (ptrdiff_t l = 0; l < steps; l++) {
        for (ptrdiff_t i = 0; i < d; i++) {
            const double angle = (double)(first + l) * (double)i * log(10000.0) / d;
            e->wave[l * 2 * d + i] = (real)sin(angle);
            e->wave[l * 2 * d + d + i] = (real)cos(angle);
        }
    }
    return ART_OK;
}

void time_embedding_free(time_embedding *e)
{
    free(e->wave);
    memset(e, 0, sizeof *e);
}

void time_embedding_forward(time_embedding *e, const real *w0, const real *b0, const real *w2,
                            const real *b2)
{
    const int w = e->width;
    linear_forward(e->hidden, e->wave, w0, b0, e->steps, w, w);
    elu_forward(e->hidden, e->hidden, (size_t)e->steps * (size_t)w);
    linear_forward(e->out, e->hidden, w2, b2, e->steps, w, w);
}

void time_embedding_backward(real *dw0, real *db0, real *dw2, real *db2, const real *dout,
                             const time_embedding *e, const real *w0, const real *w2)
{
    const int w = e->width;
    real *dhidden = e->scratch;
    linear_backward(dhidden, dw2, db2, dout, e->hidden, w2, e->steps, w, w);
    elu_backward(dhidden, dhidden, e->hidden, (size_t)e->steps * (size_t)w);
    linear_backward(NULL, dw0, db0, dhidden, e->wave, w0, e->steps, w, w);
}
