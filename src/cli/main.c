#include "artreeformer.h"
#include "base/suggest.h"
#include "cli/banner.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/session.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that the caller closed is opened again, so that none of our files gets its
 * number and receives messages; it is opened in the wrong direction, so that using it fails. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(1);
}

static const char *const OWN[] = {"--help", "--version", NULL}; /* options without a command */

static int unknown_command(const char *name, diag *d)
{
    suggestion nearest = {0};
    char quoted[OPTION_VALUE];
    const bool is_option = name[0] == '-';
    for (const command *const *c = COMMANDS; *c && !is_option; c++)
        suggest(&nearest, name, (*c)->name);
    for (int i = 0; OWN[i] && is_option; i++)
        suggest(&nearest, name, OWN[i]);
    diag_quote(quoted, sizeof quoted, name, strlen(name));
    if (is_option && !nearest.word[0])
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the first argument must be a command, not %s -- see artreeformer --help",
                          quoted);
    if (nearest.word[0])
        return diag_error(d, ART_ERR_USAGE, (diag_place){0}, "unknown %s %s -- did you mean %s?",
                          is_option ? "option" : "command", quoted, nearest.word);
    return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                      "unknown command %s -- see artreeformer --help", quoted);
}

static const command *find_command(const char *name)
{
    for (const command *const *c = COMMANDS; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

/* Everything that is not a command. */
static int answer(output *o, int argc, char **argv, diag *d)
{
    const char *first = argc > 1 ? argv[1] : "--help", *second = argc > 2 ? argv[2] : NULL;
    bool help =
        strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0 || strcmp(first, "help") == 0;
    if (help && !second) {
        help_program(o);
        return argc > 1 ? ART_OK : ART_ERR_USAGE;
    }
    if (help && find_command(second))
        return help_command(o, find_command(second),
                            help_wanted(argc - 1, argv + 1) == HELP_ALL ? HELP_ALL : HELP_SHORT);
    if (help)
        return unknown_command(second, d);
    if (strcmp(first, "--version") == 0) {
        banner_version(o);
        return ART_OK;
    }
    /* For `make install`; not in the help. */
    if (strcmp(first, "--print-manual") == 0)
        return manual_page(o);
    if (strcmp(first, "--print-completion") == 0 && second)
        return completion_script(o, second);
    return unknown_command(first, d);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    const command *c = argc > 1 ? find_command(argv[1]) : NULL;
    if (c)
        return session_run(c, argc, argv, 2);
    output o;
    diag d;
    logger log;
    diag_init(&d);
    log_init(&log);
    int status = output_descriptor(&o, STDOUT_FILENO, "standard output", &d);
    if (status == ART_OK)
        status = answer(&o, argc, argv, &d);
    int closed = output_close(&o, &d);
    log_diag(&log, &d);
    diag_free(&d);
    return exit_code(status == ART_OK ? closed : status);
}
