#include "seq/rows.h"

#include "artreeformer.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/taxon_name.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_name(const void *items, uint32_t item, const void *name)
{
    const char *known = ((const rows *)items)->row[item].name;
    return taxon_name_same(known, strlen(known), name, strlen(name));
}

void rows_init(rows *r, const input *in, diag *d)
{
    *r = (rows){.in = in, .d = d, .about = "the alignment"};
    symbols_init(r->symbol);
}

void rows_clear(rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->row[i].name);
    r->count = r->n_pieces = 0;
    hash_index_free(&r->names);
}

void rows_free(rows *r)
{
    rows_clear(r);
    free(r->row);
    free(r->piece);
    memset(r, 0, sizeof *r);
}

/* Bytes of the name before the first control character, which is warned about. */
static size_t cut_name(const rows *r, const char *name, size_t n, const char *at)
{
    char shown[96], control[16];
    size_t keep = 0;
    while (keep < n && (unsigned char)name[keep] >= ' ' && name[keep] != 0x7F)
        keep++;
    if (keep > 0 && keep < n)
        diag_warning(
            r->d, input_place(r->in, at),
            "control character %s in a name, which is shortened to %s -- remove the character",
            diag_quote(control, sizeof control, name + keep, 1),
            diag_quote(shown, sizeof shown, name, keep));
    return keep;
}

static int check_name(const rows *r, const char *name, size_t n, const char *at)
{
    char shown[96];
    if (n == 0)
        return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, at),
                          "sequence %zu has an empty name -- give it a name", r->count + 1);
    if (n > ROWS_MAX_NAME)
        return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, at),
                          "the name %s has %zu bytes, but at most %d are allowed -- shorten it",
                          diag_quote(shown, sizeof shown, name, n), n, ROWS_MAX_NAME);
    size_t good = utf8_invalid(name, n);
    if (good < n)
        return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, at + good),
                          "the name %s is not valid UTF-8 -- save the file as UTF-8",
                          diag_quote(shown, sizeof shown, name, n));
    return ART_OK;
}

/* The name of a row that has been used already, perhaps in another spelling. */
static int used_twice(const rows *r, const char *name, size_t n, const char *at, size_t found)
{
    char first[96], second[96];
    const char *known = r->row[found].name;
    const size_t line = input_place(r->in, r->row[found].at).line;
    diag_quote(first, sizeof first, known, strlen(known));
    diag_quote(second, sizeof second, name, n);
    if (memcmp(known, name, n) == 0)
        return diag_error(
            r->d, ART_ERR_INPUT, input_place(r->in, at),
            "the name %s was used already on line %zu -- give each sequence a unique name", second,
            line);
    return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, at),
                      "%s and %s (line %zu) differ only in blanks and underscores, which tree "
                      "files treat as the same -- rename one of them",
                      first, second, line);
}

int rows_add(rows *r, const char *name, size_t n, const char *at, size_t *again)
{
    n = cut_name(r, name, n, at);
    int status = check_name(r, name, n, at);
    if (status != ART_OK)
        return status;
    row *grown = mem_grow(r->row, &r->room, r->count, sizeof *grown);
    if (!grown || r->count >= UINT32_MAX - 1)
        return ART_ERR_NOMEM;
    r->row = grown;
    row *new = &r->row[r->count];
    *new = (row){.name = mem_text(name, n), .at = at};
    if (!new->name)
        return ART_ERR_NOMEM;
    uint32_t found;
    status = hash_index_intern(&r->names, &found, (uint32_t)r->count, taxon_name_hash(name, n),
                               has_name, r, new->name);
    if (again)
        *again = found;
    if (!status && found == r->count) {
        r->count++;
        return ART_OK;
    }
    free(new->name);
    return status || again ? status : used_twice(r, name, n, at, found);
}

const char *rows_next(const rows *r, const char *at)
{
    if (!r->sets || (*at != '{' && *at != '(') || r->symbol[(unsigned char)*at] != SYMBOL_BAD)
        return at + 1;
    const char *close = at + 1 + strcspn(at + 1, "{}()[];\n");
    return *close == (*at == '{' ? '}' : ')') ? close + 1 : at + 1;
}

/* Characters of a piece in which there may be sets. */
static size_t count_with_sets(const rows *r, const char *start, const char *end)
{
    size_t n = 0;
    for (const char *p = start; p < end; p = rows_next(r, p))
        n += *p != ' ' && *p != '\t' && *p != '\n';
    return n;
}

int rows_piece(rows *r, size_t number, const char *start, const char *end)
{
    piece *grown = mem_grow(r->piece, &r->piece_room, r->n_pieces, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    r->piece = grown;
    size_t n = 0;
    if (r->sets)
        n = count_with_sets(r, start, end);
    else
        for (const char *p = start; p < end; p++)
            n += (*p != ' ') & (*p != '\t') & (*p != '\n');
    r->piece[r->n_pieces++] = (piece){(uint32_t)number, start, end};
    r->row[number].length += n;
    return ART_OK;
}

const char *rows_set_hint(const rows *r)
{
    return r->sets ? "close the set of bases, on the same line"
                   : "write a set of bases as its IUPAC code, for example M for {AC}";
}

const char *rows_find_set(const rows *r, size_t number)
{
    for (size_t i = 0; i < r->n_pieces; i++)
        if (r->piece[i].row == number)
            for (const char *at = r->piece[i].start; at < r->piece[i].end; at = rows_next(r, at))
                if ((*at == '{' || *at == '(') && rows_next(r, at) == at + 1)
                    return at;
    return NULL;
}

static bool all_have(const rows *r, size_t length)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->row[i].length != length)
            return false;
    return true;
}

int rows_expect(const rows *r, size_t length, const char *said_by, const char *hint)
{
    int status = ART_OK;
    char shown[96], has[48];
    int wrong = 0;
    const size_t usual = r->count ? r->row[0].length : 0;
    if (r->count > 1 && usual && usual != length && all_have(r, usual) && !rows_find_set(r, 0))
        return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, r->row[0].at),
                          "all %zu sequences have %zu %s where %s %zu -- %s", r->count, usual,
                          format_noun(usual, "character", "characters"), said_by, length, hint);
    for (size_t i = 0; i < r->count; i++) {
        const row *x = &r->row[i];
        if (x->length == length)
            continue;
        snprintf(has, sizeof has, x->length ? "has %zu %s" : "is empty", x->length,
                 format_noun(x->length, "character", "characters"));
        const char *set = wrong++ < DIAG_KEEP ? rows_find_set(r, i) : NULL; /* others are counted */
        status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, set ? set : x->at),
                            "sequence %s %s where %s %zu -- %s",
                            diag_quote(shown, sizeof shown, x->name, strlen(x->name)), has, said_by,
                            length, set ? rows_set_hint(r) : hint);
    }
    return status;
}

/* The length of most rows, or of the first if there is no such majority. */
static size_t usual_length(const rows *r)
{
    size_t length = 0, votes = 0, agree = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (votes == 0)
            length = r->row[i].length;
        votes += r->row[i].length == length ? 1 : (size_t)-1;
    }
    for (size_t i = 0; i < r->count; i++)
        agree += r->row[i].length == length;
    return 2 * agree > r->count ? length : r->row[0].length;
}

/* Equal but for upper and lower case (of ASCII letters), blanks and underscores. */
static bool has_letters(const void *items, uint32_t item, const void *lower)
{
    const char *const *known = items;
    return strcmp(known[item], lower) == 0;
}

/* The names in lower case, [count]: one block of texts behind the pointers. NULL when memory is
 * short. */
static char **lower_names(const rows *r)
{
    size_t bytes = r->count * sizeof(char *);
    for (size_t i = 0; i < r->count; i++)
        bytes += strlen(r->row[i].name) + 1;
    char **lower = mem_zeros(bytes, 1);
    char *at = lower ? (char *)(lower + r->count) : NULL;
    for (size_t i = 0; lower && i < r->count; i++) {
        lower[i] = at;
        for (const char *c = r->row[i].name; *c; c++)
            *at++ = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c == '_' ? ' ' : *c;
        at++;
    }
    return lower;
}

static int warn_of_case(const rows *r)
{
    char **lower = lower_names(r), first[96], second[96];
    hash_index seen = {0};
    size_t pairs = 0;
    uint32_t a = 0, b = 0, same;
    int status = lower ? ART_OK : ART_ERR_NOMEM;
    for (uint32_t i = 0; i < r->count && status == ART_OK; i++) {
        status = hash_index_intern(&seen, &same, i, hash_bytes(lower[i], strlen(lower[i])),
                                   has_letters, lower, lower[i]);
        if (!status && same != i && pairs++ == 0)
            a = same, b = i;
    }
    if (status == ART_OK && pairs > 0)
        diag_warning(r->d, input_place(r->in, r->row[b].at),
                     "%s and %s (%zu such %s) differ only in upper and lower case -- some "
                     "programs treat them as the same name",
                     diag_quote(first, sizeof first, r->row[a].name, strlen(r->row[a].name)),
                     diag_quote(second, sizeof second, r->row[b].name, strlen(r->row[b].name)),
                     pairs, format_noun(pairs, "pair", "pairs"));
    hash_index_free(&seen);
    free(lower);
    return status;
}

int rows_check(const rows *r, size_t *length)
{
    if (r->count < 3)
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "%zu %s -- a tree needs at least 3", r->count,
                          format_noun(r->count, "sequence", "sequences"));
    *length = usual_length(r);
    int status =
        rows_expect(r, *length, *length == r->row[0].length ? "the first has" : "most have",
                    "align the sequences, or complete the file");
    if (status == ART_OK && *length == 0)
        status = diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                            "the alignment has no sites -- all the sequences are empty");
    return status == ART_OK ? warn_of_case(r) : status;
}
