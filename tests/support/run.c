#include "support/run.h"

#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64 };

typedef struct stream {
    int fd;
    char *text;
    size_t used, room;
} stream;

static void read_some(stream *s)
{
    if (s->room - s->used < 4097) {
        s->room = 2 * s->room + 8192;
        s->text = realloc(s->text, s->room);
        assert_non_null(s->text);
    }
    ssize_t n = read(s->fd, s->text + s->used, 4096);
    if (n > 0) {
        s->used += (size_t)n;
    } else if (n == 0 || errno != EINTR) {
        close(s->fd);
        s->fd = -1;
    }
    s->text[s->used] = '\0';
}

/* Writes as much of the input as goes; closes it at its end. */
static void write_some(int *fd, const char **text)
{
    ssize_t n = **text ? write(*fd, *text, strlen(*text)) : 0;
    if (n > 0)
        *text += n;
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        close(*fd);
        *fd = -1;
    }
}

static void talk(int input, const char *text, stream *out, stream *err)
{
    while (out->fd >= 0 || err->fd >= 0) {
        struct pollfd p[3] = {{.fd = out->fd, .events = POLLIN},
                              {.fd = err->fd, .events = POLLIN},
                              {.fd = input, .events = POLLOUT}};
        if (poll(p, 3, -1) < 0 && errno != EINTR)
            fail_msg("poll: %s", strerror(errno));
        if (p[0].revents)
            read_some(out);
        if (p[1].revents)
            read_some(err);
        if (p[2].revents)
            write_some(&input, &text);
    }
    if (input >= 0)
        close(input);
}

static void open_as(int fd, const char *path, int flags)
{
    int file = open(path, flags);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(127);
}

/* failure: where to write errno if the program cannot be started; closed if it can. */
static void run_child(const run_options *o, const char *const *arguments, int in, int out, int err,
                      int failure)
{
    char *argv[WORDS + 2] = {NULL};
    const char *program = o->program ? o->program : ART_PROGRAM;
    argv[0] = strdup(program);
    for (int i = 0; arguments[i] && i < WORDS; i++)
        argv[i + 1] = strdup(arguments[i]);
    for (const char *const *e = o->environment; e && *e; e++)
        putenv(strdup(*e));
    signal(SIGPIPE, SIG_DFL);
    if (o->input)
        dup2(in, 0);
    else
        open_as(0, "/dev/null", O_RDONLY);
    dup2(out, 1);
    dup2(err, 2);
    if (o->out)
        open_as(1, o->out, O_WRONLY | O_CREAT | O_TRUNC);
    if (o->err)
        open_as(2, o->err, O_WRONLY | O_CREAT | O_TRUNC);
    execvp(program, argv);
    const int cause = errno;
    _exit(write(failure, &cause, sizeof cause) == sizeof cause ? 126 : 125);
}

/* Waits until the child runs its program, or fails the test with the reason why it does not. */
static void await_start(int failure, const char *program)
{
    int cause;
    ssize_t n;
    do
        n = read(failure, &cause, sizeof cause);
    while (n < 0 && errno == EINTR);
    close(failure);
    if (n == sizeof cause)
        fail_msg("%s could not be started: %s", program, strerror(cause));
}

run_result run_arguments(const run_options *options, const char *const *arguments)
{
    static const run_options none;
    const run_options *o = options ? options : &none;
    int in[2], out[2], err[2], failure[2], status = 0;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
        pipe2(failure, O_CLOEXEC))
        fail_msg("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        fail_msg("fork: %s", strerror(errno));
    if (child == 0)
        run_child(o, arguments, in[0], out[1], err[1], failure[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    close(failure[1]);
    await_start(failure[0], o->program ? o->program : ART_PROGRAM);
    signal(SIGPIPE, SIG_IGN);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    stream s[2] = {{.fd = out[0]}, {.fd = err[0]}};
    talk(in[1], o->input ? o->input : "", &s[0], &s[1]);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail_msg("waitpid: %s", strerror(errno));
    run_result r = {.out = s[0].text, .err = s[1].text};
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return r;
}

run_result run_line(const run_options *options, const char *line)
{
    char *copy = strdup(line), *to = copy;
    const char *word[WORDS + 1] = {NULL};
    int count = 0;
    for (const char *s = line + strspn(line, " "); *s && count < WORDS; s += strspn(s, " ")) {
        char end = *s == '\'' ? *s++ : ' ';
        word[count++] = to;
        while (*s && *s != end)
            *to++ = *s++;
        if (*s)
            s++;
        *to++ = '\0';
    }
    run_result r = run_arguments(options, word);
    free(copy);
    return r;
}

void run_free(run_result *r)
{
    free(r->out);
    free(r->err);
    *r = (run_result){0};
}

static int has_words(const char *text, const char *words)
{
    for (; words && *words; words += *words == '|') {
        size_t n = strcspn(words, "|");
        if (!memmem(text, strlen(text), words, n))
            return 0;
        words += n;
    }
    return 1;
}

void check_run(const run_result *r, const char *what, int code, const char *out, const char *err)
{
    if (r->code == code && has_words(r->out, out) && has_words(r->err, err))
        return;
    print_error("artreeformer %s\n  exit code %d, expected %d\n", what, r->code, code);
    print_error("--- standard output (expected: %s)\n%s", out ? out : "anything", r->out);
    print_error("--- standard error (expected: %s)\n%s", err ? err : "anything", r->err);
    fail();
}

void run_well(const char *line)
{
    run_result r = run_line(NULL, line);
    check_run(&r, line, 0, NULL, NULL);
    run_free(&r);
}
