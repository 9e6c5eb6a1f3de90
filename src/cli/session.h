/* session.h: one run of a subcommand, from its arguments to its exit code. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/pool.h"
#include "cli/command.h"
#include "cli/log.h"

struct session {
    const command *command;
    int argc;
    char **argv;
    const common_settings *common;
    option_set options;
    logger log;
    diag diag;
    output table;                /* standard output */
    const char *prefix;          /* NULL until session_begin */
    const char *const *suffixes; /* of the files of this run, NULL at the end */
    double started;              /* seconds of the monotonic clock */
};

/* Runs a command whose options begin at argv[first]. Returns the exit code. */
int session_run(const command *c, int argc, char **argv, int first);

/* For a run that writes files: `<prefix><suffix>` for each suffix (".contree", ...; NULL at the
 * end) and `<prefix>.log`. The prefix is --prefix or else that of default_prefix (the main input;
 * "-" becomes "stdin"). ART_ERR_USAGE if an input would be overwritten, ART_ERR_EXISTS if one
 * exists and there is no --redo. keep_log as log_open: -1 for a new run that adds to the log,
 * otherwise the length stated by a checkpoint; existing files then belong to the same run and may
 * be overwritten. Suffixes are borrowed. */
int session_begin(session *s, const char *default_prefix, const char *const *suffixes,
                  int64_t keep_log);

/* The prefix that session_begin would use. */
const char *session_prefix(const session *s, const char *default_prefix);

/* The path of <prefix><suffix>, allocated; NULL if memory is short. */
char *session_path(const session *s, const char *suffix);

/* Prints the notes, warnings and errors collected in s->diag, and clears it. */
void session_notes(session *s);

/* The number of threads requested, with AUTO resolved; and a pool of that many. */
int session_threads(const session *s);
int session_pool(session *s, pool **p);

/* The exit code for a status. */
int exit_code(int status);

#endif
