#include "results/layout.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void place_across(layout *l, const consensus *c)
{
    l->lengths = true;
    for (int32_t i = 1; i < c->count; i++)
        l->lengths &= !isnan(c->node[i].length);
    l->x[0] = l->width = 0;
    for (int32_t i = 1; i < c->count; i++) {
        l->x[i] = l->x[c->node[i].parent] + (l->lengths ? c->node[i].length : 1);
        l->width = fmax(l->width, l->x[i]);
    }
}

/* Taxa from top to bottom in the order of the nodes; an inner node between its first and its
 * last child. On the way back all children of a node come before it, the first one last; last
 * [count] is room for the place of the last child. */
static void place_down(layout *l, const consensus *c, double *last)
{
    double row = 0;
    for (int32_t i = 0; i < c->count; i++)
        l->y[i] = last[i] = c->node[i].taxon >= 0 ? row++ : -1;
    for (int32_t i = c->count - 1; i > 0; i--) {
        int32_t parent = c->node[i].parent;
        l->y[i] = (l->y[i] + last[i]) / 2;
        l->y[parent] = l->y[i];
        if (last[parent] < 0)
            last[parent] = l->y[i];
    }
    l->y[0] = (l->y[0] + last[0]) / 2;
}

int layout_make(layout *l, const consensus *c)
{
    size_t n = (size_t)c->count;
    double *last = mem_zeros(n, sizeof *last);
    l->x = mem_zeros(n, sizeof *l->x);
    l->y = mem_zeros(n, sizeof *l->y);
    int status = last && l->x && l->y ? ART_OK : ART_ERR_NOMEM;
    if (!status) {
        place_across(l, c);
        place_down(l, c, last);
    }
    free(last);
    return status;
}

void layout_free(layout *l)
{
    free(l->x);
    free(l->y);
    memset(l, 0, sizeof *l);
}
