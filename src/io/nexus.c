#include "io/nexus.h"

#include "artreeformer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { IN_WORD, SPACE, PUNCTUATION, QUOTE, OPEN, CLOSE, STOP };

void nexus_punctuation(nexus *n, const char *punctuation)
{
    memset(n->class, IN_WORD, sizeof n->class);
    for (int c = 1; c <= ' '; c++)
        n->class[c] = SPACE;
    n->class[0x7F] = SPACE;
    for (const char *p = punctuation; *p; p++)
        n->class[(unsigned char)*p] = PUNCTUATION;
    n->class['\''] = QUOTE;
    n->class['['] = OPEN;
    n->class[']'] = CLOSE;
    n->class['\0'] = STOP;
}

void nexus_init(nexus *n, const input *in, const char *punctuation, diag *d)
{
    *n = (nexus){.in = in, .d = d, .at = in->text};
    nexus_punctuation(n, punctuation);
}

static unsigned char class_at(const nexus *n)
{
    return n->class[(unsigned char)*n->at];
}

int nexus_skip_comment(nexus *n)
{
    const char *open = n->at;
    size_t depth = 0;
    do {
        n->at += strcspn(n->at, "[]");
        if (*n->at == '\0')
            return diag_error(n->d, ART_ERR_INPUT, input_place(n->in, open),
                              "this comment is never closed -- add the missing ']'");
        depth += *n->at++ == '[' ? 1 : (size_t)-1;
    } while (depth > 0);
    return ART_OK;
}

static int read_quoted(nexus *n, nexus_token *t)
{
    const char *open = n->at++;
    const char *close = strchr(n->at, '\'');
    while (close && close[1] == '\'')
        close = strchr(close + 2, '\'');
    if (!close)
        return diag_error(n->d, ART_ERR_INPUT, input_place(n->in, open),
                          "this quote is never closed -- add the missing '");
    *t = (nexus_token){NEXUS_QUOTED, n->at, (size_t)(close - n->at), open};
    n->at = close + 1;
    return ART_OK;
}

static int read_string(nexus *n, nexus_token *t)
{
    const char *open = n->at++;
    const char *close = strchr(n->at, '"');
    if (!close)
        return diag_error(n->d, ART_ERR_INPUT, input_place(n->in, open),
                          "this string is never closed -- add the missing \"");
    *t = (nexus_token){NEXUS_STRING, n->at, (size_t)(close - n->at), open};
    n->at = close + 1;
    return ART_OK;
}

static int read_word(nexus *n, nexus_token *t)
{
    const char *start = n->at;
    while (class_at(n) == IN_WORD || (n->loose && class_at(n) == QUOTE))
        n->at++;
    if (class_at(n) == QUOTE) {
        char shown[64];
        return diag_error(n->d, ART_ERR_INPUT, input_place(n->in, n->at),
                          "a quote inside the unquoted word %s -- put the whole name in quotes and "
                          "write '' for the quote inside",
                          diag_quote(shown, sizeof shown, start, (size_t)(n->at - start)));
    }
    *t = (nexus_token){NEXUS_WORD, start, (size_t)(n->at - start), start};
    return ART_OK;
}

int nexus_next(nexus *n, nexus_token *t)
{
    int status;
    const char *open;
    for (;;) {
        switch (class_at(n)) {
        case SPACE:
            n->at++;
            break;
        case OPEN:
            open = n->at;
            if ((status = nexus_skip_comment(n)) != ART_OK)
                return status;
            if (n->comments && open[1] == '&') {
                *t = (nexus_token){NEXUS_COMMENT, open + 2, (size_t)(n->at - open) - 3, open};
                return ART_OK;
            }
            break;
        case CLOSE:
            return diag_error(n->d, ART_ERR_INPUT, input_place(n->in, n->at),
                              "']' closes no comment -- remove it or add the missing '['");
        case QUOTE:
            return read_quoted(n, t);
        case STOP:
            *t = (nexus_token){NEXUS_END, n->at, 0, n->at};
            return ART_OK;
        case PUNCTUATION:
            if (*n->at == '"')
                return read_string(n, t);
            *t = (nexus_token){NEXUS_MARK, n->at, 1, n->at};
            n->at++;
            return ART_OK;
        default:
            return read_word(n, t);
        }
    }
}

int nexus_peek(const nexus *n, nexus_token *t)
{
    nexus ahead = *n;
    return nexus_next(&ahead, t);
}

bool nexus_is(const nexus_token *t, const char *word)
{
    return t->kind == NEXUS_WORD && strlen(word) == t->length &&
           strncasecmp(t->start, word, t->length) == 0;
}

bool nexus_is_mark(const nexus_token *t, char mark)
{
    return t->kind == NEXUS_MARK && *t->start == mark;
}

bool nexus_is_name(const nexus_token *t)
{
    return t->kind == NEXUS_WORD || t->kind == NEXUS_QUOTED;
}

size_t nexus_unquote(char *out, const nexus_token *t)
{
    size_t used = 0;
    for (size_t i = 0; i < t->length; i++) {
        out[used++] = t->start[i];
        if (t->kind == NEXUS_QUOTED && t->start[i] == '\'')
            i++;
    }
    out[used] = '\0';
    return used;
}

static bool needs_quotes(const char *name, nexus_quoting quoting)
{
    if (*name == '\0' || (quoting == QUOTE_NEXUS && name[strspn(name, "0123456789")] == '\0'))
        return true;
    for (const char *s = name; *s; s++)
        if (*s <= ' ' || *s > '~' || strchr("()[]{}',;:=\"", *s) ||
            (quoting == QUOTE_NEXUS && strchr("*/\\`<>+", *s)))
            return true;
    return false;
}

void nexus_write_name(buffer *out, const char *name, nexus_quoting quoting)
{
    if (!needs_quotes(name, quoting)) {
        buffer_text(out, name);
        return;
    }
    buffer_char(out, '\'');
    for (const char *s = name; *s; s++) {
        if (*s == '\'')
            buffer_char(out, '\'');
        buffer_char(out, *s);
    }
    buffer_char(out, '\'');
}

diag_place nexus_place(const nexus *n, const nexus_token *t)
{
    return input_place(n->in, t->from);
}

int nexus_unexpected(const nexus *n, const nexus_token *t, const char *what, const char *fix)
{
    char shown[64];
    if (t->kind == NEXUS_END)
        return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, t),
                          "expected %s, but the file ends here -- %s", what, fix);
    return diag_error(n->d, ART_ERR_INPUT, nexus_place(n, t), "expected %s, found %s -- %s", what,
                      diag_quote(shown, sizeof shown, t->start, t->length), fix);
}

bool nexus_skip_hash_line(nexus *n, const nexus_token *t)
{
    if (t->kind != NEXUS_WORD || *t->start != '#')
        return false;
    for (const char *p = t->start; p > n->in->text && p[-1] != '\n'; p--)
        if (p[-1] != ' ' && p[-1] != '\t')
            return false;
    n->at = t->start + strcspn(t->start, "\n");
    return true;
}

int nexus_skip_command(nexus *n)
{
    nexus_token t;
    int status;
    while ((status = nexus_next(n, &t)) == ART_OK && !nexus_is_mark(&t, ';'))
        if (t.kind == NEXUS_END)
            return nexus_unexpected(n, &t, "';' at the end of the command", "add it");
    return status;
}

int nexus_skip_block(nexus *n)
{
    nexus_token t;
    int status;
    const bool loose = n->loose;
    n->loose = true;
    while ((status = nexus_next(n, &t)) == ART_OK) {
        bool end = nexus_is(&t, "end") || nexus_is(&t, "endblock");
        if (t.kind == NEXUS_END)
            status = nexus_unexpected(n, &t, "END; at the end of the block", "add it");
        else if (nexus_is_mark(&t, ';') || nexus_skip_hash_line(n, &t))
            continue;
        else
            status = nexus_skip_command(n);
        if (status != ART_OK || end)
            break;
    }
    n->loose = loose;
    return status;
}
