#include "api/objects.h"
#include "base/mem.h"

#include <stdlib.h>

int art_messages_create(art_messages **out)
{
    *out = mem_zeros(1, sizeof **out);
    return *out ? ART_OK : ART_ERR_NOMEM;
}

void art_messages_free(art_messages *m)
{
    if (m)
        diag_free(&m->diag);
    free(m);
}

size_t art_messages_count(const art_messages *m)
{
    return m->diag.count;
}

const char *art_messages_text(const art_messages *m, size_t i)
{
    return i < m->diag.count ? m->diag.message[i].text : NULL;
}

enum art_level art_messages_level(const art_messages *m, size_t i)
{
    return i < m->diag.count ? (enum art_level)m->diag.message[i].level : ART_NOTE;
}

void messages_verdict(art_messages *m, const verdict *v)
{
    for (int i = 0; m && i < v->n_warnings; i++)
        diag_warning(&m->diag, (diag_place){0}, "%s", v->warning[i]);
}
