#include "cli/banner.h"

#include "artreeformer.h"
#include "base/cpu.h"
#include "base/format.h"
#include "base/mem.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char CITE[] =
    "Xie T, Mao Y, Zhang C (2025) ARTreeFormer: A faster attention-based autoregressive model for "
    "phylogenetic inference. PLOS Comput Biol 21(12): e1013768";

/* The command line in a form that can be typed again: arguments with unusual characters are quoted.
 */
static char *command_line(const session *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    size_t size = 1;
    for (int i = 0; i < s->argc; i++)
        size += 4 * strlen(s->argv[i]) + 3;
    char *line = mem_resize(NULL, size, 1), *out = line;
    for (int i = 0; line && i < s->argc; i++) {
        const char *text = i ? s->argv[i] : "artreeformer";
        int quote = !*text || text[strspn(text, plain)] != '\0';
        if (i)
            *out++ = ' ';
        if (quote)
            *out++ = '\'';
        for (; *text; text++) {
            if (*text == '\'')
                out = stpcpy(out, "'\\'");
            *out++ = *text;
        }
        if (quote)
            *out++ = '\'';
    }
    if (line)
        *out = '\0';
    return line;
}

static bool has_option(const session *s, const option *table)
{
    for (int i = 0; i < s->options.count; i++)
        if (s->options.item[i].row == table)
            return true;
    return false;
}

void banner_start(session *s)
{
    char memory[FORMAT_SIZE];
    log_info(&s->log, "artreeformer %s", art_version());
    log_info(&s->log, "host: %d core%s, %s, %s memory", host_cores(), host_cores() > 1 ? "s" : "",
             cpu_level_name(cpu_best()), format_bytes(memory, sizeof memory, host_memory()));
    char *line = command_line(s);
    if (line)
        log_info(&s->log, "command: %s", line);
    free(line);
    if (has_option(s, COMMON_SEED))
        log_info(&s->log, "seed: %lld", (long long)s->common->seed);
    if (has_option(s, COMMON_THREADS))
        log_info(&s->log, "threads: %d", session_threads(s));
}

static void list_file(session *s, const char *suffix)
{
    char *path = session_path(s, suffix);
    if (path && access(path, F_OK) == 0)
        log_info(&s->log, "  %s", path);
    free(path);
}

/* The files of this run that exist now. */
static void list_files(session *s)
{
    log_info(&s->log, "files written:");
    for (const char *const *suffix = s->suffixes; *suffix; suffix++)
        list_file(s, *suffix);
    list_file(s, ".log");
}

void banner_end(session *s)
{
    char wall[FORMAT_SIZE], cpu[FORMAT_SIZE], memory[FORMAT_SIZE];
    list_files(s);
    log_info(&s->log, "wall time %s, CPU time %s, peak memory %s",
             format_seconds(wall, sizeof wall, clock_seconds() - s->started),
             format_seconds(cpu, sizeof cpu, cpu_seconds()),
             format_bytes(memory, sizeof memory, peak_memory()));
    log_info(&s->log, "please cite: %s", CITE);
}

void banner_version(output *o)
{
    output_printf(o, "artreeformer %s\n", art_version());
    output_printf(o, "instruction set: %s\n", cpu_level_name(cpu_best()));
#if defined(__clang__)
    output_printf(o, "compiler: clang %s\n", __clang_version__);
#elif defined(__GNUC__)
    output_printf(o, "compiler: gcc %s\n", __VERSION__);
#endif
    output_printf(o, "licence: MIT\n");
}
