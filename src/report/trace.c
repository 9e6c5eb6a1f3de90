#include "report/trace.h"

#include "artreeformer.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    trace *out;
    size_t room;
    bool whole; /* the line before had the whole weight */
} reader;

static int add_line(reader *r, const char *text, const char *name)
{
    int status = ART_OK;
    json_t *line = json_loads(text, 0, NULL);
    const json_t *step = json_object_get(line, "step"), *value = json_object_get(line, name);
    bool whole = json_number_value(json_object_get(line, "anneal")) >= 1;
    if (r->whole && whole && json_is_number(step) && json_is_number(value)) {
        trace *t = r->out;
        trace_point *point = mem_grow(t->point, &r->room, t->count, sizeof *point);
        if (point) {
            t->point = point;
            point[t->count++] = (trace_point){json_number_value(step), json_number_value(value)};
        } else {
            status = ART_ERR_NOMEM;
        }
    }
    r->whole = whole;
    json_decref(line);
    return status;
}

int trace_read(trace *t, const char *path, const char *name)
{
    memset(t, 0, sizeof *t);
    FILE *file = fopen(path, "r");
    if (!file)
        return ART_OK;
    reader r = {.out = t};
    char *text = NULL;
    size_t size = 0;
    int status = ART_OK;
    while (!status && getline(&text, &size, file) >= 0)
        status = add_line(&r, text, name);
    free(text);
    fclose(file);
    return status;
}

void trace_free(trace *t)
{
    free(t->point);
    memset(t, 0, sizeof *t);
}
