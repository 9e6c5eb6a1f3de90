#include "cli/session.h"

#include "artreeformer.h"
#include "cli/banner.h"
#include "cli/help.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int exit_code(int status)
{
    switch (status) {
    case ART_OK:
        return 0;
    case ART_ERR_INPUT:
    case ART_ERR_USAGE:
    case ART_ERR_LIMIT:
    case ART_ERR_UNSUPPORTED:
    case ART_ERR_MISMATCH:
        return 2;
    case ART_ERR_EXISTS:
        return 3;
    case ART_ERR_NUMERIC:
        return 4;
    case ART_ERR_STOPPED:
        return 75;
    default:
        return 1;
    }
}

void session_notes(session *s)
{
    log_diag(&s->log, &s->diag);
}

int session_threads(const session *s)
{
    return s->common->threads > 0 ? (int)s->common->threads : host_cores();
}

int session_pool(session *s, pool **p)
{
    return pool_create(p, session_threads(s));
}

char *session_path(const session *s, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s%s", s->prefix, suffix) < 0 ? NULL : path;
}

/* The input file that is the given file, or NULL. */
static const char *same_input(const session *s, const struct stat *file)
{
    struct stat info;
    for (int i = 0; i < s->options.count; i++) {
        option_files inputs = option_inputs(&s->options, &s->options.item[i]);
        for (int k = 0; k < inputs.count; k++)
            if (stat(inputs.path[k], &info) == 0 && info.st_dev == file->st_dev &&
                info.st_ino == file->st_ino)
                return inputs.path[k];
    }
    return NULL;
}

/* May <prefix><suffix> be written? */
static int check_target(session *s, const char *suffix, bool may_exist)
{
    char *path = session_path(s, suffix);
    if (!path)
        return ART_ERR_NOMEM;
    struct stat info;
    int status = ART_OK;
    diag_place place = {.file = path};
    if (stat(path, &info) == 0) {
        const char *input = same_input(s, &info);
        if (input)
            status = diag_error(
                &s->diag, ART_ERR_USAGE, place,
                "is an input (%s) and would be overwritten -- give another --prefix", input);
        else if (!may_exist && S_ISREG(info.st_mode))
            status = diag_error(&s->diag, ART_ERR_EXISTS, place,
                                "results exist -- --redo overwrites them, another --prefix keeps "
                                "them");
    }
    free(path);
    return status;
}

const char *session_prefix(const session *s, const char *default_prefix)
{
    const char *prefix = s->common->prefix ? s->common->prefix : default_prefix;
    return strcmp(prefix, "-") == 0 ? "stdin" : prefix;
}

int session_begin(session *s, const char *default_prefix, const char *const *suffixes,
                  int64_t keep_log)
{
    s->prefix = session_prefix(s, default_prefix);
    s->suffixes = suffixes;
    int status = check_target(s, ".log", true);
    for (const char *const *suffix = suffixes; *suffix && status == ART_OK; suffix++)
        status = check_target(s, *suffix, s->common->redo || keep_log >= 0);
    if (status != ART_OK)
        return status;
    char *path = session_path(s, ".log");
    status = path ? log_open(&s->log, path, keep_log, &s->diag) : ART_ERR_NOMEM;
    free(path);
    if (status == ART_OK)
        banner_start(s);
    return status;
}

/* Closes everything; the first failure counts. */
static int finish(session *s, int status)
{
    int closed = output_close(&s->table, &s->diag);
    if (status == ART_OK)
        status = closed;
    if (status != ART_OK && status != ART_ERR_STOPPED && s->diag.errors + s->log.errors == 0)
        diag_error(&s->diag, status, (diag_place){0}, "%s: %s", s->command->name,
                   art_strerror(status));
    log_diag(&s->log, &s->diag);
    if (status == ART_OK && s->prefix)
        banner_end(s);
    closed = log_close(&s->log, &s->diag);
    log_diag(&s->log, &s->diag);
    return status == ART_OK ? closed : status;
}

int session_run(const command *c, int argc, char **argv, int first)
{
    session s = {.command = c, .argc = argc, .argv = argv, .started = clock_seconds()};
    log_init(&s.log);
    diag_init(&s.diag);
    int status = options_init(&s.options, c->options, c->defaults, c->size);
    s.common = s.options.settings;
    if (status == ART_OK)
        status = output_descriptor(&s.table, STDOUT_FILENO, "standard output", &s.diag);
    const help_extent help = help_wanted(argc - first, argv + first);
    if (status == ART_OK && help != HELP_NONE) {
        status = help_command(&s.table, c, help);
    } else if (status == ART_OK) {
        status = options_parse(&s.options, argc - first, argv + first, &s.diag);
        s.log.level = s.common->quiet ? LOG_WARNING : s.common->verbose ? LOG_DETAIL : LOG_INFO;
        if (status == ART_OK)
            status = c->run(&s, s.options.settings);
    }
    status = finish(&s, status);
    options_free(&s.options);
    diag_free(&s.diag);
    return exit_code(status);
}
