/* suggest.h: the word that was probably meant. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap two neighbours; case does not count) from a to b. Words
 * longer than 63 bytes are compared by their first 63. */
size_t suggest_distance(const char *a, const char *b);

/* A search through candidates, one call each; start with {0}. */
typedef struct suggestion {
    char word[64]; /* the nearest so far; empty while none is near enough */
    size_t distance;
} suggestion;

/* Considers one candidate for what was written. Near enough is a third of the longer word's
 * letters; dashes in front do not count; of equals the first stays. */
void suggest(suggestion *s, const char *written, const char *candidate);

#endif
