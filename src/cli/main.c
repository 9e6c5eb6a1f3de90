#include "artreeformer.h"
#include "base/suggest.h"
#include "cli/banner.h"
#include "cli/help.h"
#include "cli/session.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that the caller closed is filled, so that no file of ours takes its number
 * and messages go into it; opened the wrong way round, so that using it fails. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(1);
}

/* For what has no session: help, version, unknown commands. */
static int end_output(output *o, diag *d, int status)
{
    logger log;
    log_init(&log);
    int closed = output_close(o, d);
    log_diag(&log, d);
    diag_free(d);
    return exit_code(status == ART_OK ? closed : status);
}

static int unknown_command(const char *name, diag *d)
{
    suggestion nearest = {0};
    char quoted[OPTION_VALUE];
    for (const command *const *c = COMMANDS; *c; c++)
        suggest(&nearest, name, (*c)->name);
    diag_quote(quoted, sizeof quoted, name, strlen(name));
    if (name[0] == '-')
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the first argument must be a command, not %s -- see artreeformer --help",
                          quoted);
    if (nearest.word[0])
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "unknown command %s -- did you mean %s?", quoted, nearest.word);
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

int main(int argc, char **argv)
{
    fill_standard_streams();
    const char *first = argc > 1 ? argv[1] : "--help";
    const command *c = find_command(first);
    if (c)
        return session_run(c, argc, argv);
    output o;
    diag d;
    diag_init(&d);
    int status = output_descriptor(&o, STDOUT_FILENO, "standard output", &d);
    if (status != ART_OK)
        return exit_code(status);
    bool help = strcmp(first, "-h") == 0 || strcmp(first, "--help") == 0;
    const char *topic = argc > 2 ? argv[2] : NULL;
    if (strcmp(first, "--version") == 0) {
        banner_version(&o);
    } else if ((help || strcmp(first, "help") == 0) && !topic) {
        help_program(&o);
        status = argc > 1 ? ART_OK : ART_ERR_USAGE;
    } else if ((help || strcmp(first, "help") == 0) && find_command(topic)) {
        help_command(&o, find_command(topic));
    } else {
        status = unknown_command(help || strcmp(first, "help") == 0 ? topic : first, &d);
    }
    return end_output(&o, &d, status);
}
