#include "cli/signals.h"

#include "artreeformer.h"
#include "cli/session.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SAME_WISH = 100, /* minimum time in milliseconds between two separate requests to stop */
    PATIENCE = 3,    /* seconds that a piece of work may go on after a request to stop */
};

static atomic_bool stop, save, done;
static _Atomic int64_t first; /* when a stop was requested, in milliseconds */

/* Calls only functions that are allowed in a signal handler. */
static int64_t milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* nobody reads it */
}

static void leave(int number)
{
    (void)number;
    say("stopped; the run resumes from its last checkpoint\n");
    _exit(exit_code(ART_ERR_STOPPED));
}

static void take_note(int number)
{
    if (number == SIGUSR1) {
        atomic_store(&save, true);
    } else if (!atomic_load(&stop)) {
        atomic_store(&first, milliseconds());
        atomic_store(&stop, true);
        if (!atomic_load(&done)) {
            say("stopping...\n");
            alarm(PATIENCE);
        }
    } else if (milliseconds() - atomic_load(&first) >= SAME_WISH) {
        _exit(exit_code(ART_ERR_STOPPED));
    }
}

void signals_listen(void)
{
    const struct sigaction late = {.sa_handler = leave, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &late, NULL);
    static const int listened[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof listened / sizeof listened[0]; i++) {
        struct sigaction action;
        const int number = listened[i];
        const bool is_ignored =
            sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        /* signals that the parent ignores (nohup ignores SIGHUP) stay ignored */
        if (is_ignored && (number == SIGINT || number == SIGHUP))
            continue;
        action = (struct sigaction){.sa_handler = take_note, .sa_flags = SA_RESTART};
        sigaction(number, &action, NULL);
    }
}

bool signals_stop(void)
{
    const bool is_asked = atomic_load(&stop);
    if (is_asked)
        alarm(0);
    return is_asked;
}

void signals_done(void)
{
    atomic_store(&done, true);
    alarm(0);
}

bool signals_save(void)
{
    return atomic_exchange(&save, false);
}
