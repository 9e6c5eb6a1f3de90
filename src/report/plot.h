/* plot.h: curves on two logarithmic axes as a picture, a complete SVG file.
 *
 *     plot_series series[] = {{"iterated", x, y, 7, false}, ..};
 *     status = plot_svg(&out, &(plot){"Title", "taxa", "seconds"}, series, 2);
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "base/buffer.h"

#include <stdbool.h>

/* Texts are borrowed and written as they are: no '<' or '&' in them. */
typedef struct plot {
    const char *title;
    const char *x_name;
    const char *y_name;
} plot;

typedef struct plot_series {
    const char *name;
    const double *x, *y; /* [count], all positive */
    int count;
    bool dashed;
} plot_series;

/* Adds the file to out. ART_ERR_USAGE if a number is not positive and finite, or there are no
 * points, or more than PLOT_SERIES series. */
enum { PLOT_SERIES = 6 };
int plot_svg(buffer *out, const plot *p, const plot_series *series, int n_series);

#endif
