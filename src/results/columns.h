/* columns.h: columns of numbers from a table, by their names.
 *
 * A table is tab-separated with the names in its first line, or JSON lines: one object per line, as
 * in <prefix>.metrics.jsonl. An empty field, "-" or null in a column gives NAN. Lines before the
 * names that begin with [ or #, as in the .p files of MrBayes and the logs of BEAST, are skipped;
 * LnL and lnLike, LnPr and lnPrior of MrBayes are the same column.
 *
 *     const char *name[] = {"step", "kl"};
 *     columns c;
 *     status = columns_read(&c, path, name, 2, "method", d);
 *     for (size_t i = 0; i < c.rows; i++)
 *         use(c.value[2 * i], c.value[2 * i + 1], c.label[i]);
 *     columns_free(&c); */
#ifndef RESULTS_COLUMNS_H
#define RESULTS_COLUMNS_H

#include "base/diag.h"

#include <stddef.h>

typedef struct columns {
    size_t rows;
    int count;
    double *value; /* [rows][count]; owned */
    char **label;  /* [rows], NULL without a column of labels; owned */
} columns;

/* label is the name of a column of words, or NULL. ART_ERR_INPUT with the place in d for a file
 * that is not a table, a column that does not occur in it, and a value that is not a number. */
int columns_read(columns *c, const char *path, const char *const *name, int count,
                 const char *label, diag *d);
void columns_free(columns *c); /* safe on a zeroed or half-built one */

#endif
