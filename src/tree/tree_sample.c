#include "tree/tree_sample.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LENGTHS = 1 << 24 }; /* numbers, 128 MiB */

void tree_sample_init(tree_sample *s, int32_t n_taxa)
{
    *s = (tree_sample){.n_taxa = n_taxa, .step = 1};
}

void tree_sample_free(tree_sample *s)
{
    free(s->decision);
    free(s->length);
    free(s->weight);
    memset(s, 0, sizeof *s);
}

static size_t keys(const tree_sample *s)
{
    return (size_t)s->n_taxa - 3;
}

static size_t edges(const tree_sample *s)
{
    return (size_t)topology_edges(s->n_taxa);
}

static void set_row(tree_sample *s, size_t to, const int32_t *decision, const double *length,
                    double weight)
{
    memmove(s->decision + to * keys(s), decision, keys(s) * sizeof *decision);
    memmove(s->length + to * edges(s), length, edges(s) * sizeof *length);
    s->weight[to] = weight;
}

/* Every second row goes. */
static void thin(tree_sample *s)
{
    s->step *= 2;
    for (size_t i = 0; 2 * i < s->count; i++)
        set_row(s, i, s->decision + 2 * i * keys(s), s->length + 2 * i * edges(s),
                s->weight[2 * i]);
    s->count = (s->count + 1) / 2;
}

static int make_room(tree_sample *s)
{
    if (s->count < s->room)
        return ART_OK;
    if (2 * s->room * edges(s) > MOST_LENGTHS) {
        thin(s);
        return ART_OK;
    }
    const size_t room = s->room ? 2 * s->room : 64;
    int32_t *decision = mem_resize(s->decision, room * keys(s), sizeof *decision);
    if (!decision)
        return ART_ERR_NOMEM;
    s->decision = decision;
    double *length = mem_resize(s->length, room * edges(s), sizeof *length);
    if (!length)
        return ART_ERR_NOMEM;
    s->length = length;
    double *weight = mem_resize(s->weight, room, sizeof *weight);
    if (!weight)
        return ART_ERR_NOMEM;
    s->weight = weight;
    s->room = room;
    return ART_OK;
}

int tree_sample_add(tree_sample *s, const int32_t *decision, const double *length, double weight)
{
    if (s->seen % s->step == 0) {
        int status = make_room(s);
        if (status)
            return status;
    }
    if (s->seen++ % s->step == 0) /* thinning may have changed the step */
        set_row(s, s->count++, decision, length, weight);
    return ART_OK;
}

tree_rows tree_sample_rows(const tree_sample *s)
{
    return (tree_rows){s->count, s->decision, s->length, s->weight};
}
