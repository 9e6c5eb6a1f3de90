/* settings_file.h: options from and to JSON.
 *
 * A settings file is one object; its keys are the options' long names without the dashes ('_'
 * and '-' are the same), its values strings, numbers, booleans for flags, arrays for files; a
 * text may be null, which is no value. The results of a run (PREFIX.json) are a settings file too:
 * the settings of that run. */
#ifndef CLI_SETTINGS_FILE_H
#define CLI_SETTINGS_FILE_H

#include "cli/options.h"

#include <jansson.h>

/* Sets the options that have not been given yet. ART_ERR_INPUT with messages in d for a file
 * that cannot be read, unknown keys and bad values. */
int settings_file_read(option_set *s, const char *path, diag *d);

/* The settings in force that can change the results, keys in snake_case: a new object, NULL if
 * memory is short. */
json_t *options_json(const option_set *s);

#endif
