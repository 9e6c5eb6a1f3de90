/* run.h: the built program, run as a user runs it. */
#ifndef TESTS_RUN_H
#define TESTS_RUN_H

typedef struct run_result {
    int code;  /* exit code; 128 + the signal's number where one ended it */
    char *out; /* standard output, with a NUL behind; owned */
    char *err; /* standard error */
} run_result;

typedef struct run_options {
    const char *program;            /* NULL: ART_PROGRAM */
    const char *input;              /* text for standard input; NULL: /dev/null */
    const char *out;                /* file to open as standard output instead of capturing it */
    const char *err;                /* the same for standard error */
    const char *const *environment; /* "NAME=value", added to the environment; NULL at the end */
} run_options;

/* Runs the program with the arguments (NULL at the end; the name of the program is not among
 * them) and waits for it. options may be NULL. Fails the test if it cannot be started. */
run_result run_arguments(const run_options *options, const char *const *arguments);

/* The same for one line, split at blanks; a word in '...' may hold blanks. */
run_result run_line(const run_options *options, const char *line);

void run_free(run_result *r);

/* A line of our own program that must end with exit code 0. */
void run_well(const char *line);

/* Fails the test, showing everything, unless the exit code is the expected one and the words (NULL:
 * no matter; several are separated by '|', each must occur) are in the two outputs. */
void check_run(const run_result *r, const char *what, int code, const char *out, const char *err);

#endif
