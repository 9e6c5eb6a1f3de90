/* diag.h: messages of a reader about its input.
 *
 * The library never prints. Functions that read users' files take a `diag`, add messages to it, and
 * return a status; the caller prints them. A message reads
 *
 *     file:line:column: error: what was found -- how to fix it
 *
 *     diag d;
 *     diag_init(&d);
 *     int status = alignment_read(&alignment, path, NULL, &d);
 *     for (size_t i = 0; i < d.count; i++) ...
 *     diag_free(&d);
 *
 * Messages of one class (one format string) are kept up to DIAG_KEEP; the others are only counted.
 * Every function accepts a NULL diag and then only returns its status. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdarg.h>
#include <stddef.h>

enum { DIAG_KEEP = 20 };

typedef enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } diag_level;

/* Fixes for which a program may have an option. The library describes them in words; a program that
 * prints the message can add the name of its option. */
typedef enum diag_advice {
    ADVICE_NONE,
    ADVICE_START_AGAIN, /* discarding what exists already */
    ADVICE_FULL_NAMES,  /* a whole line of FASTA is the name */
    ADVICE_COMMON_TAXA, /* only the taxa that all trees have */
} diag_advice;

/* Where in a file; line and column count from 1, in bytes; 0 means "not known". */
typedef struct diag_place {
    const char *file;
    size_t line;
    size_t column;
} diag_place;

typedef struct diag_message {
    diag_level level;
    diag_advice advice;
    char *text;         /* the whole line, without a newline; owned */
    const char *format; /* its class */
    size_t more;        /* on the last message kept of a class: how many more there were */
} diag_message;

typedef struct diag {
    diag_message *message; /* [count], in order of arrival */
    size_t count;
    size_t room;
    size_t errors; /* counted, not only kept */
    size_t lost;   /* messages lost for lack of memory */
} diag;

void diag_init(diag *d);
void diag_free(diag *d); /* safe on a zeroed or freed diag */
void diag_clear(diag *d);

/* Adds an error and returns status, so that a parser can `return diag_error(...)`. */
int diag_error(diag *d, int status, diag_place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning(diag *d, diag_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(diag *d, diag_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Marks the last message as ending with that advice. */
void diag_advise(diag *d, diag_advice advice);

/* Text made safe to display: quoted, control and non-UTF-8 bytes as \xNN, cut with "..." when it
 * does not fit. Writes at most size bytes with the NUL and returns out. */
char *diag_quote(char *out, size_t size, const char *text, size_t length);

#endif
