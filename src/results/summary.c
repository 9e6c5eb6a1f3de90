#include "results/summary.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "io/output.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LISTED_TREES = 100000 }; /* at most: files that programs can still read */

typedef struct sample {
    const tree_set *trees;
    const split_table *splits;
    bool errors;
    consensus consensus;
    tree_writer writer;
} sample;

static int write_probabilities(buffer *out, sample *s)
{
    const size_t listed = s->trees->count < LISTED_TREES ? s->trees->count : LISTED_TREES;
    double sum = 0;
    tree_write_begin(out, &s->trees->taxa);
    if (s->trees->share < 1) {
        buffer_text(out, "   [These are the trees that were met; together they have ");
        buffer_double(out, s->trees->share, 3);
        buffer_text(out, " of the posterior]\n");
    }
    for (size_t i = 0; i < listed; i++) {
        const double p = tree_set_probability(s->trees, i);
        sum += p;
        tree_write_probability(out, &s->writer, i + 1, p, sum, tree_set_decision(s->trees, i));
    }
    if (listed < s->trees->count)
        buffer_printf(out,
                      "   [%zu more trees, together with a probability of %.6f, are not listed]\n",
                      s->trees->count - listed, s->trees->share - sum);
    tree_write_end(out);
    return ART_OK;
}

static int write_consensus(buffer *out, sample *s)
{
    consensus_write_newick(out, &s->consensus, &s->trees->taxa);
    buffer_char(out, '\n');
    return ART_OK;
}

static int write_annotated(buffer *out, sample *s)
{
    consensus_write_nexus(out, &s->consensus, &s->trees->taxa, "consensus");
    return ART_OK;
}

int summary_lengths(double *length, const int32_t *decision, const split_table *splits)
{
    int32_t n = splits->n_taxa;
    topology t = {0};
    size_t edges = (size_t)topology_edges(n);
    uint64_t *bits = mem_zeros(edges * splits->words, sizeof *bits);
    int32_t *order = mem_zeros(edges, sizeof *order);
    int status = bits && order ? topology_init(&t, n) : ART_ERR_NOMEM;
    if (status == ART_OK) {
        topology_build(&t, decision);
        splits_of(bits, &t, order);
        for (size_t e = 0; e < edges; e++) {
            int64_t i = split_table_find(splits, bits + e * splits->words);
            length[e] = i >= 0 && splits->known[i] > 0 ? splits->mean[i] : (double)NAN;
        }
    }
    topology_free(&t);
    free(order);
    free(bits);
    return status;
}

static int write_best(buffer *out, sample *s)
{
    const int32_t *best = tree_set_decision(s->trees, 0);
    double *length = mem_zeros((size_t)topology_edges(s->trees->taxa.count), sizeof *length);
    int status = length ? summary_lengths(length, best, s->splits) : ART_ERR_NOMEM;
    if (status == ART_OK)
        tree_write_newick(out, &s->writer, best, length);
    buffer_char(out, '\n');
    free(length);
    return status;
}

void summary_members(buffer *out, const uint64_t *split, const taxa *names)
{
    bool below = 2 * split_size(split, names->count) <= names->count;
    const char *between = "";
    for (int32_t i = 0; i < names->count; i++)
        if (split_has(split, i) == below) {
            buffer_text(out, between);
            nexus_write_name(out, names->name[i], QUOTE_NEWICK);
            between = ",";
        }
}

static void write_length(buffer *out, bool known, double value)
{
    buffer_char(out, '\t');
    if (known)
        buffer_double(out, value, 6);
    else
        buffer_text(out, "NA");
}

static int write_splits(buffer *out, sample *s)
{
    const split_table *t = s->splits;
    size_t *order = mem_zeros(t->count, sizeof *order);
    int status = order ? split_table_order(order, t) : ART_ERR_NOMEM;
    buffer_printf(out, "frequency\tsize\tlength_mean\tlength_sd\tmembers%s\n",
                  s->errors ? "\tfrequency_se" : "");
    for (size_t k = 0; status == ART_OK && k < t->count; k++) {
        size_t i = order[k];
        const uint64_t *bits = split_table_bits(t, i);
        if (split_is_trivial(bits, t->n_taxa))
            continue;
        int32_t size = split_size(bits, t->n_taxa);
        buffer_fixed(out, split_frequency(t, i), 6);
        buffer_printf(out, "\t%d", 2 * size <= t->n_taxa ? size : t->n_taxa - size);
        write_length(out, t->known[i] > 0, t->mean[i]);
        write_length(out, t->known[i] > 0, split_sd(t, i));
        buffer_char(out, '\t');
        summary_members(out, bits, &s->trees->taxa);
        if (s->errors) {
            buffer_char(out, '\t');
            buffer_fixed(out, split_frequency_error(t, i), 6);
        }
        buffer_char(out, '\n');
    }
    free(order);
    return status;
}

/* The files and who fills them, in the same order. */
const char *const SUMMARY_SUFFIXES[] = {".trprobs", ".contree",    ".con.tre",
                                        ".map.nwk", ".splits.tsv", NULL};
static int (*const WRITE[])(buffer *, sample *) = {write_probabilities, write_consensus,
                                                   write_annotated, write_best, write_splits};

int summary_write(const char *prefix, const tree_set *trees, const split_table *splits,
                  const summary_options *o, diag *d)
{
    sample s = {.trees = trees, .splits = splits, .errors = o->errors};
    buffer text;
    buffer_init(&text);
    int status = tree_writer_init(&s.writer, &trees->taxa);
    s.writer.digits = 6;
    s.writer.rooting = o->rooting;
    if (status == ART_OK)
        status = consensus_build(&s.consensus, splits, o->kind);
    if (status == ART_OK && o->rows && o->rows->count)
        status = consensus_add_ranges(&s.consensus, o->rows);
    if (status == ART_OK)
        status = consensus_root(&s.consensus, o->rooting, NULL);
    for (int i = 0; SUMMARY_SUFFIXES[i] && status == ART_OK; i++) {
        buffer_clear(&text);
        status = WRITE[i](&text, &s);
        if (status == ART_OK)
            status = output_result(prefix, SUMMARY_SUFFIXES[i], &text, d);
    }
    consensus_free(&s.consensus);
    tree_writer_free(&s.writer);
    buffer_free(&text);
    return status;
}
