/* plot: an SVG plot of columns of tables. */
#include "artreeformer.h"
#include "base/mem.h"
#include "cli/session.h"
#include "results/columns.h"
#include "results/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum plot_scale { SCALE_NONE, SCALE_X, SCALE_Y, SCALE_BOTH };

typedef struct settings {
    common_settings common;
    option_files tables;
    const char *x, *y, *by;
    double from;
    int scale; /* of enum plot_scale */
    bool points, diagonal;
    const char *title, *x_name, *y_name;
} settings;

static const settings DEFAULTS = {.common = COMMON_DEFAULTS, .x = "step", .from = NAN};

static const option OPTIONS[] = {
    OPTION_HEADING("Input"),
    OPTION_FILES(settings, tables, "TABLES", REQUIRED,
                 "tab-separated tables with column names in the first line, or JSON lines: "
                 "PREFIX.metrics.jsonl or PREFIX.trace.tsv of a run, .p files of MrBayes; - is "
                 "standard input"),
    OPTION_HEADING("What to draw"),
    OPTION_TEXT(settings, x, "--x-axis", OPTIONAL, "NAME", "column along the horizontal axis"),
    OPTION_TEXT(settings, y, "--y-axis", REQUIRED, "NAMES",
                "columns along the vertical axis, separated by commas; each gives one curve"),
    OPTION_TEXT(settings, by, "--by", OPTIONAL, "NAME",
                "column of labels; each label gives one curve"),
    OPTION_REAL(settings, from, "--from", OPTIONAL, -DBL_MAX, DBL_MAX,
                "leave out rows whose horizontal value is below this"),
    OPTION_HEADING("How"),
    OPTION_CHOICE(settings, scale, "--log", OPTIONAL, "none|x|y|both", "logarithmic axes"),
    OPTION_FLAG(settings, points, "--points", OPTIONAL, "draw points instead of curves"),
    OPTION_FLAG(settings, diagonal, "--diagonal", OPTIONAL, "draw the line y = x"),
    OPTION_TEXT(settings, title, "--title", OPTIONAL, "TEXT", "title above the plot"),
    OPTION_TEXT(settings, x_name, "--x-label", OPTIONAL, "TEXT",
                "label of the horizontal axis; default: the name of the column"),
    OPTION_TEXT(settings, y_name, "--y-label", OPTIONAL, "TEXT",
                "label of the vertical axis; default: the names of the columns"),
    OPTION_INCLUDE(settings, common, COMMON_MESSAGES),
    OPTION_END,
};

/* A curve being collected. */
typedef struct curve {
    char *name;
    double *x, *y;
    size_t count, room;
} curve;

typedef struct drawing {
    const settings *set;
    curve curve[PLOT_SERIES];
    int curves;
    char *names;                         /* the column names, split at the commas */
    const char *column[1 + PLOT_SERIES]; /* x, then the y columns */
    int columns;
    size_t unplaced; /* points that cannot be shown on a logarithmic axis */
} drawing;

/* "x,y,.." becomes the list of columns. */
static int list_columns(drawing *w, diag *d)
{
    w->names = mem_text(w->set->y, strlen(w->set->y));
    if (!w->names)
        return ART_ERR_NOMEM;
    w->column[w->columns++] = w->set->x;
    for (char *name = w->names; name;) {
        char *comma = strchr(name, ',');
        if (comma)
            *comma = 0;
        if (!*name)
            return diag_error(
                d, ART_ERR_USAGE, (diag_place){0},
                "--y-axis '%s' has an empty name -- names are separated by single commas",
                w->set->y);
        if (w->columns > PLOT_SERIES)
            return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                              "--y-axis names more than %d columns -- more cannot be distinguished",
                              PLOT_SERIES);
        w->column[w->columns++] = name;
        name = comma ? comma + 1 : NULL;
    }
    return ART_OK;
}

/* A metrics file is named after its run: the length without the suffix. */
static size_t base_length(const char *base)
{
    static const char *const suffix[] = {".metrics.jsonl", ".jsonl", ".tsv", ".txt"};
    const size_t length = strlen(base);
    for (size_t i = 0; i < sizeof suffix / sizeof suffix[0]; i++) {
        const size_t n = strlen(suffix[i]);
        if (length > n && strcmp(base + length - n, suffix[i]) == 0)
            return length - n;
    }
    return length;
}

/* The name of a curve: its file, label and column, as far as these differ between curves. */
static void name_curve(buffer *out, const drawing *w, const char *path, const char *label,
                       int column)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (w->set->tables.count > 1)
        buffer_add(out, base, base_length(base));
    if (label)
        buffer_printf(out, "%s%s", out->length ? ", " : "", label);
    if (w->columns > 2 || out->length == 0)
        buffer_printf(out, "%s%s", out->length ? ", " : "", w->column[column]);
}

/* The curve with that name, created if necessary. */
static int find_curve(curve **out, drawing *w, const char *name, diag *d)
{
    for (int i = 0; i < w->curves; i++)
        if (strcmp(w->curve[i].name, name) == 0) {
            *out = &w->curve[i];
            return ART_OK;
        }
    if (w->curves == PLOT_SERIES)
        return diag_error(d, ART_ERR_INPUT, (diag_place){0},
                          "more than %d curves -- more cannot be distinguished; draw several plots",
                          PLOT_SERIES);
    *out = &w->curve[w->curves];
    (*out)->name = mem_text(name, strlen(name));
    w->curves += (*out)->name != NULL;
    return (*out)->name ? ART_OK : ART_ERR_NOMEM;
}

static int add_point(curve *c, double x, double y)
{
    if (c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 64;
        double *grown = mem_resize(c->x, room, sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        c->x = grown;
        grown = mem_resize(c->y, room, sizeof *grown);
        if (!grown)
            return ART_ERR_NOMEM;
        c->y = grown;
        c->room = room;
    }
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return ART_OK;
}

/* Whether that axis, SCALE_X or SCALE_Y, is logarithmic. */
static bool is_log(const settings *set, enum plot_scale axis)
{
    return set->scale == (int)axis || set->scale == SCALE_BOTH;
}

static bool has_place(const settings *set, double x, double y)
{
    return (!is_log(set, SCALE_X) || x > 0) && (!is_log(set, SCALE_Y) || y > 0);
}

static int add_row(drawing *w, const char *path, const double *value, const char *label, diag *d)
{
    int status = ART_OK;
    if (isnan(value[0]) || value[0] < w->set->from || (w->set->by && !label))
        return ART_OK;
    for (int i = 1; i < w->columns && !status; i++) {
        if (isnan(value[i]))
            continue;
        if (!has_place(w->set, value[0], value[i])) {
            w->unplaced++;
            continue;
        }
        buffer name;
        curve *to = NULL;
        buffer_init(&name);
        name_curve(&name, w, path, label, i);
        status = buffer_status(&name);
        if (!status)
            status = find_curve(&to, w, name.text, d);
        if (!status)
            status = add_point(to, value[0], value[i]);
        buffer_free(&name);
    }
    return status;
}

static int add_table(drawing *w, const char *path, diag *d)
{
    columns c;
    int status = columns_read(&c, path, w->column, w->columns, w->set->by, d);
    for (size_t i = 0; i < c.rows && !status; i++)
        status = add_row(w, path, c.value + i * (size_t)w->columns, c.label ? c.label[i] : NULL, d);
    columns_free(&c);
    return status;
}

static int draw(const drawing *w, buffer *out)
{
    const settings *set = w->set;
    const plot p = {.title = set->title ? set->title : "",
                    .x_name = set->x_name ? set->x_name : set->x,
                    .y_name = set->y_name ? set->y_name : set->y,
                    .log_x = is_log(set, SCALE_X),
                    .log_y = is_log(set, SCALE_Y),
                    .diagonal = set->diagonal};
    plot_series series[PLOT_SERIES];
    for (int i = 0; i < w->curves; i++)
        series[i] = (plot_series){w->curve[i].name, w->curve[i].x, w->curve[i].y,
                                  (int)w->curve[i].count, set->points ? PLOT_POINTS : PLOT_LINE};
    return plot_svg(out, &p, series, w->curves);
}

static int run(session *s, void *chosen)
{
    const settings *set = chosen;
    drawing w = {.set = set};
    buffer picture;
    buffer_init(&picture);
    int status = list_columns(&w, &s->diag);
    for (int i = 0; i < set->tables.count && !status; i++)
        status = add_table(&w, set->tables.path[i], &s->diag);
    if (!status && w.curves == 0)
        status = diag_error(&s->diag, ART_ERR_INPUT, (diag_place){.file = set->tables.path[0]},
                            "no row can be shown -- see --from and --log");
    if (!status && w.unplaced)
        diag_note(&s->diag, (diag_place){0},
                  "points not above 0 cannot be shown with --log: %zu left out", w.unplaced);
    session_notes(s);
    if (!status)
        status = draw(&w, &picture);
    if (!status)
        output_write(&s->table, picture.text, picture.length);
    for (int i = 0; i < w.curves; i++) {
        free(w.curve[i].name);
        free(w.curve[i].x);
        free(w.curve[i].y);
    }
    free(w.names);
    buffer_free(&picture);
    return status;
}

const command plot_command = {
    .name = "plot",
    .summary = "plot of the progress of runs, or of the columns of any table",
    .description = "Prints an SVG plot of one or more columns against another, for example the "
                   "lower bound or the divergence of runs against steps or seconds. Rows with "
                   "missing numbers are skipped. A plot has at most six curves.",
    .options = OPTIONS,
    .defaults = &DEFAULTS,
    .size = sizeof(settings),
    .run = run,
};
