#include "cli/test_hook.h"

#include <signal.h>
#include <stdlib.h>

static long pieces;

void test_hook_piece(void)
{
    const char *wish = getenv("ART_TEST_SIGNALS");
    pieces++;
    while (wish && *wish) {
        char *end;
        const int number = (int)strtol(wish, &end, 10);
        if (*end != ':')
            return;
        if (strtol(end + 1, &end, 10) == pieces)
            raise(number);
        wish = end;
    }
}

double test_hook_seconds(double seconds)
{
    const char *each = getenv("ART_TEST_PIECE_SECONDS");
    return each ? (double)pieces * strtod(each, NULL) : seconds;
}
