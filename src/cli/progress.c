#include "cli/progress.h"

#include "base/format.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double ON_TERMINAL = 0.2, ELSEWHERE = 30;

void progress_start(progress *p, logger *log, const char *what, const char *unit, double total,
                    double first)
{
    double now = clock_seconds();
    *p = (progress){.log = log,
                    .what = what,
                    .unit = unit,
                    .total = total,
                    .first = first,
                    .started = now,
                    .next = now + (log->terminal ? ON_TERMINAL : ELSEWHERE)};
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "fitting: 1,200 of 20,000 steps (6 %), 412/s, 46 s left" */
static size_t describe(char *out, size_t size, const progress *p, double done, double seconds)
{
    char count[FORMAT_SIZE], total[FORMAT_SIZE], left[FORMAT_SIZE];
    double rate = seconds > 0 ? (done - p->first) / seconds : 0;
    format_count(count, sizeof count, (uint64_t)done);
    int used;
    if (p->total > 0) {
        format_count(total, sizeof total, (uint64_t)p->total);
        used = snprintf(out, size, "%s: %s of %s %s (%.0f %%)", p->what, count, total, p->unit,
                        100 * done / p->total);
    } else {
        used = snprintf(out, size, "%s: %s %s", p->what, count, p->unit);
    }
    if (rate > 0)
        used += snprintf(out + used, size - (size_t)used, ", %.3g/s", rate);
    if (rate > 0 && p->total > 0)
        used += snprintf(out + used, size - (size_t)used, ", %s left",
                         format_seconds(left, sizeof left, (p->total - done) / rate));
    return (size_t)used;
}

void progress_update(progress *p, double done, const char *format, ...)
{
    double now = clock_seconds();
    if (now < p->next)
        return;
    p->next = now + (p->log->terminal ? ON_TERMINAL : ELSEWHERE);
    char text[512], extra[256];
    size_t used = describe(text, sizeof text, p, done, now - p->started);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(extra, sizeof extra, format, args);
    va_end(args);
    if (more > 0)
        snprintf(text + used, sizeof text - used, "; %s", extra);
    if (!p->log->terminal) {
        log_info(p->log, "%s", text);
        return;
    }
    size_t width = (size_t)terminal_width();
    if (strlen(text) >= width)
        text[width - 1] = '\0';
    log_line(p->log, text);
}

void progress_end(progress *p)
{
    if (p->log)
        log_wipe(p->log);
}
