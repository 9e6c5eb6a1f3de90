/* nexus.h: the tokens of a NEXUS file, for the readers of data and of trees.
 *
 * A NEXUS file is `#NEXUS`, then blocks `BEGIN name; command; command; ... END;`. This reader
 * splits a text into tokens: words, 'quoted words' (with '' for a quote inside), "strings", and
 * single punctuation characters. [Comments], which may be nested, are skipped; those that begin
 * with [& are returned on request. Newick trees consist of the same tokens.
 *
 *     nexus n;
 *     nexus_init(&n, &in, NEXUS_PUNCTUATION, d);
 *     nexus_token t;
 *     int status;
 *     while ((status = nexus_next(&n, &t)) == ART_OK && t.kind != NEXUS_END) ...
 *
 * A token points into the text: nothing is allocated, and time is linear in the text. A reader of
 * parts with their own syntax (MATRIX) may read from n.at directly and move it forward. */
#ifndef IO_NEXUS_H
#define IO_NEXUS_H

#include "base/buffer.h"
#include "io/input.h"

#include <stdbool.h>

/* The characters that are tokens by themselves. All other characters except space, quotes and
 * brackets are parts of words, such as - + . * / so that names and numbers stay whole. */
#define NEXUS_PUNCTUATION  "(){},;:=\""
#define NEWICK_PUNCTUATION "(),;:"

typedef enum nexus_kind {
    NEXUS_END,     /* the text has ended */
    NEXUS_WORD,    /* a bare word */
    NEXUS_QUOTED,  /* 'a quoted word' */
    NEXUS_STRING,  /* "a string", where " is punctuation */
    NEXUS_MARK,    /* one punctuation character */
    NEXUS_COMMENT, /* [&...], if comments are requested */
} nexus_kind;

typedef struct nexus_token {
    nexus_kind kind;
    const char *start; /* in the text, after the opening quote or [& if there is one */
    size_t length;     /* up to the closing quote or bracket; '' inside still counts as two bytes */
    const char *from;  /* the token's first character, for messages */
} nexus_token;

typedef struct nexus {
    const input *in; /* borrowed */
    diag *d;         /* borrowed; may be NULL */
    const char *at;  /* behind the last token */
    bool comments;   /* return [&...] as tokens; initially false */
    bool loose;      /* a quote inside a word is a letter (don't); initially false */
    unsigned char class[256];
} nexus;

void nexus_init(nexus *n, const input *in, const char *punctuation, diag *d);

/* Changes the punctuation from here on. */
void nexus_punctuation(nexus *n, const char *punctuation);

/* The next token. ART_ERR_INPUT for a comment, quote or string that is never closed (the message
 * says where it began), for an unmatched closing bracket, and for a quote inside an unquoted
 * word. */
int nexus_next(nexus *n, nexus_token *t);

/* n->at is on the '[' of a comment: moves past its ']'. For readers that walk the text. */
int nexus_skip_comment(nexus *n);

/* As nexus_next, but without consuming the token. */
int nexus_peek(const nexus *n, nexus_token *t);

/* Whether the token is this unquoted word (ignoring case), or this punctuation character. */
bool nexus_is(const nexus_token *t, const char *word);
bool nexus_is_mark(const nexus_token *t, char mark);

/* Whether the token is a word, quoted or not: something that can be a name or a value. */
bool nexus_is_name(const nexus_token *t);

/* Writes the token's text to out with '' turned into ', followed by a NUL; out has room for length
 * + 1 bytes. Returns the number of bytes before the NUL. */
size_t nexus_unquote(char *out, const nexus_token *t);

/* Writes a name for Newick or for NEXUS text, where more characters (and names that are numbers)
 * need quotes. Names are never changed; names with only letters, digits and _ . - are not quoted in
 * either. */
typedef enum nexus_quoting { QUOTE_NEWICK, QUOTE_NEXUS } nexus_quoting;
void nexus_write_name(buffer *out, const char *name, nexus_quoting quoting);

/* Some programs write comments as lines that begin with '#'. If the token, just read at the
 * beginning of a command, is the first of such a line, moves to the end of the line and returns
 * true. */
bool nexus_skip_hash_line(nexus *n, const nexus_token *t);

/* Skips to after the ';' that ends the command. ART_ERR_INPUT if the text ends first. */
int nexus_skip_command(nexus *n);

/* Skips to after the `END;` or `ENDBLOCK;` that ends the block; call it at the beginning of a
 * command. What is skipped is not checked: words may have quotes in them. */
int nexus_skip_block(nexus *n);

/* Adds an error at the token, "expected <what>, found <token> -- <fix>", and returns
 * ART_ERR_INPUT. */
int nexus_unexpected(const nexus *n, const nexus_token *t, const char *what, const char *fix);

/* Where the token is. */
diag_place nexus_place(const nexus *n, const nexus_token *t);

#endif
