#include "results/trace.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "results/columns.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int trace_read(trace *t, const char *path, const char *name)
{
    enum { STEP, VALUE, ANNEAL, COLUMNS };
    const char *const wanted[COLUMNS] = {"step", name, "anneal"};
    memset(t, 0, sizeof *t);
    columns c;
    int status = columns_read(&c, path, wanted, COLUMNS, NULL, NULL);
    if (!status && !(t->point = mem_zeros(c.rows, sizeof *t->point)))
        status = ART_ERR_NOMEM;
    bool whole = false; /* the line before had the whole weight */
    for (size_t i = 0; i < c.rows && !status; i++) {
        const double *row = c.value + i * COLUMNS;
        const bool was_whole = whole;
        whole = row[ANNEAL] >= 1;
        if (was_whole && whole && !isnan(row[STEP]) && !isnan(row[VALUE]))
            t->point[t->count++] = (trace_point){row[STEP], row[VALUE]};
    }
    columns_free(&c);
    return status == ART_ERR_INPUT ? ART_OK : status;
}

void trace_free(trace *t)
{
    free(t->point);
    memset(t, 0, sizeof *t);
}
