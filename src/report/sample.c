#include "report/sample.h"

#include "artreeformer.h"
#include "base/output.h"
#include "tree/tree_write.h"

#include <stdio.h>

const char *const SAMPLE_SUFFIXES[] = {".trees", ".trace.tsv", NULL};

enum { PATH = 4096 };

static int open_file(output *o, const char *prefix, const char *suffix, diag *d)
{
    char path[PATH];
    if (snprintf(path, sizeof path, "%s%s", prefix, suffix) >= PATH)
        return diag_error(d, ART_ERR_USAGE, (diag_place){0},
                          "the prefix is too long -- shorten it");
    return output_open(o, path, d);
}

static int write_trees(const char *prefix, const posterior *p, diag *d)
{
    const taxa *names = &p->trees.taxa;
    size_t n = (size_t)names->count;
    output o = {0};
    buffer text;
    tree_writer writer = {0};
    buffer_init(&text);
    int status = tree_writer_init(&writer, names);
    if (!status)
        status = open_file(&o, prefix, SAMPLE_SUFFIXES[0], d);
    tree_write_begin(&text, names);
    for (size_t i = 0; i < (size_t)p->count && !status; i++) {
        char name[32];
        snprintf(name, sizeof name, "draw_%zu", i + 1);
        tree_write_tree(&text, &writer, name, &p->weight[i], p->decision + i * (n - 3),
                        p->length + i * (2 * n - 3));
    }
    tree_write_end(&text);
    if (!status)
        status = buffer_status(&text);
    if (!status) {
        output_write(&o, text.text, text.length);
        status = output_close(&o, d);
    } else {
        output_discard(&o);
    }
    tree_writer_free(&writer);
    buffer_free(&text);
    return status;
}

static int write_trace(const char *prefix, const posterior *p, diag *d)
{
    size_t edges = (size_t)(2 * p->trees.taxa.count - 3);
    output o = {0};
    int status = open_file(&o, prefix, SAMPLE_SUFFIXES[1], d);
    if (status)
        return status;
    output_printf(&o, "state\tposterior\tlikelihood\tprior\ttree_length\tlog_q\tweight\n");
    for (int i = 0; i < p->count; i++) {
        double length = 0;
        for (size_t e = 0; e < edges; e++)
            length += p->length[(size_t)i * edges + e];
        output_printf(&o, "%d\t%.10g\t%.10g\t%.10g\t%.10g\t%.10g\t%.10g\n", i,
                      p->value[i] + p->log_prior[i], p->value[i], p->log_prior[i], length,
                      p->log_q[i], p->weight[i]);
    }
    return output_close(&o, d);
}

int sample_write(const char *prefix, const posterior *p, diag *d)
{
    int status = write_trees(prefix, p, d);
    return status ? status : write_trace(prefix, p, d);
}
