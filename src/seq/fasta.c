#include "seq/fasta.h"

#include "artreeformer.h"

#include <string.h>

#define BLANKS " \t\n"

static const char *line_end(const char *p)
{
    return p + strcspn(p, "\n");
}

static const char *next_line(const char *p)
{
    p = line_end(p);
    return *p ? p + 1 : p;
}

/* A duplicate name followed by a different text: full names would be distinct. */
static int check_full_names(const rows *r, const char *header, const char *end, size_t n,
                            size_t same)
{
    const char *first = r->row[same].at;
    size_t length = (size_t)(end - header);
    bool differ = (size_t)(line_end(first) - first) != length || memcmp(first, header, length) != 0;
    char shown[96];
    int status =
        diag_error(r->d, ART_ERR_INPUT, input_place(r->in, header),
                   "the name %s was used already on line %zu -- %s",
                   diag_quote(shown, sizeof shown, header, n), input_place(r->in, first).line,
                   differ ? "the headers differ after the first word: make the first words unique, "
                            "or read full names"
                          : "give each sequence a unique name");
    if (differ)
        diag_advise(r->d, ADVICE_FULL_NAMES);
    return status;
}

/* The header line from behind its '>'. */
static int parse_header(rows *r, const char *header, const char *end, bool full_names)
{
    while (header < end && (*header == ' ' || *header == '\t'))
        header++;
    while (end > header && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t n = full_names ? (size_t)(end - header) : strcspn(header, " \t\n");
    size_t count = r->count, found = count;
    int status = rows_add(r, header, n, header, full_names ? NULL : &found);
    if (status == ART_OK && found != count)
        status = check_full_names(r, header, end, n, found);
    return status;
}

/* The lines of sequence from p on; *next becomes the next header, or the end. */
static int parse_sequence(rows *r, const char *p, const char **next, const char **comment)
{
    const char *start = p;
    int status = ART_OK;
    while (*p && *p != '>' && status == ART_OK) {
        const char *line = p;
        p = next_line(p);
        if (*line != ';')
            continue;
        if (!*comment)
            *comment = line;
        status = rows_piece(r, r->count - 1, start, line);
        start = p;
    }
    *next = p;
    return status == ART_OK ? rows_piece(r, r->count - 1, start, p) : status;
}

int fasta_parse(rows *r, bool full_names)
{
    const char *p = r->in->text + strspn(r->in->text, BLANKS), *comment = NULL;
    int status = ART_OK, worst = ART_OK;
    for (; *p == ';'; p = next_line(p), p += strspn(p, BLANKS))
        if (!comment)
            comment = p;
    if (*p != '>')
        return diag_error(r->d, ART_ERR_INPUT, input_place(r->in, p),
                          "no header -- the first line of a FASTA file must begin with '>'");
    while (*p && status == ART_OK) {
        const char *end = line_end(p + 1);
        status = parse_header(r, p + 1, end, full_names);
        if (status == ART_ERR_INPUT) { /* go on, to name them all */
            worst = status;
            for (p = next_line(p); *p && *p != '>';)
                p = next_line(p);
            status = ART_OK;
        } else if (status == ART_OK) {
            status = parse_sequence(r, next_line(p), &p, &comment);
        }
    }
    if (comment)
        diag_note(r->d, input_place(r->in, comment),
                  "lines that begin with ';' are comments of old FASTA files; they are skipped");
    return status != ART_OK ? status : worst;
}
