/* plot.h: a plot of curves or points as a complete SVG file.
 *
 *     plot_series series[] = {{"iterated", x, y, 7, PLOT_LINE}, ..};
 *     const plot p = {.title = "Time", .x_name = "taxa", .y_name = "seconds", .log_y = true};
 *     status = plot_svg(&out, &p, series, 2); */
#ifndef RESULTS_PLOT_H
#define RESULTS_PLOT_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct plot {
    const char *title;
    const char *x_name;
    const char *y_name;
    bool log_x, log_y;
    bool diagonal; /* draws the line y = x */
} plot;

typedef enum plot_style { PLOT_LINE, PLOT_DASHED, PLOT_POINTS } plot_style;

typedef struct plot_series {
    const char *name;
    const double *x, *y; /* [count]; finite, and positive on a logarithmic axis */
    int count;
    plot_style style;
} plot_series;

/* Adds the file to out. ART_ERR_USAGE if a number cannot be on its axis, or there are no points,
 * or more than PLOT_SERIES series. */
enum { PLOT_SERIES = 6 };
int plot_svg(buffer *out, const plot *p, const plot_series *series, int n_series);

#endif
