/* command.h: the subcommands, and the environment in which they run.
 *
 * A subcommand is one file, src/cli/cmd_<name>.c, that ends with
 *
 *     const command score_command = {
 *         .name = "score",
 *         .summary = "log q of given trees",
 *         .description = "Prints one line per tree: ...",
 *         .options = OPTIONS,
 *         .defaults = &DEFAULTS,
 *         .size = sizeof(settings),
 *         .run = run,
 *     };
 *
 * where OPTIONS and DEFAULTS are as in options.h and the settings begin with a common_settings;
 * plus its declaration below and one row in the table of command.c. main parses the options, calls
 * run, prints what run left in s->diag, closes everything and turns the status into the exit code.
 * So run is simple:
 *
 *     static int run(session *s, void *chosen)
 *     {
 *         const settings *o = chosen;
 *         tree_set trees = {0};
 *         int status = tree_set_read(&trees, ..., &s->diag);
 *         if (status != ART_OK)
 *             goto out;
 *         session_notes(s);                          // prints the notes of the reader first
 *         output_printf(&s->table, "index\tlog_q\n");
 *         ...
 *     out:
 *         tree_set_free(&trees);
 *         return status;
 *     }
 *
 * A subcommand whose product is a table writes it to s->table (standard output). One whose product
 * is files calls session_begin with its prefix and suffixes before it reads anything large: that
 * refuses to overwrite inputs or existing results, opens <prefix>.log and prints the start banner;
 * it then writes its files with io/output.h at the paths session_path gives; the end banner lists
 * them. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/options.h"

/* The settings that subcommands share: the first member of their own settings. A subcommand
 * includes the tables of those it uses. */
typedef struct common_settings {
    const char *prefix;
    bool redo;
    int64_t seed;
    int64_t threads; /* 0 is AUTO */
    bool quiet;
    bool verbose;
    const char *config;
    bool help;
} common_settings;

#define COMMON_DEFAULTS \
    {                   \
        .seed = 1       \
    }

extern const option COMMON_MESSAGES[]; /* --quiet -v --config -h: every subcommand has these */
extern const option COMMON_OUTPUT[];   /* --prefix --redo */
extern const option COMMON_SEED[];     /* --seed */
extern const option COMMON_THREADS[];  /* -T --threads */

typedef struct session session;

typedef struct command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *description; /* for -h and the manual: a few sentences */
    const option *options;
    const void *defaults; /* the settings with their defaults */
    size_t size;          /* of the settings */
    int (*run)(session *s, void *settings);
} command;

extern const command infer_command;
extern const command fit_command;
extern const command parsimony_command;
extern const command evidence_command;
extern const command score_command;
extern const command kl_command;
extern const command sample_command;
extern const command embed_command;
extern const command evaluate_command;
extern const command summarize_command;
extern const command compare_command;
extern const command plot_command;
extern const command simulate_command;
extern const command check_command;

/* All subcommands in the order of the help, NULL at the end. */
extern const command *const COMMANDS[];

#endif
