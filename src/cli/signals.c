#include "cli/signals.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "cli/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct signals {
    pthread_t thread;
    sigset_t set;
    atomic_bool stop;
    atomic_bool save;
    atomic_bool closing;
};

static void *wait_for_signals(void *argument)
{
    signals *s = argument;
    int number;
    while (sigwait(&s->set, &number) == 0) {
        if (atomic_load(&s->closing))
            break;
        if (number == SIGUSR1)
            atomic_store(&s->save, true);
        else if (atomic_exchange(&s->stop, true))
            _exit(exit_code(ART_ERR_STOPPED));
    }
    return NULL;
}

int signals_start(signals **out)
{
    *out = NULL;
    signals *s = mem_zeros(1, sizeof *s);
    if (!s)
        return ART_ERR_NOMEM;
    static const int listened[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    sigemptyset(&s->set);
    for (size_t i = 0; i < sizeof listened / sizeof listened[0]; i++) {
        struct sigaction action;
        /* what the parent ignores (nohup ignores SIGHUP) stays ignored */
        if (sigaction(listened[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&s->set, listened[i]);
    }
    sigaddset(&s->set, SIGTERM);
    sigaddset(&s->set, SIGUSR1);
    if (pthread_sigmask(SIG_BLOCK, &s->set, NULL) != 0 ||
        pthread_create(&s->thread, NULL, wait_for_signals, s) != 0) {
        free(s);
        return ART_ERR_NOMEM;
    }
    *out = s;
    return ART_OK;
}

void signals_end(signals *s)
{
    if (!s)
        return;
    atomic_store(&s->closing, true);
    pthread_kill(s->thread, SIGTERM);
    pthread_join(s->thread, NULL);
    free(s);
}

bool signals_stop(const signals *s)
{
    return atomic_load(&s->stop);
}

bool signals_save(signals *s)
{
    return atomic_exchange(&s->save, false);
}
