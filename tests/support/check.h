/* check.h: cmocka with the few words that our tests need besides. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* |a - b| <= tolerance, false for NaN; prints both. The tolerance carries its reason. */
#define check_near(a, b, tolerance)  check_near_at((a), (b), (tolerance), #a, __FILE__, __LINE__)
/* |a - b| <= tolerance * max(|a|, |b|) */
#define check_close(a, b, tolerance) check_close_at((a), (b), (tolerance), #a, __FILE__, __LINE__)
#define check_status(expression)     check_status_at((expression), #expression, __FILE__, __LINE__)

void check_near_at(double a, double b, double tolerance, const char *what, const char *file,
                   int line);
void check_close_at(double a, double b, double tolerance, const char *what, const char *file,
                    int line);
void check_status_at(int status, const char *what, const char *file, int line);

/* Ends the running test as skipped; the reason is printed and counted by tests/run. */
#define skip_because(...) (print_message("skipped: " __VA_ARGS__), print_message("\n"), skip())

/* Path of a file in ../shared (beside the project's root); skips the test where the folder
 * is absent. The text is valid until the 8th next call. */
const char *shared_path(const char *relative);

/* Path of a file of reference numbers: in tests/golden, where the small ones are, or else in
 * ../shared/golden, as shared_path. */
const char *golden_path(const char *name);

#endif
