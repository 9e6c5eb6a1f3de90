/* Listening to signals, in processes of their own. */
#include "support/check.h"

#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The exit code of a child that does this, or 128 + signal. */
static int exit_of(int (*what)(void))
{
    pid_t child = fork();
    if (child == 0)
        _exit(what());
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int not_listening(void)
{
    raise(SIGTERM);
    return 0;
}

static int told_to_save(void)
{
    signals_listen();
    if (signals_save())
        return 1;
    raise(SIGUSR1);
    return !signals_save() || signals_save() || signals_stop();
}

static int told_to_stop(void)
{
    signals_listen();
    if (signals_stop())
        return 1;
    raise(SIGTERM);
    return !signals_stop() || signals_save();
}

/* As from a tool that signals a process and its group. Where the machine is so busy that the two
 * are too far apart, the second ends the process. */
static int told_twice_at_once(void)
{
    signals_listen();
    raise(SIGTERM);
    raise(SIGHUP);
    return !signals_stop();
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Judged by an attempt whose whole life was shorter than the tenth of a second. */
static void two_at_once_are_one(void)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        const double begun = now();
        const int code = exit_of(told_twice_at_once);
        if (code == 0)
            return;
        if (now() - begun < 0.1)
            fail_msg("the second of two signals at once ended it: %d", code);
    }
    fail_msg("there was no tenth of a second for two signals");
}

static int told_again_later(void)
{
    const struct timespec pause = {0, 200000000};
    signals_listen();
    raise(SIGINT);
    nanosleep(&pause, NULL);
    raise(SIGTERM);
    return 0;
}

static int hangup_under_nohup(void)
{
    signal(SIGHUP, SIG_IGN);
    signals_listen();
    raise(SIGHUP);
    return signals_stop();
}

static void *wait_for_ever(void *ignored)
{
    for (;;)
        pause();
    return ignored;
}

/* A thread that was there before, as a threaded BLAS makes them. */
static int told_in_another_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        return 1;
    signals_listen();
    pthread_kill(thread, SIGTERM);
    for (int i = 0; i < 60000 && !signals_stop(); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    return !signals_stop();
}

static void wishes_are_heard(void **state)
{
    (void)state;
    assert_int_equal(exit_of(not_listening), 128 + SIGTERM);
    assert_int_equal(exit_of(told_to_save), 0);
    assert_int_equal(exit_of(told_to_stop), 0);
    two_at_once_are_one();
    assert_int_equal(exit_of(told_again_later), 75);
    assert_int_equal(exit_of(hangup_under_nohup), 0);
    assert_int_equal(exit_of(told_in_another_thread), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wishes_are_heard)};
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
