/* format.h: quantities in human-readable form. Each writes at most size bytes with the NUL and
 * returns out. */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
    FORMAT_SIZE = 32,
    FORMAT_ITEMS = 64
}; /* large enough for any of these, and for
         format_items with short nouns */

/* "1,234,567", which number_grouped reads and spreadsheets understand. */
char *format_count(char *out, size_t size, uint64_t count);

/* The noun that goes with a count: the first for 1, the second for others. */
static inline const char *format_noun(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* "1 tree", "1,234 trees": both. */
char *format_items(char *out, size_t size, uint64_t count, const char *one, const char *many);

/* "512 B", "1.5 KiB", "23.4 GiB" */
char *format_bytes(char *out, size_t size, double bytes);

/* "0.25 s", "12.3 s", "4 min 05 s", "3 h 12 min", "2 d 5 h" */
char *format_seconds(char *out, size_t size, double seconds);

/* The shortest of %.15g, %.16g, %.17g that reads back as the same number: "0.1", "1e-05". */
char *format_real(char *out, size_t size, double value);

#endif
