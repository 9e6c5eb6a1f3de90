#include "base/utf8.h"

size_t utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t need = s[0] < 0x80       ? 1
                  : s[0] >> 5 == 6  ? 2
                  : s[0] >> 4 == 14 ? 3
                  : s[0] >> 3 == 30 ? 4
                                    : 0;
    if (need == 0 || need > n || (need == 2 && s[0] < 0xC2) || s[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < need; i++)
        if (s[i] >> 6 != 2)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return need;
}

size_t utf8_invalid(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        size_t step = utf8_length(text + at, n - at);
        if (step == 0)
            break;
        at += step;
    }
    return at;
}
