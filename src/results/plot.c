#include "results/plot.h"

#include "artreeformer.h"
#include "results/markup.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 760, HEIGHT = 480, LEFT = 80, RIGHT = 230, TOP = 50, BOTTOM = 60 };
enum { MARKED = 40 }; /* points that a line may have for each to get a mark */

/* Told apart by everyone (Okabe and Ito). */
static const char *const COLOUR[PLOT_SERIES] = {"#0072b2", "#d55e00", "#009e73",
                                                "#cc79a7", "#e69f00", "#56b4e9"};

typedef struct axis {
    bool log;
    double low, high;   /* on its scale */
    double first, last; /* where they are in the picture */
} axis;

static double on_scale(const axis *a, double value)
{
    return a->log ? log10(value) : value;
}

static double place(const axis *a, double value)
{
    return a->first + (on_scale(a, value) - a->low) / (a->high - a->low) * (a->last - a->first);
}

static int widen(axis *a, double value)
{
    const double at = on_scale(a, value);
    if (!isfinite(at))
        return ART_ERR_USAGE;
    a->low = fmin(a->low, at);
    a->high = fmax(a->high, at);
    return ART_OK;
}

/* Some air around; something to divide by where all values are one. */
static void loosen(axis *a)
{
    const double width = a->high - a->low;
    const double air = width > 0 ? 0.03 * width : 0.1 + 0.01 * fabs(a->low);
    a->low -= air;
    a->high += air;
}

static int fit_axes(axis *x, axis *y, const plot *p, const plot_series *series, int n_series)
{
    *x = (axis){p->log_x, INFINITY, -INFINITY, LEFT, WIDTH - RIGHT};
    *y = (axis){p->log_y, INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP};
    int status = ART_OK;
    for (int s = 0; s < n_series; s++)
        for (int i = 0; i < series[s].count && !status; i++) {
            status = widen(x, series[s].x[i]);
            if (!status)
                status = widen(y, series[s].y[i]);
        }
    if (status || !(x->low <= x->high))
        return ART_ERR_USAGE;
    loosen(x);
    loosen(y);
    return ART_OK;
}

/* A line across the picture and its number: position, then the other axis' two ends. */
static void put_tick(buffer *out, const axis *a, const axis *across, bool vertical, double value)
{
    const double at = place(a, value);
    if (vertical)
        buffer_printf(out,
                      "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.10g</text>\n",
                      at, across->first, at, across->last, at, HEIGHT - BOTTOM + 20, value);
    else
        buffer_printf(out,
                      "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.10g</text>\n",
                      across->first, at, across->last, at, LEFT - 8, at + 4, value);
}

static const double ROUND[] = {1, 2, 5};

/* At 1, 2 and 5 times the powers of ten; at the powers alone where there are many. */
static void put_log_axis(buffer *out, const axis *a, const axis *across, bool vertical)
{
    const int steps = a->high - a->low > 2 ? 1 : 3;
    for (double power = floor(a->low); power <= a->high; power++)
        for (int i = 0; i < steps; i++) {
            const double value = ROUND[i] * pow(10, power);
            if (log10(value) >= a->low && log10(value) <= a->high)
                put_tick(out, a, across, vertical, value);
        }
}

/* At four to ten multiples of 1, 2 or 5 times a power of ten. */
static void put_even_axis(buffer *out, const axis *a, const axis *across, bool vertical)
{
    const double width = a->high - a->low, power = pow(10, floor(log10(width)) - 1);
    double step = power;
    for (int i = 0; width / step > 10; i++)
        step = ROUND[(i + 1) % 3] * power * pow(10, (i + 1) / 3);
    for (double k = ceil(a->low / step); k * step <= a->high; k++)
        put_tick(out, a, across, vertical, k == 0 ? 0 : k * step); /* and not -0 */
}

static void put_axis(buffer *out, const axis *a, const axis *across, bool vertical)
{
    (a->log ? put_log_axis : put_even_axis)(out, a, across, vertical);
}

static void put_name(buffer *out, double x, double y, const char *name)
{
    buffer_printf(out, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
    markup_text(out, name);
    buffer_text(out, "</text>\n");
}

static void put_line(buffer *out, const axis *x, const axis *y, const plot_series *s,
                     const char *stroke)
{
    buffer_printf(out, "<polyline fill=\"none\" %s points=\"", stroke);
    for (int i = 0; i < s->count; i++)
        buffer_printf(out, "%s%.1f,%.1f", i ? " " : "", place(x, s->x[i]), place(y, s->y[i]));
    buffer_text(out, "\"/>\n");
}

static void put_marks(buffer *out, const axis *x, const axis *y, const plot_series *s,
                      const char *fill)
{
    for (int i = 0; i < s->count; i++)
        buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" %s/>\n", place(x, s->x[i]),
                      place(y, s->y[i]), s->count > MARKED ? "1.5" : "3", fill);
}

static void put_series(buffer *out, const axis *x, const axis *y, const plot_series *s, int number)
{
    const double legend = TOP + 12 + 24 * number, left = WIDTH - RIGHT + 15;
    const bool dashed = s->style == PLOT_DASHED, line = s->style != PLOT_POINTS;
    char stroke[96], fill[48];
    snprintf(stroke, sizeof stroke, "stroke=\"%s\" stroke-width=\"2\"%s", COLOUR[number],
             dashed ? " stroke-dasharray=\"6 4\"" : "");
    snprintf(fill, sizeof fill, "fill=\"%s\"%s", COLOUR[number],
             line ? "" : " fill-opacity=\"0.5\"");
    if (line) {
        put_line(out, x, y, s, stroke);
        buffer_printf(out, "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" %s/>", left,
                      legend, left + 30, legend, stroke);
    } else {
        buffer_printf(out, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"4\" %s/>", left + 15, legend, fill);
    }
    if (!line || s->count <= MARKED)
        put_marks(out, x, y, s, fill);
    put_name(out, left + 37, legend + 4, s->name);
}

static void put_diagonal(buffer *out, const axis *x, const axis *y)
{
    const double from = fmax(x->low, y->low), to = fmin(x->high, y->high);
    if (x->log != y->log || from >= to)
        return;
    const double ends[] = {x->log ? pow(10, from) : from, x->log ? pow(10, to) : to};
    put_line(out, x, y, &(plot_series){.x = ends, .y = ends, .count = 2}, "stroke=\"#888\"");
}

int plot_svg(buffer *out, const plot *p, const plot_series *series, int n_series)
{
    axis x, y;
    if (n_series < 1 || n_series > PLOT_SERIES || fit_axes(&x, &y, p, series, n_series))
        return ART_ERR_USAGE;
    const int middle = (LEFT + WIDTH - RIGHT) / 2, centre = (TOP + HEIGHT - BOTTOM) / 2;
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>.grid{stroke:#ddd}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    buffer_printf(out, "<g font-size=\"16\">");
    put_name(out, LEFT, 28, p->title);
    buffer_text(out, "</g>\n");
    put_axis(out, &x, &y, true);
    put_axis(out, &y, &x, false);
    buffer_text(out, "<g text-anchor=\"middle\">\n");
    put_name(out, middle, HEIGHT - 15, p->x_name);
    buffer_printf(out, "<g transform=\"rotate(-90 20 %d)\">", centre);
    put_name(out, 20, centre, p->y_name);
    buffer_text(out, "</g></g>\n");
    if (p->diagonal)
        put_diagonal(out, &x, &y);
    for (int i = 0; i < n_series; i++)
        put_series(out, &x, &y, &series[i], i);
    buffer_text(out, "</svg>\n");
    return buffer_status(out);
}
