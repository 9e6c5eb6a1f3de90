/* files.h: a scratch folder for a test, and small files in it. */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#include <stddef.h>

/* A new empty folder; removed with all it holds by scratch_remove. Fails the test if it cannot
 * be made. The text is valid until the next scratch_make. */
const char *scratch_make(void);
void scratch_remove(void);

/* Setup and teardown of a test that runs inside a scratch folder of its own. */
int scratch_setup(void **state);
int scratch_teardown(void **state);
#define in_scratch_folder(test) \
    cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

/* The path of a name in the scratch folder, valid until the 16th next call. */
const char *scratch_path(const char *name);

/* Writes a file into the scratch folder and returns its path. */
const char *scratch_write(const char *name, const char *text);
const char *scratch_write_bytes(const char *name, const void *bytes, size_t n);

/* The whole file at path with a NUL behind, to be freed; NULL where it does not exist. */
char *file_text(const char *path);

/* How many entries the scratch folder has. */
int scratch_count(void);

#endif
