/* log.h: messages for people, on standard error and in <prefix>.log.
 *
 * The log file has everything; standard error has what the level asks for. Colour is used on a
 * terminal only, and not where NO_COLOR is set. Control characters that come with names and
 * paths are shown escaped. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/diag.h"
#include "io/output.h"

#include <stdbool.h>

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DETAIL } log_level;

typedef struct logger {
    log_level level; /* standard error shows this and what is more important */
    bool terminal;   /* standard error is one */
    bool colour;
    bool line_is_open; /* a progress line is on the terminal and must be wiped first */
    int error;         /* errno of the first failed write to standard error */
    size_t errors;     /* that log_diag has shown */
    output file;       /* the log file; closed unless log_open was called */
} logger;

/* Level LOG_INFO, no file. Looks at standard error and the environment. */
void log_init(logger *l);

/* Starts writing to a log file too: behind what is there if keep is negative, otherwise cut
 * back to keep bytes first. */
int log_open(logger *l, const char *path, int64_t keep, diag *d);

/* Ends the log. ART_ERR_IO if messages were lost, to the file or to standard error. */
int log_close(logger *l, diag *d);

/* One message, one or more whole lines; the newline at the end is added. */
void log_error(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warning(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_info(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_detail(logger *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All the messages of d, with "... and 1 234 more" where a class was cut; d is cleared. */
void log_diag(logger *l, diag *d);

/* A line without newline that the next message or line wipes; only on a terminal. */
void log_line(logger *l, const char *text);
void log_wipe(logger *l);

#endif
