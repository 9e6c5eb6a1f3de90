#include "tree/taxa.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tree/topology.h"

#include <stdlib.h>
#include <string.h>

void taxa_init(taxa *t)
{
    memset(t, 0, sizeof *t);
}

void taxa_free(taxa *t)
{
    for (int32_t i = 0; i < t->count; i++)
        free(t->name[i]);
    free(t->name);
    free(t->hash);
    free(t->slot);
    taxa_init(t);
}

/* The slot that holds the name, or the empty one where it would go. */
static size_t slot_of(const taxa *t, const char *name, size_t length, uint64_t hash)
{
    size_t at = (size_t)hash & (t->slots - 1);
    for (; t->slot[at] >= 0; at = (at + 1) & (t->slots - 1)) {
        int32_t i = t->slot[at];
        if (t->hash[i] == hash && strlen(t->name[i]) == length &&
            memcmp(t->name[i], name, length) == 0)
            break;
    }
    return at;
}

/* Enters all the names into the slots anew; they are all different. */
static void fill_slots(taxa *t)
{
    memset(t->slot, -1, t->slots * sizeof *t->slot);
    for (int32_t i = 0; i < t->count; i++) {
        size_t at = (size_t)t->hash[i] & (t->slots - 1);
        while (t->slot[at] >= 0)
            at = (at + 1) & (t->slots - 1);
        t->slot[at] = i;
    }
}

/* Room for one more name: arrays that double, slots at most half full. */
static int make_room(taxa *t)
{
    if (t->count < t->room)
        return ART_OK;
    if (t->count >= TOPOLOGY_MAX_TAXA)
        return ART_ERR_LIMIT;
    int32_t room = t->room ? 2 * t->room : 32;
    char **name = mem_resize(t->name, (size_t)room, sizeof *name);
    if (!name)
        return ART_ERR_NOMEM;
    t->name = name;
    uint64_t *hash = mem_resize(t->hash, (size_t)room, sizeof *hash);
    if (!hash)
        return ART_ERR_NOMEM;
    t->hash = hash;
    int32_t *slot = mem_resize(t->slot, 2 * (size_t)room, sizeof *slot);
    if (!slot)
        return ART_ERR_NOMEM;
    t->slot = slot;
    t->slots = 2 * (size_t)room;
    t->room = room;
    fill_slots(t);
    return ART_OK;
}

int taxa_add(taxa *t, const char *name, size_t length)
{
    if (memchr(name, '\0', length))
        return ART_ERR_INPUT;
    int status = make_room(t);
    if (status)
        return status;
    uint64_t hash = hash_bytes(name, length);
    size_t at = slot_of(t, name, length, hash);
    if (t->slot[at] >= 0)
        return ART_ERR_INPUT;
    char *copy = mem_text(name, length);
    if (!copy)
        return ART_ERR_NOMEM;
    t->name[t->count] = copy;
    t->hash[t->count] = hash;
    t->slot[at] = t->count++;
    return ART_OK;
}

int32_t taxa_find(const taxa *t, const char *name, size_t length)
{
    return t->slots ? t->slot[slot_of(t, name, length, hash_bytes(name, length))] : -1;
}

typedef struct entry {
    char *name;
    uint64_t hash;
    int32_t index;
} entry;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

int taxa_sort(taxa *t, int32_t *moved)
{
    entry *e = mem_zeros((size_t)t->count, sizeof *e);
    if (!e)
        return ART_ERR_NOMEM;
    for (int32_t i = 0; i < t->count; i++)
        e[i] = (entry){t->name[i], t->hash[i], i};
    qsort(e, (size_t)t->count, sizeof *e, by_name);
    for (int32_t i = 0; i < t->count; i++) {
        t->name[i] = e[i].name;
        t->hash[i] = e[i].hash;
        if (moved)
            moved[e[i].index] = i;
    }
    if (t->count)
        fill_slots(t);
    free(e);
    return ART_OK;
}

int taxa_copy(taxa *copy, const taxa *t)
{
    taxa_init(copy);
    int status = ART_OK;
    for (int32_t i = 0; i < t->count && !status; i++)
        status = taxa_add(copy, t->name[i], strlen(t->name[i]));
    if (status)
        taxa_free(copy);
    return status;
}

bool taxa_equal(const taxa *a, const taxa *b)
{
    if (a->count != b->count)
        return false;
    for (int32_t i = 0; i < a->count; i++)
        if (a->hash[i] != b->hash[i] || strcmp(a->name[i], b->name[i]) != 0)
            return false;
    return true;
}

int32_t taxa_map(int32_t *index, const taxa *from, const taxa *to)
{
    int32_t found = 0;
    for (int32_t i = 0; i < from->count; i++) {
        index[i] = taxa_find(to, from->name[i], strlen(from->name[i]));
        found += index[i] >= 0;
    }
    return found;
}

/* One error for every name of a that b lacks; how many there were. */
static int32_t report_missing(const taxa *a, const char *in_a, const taxa *b, const char *in_b,
                              diag_place place, diag *d)
{
    int32_t missing = 0;
    for (int32_t i = 0; i < a->count; i++) {
        const char *name = a->name[i];
        if (taxa_find(b, name, strlen(name)) >= 0)
            continue;
        char quoted[128];
        missing++;
        diag_error(d, 0, place, "taxon %s of %s is not in %s -- use the same names in both",
                   diag_quote(quoted, sizeof quoted, name, strlen(name)), in_a, in_b);
    }
    return missing;
}

int taxa_similar(int32_t pair[2], const taxa *t)
{
    taxa folded;
    taxa_init(&folded);
    pair[0] = pair[1] = -1;
    int status = ART_OK;
    for (int32_t i = 0; i < t->count && !status && pair[0] < 0; i++) {
        const size_t n = strlen(t->name[i]);
        char *name = mem_text(t->name[i], n);
        for (char *at = name; at && (at = strchr(at, ' ')); at++)
            *at = '_';
        const int32_t first = name ? taxa_find(&folded, name, n) : -1;
        if (!name)
            status = ART_ERR_NOMEM;
        else if (first < 0)
            status = taxa_add(&folded, name, n);
        else
            pair[0] = first, pair[1] = i;
        free(name);
    }
    taxa_free(&folded);
    return status;
}

int taxa_compare(const taxa *found, const char *found_in, const taxa *expected,
                 const char *expected_in, diag_place place, diag *d)
{
    int32_t differences = report_missing(found, found_in, expected, expected_in, place, d);
    differences += report_missing(expected, expected_in, found, found_in, place, d);
    return differences ? ART_ERR_MISMATCH : ART_OK;
}
