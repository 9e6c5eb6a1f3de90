#include "results/model_table.h"

#include "artreeformer.h"
#include "io/json_number.h"
#include "io/output.h"
#include "results/markup.h"

#include <math.h>
#include <stdio.h>

const char MODEL_TABLE_SUFFIX[] = ".models.tsv";

static const char *const STATUS[] = {"run", "screened", "not reached"};

enum { FIGURES = 4, FIGURE_SIZE = 32 };
static const char *const KEY[FIGURES] = {"screened_log_evidence", "log_evidence", "log_evidence_se",
                                         "probability"};
static const char *const TITLE[FIGURES] = {"one tree", "log evidence", "s.e.", "probability"};

static double figure(const model_row *r, int i)
{
    const double value[FIGURES] = {r->screened, r->log_evidence, r->log_evidence_se,
                                   r->probability};
    return value[i];
}

/* As people read it. */
static void figure_text(char text[FIGURE_SIZE], const model_row *r, int i)
{
    const double value = figure(r, i);
    const bool is_small = i == FIGURES - 1 && value > 0 && value < 0.001;
    if (!isfinite(value))
        snprintf(text, FIGURE_SIZE, "-");
    else
        snprintf(text, FIGURE_SIZE, is_small ? "%.1e" : i < FIGURES - 1 ? "%.3f" : "%.4f", value);
}

int model_table_write(const char *prefix, const model_table *t, diag *d)
{
    buffer text;
    buffer_init(&text);
    buffer_text(&text, "model\tn_parameters");
    for (int i = 0; i < FIGURES; i++)
        buffer_printf(&text, "\t%s", KEY[i]);
    buffer_text(&text, "\tstatus\n");
    for (int m = 0; m < t->count; m++) {
        const model_row *r = &t->row[m];
        buffer_printf(&text, "%s\t%d", r->name, r->n_parameters);
        for (int i = 0; i < FIGURES; i++) {
            buffer_char(&text, '\t');
            if (isfinite(figure(r, i)))
                buffer_double(&text, figure(r, i), 10);
            else
                buffer_text(&text, "NA");
        }
        buffer_printf(&text, "\t%s\n", STATUS[r->status]);
    }
    int status = output_result(prefix, MODEL_TABLE_SUFFIX, &text, d);
    buffer_free(&text);
    return status;
}

json_t *model_table_json(const model_table *t)
{
    json_t *out = json_array();
    int status = out ? ART_OK : ART_ERR_NOMEM;
    for (int m = 0; m < t->count && !status; m++) {
        const model_row *r = &t->row[m];
        json_t *one = json_pack("{s:s, s:i}", "model", r->name, "n_parameters", r->n_parameters);
        status = !one || json_array_append_new(out, one) ? ART_ERR_NOMEM : ART_OK;
        for (int i = 0; i < FIGURES && !status; i++)
            status = json_set_number(one, KEY[i], figure(r, i));
        if (!status)
            status = json_set_number(one, "probability_se", r->probability_se);
        if (!status && json_object_set_new(one, "status", json_string(STATUS[r->status])))
            status = ART_ERR_NOMEM;
    }
    if (!status)
        return out;
    json_decref(out);
    return NULL;
}

static int count_not_run(const model_table *t)
{
    int rest = 0;
    for (int m = 0; m < t->count; m++)
        rest += t->row[m].status != MODEL_RUN;
    return rest;
}

enum { NOTES = 2, NOTE_SIZE = 256 };

/* What is said below the table; returns how many notes there are. */
static int make_notes(char note[NOTES][NOTE_SIZE], const model_table *t)
{
    int n = 0;
    if (t->count > 1)
        snprintf(note[n++], NOTE_SIZE,
                 "The log evidence of the average contains the prior probability of each model, "
                 "1/%d: it can be lower than that of the best model.",
                 t->count);
    if (!count_not_run(t))
        return n;
    if (t->left_out < 1)
        snprintf(note[n++], NOTE_SIZE,
                 "Models without a probability were judged by one tree; they have at most %.2g of "
                 "the posterior together.",
                 t->left_out);
    else
        snprintf(note[n++], NOTE_SIZE,
                 "How probable the models without a probability are is not known: there was no "
                 "time for them.");
    return n;
}

void model_table_text(buffer *out, const model_table *t)
{
    char text[FIGURE_SIZE], note[NOTES][NOTE_SIZE];
    const int notes = make_notes(note, t);
    int width = (int)sizeof "model" - 1;
    for (int m = 0; m < t->count; m++)
        width = (int)fmax(width, snprintf(NULL, 0, "%s", t->row[m].name));
    buffer_printf(out, "Models\n  %-*s %10s", width, "", "parameters");
    for (int i = 0; i < FIGURES; i++)
        buffer_printf(out, " %13s", TITLE[i]);
    buffer_text(out, "  status\n");
    for (int m = 0; m < t->count; m++) {
        const model_row *r = &t->row[m];
        buffer_printf(out, "  %-*s %10d", width, r->name, r->n_parameters);
        for (int i = 0; i < FIGURES; i++) {
            figure_text(text, r, i);
            buffer_printf(out, " %13s", text);
        }
        buffer_printf(out, "  %s\n", STATUS[r->status]);
    }
    for (int i = 0; i < notes; i++)
        buffer_printf(out, "%s\n", note[i]);
    buffer_char(out, '\n');
}

void model_table_html(buffer *out, const model_table *t)
{
    char text[FIGURE_SIZE], note[NOTES][NOTE_SIZE];
    const int notes = make_notes(note, t);
    buffer_text(out, "<h2>Models</h2>\n<p>All have the same prior probability. The column for one "
                     "tree is what that tree, the same for all models, contributes to the log "
                     "evidence.</p>\n<div class=\"wide\">\n<table>\n<tr><th></th>"
                     "<th class=\"n\">parameters</th>");
    for (int i = 0; i < FIGURES; i++)
        buffer_printf(out, "<th class=\"n\">%s</th>", TITLE[i]);
    buffer_text(out, "<th>status</th></tr>\n");
    for (int m = 0; m < t->count; m++) {
        const model_row *r = &t->row[m];
        buffer_text(out, "<tr><th>");
        markup_text(out, r->name);
        buffer_printf(out, "</th><td class=\"n\">%d</td>", r->n_parameters);
        for (int i = 0; i < FIGURES; i++) {
            figure_text(text, r, i);
            buffer_printf(out, "<td class=\"n\">%s</td>", text);
        }
        buffer_printf(out, "<td>%s</td></tr>\n", STATUS[r->status]);
    }
    buffer_text(out, "</table>\n</div>\n");
    for (int i = 0; i < notes; i++)
        buffer_printf(out, "<p>%s</p>\n", note[i]);
}
