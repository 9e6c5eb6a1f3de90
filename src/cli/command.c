#include "cli/command.h"

/* clang-format off */
const command *const COMMANDS[] = {
    &infer_command,
    &fit_command,
    &parsimony_command,
    &evidence_command,
    &score_command,
    &kl_command,
    &sample_command,
    &embed_command,
    &evaluate_command,
    &summarize_command,
    &compare_command,
    &plot_command,
    &simulate_command,
    &check_command,
    NULL,
};
/* clang-format on */

const option COMMON_MESSAGES[] = {
    OPTION_HEADING("General"),
    OPTION_FLAG(common_settings, quiet, "--quiet | -quiet", LOCAL,
                "only warnings and errors on standard error"),
    OPTION_FLAG(common_settings, verbose, "-v --verbose", LOCAL, "more messages"),
    OPTION_FILE(common_settings, config, "--config", LOCAL,
                "settings file: a JSON object of long option names; options on the command line "
                "take precedence"),
    OPTION_FLAG(common_settings, help, "-h --help | --help-all", LOCAL, "print this help and exit"),
    OPTION_END,
};

const option COMMON_OUTPUT[] = {
    OPTION_HEADING("Output"),
    OPTION_TEXT(common_settings, prefix, "--prefix | -pre", LOCAL, "PATH",
                "prefix of the output files, PATH.*; default: the name of the main input"),
    OPTION_FLAG(common_settings, redo, "--redo | -redo", LOCAL, "overwrite existing results"),
    OPTION_END,
};

const option COMMON_SEED[] = {
    OPTION_INT(common_settings, seed, "--seed | -seed", OPTIONAL, 0, 0x1p62,
               "seed of the random number generator"),
    OPTION_END,
};

const option COMMON_THREADS[] = {
    OPTION_THREADS(common_settings, threads, "-T --threads | -nt", LOCAL,
                   "number of threads; the results do not depend on it"),
    OPTION_END,
};
