/* lines.h: the lines and words of a text, for the readers whose formats consist of lines. Nothing
 * is copied: a line or word is two places in the text. */
#ifndef SEQ_LINES_H
#define SEQ_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct line {
    const char *start, *end; /* blanks at the end not included */
} line;

static inline size_t line_width(line l)
{
    return (size_t)(l.end - l.start);
}

/* The next line at *p that is not blank, and moves *p behind it; false at the end of the text.
 * Blanks at its beginning are kept. */
bool line_next(const char **p, line *l);

/* The next word of a line from `from` on; an empty one at its end. */
line line_word(line l, const char *from);

/* Whether the word is this one, ignoring case. */
bool line_is(line word, const char *text);

/* Whether it consists of these characters only. */
bool line_has_only(line l, const char *characters);

#endif
