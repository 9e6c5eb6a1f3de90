/* help.h: help texts, generated from the option tables with the defaults in force. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "io/output.h"
#include "cli/command.h"

/* True if -h or --help is among the arguments, before any "--". */
bool help_wanted(int argc, char *const *argv);

/* `artreeformer --help` */
void help_program(output *o);

/* `artreeformer COMMAND --help`. ART_ERR_NOMEM if memory is short. */
int help_command(output *o, const command *c);

/* "artreeformer score --model FILE TREES [options]" into o, without newline. */
void help_usage(output *o, const option_set *s, const char *name);

#endif
