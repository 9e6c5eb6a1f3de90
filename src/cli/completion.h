/* completion.h: completion scripts for shells, generated from the option tables. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "io/output.h"

/* ART_ERR_USAGE for a shell other than bash, zsh and fish; ART_ERR_NOMEM. */
int completion_script(output *o, const char *shell);

#endif
