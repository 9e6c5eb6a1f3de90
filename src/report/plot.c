#include "report/plot.h"

#include "artreeformer.h"

#include <math.h>

enum { WIDTH = 760, HEIGHT = 480, LEFT = 80, RIGHT = 230, TOP = 50, BOTTOM = 60 };

/* Told apart by everyone (Okabe and Ito). */
static const char *const COLOUR[PLOT_SERIES] = {"#0072b2", "#d55e00", "#009e73",
                                                "#cc79a7", "#e69f00", "#56b4e9"};

typedef struct axis {
    double low, high;   /* logarithms */
    double first, last; /* where they are in the picture */
} axis;

static double place(const axis *a, double value)
{
    return a->first + (log10(value) - a->low) / (a->high - a->low) * (a->last - a->first);
}

static int widen(axis *a, double value)
{
    if (!(value > 0 && isfinite(value)))
        return ART_ERR_USAGE;
    a->low = fmin(a->low, log10(value));
    a->high = fmax(a->high, log10(value));
    return ART_OK;
}

/* Both axes around all points, with some air. */
static int fit_axes(axis *x, axis *y, const plot_series *series, int n_series)
{
    *x = (axis){INFINITY, -INFINITY, LEFT, WIDTH - RIGHT};
    *y = (axis){INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP};
    int status = ART_OK;
    for (int s = 0; s < n_series; s++)
        for (int i = 0; i < series[s].count && !status; i++) {
            status = widen(x, series[s].x[i]);
            if (!status)
                status = widen(y, series[s].y[i]);
        }
    if (status || !(x->low <= x->high))
        return ART_ERR_USAGE;
    x->low -= 0.03;
    x->high += 0.03;
    y->low -= 0.1;
    y->high += 0.1;
    return ART_OK;
}

/* A line across the picture and its number: position, then the other axis' two ends. */
static void put_tick(buffer *out, const axis *a, const axis *across, bool vertical, double value)
{
    const double at = place(a, value);
    if (vertical)
        buffer_printf(out,
                      "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                      at, across->first, at, across->last, at, HEIGHT - BOTTOM + 20, value);
    else
        buffer_printf(out,
                      "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                      across->first, at, across->last, at, LEFT - 8, at + 4, value);
}

/* At 1, 2 and 5 times the powers of ten; at the powers alone where there are many. */
static void put_axis(buffer *out, const axis *a, const axis *across, bool vertical)
{
    static const double within[] = {1, 2, 5};
    const int steps = a->high - a->low > 2 ? 1 : 3;
    for (double power = floor(a->low); power <= a->high; power++)
        for (int i = 0; i < steps; i++) {
            const double value = within[i] * pow(10, power);
            if (log10(value) >= a->low && log10(value) <= a->high)
                put_tick(out, a, across, vertical, value);
        }
}

static void put_series(buffer *out, const axis *x, const axis *y, const plot_series *s, int number)
{
    const char *colour = COLOUR[number];
    const double legend = TOP + 12 + 24 * number;
    const char *dash = s->dashed ? " stroke-dasharray=\"6 4\"" : "";
    buffer_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
                  colour, dash);
    for (int i = 0; i < s->count; i++)
        buffer_printf(out, "%s%.1f,%.1f", i ? " " : "", place(x, s->x[i]), place(y, s->y[i]));
    buffer_text(out, "\"/>\n");
    for (int i = 0; i < s->count; i++)
        buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>",
                      place(x, s->x[i]), place(y, s->y[i]), colour);
    buffer_printf(out,
                  "\n<line x1=\"%d\" y1=\"%.0f\" x2=\"%d\" y2=\"%.0f\" stroke=\"%s\" "
                  "stroke-width=\"2\"%s/><text x=\"%d\" y=\"%.0f\">%s</text>\n",
                  WIDTH - RIGHT + 15, legend, WIDTH - RIGHT + 45, legend, colour, dash,
                  WIDTH - RIGHT + 52, legend + 4, s->name);
}

int plot_svg(buffer *out, const plot *p, const plot_series *series, int n_series)
{
    axis x, y;
    if (n_series < 1 || n_series > PLOT_SERIES || fit_axes(&x, &y, series, n_series))
        return ART_ERR_USAGE;
    const int middle = (LEFT + WIDTH - RIGHT) / 2, centre = (TOP + HEIGHT - BOTTOM) / 2;
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>.grid{stroke:#ddd}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    buffer_printf(out, "<text x=\"%d\" y=\"28\" font-size=\"16\">%s</text>\n", LEFT, p->title);
    put_axis(out, &x, &y, true);
    put_axis(out, &y, &x, false);
    buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", middle,
                  HEIGHT - 15, p->x_name);
    buffer_printf(out,
                  "<text x=\"20\" y=\"%d\" text-anchor=\"middle\" "
                  "transform=\"rotate(-90 20 %d)\">%s</text>\n",
                  centre, centre, p->y_name);
    for (int i = 0; i < n_series; i++)
        put_series(out, &x, &y, &series[i], i);
    buffer_text(out, "</svg>\n");
    return buffer_status(out);
}
