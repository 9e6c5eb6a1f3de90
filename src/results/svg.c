#include "results/svg.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "results/layout.h"
#include "results/markup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In pixels, as far as a page is shown at its own size. */
enum { MARGIN = 20, ROW = 18, TREE = 560, LETTER = 7, LABEL = 400 };
enum { WIDE = 900, HIGH = 260, LEFT = 90, RIGHT = 20, TOP = 12, BOTTOM = 40, TICKS = 6 };
enum { CURVE_WIDE = 220, CURVE_HIGH = 44, EDGE = 30, CURVE_DIGITS = 3 };
enum { DIGITS = 10 }; /* of a tick: fewer than rounding spoils */

/* The least of 1, 2, 5 times a power of ten that is not below x. */
static double round_up(double x)
{
    double unit = pow(10, floor(log10(x)));
    return x <= unit ? unit : x <= 2 * unit ? 2 * unit : x <= 5 * unit ? 5 * unit : 10 * unit;
}

/* name="value" of an attribute. */
static void put(buffer *out, const char *name, double value)
{
    buffer_printf(out, " %s=\"", name);
    buffer_fixed(out, value, 1);
    buffer_char(out, '"');
}

static void put_path(buffer *out, const char *command, double x, double y)
{
    buffer_text(out, command);
    buffer_fixed(out, x, 1);
    buffer_char(out, ' ');
    buffer_fixed(out, y, 1);
}

static void begin(buffer *out, const char *label, double width, double height)
{
    buffer_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    put(out, "width", width);
    put(out, "height", height);
    buffer_text(out, " viewBox=\"0 0 ");
    put_path(out, "", width, height);
    buffer_printf(out, "\" aria-label=\"%s\">\n", label);
}

static void line(buffer *out, const char *class, double x1, double y1, double x2, double y2)
{
    buffer_printf(out, "<path class=\"%s\" d=\"", class);
    put_path(out, "M", x1, y1);
    put_path(out, "L", x2, y2);
    buffer_text(out, "\"/>\n");
}

/* anchor: "start", "middle" or "end" is at x. */
static void text_begin(buffer *out, const char *class, const char *anchor, double x, double y)
{
    buffer_printf(out, "<text class=\"%s\" text-anchor=\"%s\"", class, anchor);
    put(out, "x", x);
    put(out, "y", y);
    buffer_char(out, '>');
}

static void text_end(buffer *out)
{
    buffer_text(out, "</text>\n");
}

static void number(buffer *out, const char *anchor, double x, double y, double value)
{
    text_begin(out, "label", anchor, x, y);
    buffer_double(out, value + 0.0, DIGITS); /* never -0 */
    text_end(out);
}

/* The tree */

/* From the parent down or up, then to the right. */
static void branch(buffer *out, const consensus_node *node, double x, double y, double x0,
                   double y0)
{
    buffer_text(out, "<path class=\"branch\" d=\"");
    put_path(out, "M", x0, y0);
    put_path(out, "L", x0, y);
    put_path(out, "L", x, y);
    buffer_text(out, "\">");
    if (!isnan(node->length)) {
        buffer_text(out, "<title>length ");
        buffer_double(out, node->length, 4);
        if (!isnan(node->length_sd)) {
            buffer_text(out, ", standard deviation ");
            buffer_double(out, node->length_sd, 4);
        }
        buffer_text(out, "</title>");
    }
    buffer_text(out, "</path>\n");
}

static void scale_bar(buffer *out, double pixels, double width, double y)
{
    double length = round_up(width / 8);
    line(out, "axis", MARGIN, y, MARGIN + length * pixels, y);
    number(out, "start", MARGIN + length * pixels + 6, y + 4, length);
}

static double longest_name(const taxa *names)
{
    size_t longest = 0;
    for (int32_t i = 0; i < names->count; i++)
        longest = strlen(names->name[i]) > longest ? strlen(names->name[i]) : longest;
    return fmin((double)longest * LETTER, LABEL);
}

int svg_tree(buffer *out, const consensus *c, const taxa *names)
{
    layout l = {0};
    int status = layout_make(&l, c);
    if (status)
        goto out;
    double pixels = l.width > 0 ? TREE / l.width : 0;
    double bottom = MARGIN + ROW * (double)c->n_taxa;
    begin(out, "consensus tree", 2 * MARGIN + TREE + longest_name(names), bottom + 2 * MARGIN);
    for (int32_t i = 1; i < c->count; i++) {
        const consensus_node *node = &c->node[i];
        double x = MARGIN + l.x[i] * pixels, y = MARGIN + (l.y[i] + 0.5) * ROW;
        branch(out, node, x, y, MARGIN + l.x[node->parent] * pixels,
               MARGIN + (l.y[node->parent] + 0.5) * ROW);
        if (node->taxon >= 0) {
            text_begin(out, "name", "start", x + 5, y + 4);
            markup_text(out, names->name[node->taxon]);
            text_end(out);
        } else if (!isnan(node->support)) {
            text_begin(out, "support", "end", x - 3, y - 3);
            buffer_fixed(out, 100 * node->support, 0);
            text_end(out);
        }
    }
    if (l.lengths && l.width > 0)
        scale_bar(out, pixels, l.width, bottom + MARGIN);
    buffer_text(out, "</svg>\n");
    status = buffer_status(out);
out:
    layout_free(&l);
    return status;
}

/* The trace */

typedef struct axes {
    double x0, x1, y0, y1; /* what the corners of the drawing stand for */
} axes;

static double across(const axes *a, double step)
{
    return LEFT + (step - a->x0) / (a->x1 - a->x0) * (WIDE - LEFT - RIGHT);
}

static double down(const axes *a, double value)
{
    return HIGH - BOTTOM - (value - a->y0) / (a->y1 - a->y0) * (HIGH - BOTTOM - TOP);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the tenth part of the values to the largest, with a little room at either end. */
static int find_axes(axes *a, const trace *t)
{
    double *sorted = mem_zeros(t->count, sizeof *sorted);
    if (!sorted)
        return ART_ERR_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        sorted[i] = t->point[i].value;
    qsort(sorted, t->count, sizeof *sorted, by_value);
    double low = sorted[t->count / 10], high = sorted[t->count - 1];
    double room = fmax(0.1 * (high - low), 1e-6 * fmax(1, fabs(high)));
    *a = (axes){t->point[0].step, t->point[t->count - 1].step, low - room, high + room};
    free(sorted);
    return ART_OK;
}

static void draw_axes(buffer *out, const axes *a)
{
    double step = round_up((a->y1 - a->y0) / TICKS);
    for (double k = ceil(a->y0 / step); k * step <= a->y1; k++) {
        double y = k * step;
        line(out, "grid", LEFT, down(a, y), WIDE - RIGHT, down(a, y));
        number(out, "end", LEFT - 6, down(a, y) + 4, y);
    }
    step = round_up((a->x1 - a->x0) / TICKS);
    for (double k = ceil(a->x0 / step); k * step <= a->x1; k++) {
        double x = k * step;
        line(out, "axis", across(a, x), HIGH - BOTTOM, across(a, x), HIGH - BOTTOM + 4);
        number(out, "middle", across(a, x), HIGH - BOTTOM + 18, x);
    }
    line(out, "axis", LEFT, HIGH - BOTTOM, WIDE - RIGHT, HIGH - BOTTOM);
    text_begin(out, "label", "end", WIDE - RIGHT, HIGH - 6);
    buffer_text(out, "step");
    text_end(out);
}

int svg_trace(buffer *out, const trace *t)
{
    axes a;
    int status = find_axes(&a, t);
    if (status)
        return status;
    begin(out, "lower bound by step of training", WIDE, HIGH);
    draw_axes(out, &a);
    buffer_text(out, "<path class=\"trace\" d=\"");
    for (size_t i = 0; i < t->count; i++)
        put_path(out, i ? "L" : "M", across(&a, t->point[i].step),
                 down(&a, fmax(t->point[i].value, a.y0)));
    buffer_text(out, "\"/>\n</svg>\n");
    return buffer_status(out);
}

/* A marginal density */

static double along(const marginal *m, double value)
{
    return EDGE + (value - m->from) / (m->to - m->from) * (CURVE_WIDE - 2 * EDGE);
}

static void interval_end(buffer *out, const marginal *m, double value)
{
    const double x = along(m, value);
    line(out, "axis", x, CURVE_HIGH, x, CURVE_HIGH + 4);
    text_begin(out, "label", "middle", x, CURVE_HIGH + 16);
    buffer_double(out, value, CURVE_DIGITS);
    text_end(out);
}

void svg_marginal(buffer *out, const marginal *m)
{
    begin(out, "marginal posterior density", CURVE_WIDE, CURVE_HIGH + 20);
    buffer_text(out, "<path class=\"density\" d=\"");
    for (int j = 0; j < MARGINAL_POINTS; j++)
        put_path(out, j ? "L" : "M",
                 EDGE + (double)j / (MARGINAL_POINTS - 1) * (CURVE_WIDE - 2 * EDGE),
                 CURVE_HIGH - (CURVE_HIGH - 2) * m->density[j]);
    buffer_text(out, "\"/>\n");
    line(out, "axis", EDGE, CURVE_HIGH, CURVE_WIDE - EDGE, CURVE_HIGH);
    interval_end(out, m, m->low);
    interval_end(out, m, m->high);
    buffer_text(out, "</svg>\n");
}
