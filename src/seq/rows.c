#include "seq/rows.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_name(const void *items, uint32_t item, const void *name)
{
    const rows *r = items;
    return strcmp(r->row[item].name, name) == 0;
}

void rows_init(rows *r, const input *in, diag *d)
{
    *r = (rows){.in = in, .d = d};
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
    status = hash_index_intern(&r->names, &found, (uint32_t)r->count, hash_bytes(name, n), has_name,
                               r, new->name);
    if (again)
        *again = found;
    if (!status && found == r->count) {
        r->count++;
        return ART_OK;
    }
    char shown[96];
    free(new->name);
    if (status || again)
        return status;
    return diag_error(
        r->d, ART_ERR_INPUT, input_place(r->in, at),
        "the name %s was used already on line %zu -- give each sequence a unique name",
        diag_quote(shown, sizeof shown, name, n), input_place(r->in, r->row[found].at).line);
}

int rows_piece(rows *r, size_t number, const char *start, const char *end)
{
    piece *grown = mem_grow(r->piece, &r->piece_room, r->n_pieces, sizeof *grown);
    if (!grown)
        return ART_ERR_NOMEM;
    r->piece = grown;
    size_t n = 0;
    for (const char *p = start; p < end; p++)
        n += (*p != ' ') & (*p != '\t') & (*p != '\n');
    r->piece[r->n_pieces++] = (piece){(uint32_t)number, start, end};
    r->row[number].length += n;
    return ART_OK;
}

const char ROWS_SET_HINT[] = "write a set of bases as its IUPAC code, for example M for {AC}";

const char *rows_find_set(const rows *r, size_t number)
{
    for (size_t i = 0; i < r->n_pieces; i++)
        if (r->piece[i].row == number)
            for (const char *at = r->piece[i].start; at < r->piece[i].end; at++)
                if (*at == '{' || *at == '(')
                    return at;
    return NULL;
}

int rows_expect(const rows *r, size_t length, const char *said_by, const char *hint,
                diag_advice advice)
{
    int status = ART_OK;
    char shown[96], has[48];
    int wrong = 0;
    for (size_t i = 0; i < r->count; i++) {
        const row *x = &r->row[i];
        if (x->length == length)
            continue;
        snprintf(has, sizeof has, x->length ? "has %zu characters" : "is empty", x->length);
        const char *set = wrong++ < DIAG_KEEP ? rows_find_set(r, i) : NULL; /* others are counted */
        status = diag_error(r->d, ART_ERR_INPUT, input_place(r->in, set ? set : x->at),
                            "sequence %s %s where %s %zu -- %s",
                            diag_quote(shown, sizeof shown, x->name, strlen(x->name)), has, said_by,
                            length, set ? ROWS_SET_HINT : hint);
        if (!set && wrong <= DIAG_KEEP)
            diag_advise(r->d, advice);
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

/* Names seen through a table that makes some characters equal. */
typedef struct folded {
    const rows *r;
    unsigned char fold[256];
} folded;

static bool has_folded(const void *items, uint32_t item, const void *name)
{
    const folded *f = items;
    const char *x = f->r->row[item].name, *y = name;
    while (*x && f->fold[(unsigned char)*x] == f->fold[(unsigned char)*y])
        x++, y++;
    return *x == *y;
}

static uint64_t hash_folded(const folded *f, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ f->fold[(unsigned char)*name]) * 0x100000001b3u;
    return hash_mix(hash);
}

/* The pairs of names that are equal through the table: *pairs of them, the first one in
 * pair[0], pair[1]. */
static int find_folded(size_t *pairs, uint32_t pair[2], const folded *f)
{
    hash_index seen = {0};
    int status = ART_OK;
    *pairs = 0;
    for (uint32_t i = 0; i < f->r->count && status == ART_OK; i++) {
        const char *name = f->r->row[i].name;
        uint32_t first;
        status = hash_index_intern(&seen, &first, i, hash_folded(f, name), has_folded, f, name);
        if (!status && first != i && (*pairs)++ == 0) {
            pair[0] = first;
            pair[1] = i;
        }
    }
    hash_index_free(&seen);
    return status;
}

static int check_similar_names(const rows *r)
{
    folded f = {.r = r};
    size_t pairs;
    uint32_t pair[2];
    char first[96], second[96];
    for (int c = 0; c < 256; c++)
        f.fold[c] = (unsigned char)(c == '_' ? ' ' : c);
    int status = find_folded(&pairs, pair, &f);
    if (status == ART_OK && pairs > 0)
        return diag_error(
            r->d, ART_ERR_INPUT, input_place(r->in, r->row[pair[1]].at),
            "%s and %s (%zu such pairs) differ only in spaces and underscores, which tree files "
            "treat as the same -- rename one of them",
            diag_quote(first, sizeof first, r->row[pair[0]].name, strlen(r->row[pair[0]].name)),
            diag_quote(second, sizeof second, r->row[pair[1]].name, strlen(r->row[pair[1]].name)),
            pairs);
    for (int c = 'A'; c <= 'Z'; c++)
        f.fold[c] = (unsigned char)(c - 'A' + 'a');
    if (status == ART_OK)
        status = find_folded(&pairs, pair, &f);
    if (status == ART_OK && pairs > 0)
        diag_warning(
            r->d, input_place(r->in, r->row[pair[1]].at),
            "%s and %s (%zu such pairs) differ only in upper and lower case -- some programs treat "
            "them as the same name",
            diag_quote(first, sizeof first, r->row[pair[0]].name, strlen(r->row[pair[0]].name)),
            diag_quote(second, sizeof second, r->row[pair[1]].name, strlen(r->row[pair[1]].name)),
            pairs);
    return status;
}

int rows_check(const rows *r, size_t *length)
{
    if (r->count < 3)
        return diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                          "%zu sequence%s -- a tree needs at least 3", r->count,
                          r->count == 1 ? "" : "s");
    *length = usual_length(r);
    int status =
        rows_expect(r, *length, *length == r->row[0].length ? "the first has" : "most have",
                    "align the sequences, or complete the file", ADVICE_NONE);
    if (status == ART_OK && *length == 0)
        status = diag_error(r->d, ART_ERR_INPUT, input_file(r->in),
                            "the alignment has no sites -- all the sequences are empty");
    return status == ART_OK ? check_similar_names(r) : status;
}
