#include "support/check.h"

#include "artreeformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a program's tests only those whose names match: tests/run build/tests 'pool:*once' */
static __attribute__((constructor)) void choose_tests(void)
{
    const char *pattern = getenv("TEST_FILTER");
    if (pattern)
        cmocka_set_test_filter(pattern);
}

void check_near_at(double a, double b, double tolerance, const char *what, const char *file,
                   int line)
{
    if (fabs(a - b) <= tolerance)
        return;
    print_error("%s: %.17g, expected %.17g, off by %.3g > %.3g\n", what, a, b, fabs(a - b),
                tolerance);
    _fail(file, line);
}

void check_close_at(double a, double b, double tolerance, const char *what, const char *file,
                    int line)
{
    check_near_at(a, b, tolerance * fmax(fabs(a), fabs(b)), what, file, line);
}

void check_status_at(int status, const char *what, const char *file, int line)
{
    if (status == ART_OK)
        return;
    print_error("%s: %s (%d)\n", what, art_strerror(status), status);
    _fail(file, line);
}

/* folder/name below the project's root, in one of eight buffers. */
static const char *project_path(const char *folder, const char *name)
{
    static char path[8][4096];
    static unsigned turn;
    char *out = path[turn++ % 8];
    snprintf(out, sizeof path[0], "%s/%s/%s", ART_SOURCE_DIR, folder, name);
    return out;
}

const char *shared_path(const char *relative)
{
    if (access(ART_SOURCE_DIR "/../shared/README.md", R_OK) != 0)
        skip_because("../shared is absent (%s)", relative);
    return project_path("../shared", relative);
}

const char *golden_path(const char *name)
{
    const char *own = project_path("tests/golden", name);
    if (access(own, R_OK) == 0)
        return own;
    shared_path(name); /* skips where there is none */
    return project_path("../shared/golden", name);
}
