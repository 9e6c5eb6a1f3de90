#include "cli/log.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/format.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const COLOUR[] = {"\033[1;31m", "\033[1;33m", "", "\033[2m"};

void log_init(logger *l)
{
    memset(l, 0, sizeof *l);
    l->level = LOG_INFO;
    l->terminal = isatty(STDERR_FILENO) == 1;
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    l->colour = l->terminal && !(no_colour && *no_colour) && !(kind && strcmp(kind, "dumb") == 0);
}

int log_open(logger *l, const char *path, int64_t keep, diag *d)
{
    return output_append(&l->file, path, keep, d);
}

int log_close(logger *l, diag *d)
{
    log_wipe(l);
    int status = output_close(&l->file, d);
    if (status == ART_OK && l->error)
        status = diag_error(d, ART_ERR_IO, (diag_place){.file = "standard error"},
                            "cannot write: %s", strerror(l->error));
    return status;
}

static void put(logger *l, const char *text, size_t n)
{
    while (n > 0 && !l->error) {
        ssize_t done = write(STDERR_FILENO, text, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            l->error = errno;
            return;
        }
        text += done;
        n -= (size_t)done;
    }
}

/* Escapes control characters other than newline and tab; out has room for 4n + 1. */
static size_t make_safe(char *out, const char *text, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
            used += (size_t)snprintf(out + used, 5, "\\x%02X", c);
        else
            out[used++] = text[i];
    }
    out[used] = '\0';
    return used;
}

static void show(logger *l, log_level level, const char *head, const char *text)
{
    size_t n = strlen(head), length = strlen(text);
    char *safe = mem_resize(NULL, n + 4 * length + 2, 1);
    if (!safe)
        return;
    memcpy(safe, head, n);
    n += make_safe(safe + n, text, length);
    safe[n++] = '\n';
    if (l->file.path) {
        output_write(&l->file, safe, n);
        (void)output_flush(&l->file); /* a failure is recorded and reported by log_close */
    }
    if (level <= l->level) {
        log_wipe(l);
        const char *colour = l->colour ? COLOUR[level] : "";
        put(l, colour, strlen(colour));
        put(l, safe, n - 1);
        put(l, "\033[0m", *colour ? 4 : 0);
        put(l, "\n", 1);
    }
    free(safe);
}

static void __attribute__((format(printf, 4, 0)))
say(logger *l, log_level level, const char *head, const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        return;
    show(l, level, head, text);
    free(text);
}

#define SAY(level, head)                   \
    do {                                   \
        va_list args;                      \
        va_start(args, format);            \
        say(l, level, head, format, args); \
        va_end(args);                      \
    } while (0)

void log_error(logger *l, const char *format, ...)
{
    SAY(LOG_ERROR, "error: ");
}

void log_warning(logger *l, const char *format, ...)
{
    SAY(LOG_WARNING, "warning: ");
}

void log_info(logger *l, const char *format, ...)
{
    SAY(LOG_INFO, "");
}

void log_detail(logger *l, const char *format, ...)
{
    SAY(LOG_DETAIL, "");
}

/* The options that correspond to what messages of the library advise. */
static const char *const ADVICE_OPTION[] = {
    [ADVICE_NONE] = NULL,
    [ADVICE_START_AGAIN] = "--redo",
    [ADVICE_FULL_NAMES] = "--full-names",
    [ADVICE_COMMON_TAXA] = "--common-taxa uses only those that all trees have",
};

void log_diag(logger *l, diag *d)
{
    static const log_level level_of[] = {LOG_INFO, LOG_WARNING, LOG_ERROR};
    buffer line;
    buffer_init(&line);
    for (size_t i = 0; i < d->count; i++) {
        const diag_message *m = &d->message[i];
        buffer_clear(&line);
        buffer_text(&line, m->text);
        if (ADVICE_OPTION[m->advice])
            buffer_printf(&line, " (%s)", ADVICE_OPTION[m->advice]);
        show(l, level_of[m->level], "", buffer_status(&line) ? m->text : line.text);
        if (m->more) {
            char count[FORMAT_SIZE], text[FORMAT_SIZE + 32];
            format_count(count, sizeof count, m->more);
            snprintf(text, sizeof text, "... and %s more", count);
            show(l, level_of[m->level], "", text);
        }
    }
    buffer_free(&line);
    l->errors += d->errors;
    if (d->lost)
        log_warning(l, "%zu %s lost: out of memory", d->lost,
                    format_noun(d->lost, "message was", "messages were"));
    diag_clear(d);
}

void log_line(logger *l, const char *text)
{
    if (!l->terminal || l->level < LOG_INFO)
        return;
    log_wipe(l);
    put(l, text, strlen(text));
    l->line_is_open = true;
}

void log_wipe(logger *l)
{
    if (l->line_is_open)
        put(l, "\r\033[K", 4);
    l->line_is_open = false;
}
