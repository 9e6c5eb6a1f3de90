#include "seq/lines.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool line_next(const char **p, line *l)
{
    while (**p) {
        l->start = *p;
        l->end = *p + strcspn(*p, "\n");
        *p = *l->end ? l->end + 1 : l->end;
        while (l->end > l->start && is_blank(l->end[-1]))
            l->end--;
        if (l->end > l->start)
            return true;
    }
    return false;
}

line line_word(line l, const char *from)
{
    line word = {from, from};
    while (word.start < l.end && is_blank(*word.start))
        word.start++;
    word.end = word.start;
    while (word.end < l.end && !is_blank(*word.end))
        word.end++;
    return word;
}

bool line_is(line word, const char *text)
{
    return line_width(word) == strlen(text) && strncasecmp(word.start, text, line_width(word)) == 0;
}

bool line_has_only(line l, const char *characters)
{
    return strspn(l.start, characters) >= line_width(l);
}
