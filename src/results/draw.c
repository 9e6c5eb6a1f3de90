#include "results/draw.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "results/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell of the canvas is a set of these, or a printable character. */
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, SETS = 16 };
enum { LEAST_BRANCH = 2, SUPPORT_BRANCH = 5, LINES_PER_TAXON = 2 };

static const char *const BOX[SETS] = {" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                      "─", "└", "┌", "├", "─", "┴", "┬", "┼"};

typedef struct canvas {
    int rows, columns;
    unsigned char *cell; /* [rows][columns] */
    int *x, *y;          /* [nodes] column and row */
} canvas;

static unsigned char *at(canvas *v, int row, int column)
{
    return &v->cell[(size_t)row * (size_t)v->columns + (size_t)column];
}

/* Columns follow the layout, with room for a support on every inner branch; rows do exactly. */
static void place(canvas *v, const consensus *c, const layout *l, int columns)
{
    double scale = l->width > 0 ? (columns - 1) / l->width : 0;
    v->columns = 1;
    v->rows = LINES_PER_TAXON * (c->n_taxa - 1) + 1;
    for (int32_t i = 0; i < c->count; i++) {
        int32_t parent = c->node[i].parent;
        int room = c->node[i].taxon < 0 ? SUPPORT_BRANCH : LEAST_BRANCH;
        int least = parent < 0 ? 0 : v->x[parent] + room;
        int wanted = (int)lround(l->x[i] * scale);
        v->x[i] = wanted > least ? wanted : least;
        v->y[i] = (int)(l->y[i] * LINES_PER_TAXON);
        v->columns = v->x[i] >= v->columns ? v->x[i] + 1 : v->columns;
    }
}

/* The branch above a node: down or up along the parent's column, then to the right. */
static void draw_branch(canvas *v, const consensus *c, int32_t i)
{
    int32_t parent = c->node[i].parent;
    int from = v->y[parent], to = v->y[i], x = v->x[parent];
    int step = to > from ? 1 : -1;
    for (int row = from; row != to; row += step) {
        *at(v, row, x) |= step > 0 ? DOWN : UP;
        *at(v, row + step, x) |= step > 0 ? UP : DOWN;
    }
    *at(v, to, x) |= RIGHT;
    for (int column = x + 1; column < v->x[i]; column++)
        *at(v, to, column) |= LEFT | RIGHT;
    *at(v, to, v->x[i]) |= LEFT;
}

/* Percent, right before the node. */
static void write_support(canvas *v, const consensus *c, int32_t i)
{
    char text[16];
    if (c->node[i].taxon >= 0 || isnan(c->node[i].support))
        return;
    int n = snprintf(text, sizeof text, "%.0f", 100 * c->node[i].support);
    for (int k = 0; k < n; k++)
        *at(v, v->y[i], v->x[i] - n + k) = (unsigned char)text[k];
}

static void write_row(buffer *out, canvas *v, int row, const char *name)
{
    int last = v->columns - 1;
    while (last > 0 && *at(v, row, last) == 0)
        last--;
    for (int column = 0; column <= last; column++) {
        unsigned char cell = *at(v, row, column);
        if (cell < SETS)
            buffer_text(out, BOX[cell]);
        else
            buffer_char(out, (char)cell);
    }
    if (name)
        buffer_char(out, ' ');
    for (; name && *name; name++)
        buffer_char(out, (unsigned char)*name < ' ' || *name == 0x7F ? '?' : *name);
    buffer_char(out, '\n');
}

int draw_tree(buffer *out, const consensus *c, const taxa *names, int columns)
{
    size_t n = (size_t)c->count;
    layout l = {0};
    canvas v = {.x = mem_zeros(n, sizeof *v.x), .y = mem_zeros(n, sizeof *v.y)};
    int status = v.x && v.y ? layout_make(&l, c) : ART_ERR_NOMEM;
    if (!status) {
        place(&v, c, &l, columns);
        v.cell = mem_zeros((size_t)v.rows * (size_t)v.columns, 1);
        status = v.cell ? ART_OK : ART_ERR_NOMEM;
    }
    if (!status) {
        for (int32_t i = 1; i < c->count; i++)
            draw_branch(&v, c, i);
        for (int32_t i = 1; i < c->count; i++)
            write_support(&v, c, i);
        for (int row = 0, node = 0; row < v.rows; row++) {
            const char *name = NULL;
            if (row % LINES_PER_TAXON == 0) {
                while (c->node[node].taxon < 0)
                    node++;
                name = names->name[c->node[node++].taxon];
            }
            write_row(out, &v, row, name);
        }
        status = buffer_status(out);
    }
    layout_free(&l);
    free(v.x);
    free(v.y);
    free(v.cell);
    return status;
}
