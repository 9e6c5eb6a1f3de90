#include "results/clade_report.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "io/nexus.h"
#include "io/output.h"
#include "results/summary.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_DRAWS = 10000 }; /* standard error 0.005 at most */

/* Two trees whose log probabilities differ by less are equally probable: sums in other orders. */
#define SAME_LOG_P 1e-9

static int fit_density(clade_density **out, const tree_set *trees, clade_kind kind)
{
    int status = clade_density_create(out, trees->taxa.count, kind);
    for (size_t i = 0; i < trees->count && !status; i++)
        status = clade_density_add(*out, tree_set_decision(trees, i), trees->weight[i]);
    return status ? status : clade_density_fit(*out, NULL);
}

/* Entropies without taxa, and with all of them. */
static int find_rogues(clade_report *r)
{
    clade_density *one = NULL;
    int status = fit_density(&one, r->trees, CLADE_CCD1);
    if (!status)
        status = clade_density_entropy(&r->entropy_ccd1, one);
    if (!status)
        status = clade_density_without(r->without, one);
    clade_density_free(one);
    return status;
}

static int fill(clade_report *r, size_t best)
{
    const clade_density *d = r->density;
    int status = clade_density_entropy(&r->entropy, d);
    if (!status)
        status = clade_density_log_trees(&r->log_trees, d);
    if (!status)
        status = clade_density_probabilities(r->probability, d);
    if (!status)
        status = clade_density_best(r->map, &r->map_log_p, d);
    if (!status)
        status = clade_density_hipstr(r->hipstr, &r->hipstr_log_credibility, d, false);
    if (!status)
        status = clade_density_hipstr(r->mrhipstr, &r->mrhipstr_log_credibility, d, true);
    if (!status)
        status = clade_density_best_trees(r->best, r->best_log_p, &r->n_best, d, best);
    return status ? status : find_rogues(r);
}

int clade_report_create(clade_report **out, const tree_set *trees, clade_kind kind, size_t best)
{
    const size_t n = (size_t)trees->taxa.count - 3;
    *out = NULL;
    clade_report *r = mem_zeros(1, sizeof *r);
    if (!r)
        return ART_ERR_NOMEM;
    r->trees = trees;
    int status = fit_density(&r->density, trees, kind);
    if (!status)
        status = clade_scratch_init(&r->scratch, r->density);
    if (!status) {
        r->probability = mem_zeros(clade_density_clades(r->density), sizeof *r->probability);
        r->map = mem_zeros(3 * n, sizeof *r->map);
        r->best = mem_zeros(best, n * sizeof *r->best);
        r->best_log_p = mem_zeros(best, sizeof *r->best_log_p);
        r->without = mem_zeros(n + 3, sizeof *r->without);
        status = r->probability && r->map && r->best && r->best_log_p && r->without ? ART_OK
                                                                                    : ART_ERR_NOMEM;
    }
    if (!status) {
        r->hipstr = r->map + n;
        r->mrhipstr = r->hipstr + n;
        status = fill(r, best);
    }
    if (status)
        clade_report_free(r);
    else
        *out = r;
    return status;
}

void clade_report_free(clade_report *r)
{
    if (!r)
        return;
    clade_scratch_free(&r->scratch);
    clade_density_free(r->density);
    free(r->probability);
    free(r->map);
    free(r->best);
    free(r->best_log_p);
    free(r->without);
    free(r);
}

/* The probability of what is at least as probable, from draws. */
static int draw_level(clade_level *out, clade_report *r)
{
    int32_t *drawn = mem_zeros((size_t)r->trees->taxa.count, sizeof *drawn);
    if (!drawn)
        return ART_ERR_NOMEM;
    int within = 0;
    for (uint32_t i = 0; i < LEVEL_DRAWS; i++) {
        rng stream = rng_at(1, RNG_SAMPLE, 0, i);
        within += clade_density_sample(drawn, r->density, &stream, &r->scratch) >=
                  out->log_p - SAME_LOG_P;
    }
    free(drawn);
    out->level = (double)within / LEVEL_DRAWS;
    out->error = sqrt(out->level * (1 - out->level) / LEVEL_DRAWS);
    return ART_OK;
}

int clade_report_level(clade_level *out, clade_report *r, const int32_t *decision)
{
    const size_t n = (size_t)r->trees->taxa.count - 3;
    *out =
        (clade_level){.log_p = clade_density_log_q(r->density, decision, &r->scratch), .level = 1};
    if (isinf(out->log_p))
        return ART_OK;
    size_t listed = 0;
    double sum = 0;
    for (; listed < r->n_best && r->best_log_p[listed] >= out->log_p - SAME_LOG_P; listed++) {
        sum += exp(r->best_log_p[listed]);
        if (memcmp(r->best + listed * n, decision, n * sizeof *decision) == 0)
            out->rank = listed + 1;
    }
    /* exact if the list goes on beyond the tree, or has all trees */
    if (listed < r->n_best || fabs(log((double)r->n_best) - r->log_trees) < 1e-6) {
        out->level = fmin(sum, 1);
        return ART_OK;
    }
    return draw_level(out, r);
}

double clade_report_clade(double *frequency, const clade_report *r, const uint64_t *bits)
{
    const int32_t n = r->trees->taxa.count;
    const size_t words = split_words(n);
    int64_t at = KEY_NONE;
    *frequency = 0;
    if (split_has(bits, 0)) {
        uint64_t *rest = mem_zeros(words, sizeof *rest);
        for (int32_t i = 0; i < n && rest; i++)
            if (!split_has(bits, i))
                rest[i / 64] |= (uint64_t)1 << (i % 64);
        at = rest ? clade_density_find(r->density, rest) : KEY_NONE;
        free(rest);
    } else {
        at = clade_density_find(r->density, bits);
    }
    if (at < 0)
        return 0;
    *frequency = clade_density_frequency(r->density, (size_t)at);
    return r->probability[at];
}

/* The files */

typedef struct writing {
    clade_report *r;
    const split_table *splits;
    tree_writer writer;
} writing;

static int write_tree(buffer *out, writing *w, const int32_t *decision)
{
    double *length = mem_zeros((size_t)topology_edges(w->splits->n_taxa), sizeof *length);
    int status = length ? summary_lengths(length, decision, w->splits) : ART_ERR_NOMEM;
    if (status == ART_OK)
        tree_write_newick(out, &w->writer, decision, length);
    buffer_char(out, '\n');
    free(length);
    return status;
}

static int write_map(buffer *out, writing *w)
{
    return write_tree(out, w, w->r->map);
}

static int write_hipstr(buffer *out, writing *w)
{
    return write_tree(out, w, w->r->hipstr);
}

static int write_mrhipstr(buffer *out, writing *w)
{
    return write_tree(out, w, w->r->mrhipstr);
}

static int write_best(buffer *out, writing *w)
{
    const clade_report *r = w->r;
    const size_t n = (size_t)r->trees->taxa.count - 3;
    double sum = 0;
    tree_write_begin(out, &r->trees->taxa);
    for (size_t i = 0; i < r->n_best; i++) {
        const double p = exp(r->best_log_p[i]);
        sum += p;
        tree_write_probability(out, &w->writer, i + 1, p, sum, r->best + i * n);
    }
    tree_write_end(out);
    return ART_OK;
}

typedef struct listed_clade {
    double probability;
    size_t clade;
    int32_t size;
} listed_clade;

static int by_probability(const void *a, const void *b)
{
    const listed_clade *x = a, *y = b;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->clade < y->clade ? -1 : x->clade > y->clade;
}

static int write_clades(buffer *out, writing *w)
{
    clade_report *r = w->r;
    const int32_t n = r->trees->taxa.count;
    const size_t clades = clade_density_clades(r->density);
    uint64_t *bits = mem_zeros(split_words(n), sizeof *bits);
    listed_clade *list = mem_zeros(clades, sizeof *list);
    size_t count = 0;
    int status = bits && list ? ART_OK : ART_ERR_NOMEM;
    for (size_t c = 0; c < clades && !status; c++) {
        clade_density_bits(bits, r->density, c, &r->scratch);
        const int32_t size = split_size(bits, n);
        if (!split_is_trivial(bits, n) && size > 0)
            list[count++] = (listed_clade){r->probability[c], c, size};
    }
    if (!status)
        qsort(list, count, sizeof *list, by_probability);
    buffer_text(out, "probability\tfrequency\tsize\tmembers\n");
    for (size_t i = 0; i < count && !status; i++) {
        clade_density_bits(bits, r->density, list[i].clade, &r->scratch);
        buffer_fixed(out, list[i].probability, 6);
        buffer_char(out, '\t');
        buffer_fixed(out, clade_density_frequency(r->density, list[i].clade), 6);
        buffer_printf(out, "\t%d\t", 2 * list[i].size <= n ? list[i].size : n - list[i].size);
        summary_members(out, bits, &r->trees->taxa);
        buffer_char(out, '\n');
    }
    free(bits);
    free(list);
    return status;
}

typedef struct rogue {
    double entropy;
    int32_t taxon;
} rogue;

static int by_entropy(const void *a, const void *b)
{
    const rogue *x = a, *y = b;
    if (x->entropy != y->entropy)
        return x->entropy < y->entropy ? -1 : 1;
    return x->taxon < y->taxon ? -1 : x->taxon > y->taxon;
}

static int write_rogues(buffer *out, writing *w)
{
    const clade_report *r = w->r;
    const int32_t n = r->trees->taxa.count;
    rogue *list = mem_zeros((size_t)n, sizeof *list);
    if (!list)
        return ART_ERR_NOMEM;
    for (int32_t i = 0; i < n; i++)
        list[i] = (rogue){r->without[i], i};
    qsort(list, (size_t)n, sizeof *list, by_entropy);
    buffer_text(out, "entropy_drop\tentropy_without\ttaxon\n");
    for (int32_t i = 0; i < n; i++) {
        buffer_fixed(out, r->entropy_ccd1 - list[i].entropy, 6);
        buffer_char(out, '\t');
        buffer_fixed(out, list[i].entropy, 6);
        buffer_char(out, '\t');
        nexus_write_name(out, r->trees->taxa.name[list[i].taxon], QUOTE_NEWICK);
        buffer_char(out, '\n');
    }
    free(list);
    return ART_OK;
}

/* The files and who fills them, in the same order. */
const char *const CLADE_REPORT_SUFFIXES[] = {
    ".ccd.map.nwk", ".hipstr.nwk", ".mrhipstr.nwk", ".ccd.trprobs", ".ccd.clades.tsv",
    ".rogues.tsv",  NULL};
static int (*const WRITE[])(buffer *, writing *) = {write_map,  write_hipstr, write_mrhipstr,
                                                    write_best, write_clades, write_rogues};

int clade_report_write(clade_report *r, const split_table *splits, const char *prefix, diag *d)
{
    writing w = {.r = r, .splits = splits};
    buffer text;
    buffer_init(&text);
    int status = tree_writer_init(&w.writer, &r->trees->taxa);
    w.writer.digits = 6;
    for (int i = 0; CLADE_REPORT_SUFFIXES[i] && status == ART_OK; i++) {
        buffer_clear(&text);
        status = WRITE[i](&text, &w);
        if (status == ART_OK)
            status = output_result(prefix, CLADE_REPORT_SUFFIXES[i], &text, d);
    }
    tree_writer_free(&w.writer);
    buffer_free(&text);
    return status;
}
