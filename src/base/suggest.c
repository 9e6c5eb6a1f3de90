#include "base/suggest.h"

#include <string.h>

enum { LONGEST = 63 };

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int fold(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

size_t suggest_distance(const char *a, const char *b)
{
    size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
    size_t row[3][LONGEST + 1]; /* distances of a[..i], a[..i-1], a[..i-2] to every b[..j] */
    size_t *now = row[0], *before = row[1], *older = row[2];
    for (size_t j = 0; j <= m; j++)
        now[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *oldest = older;
        older = before;
        before = now;
        now = oldest;
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            int x = fold(a[i - 1]), y = fold(b[j - 1]);
            now[j] = min(before[j - 1] + (x != y), min(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && y == fold(a[i - 2]))
                now[j] = min(now[j], older[j - 2] + 1);
        }
    }
    return now[m];
}

void suggest(suggestion *s, const char *written, const char *candidate)
{
    const char *a = written + strspn(written, "-"), *b = candidate + strspn(candidate, "-");
    size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
    size_t distance = suggest_distance(a, b);
    if (distance > (n > m ? n : m) / 3 || (s->word[0] && distance >= s->distance))
        return;
    size_t length = strnlen(candidate, LONGEST);
    memcpy(s->word, candidate, length);
    s->word[length] = '\0';
    s->distance = distance;
}
