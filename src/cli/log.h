/* log.h: messages to the user, on standard error and in <prefix>.log.
 *
 * The log file has all messages; standard error has those of the selected level. Colour is used
 * only on a terminal, and not if NO_COLOR is set. Control characters in names and paths are shown
 * escaped. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/diag.h"
#include "io/output.h"

#include <stdbool.h>

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DETAIL } log_level;

typedef struct logger {
    log_level level; /* standard error shows this level and more important ones */
    bool terminal;   /* standard error is a terminal */
    bool colour;
    bool line_is_open; /* a progress line is on the terminal and must be erased first */
    int error;         /* errno of the first failed write to standard error */
    size_t errors;     /* that log_diag has shown */
    output file;       /* the log file; closed unless log_open was called */
} logger;

/* Level LOG_INFO, no file. Examines standard error and the environment. */
void log_init(logger *l);

/* Also starts writing to a log file: appends to the existing contents if keep is negative,
 * otherwise truncates the file to keep bytes first. */
int log_open(logger *l, const char *path, int64_t keep, diag *d);

/* Ends the log. ART_ERR_IO if messages were lost, to the file or to standard error. */
int log_close(logger *l, diag *d);

/* One message of one or more complete lines; the final newline is added. */
void log_error(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warning(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_info(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_detail(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All the messages of d, with "... and 1 234 more" if messages of a class were dropped; d is
 * cleared. */
void log_diag(logger *l, diag *d);

/* A line without newline that is erased by the next message or line; only on a terminal. */
void log_line(logger *l, const char *text);
void log_wipe(logger *l);

#endif
