/* suggest.h: guesses which word was meant by a misspelled one. */
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

/* Considers one candidate for the given text. A candidate is near enough if at most a third of the
 * letters of the longer word are edited; leading dashes are ignored; of equally near candidates the
 * first is kept. */
void suggest(suggestion *s, const char *written, const char *candidate);

#endif
