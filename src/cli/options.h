/* options.h: command-line options from one table per subcommand.
 *
 * The table is the complete description of the options: their names, types and ranges, where their
 * values are stored and one line of help each. Parsing, help, settings files, the manual page and
 * the shell completion all read the table, so nothing is written twice. The settings are a struct;
 * a `static const` one of it holds the defaults.
 *
 *     typedef struct settings {
 *         common_settings common;
 *         const char *model;
 *         option_files trees;
 *         int64_t number;
 *         int gap;
 *     } settings;
 *
 *     static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .number = 1000};
 *
 *     static const option OPTIONS[] = {
 *         OPTION_HEADING("Input"),
 *         OPTION_FILES(settings, trees, "TREES", REQUIRED, "tree files"),
 *         OPTION_FILE(settings, model, "-m --model", REQUIRED, "trained model"),
 *         OPTION_HEADING("What to do"),
 *         OPTION_INT(settings, number, "-n --number", OPTIONAL, 1, 1e9, "how many trees"),
 *         OPTION_CHOICE(settings, gap, "--gap", OPTIONAL, "fifth|missing", "what a gap is"),
 *         OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
 *         OPTION_END,
 *     };
 *
 * The help shows what most people need; options with the trait EXPERT, and those below an
 * OPTION_EXPERT_HEADING or in an OPTION_EXPERT_INCLUDE, only --help-all and the manual page show.
 *
 * Names are separated by blanks; the first long one, without its dashes, is the key in settings
 * files; names after a '|' are accepted but not shown. A name without a dash stands for the
 * remaining arguments, after the options: at most one per table, of kind FILES.
 *
 * Strict: unknown options, unknown values, numbers out of range, duplicate options and missing
 * values are errors that name what was found and, if there is one, the nearest valid name. `--name
 * value`, `--name=value` and `-n value` are understood; `--` ends the options. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/diag.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_kind {
    OPTION_KIND_END,
    OPTION_KIND_HEADING,
    OPTION_KIND_INCLUDE,
    OPTION_KIND_FLAG,     /* bool */
    OPTION_KIND_INT,      /* int64_t */
    OPTION_KIND_REAL,     /* double */
    OPTION_KIND_TEXT,     /* const char * */
    OPTION_KIND_FILE,     /* const char *: a file that is read */
    OPTION_KIND_CHOICE,   /* int: which of value's a|b|c, from 0 */
    OPTION_KIND_DURATION, /* double, seconds: 90, 90s, 5m, 2h, 1d */
    OPTION_KIND_SIZE,     /* int64_t, bytes: 1048576, 512K, 64M, 2G, 1T */
    OPTION_KIND_THREADS,  /* int64_t: N, or AUTO, which is 0 */
    OPTION_KIND_FILES,    /* option_files: files that are read */
} option_kind;

typedef struct option_files {
    const char **path; /* [count]; owned by the option_set, the texts are borrowed */
    int count;
} option_files;

typedef enum option_trait {
    OPTIONAL = 0,
    REQUIRED = 1,
    LOCAL = 2,  /* does not change the results: options_json leaves it out */
    EXPERT = 4, /* most people never need it: only the full help shows it */
} option_trait;

typedef struct option {
    option_kind kind;
    int trait; /* of option_trait; EXPERT also on a HEADING or INCLUDE, for all below it */
    const char *names;
    const char *value;          /* what help calls the value; the choices of a CHOICE */
    const char *help;           /* one line; the heading of a HEADING */
    size_t offset;              /* in the settings */
    double low, high;           /* range of a number; OPTION_ABOVE_0 as low: must be positive */
    const struct option *table; /* of an INCLUDE */
} option;

#define OPTION_ABOVE_0 DBL_MIN

/* The offset of a member, with its type checked at compile time. */
#define OPTION_AT(type, member, c_type) \
    (offsetof(type, member) + _Generic(((type *)0)->member, c_type : 0))

#define OPTION_END              \
    {                           \
        .kind = OPTION_KIND_END \
    }
#define OPTION_HEADING(text)                        \
    {                                               \
        .kind = OPTION_KIND_HEADING, .help = (text) \
    }
/* A heading with options for experts, up to the next heading. */
#define OPTION_EXPERT_HEADING(text)                                  \
    {                                                                \
        .kind = OPTION_KIND_HEADING, .trait = EXPERT, .help = (text) \
    }
/* Another table, whose settings struct is the given member. */
#define OPTION_INCLUDE(type, member, included)                                             \
    {                                                                                      \
        .kind = OPTION_KIND_INCLUDE, .offset = offsetof(type, member), .table = (included) \
    }
/* The same, where all its options are for experts. */
#define OPTION_EXPERT_INCLUDE(type, member, included)                                   \
    {                                                                                   \
        .kind = OPTION_KIND_INCLUDE, .trait = EXPERT, .offset = offsetof(type, member), \
        .table = (included)                                                             \
    }

/* Arguments: settings struct and member, names n, trait t, then range or words, help h. */
#define OPTION_ROW(k, at, n, t, v, lo, hi, h)                                               \
    {                                                                                       \
        .kind = (k), .offset = (at), .names = (n), .trait = (t), .value = (v), .low = (lo), \
        .high = (hi), .help = (h)                                                           \
    }
#define OPTION_FLAG(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_FLAG, OPTION_AT(type, member, bool), n, t, NULL, 0, 0, h)
#define OPTION_INT(type, member, n, t, lo, hi, h) \
    OPTION_ROW(OPTION_KIND_INT, OPTION_AT(type, member, int64_t), n, t, "N", lo, hi, h)
#define OPTION_REAL(type, member, n, t, lo, hi, h) \
    OPTION_ROW(OPTION_KIND_REAL, OPTION_AT(type, member, double), n, t, "X", lo, hi, h)
#define OPTION_TEXT(type, member, n, t, v, h) \
    OPTION_ROW(OPTION_KIND_TEXT, OPTION_AT(type, member, const char *), n, t, v, 0, 0, h)
#define OPTION_FILE(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_FILE, OPTION_AT(type, member, const char *), n, t, "FILE", 0, 0, h)
#define OPTION_FILES(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_FILES, OPTION_AT(type, member, option_files), n, t, "FILE...", 0, 0, h)
#define OPTION_CHOICE(type, member, n, t, words, h) \
    OPTION_ROW(OPTION_KIND_CHOICE, OPTION_AT(type, member, int), n, t, words, 0, 0, h)
#define OPTION_DURATION(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_DURATION, OPTION_AT(type, member, double), n, t, "TIME", 0, 1e9, h)
#define OPTION_SIZE(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_SIZE, OPTION_AT(type, member, int64_t), n, t, "SIZE", 0, 0x1p62, h)
#define OPTION_THREADS(type, member, n, t, h) \
    OPTION_ROW(OPTION_KIND_THREADS, OPTION_AT(type, member, int64_t), n, t, "N|AUTO", 1, 1024, h)

enum { OPTIONS_MAX = 128, OPTION_NAME = 64, OPTION_VALUE = 128 };

typedef struct option_item {
    const option *row;
    const char *heading; /* the last one before it, NULL if none */
    size_t offset;       /* in the settings of the command, inclusions added up */
    bool expert;         /* by its own trait, its heading or its inclusion */
    bool given;
    bool unused; /* does not apply to this run */
} option_item;

/* A table with its inclusions flattened, and what was found for it. */
typedef struct option_set {
    option_item item[OPTIONS_MAX];
    int count;
    void *settings;      /* in force: the defaults until parsing changes them; owned */
    void *settings_file; /* the parsed file, whose texts the settings point to; owned */
} option_set;

/* Flattens the table and copies the defaults, a struct of the given size, to s->settings.
 * ART_ERR_NOMEM if memory is short; s is safe to free in any case. */
int options_init(option_set *s, const option *table, const void *defaults, size_t size);

/* Frees the settings and all they point to. Safe on a zeroed set. */
void options_free(option_set *s);

/* Fills the settings from the arguments (without program and subcommand) and then, where an
 * option is not among them, from the settings file that --config names. What is wrong goes to
 * d; returns ART_OK, ART_ERR_USAGE, ART_ERR_INPUT (settings file) or ART_ERR_NOMEM. The texts of
 * argv are borrowed. */
int options_parse(option_set *s, int argc, char *const *argv, diag *d);

/* Sets one option from text as the command line would. */
int options_set(option_set *s, option_item *item, const char *text, const char *name,
                diag_place place, diag *d);

/* Appends to a FILES option. */
int options_add_file(option_set *s, option_item *item, const char *path, diag *d);

/* Writes the k-th name of an option, from 0, to name; false if there is none. Hidden names, after
 * the '|', come last and only if requested. */
bool option_name(char name[OPTION_NAME], const option *row, int k, bool hidden);

/* The key in settings files: the first long name without dashes; for files without a name, that
 * in lower case. */
void option_key(char key[OPTION_NAME], const option *row);

/* True for the option that takes the remaining arguments. */
bool option_is_positional(const option *row);

/* The current value as text, as it could be written on the command line; "" if there is none (a
 * text without value, a NaN, a list of files, a flag). */
void option_value(char value[OPTION_VALUE], const option_set *s, const option_item *item);

/* True if the option of that name was given, on the command line or in the settings file. */
bool options_given(const option_set *s, const char *name);

/* The files that an option names as inputs: none, one or several. Borrowed from the settings. */
option_files option_inputs(const option_set *s, const option_item *item);

/* The address of the value of an option in the settings. */
void *option_target(const option_set *s, const option_item *item);

/* The options of the table do not apply here: gives an error with the reason `why` if one of them
 * was given; options_json leaves them out. */
int options_refuse(option_set *s, const option *table, const char *why, diag *d);

#endif
