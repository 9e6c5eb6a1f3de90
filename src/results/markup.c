#include "results/markup.h"

#include "base/utf8.h"

#include <string.h>

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void markup_text(buffer *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = utf8_length(text, left);
        const char *special = entity(*text);
        if (special)
            buffer_text(out, special);
        else if (n == 0 || (unsigned char)*text < ' ' || *text == 0x7F)
            buffer_text(out, "\xEF\xBF\xBD");
        else
            buffer_add(out, text, n);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
}
