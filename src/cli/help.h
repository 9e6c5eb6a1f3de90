/* help.h: help texts, generated from the option tables with the defaults in force. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "io/output.h"
#include "cli/command.h"

typedef enum help_extent { HELP_NONE, HELP_SHORT, HELP_ALL } help_extent;

/* Which help is asked for among the arguments, before any "--": -h or --help, or --help-all. */
help_extent help_wanted(int argc, char *const *argv);

/* `artreeformer --help` */
void help_program(output *o);

/* `artreeformer COMMAND --help`, without the options for experts, or all of them. ART_ERR_NOMEM if
 * memory is short. */
int help_command(output *o, const command *c, help_extent extent);

/* "artreeformer score --model FILE TREES [options]" into o, without newline. */
void help_usage(output *o, const option_set *s, const char *name);

#endif
