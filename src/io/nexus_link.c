#include "io/nexus_link.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* A title, and then the token behind it. */
static int read_name(nexus *n, nexus_token *name, nexus_token *behind, const char *fix)
{
    int status = nexus_next(n, name);
    if (status == ART_OK && !nexus_is_name(name))
        status = nexus_unexpected(n, name, "the title of a block", fix);
    return status == ART_OK ? nexus_next(n, behind) : status;
}

int nexus_read_title(nexus *n, nexus_token *title)
{
    nexus_token t;
    int status = read_name(n, title, &t, "write TITLE name;");
    if (status == ART_OK && !nexus_is_mark(&t, ';'))
        status = nexus_unexpected(n, &t, "';' at the end of TITLE",
                                  "end the command with a semicolon, and put a title with blanks "
                                  "or punctuation in single quotes");
    return status;
}

int nexus_add_title(nexus_token **title, size_t count)
{
    nexus_token *grown = mem_resize(*title, count + 1, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    grown[count] = (nexus_token){.kind = NEXUS_END};
    *title = grown;
    return ART_OK;
}

int nexus_read_link(nexus *n, nexus_token *taxa)
{
    static const char FIX[] = "write LINK TAXA = title;";
    nexus_token key, t;
    int status = nexus_next(n, &key);
    while (status == ART_OK && !nexus_is_mark(&key, ';')) {
        if (!nexus_is_name(&key))
            return nexus_unexpected(n, &key, "the kind of a block, such as TAXA", FIX);
        if ((status = nexus_next(n, &t)) != ART_OK)
            break;
        if (!nexus_is_mark(&t, '='))
            return nexus_unexpected(n, &t, "'=' and the title of a block", FIX);
        nexus_token title;
        if ((status = read_name(n, &title, &t, FIX)) != ART_OK)
            break;
        if (nexus_is(&key, "taxa"))
            *taxa = title;
        key = t;
    }
    return status;
}

static char plain(const nexus_token *t, size_t *i)
{
    char c = t->start[*i];
    *i += t->kind == NEXUS_QUOTED && c == '\'' ? 2 : 1;
    if (c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    return c == '_' ? ' ' : c;
}

static bool same_title(const nexus_token *a, const nexus_token *b)
{
    size_t i = 0, k = 0;
    if (!nexus_is_name(a) || !nexus_is_name(b))
        return false;
    while (i < a->length && k < b->length)
        if (plain(a, &i) != plain(b, &k))
            return false;
    return i >= a->length && k >= b->length;
}

/* The titles that there are, for a message: as many as fit. */
static void list_titles(char *out, size_t room, const nexus_token *title, size_t count)
{
    char shown[48];
    size_t used = 0, named = 0;
    *out = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!nexus_is_name(&title[i]))
            continue;
        diag_quote(shown, sizeof shown, title[i].start, title[i].length);
        if (used + strlen(shown) + sizeof ", .." > room) {
            snprintf(out + used, room - used, ", ..");
            return;
        }
        used += (size_t)snprintf(out + used, room - used, "%s%s", named++ ? ", " : "", shown);
    }
    if (named == 0)
        snprintf(out, room, "none has a title");
}

int nexus_find_linked(size_t *which, const nexus *n, const nexus_token *link,
                      const nexus_token *title, size_t count)
{
    char shown[64], titles[160];
    size_t found = 0;
    *which = count;
    if (link->kind == NEXUS_END)
        return ART_OK;
    for (size_t i = 0; i < count; i++)
        if (same_title(link, &title[i]) && found++ == 0)
            *which = i;
    diag_quote(shown, sizeof shown, link->start, link->length);
    if (found > 1)
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, link),
                          "%zu TAXA blocks have the title %s, so this link may mean any of them "
                          "-- give them different titles",
                          found, shown);
    if (found == 1)
        return ART_OK;
    list_titles(titles, sizeof titles, title, count);
    if (count > 1)
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, link),
                          "no TAXA block before this has the title %s (%s) -- correct LINK, or "
                          "the TITLE of the block that is meant",
                          shown, titles);
    diag_note(n->d, nexus_place(n, link), "no TAXA block before this has the title %s; %s", shown,
              count ? "the only one there is is used" : "LINK is ignored");
    return ART_OK;
}
