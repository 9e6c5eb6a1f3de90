#include "results/parameters.h"

#include "artreeformer.h"
#include "base/interval.h"
#include "base/mem.h"
#include "io/json_number.h"
#include "io/output.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double INTERVAL = 0.95;
enum { LEAST_ROWS = 100 }; /* for an interval of what only some of the averaged models have */

/* Leaves out those that are not known; returns how many there are. */
static size_t keep_numbers(double *value, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(value[i]))
            value[known++] = value[i];
    return known;
}

/* Row k; value [p->count] is scratch. */
static int fill_row(parameter_row *row, const posterior *p, int k, double *value)
{
    const size_t count = (size_t)p->count;
    const weighted_sums *s = &p->column[k];
    *row = (parameter_row){.mean = weighted_mean(s),
                           .error = weighted_mean_error(s),
                           .deviation = weighted_deviation(s),
                           .share = posterior_column_share(p, k)};
    posterior_column_name(row->name, p, k);
    row->ess = isnan(row->error) ? weighted_draws(s)
                                 : row->deviation * row->deviation / (row->error * row->error);
    for (size_t i = 0; i < count; i++)
        value[i] = posterior_row_value(p, (int)i, k);
    size_t known = keep_numbers(value, count);
    if (isnan(row->error) || (row->share < 1 && known < LEAST_ROWS))
        known = 0;
    interval sample;
    const int status = interval_of(&sample, value, NULL, known, INTERVAL);
    row->median = sample.median;
    row->low = sample.low;
    row->high = sample.high;
    return status;
}

int parameter_rows(parameter_row **out, const posterior *p)
{
    *out = NULL;
    if (!p->n_columns)
        return ART_OK;
    parameter_row *row = mem_zeros((size_t)p->n_columns, sizeof *row);
    double *value = mem_zeros((size_t)p->count + 1, sizeof *value);
    int status = row && value ? ART_OK : ART_ERR_NOMEM;
    for (int k = 0; k < p->n_columns && !status; k++)
        status = fill_row(&row[k], p, k, value);
    free(value);
    if (status)
        free(row);
    else
        *out = row;
    return status;
}

json_t *parameters_json(const posterior *p)
{
    parameter_row *row = NULL;
    json_t *out = json_object();
    int status = out ? parameter_rows(&row, p) : ART_ERR_NOMEM;
    for (int k = 0; k < p->n_columns && !status; k++) {
        json_t *one = json_object();
        status = !one || json_object_set_new(out, row[k].name, one) ? ART_ERR_NOMEM : ART_OK;
        const struct {
            const char *name;
            double value;
        } figure[] = {{"mean", row[k].mean},      {"mean_se", row[k].error},
                      {"sd", row[k].deviation},   {"median", row[k].median},
                      {"hpd_95_low", row[k].low}, {"hpd_95_high", row[k].high},
                      {"ess", row[k].ess}};
        for (size_t i = 0; i < sizeof figure / sizeof *figure && !status; i++)
            status = json_set_number(one, figure[i].name, figure[i].value);
        if (!status && row[k].share < 1)
            status = json_set_number(one, "given_models_of_probability", row[k].share);
    }
    free(row);
    if (!status)
        return out;
    json_decref(out);
    return NULL;
}

/* Both files of a run have the same one; it tells runs apart and is not used otherwise. */
static unsigned long run_number(const posterior *p)
{
    return 1000000000UL + (unsigned long)(p->seed % 1000000000U);
}

static int put_numbers(buffer *out, const posterior *p)
{
    char name[PARAMETER_NAME_SIZE];
    buffer_printf(out, "[ID: %lu]\nGen\tLnL\tLnPr", run_number(p));
    for (int k = 0; k < p->n_columns; k++) {
        posterior_column_name(name, p, k);
        if (posterior_column_share(p, k) == 1)
            buffer_printf(out, "\t%s", name);
    }
    buffer_text(out, "\n");
    for (int i = 0; i < p->count; i++) {
        buffer_printf(out, "%d\t%.6e\t%.6e", i, p->value[i], p->log_prior[i]);
        for (int k = 0; k < p->n_columns; k++)
            if (posterior_column_share(p, k) == 1)
                buffer_printf(out, "\t%.6e", posterior_row_value(p, i, k));
        buffer_text(out, "\n");
    }
    return buffer_status(out);
}

static int put_trees(buffer *out, const posterior *p)
{
    const taxa *names = &p->trees.taxa;
    const size_t n = (size_t)names->count;
    buffer header;
    tree_writer writer = {0};
    int status = tree_writer_init(&writer, names);
    writer.digits = 7;
    buffer_init(&header);
    tree_write_begin(&header, names);
    if (!status)
        status = buffer_status(&header);
    if (!status) { /* MrBayes wants its own comments after the first line */
        const char *rest = strchr(header.text, '\n');
        buffer_printf(out, "#NEXUS\n[ID: %lu]\n[Param: tree]%s", run_number(p), rest);
    }
    for (size_t i = 0; i < (size_t)p->count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "gen.%zu", i);
        tree_write_tree(out, &writer, name, NULL, p->decision + i * (n - 3),
                        p->length + i * (2 * n - 3));
    }
    tree_write_end(out);
    tree_writer_free(&writer);
    buffer_free(&header);
    return status ? status : buffer_status(out);
}

/* The files and who fills them, in the same order. */
const char *const PARAMETER_SUFFIXES[] = {".p", ".t", NULL};
static int (*const PUT[])(buffer *, const posterior *) = {put_numbers, put_trees};

int parameters_write(const char *prefix, const posterior *p, diag *d)
{
    int status = ART_OK;
    buffer text;
    buffer_init(&text);
    for (int i = 0; PARAMETER_SUFFIXES[i] && !status; i++) {
        buffer_clear(&text);
        status = PUT[i](&text, p);
        if (!status)
            status = output_result(prefix, PARAMETER_SUFFIXES[i], &text, d);
    }
    buffer_free(&text);
    return status;
}
