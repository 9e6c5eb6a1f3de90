#include "tree/rooting.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 5 }; /* taxa of an outgroup that a sentence names */

void rooting_midpoint(rooting *r)
{
    *r = (rooting){.kind = ROOT_MIDPOINT};
}

void rooting_free(rooting *r)
{
    free(r->taxon);
    memset(r, 0, sizeof *r);
}

static int add_member(rooting *r, const taxa *names, const char *name, size_t length, diag *d)
{
    char shown[128];
    const int32_t taxon = taxa_find(names, name, length);
    diag_quote(shown, sizeof shown, name, length);
    if (taxon < 0)
        return diag_error(
            d, ART_ERR_USAGE, (diag_place){0},
            "the outgroup has the taxon %s, which is not in the data -- use a name of "
            "the data, and commas between names",
            shown);
    for (int32_t i = 0; i < r->count; i++)
        if (r->taxon[i] == taxon)
            return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                              "the outgroup has the taxon %s twice -- name it once", shown);
    r->taxon[r->count++] = taxon;
    return ART_OK;
}

/* Names between separators, blanks around them removed. */
static int add_members(rooting *r, const taxa *names, const char *list, const char *separator,
                       diag *d)
{
    int status = ART_OK;
    for (const char *s = list; *s && !status;) {
        s += strspn(s, " \t");
        const size_t whole = strcspn(s, separator);
        size_t length = whole;
        while (length && (s[length - 1] == ' ' || s[length - 1] == '\t'))
            length--;
        if (length)
            status = add_member(r, names, s, length, d);
        s += whole;
        s += *s != '\0';
    }
    return status;
}

int rooting_outgroup(rooting *r, const taxa *names, const char *list, diag *d)
{
    *r = (rooting){.kind = ROOT_OUTGROUP, .n_taxa = names->count};
    r->taxon = mem_zeros((size_t)names->count, sizeof *r->taxon);
    if (!r->taxon)
        return ART_ERR_NOMEM;
    int status;
    if (*list == '@') {
        input in = {0};
        status = input_read(&in, list + 1, NULL, d);
        if (!status)
            status = add_members(r, names, in.text, "\n", d);
        input_free(&in);
    } else if (taxa_find(names, list, strlen(list)) >= 0) { /* a name that may have a comma */
        status = add_member(r, names, list, strlen(list), d);
    } else {
        status = add_members(r, names, list, ",", d);
    }
    if (!status && (r->count == 0 || r->count == names->count))
        status = diag_error(d, ART_ERR_USAGE, (diag_place){0},
                            "the outgroup has %s of the taxa -- name some of them, with commas "
                            "between names",
                            r->count ? "all" : "none");
    return status;
}

double rooting_support(const rooting *r, const split_table *splits)
{
    if (r->kind != ROOT_OUTGROUP)
        return (double)NAN;
    if (r->count == 1 || r->count == r->n_taxa - 1)
        return 1;
    uint64_t *bits = mem_zeros(splits->words, sizeof *bits);
    if (!bits)
        return (double)NAN;
    for (int32_t i = 0; i < r->count; i++)
        bits[r->taxon[i] / 64] |= (uint64_t)1 << (r->taxon[i] % 64);
    if (split_has(bits, 0))
        for (int32_t i = 0; i < r->n_taxa; i++)
            bits[i / 64] ^= (uint64_t)1 << (i % 64);
    const int64_t at = split_table_find(splits, bits);
    free(bits);
    return at < 0 ? 0 : fmin(1, split_frequency(splits, (size_t)at));
}

void rooting_describe(buffer *out, const rooting *r, const taxa *names, const split_table *splits)
{
    if (!r || r->kind == ROOT_NOWHERE) {
        buffer_text(out, "unrooted");
        return;
    }
    if (r->kind == ROOT_MIDPOINT) {
        buffer_text(out, "rooted at the midpoint");
        return;
    }
    buffer_text(out, "rooted with the outgroup ");
    for (int32_t i = 0; i < r->count && i < NAMED; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", names->name[r->taxon[i]]);
    if (r->count > NAMED)
        buffer_printf(out, " and %d more", r->count - NAMED);
    if (r->count > 1) {
        buffer_text(out, " (monophyletic with probability ");
        buffer_double(out, rooting_support(r, splits), 3);
        buffer_char(out, ')');
    }
}
