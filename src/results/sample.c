#include "results/sample.h"

#include "artreeformer.h"
#include "io/output.h"
#include "tree/tree_write.h"

#include <stdio.h>

static int put_trees(buffer *out, const posterior *p, const rooting *r)
{
    const taxa *names = &p->trees.taxa;
    size_t n = (size_t)names->count;
    const double weight = 1.0 / p->count;
    tree_writer writer = {0};
    int status = tree_writer_init(&writer, names);
    writer.rooting = r;
    tree_write_begin(out, names);
    for (size_t i = 0; i < (size_t)p->count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "draw_%zu", i + 1);
        tree_write_tree(out, &writer, name, &weight, p->decision + i * (n - 3),
                        p->length + i * (2 * n - 3));
    }
    tree_write_end(out);
    tree_writer_free(&writer);
    return status;
}

static int put_trace(buffer *out, const posterior *p, const rooting *r)
{
    (void)r;
    char name[PARAMETER_NAME_SIZE];
    buffer_text(out, "state\tposterior\tlikelihood\tprior");
    for (int k = 0; k < p->n_columns; k++) {
        posterior_column_name(name, p, k);
        if (posterior_column_share(p, k) == 1)
            buffer_printf(out, "\t%s", name);
    }
    buffer_printf(out, "\tlog_q%s\n", p->row_model ? "\tmodel" : "");
    for (int i = 0; i < p->count; i++) {
        buffer_printf(out, "%d\t%.10g\t%.10g\t%.10g", i, p->value[i] + p->log_prior[i], p->value[i],
                      p->log_prior[i]);
        for (int k = 0; k < p->n_columns; k++)
            if (posterior_column_share(p, k) == 1)
                buffer_printf(out, "\t%.10g", posterior_row_value(p, i, k));
        buffer_printf(out, "\t%.10g", p->log_q[i]);
        if (p->row_model)
            buffer_printf(out, "\t%d", p->row_model[i]);
        buffer_char(out, '\n');
    }
    return ART_OK;
}

/* The files and who fills them, in the same order. */
const char *const SAMPLE_SUFFIXES[] = {".trees", ".trace.tsv", NULL};
static int (*const PUT[])(buffer *, const posterior *, const rooting *) = {put_trees, put_trace};

int sample_write(const char *prefix, const posterior *p, const rooting *r, diag *d)
{
    int status = ART_OK;
    buffer text;
    buffer_init(&text);
    for (int i = 0; SAMPLE_SUFFIXES[i] && !status; i++) {
        buffer_clear(&text);
        status = PUT[i](&text, p, r);
        if (!status)
            status = output_result(prefix, SAMPLE_SUFFIXES[i], &text, d);
    }
    buffer_free(&text);
    return status;
}
