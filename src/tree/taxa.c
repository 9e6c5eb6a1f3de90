#include "tree/taxa.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/taxon_name.h"
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
    hash_index_free(&t->index);
    taxa_init(t);
}

/* A name of which the length is known. */
typedef struct text {
    const char *at;
    size_t length;
} text;

static bool has_name(const void *items, uint32_t item, const void *key)
{
    const char *name = ((const taxa *)items)->name[item];
    const text *wanted = key;
    return taxon_name_same(name, strlen(name), wanted->at, wanted->length);
}

/* Room for one more name. */
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
    int status = hash_index_reserve(&t->index, (size_t)room);
    if (!status)
        t->room = room;
    return status;
}

int taxa_add(taxa *t, const char *name, size_t length)
{
    if (memchr(name, '\0', length))
        return ART_ERR_INPUT;
    int status = make_room(t);
    if (status)
        return status;
    if (taxa_find(t, name, length) >= 0)
        return ART_ERR_INPUT;
    char *copy = mem_text(name, length);
    if (!copy)
        return ART_ERR_NOMEM;
    hash_index_insert(&t->index, (uint32_t)t->count, taxon_name_hash(name, length));
    t->name[t->count++] = copy;
    return ART_OK;
}

int32_t taxa_find(const taxa *t, const char *name, size_t length)
{
    const text wanted = {name, length};
    return (int32_t)hash_index_find(&t->index, taxon_name_hash(name, length), has_name, t, &wanted);
}

typedef struct entry {
    char *name;
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
        e[i] = (entry){t->name[i], i};
    qsort(e, (size_t)t->count, sizeof *e, by_name);
    hash_index_clear(&t->index);
    for (int32_t i = 0; i < t->count; i++) {
        t->name[i] = e[i].name;
        hash_index_insert(&t->index, (uint32_t)i, taxon_name_hash(e[i].name, strlen(e[i].name)));
        if (moved)
            moved[e[i].index] = i;
    }
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
        if (!taxon_name_same(a->name[i], strlen(a->name[i]), b->name[i], strlen(b->name[i])))
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

int taxa_compare(const taxa *found, const char *found_in, const taxa *expected,
                 const char *expected_in, diag_place place, diag *d)
{
    int32_t differences = report_missing(found, found_in, expected, expected_in, place, d);
    differences += report_missing(expected, expected_in, found, found_in, place, d);
    return differences ? ART_ERR_MISMATCH : ART_OK;
}
