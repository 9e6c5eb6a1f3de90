#include "seq/alignment.h"

#include "artreeformer.h"
#include "base/mem.h"
#include "seq/alignment_stats.h"
#include "seq/blocks.h"
#include "seq/encode.h"
#include "seq/fasta.h"
#include "seq/nexus_data.h"
#include "seq/patterns.h"
#include "seq/phylip.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void alignment_free(alignment *a)
{
    for (int i = 0; a->name && i < a->n_taxa; i++)
        free(a->name[i]);
    free(a->name);
    free(a->state);
    free(a->weight);
    free(a->site_pattern);
    memset(a, 0, sizeof *a);
}

const char *alignment_format_name(alignment_format format)
{
    static const char *const name[] = {"unknown", "FASTA", "PHYLIP",   "NEXUS",
                                       "Clustal", "MSF",   "Stockholm"};
    return name[format];
}

/* `GTR+G, gene1 = 1-500`: a line of a file of partitions. */
static bool is_partition(const char *p)
{
    const char *end = p + strcspn(p, "\n"), *comma = memchr(p, ',', (size_t)(end - p));
    const char *equals = comma ? memchr(comma, '=', (size_t)(end - comma)) : NULL;
    return equals && strspn(equals + 1, " \t0123456789-\\,") >= (size_t)(end - equals - 1);
}

/* What a file that is no alignment is, by its beginning; NULL if it cannot be told. */
static const char *other_kind(const char *p)
{
    static const struct {
        const char *begins, *is;
    } kinds[] = {
        {"#mega", "a MEGA file; export the alignment as FASTA"},
        {"LOCUS ", "a GenBank record; align the sequences and give them as FASTA"},
        {"ID   ", "an EMBL or UniProt record; align the sequences and give them as FASTA"},
        {"<?xml", "XML, such as BEAST reads; export the alignment as NEXUS or FASTA"},
        {"@", "perhaps FASTQ; align the sequences and give them as FASTA"},
        {"(", "perhaps a tree; give the alignment here"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncasecmp(p, kinds[i].begins, strlen(kinds[i].begins)) == 0)
            return kinds[i].is;
    return is_partition(p) ? "a file of partitions, which are not supported: all sites have one "
                             "model; give the alignment"
                           : NULL;
}

/* What the file is, by its first words; complains where it is none of the known formats. */
static int detect(alignment_format *format, const input *in, diag *d)
{
    const char *p = in->text + strspn(in->text, " \t\n");
    if (*p == '\0')
        return diag_error(d, ART_ERR_INPUT, input_file(in),
                          "the file is empty%s -- give a file with an alignment",
                          in->length ? " except for whitespace" : "");
    const char *digit = p + (*p == '-' || *p == '+');
    if (*p == '>' || *p == ';')
        *format = ALIGNMENT_FASTA;
    else if (*digit >= '0' && *digit <= '9')
        *format = ALIGNMENT_PHYLIP;
    else if (strncasecmp(p, "#NEXUS", 6) == 0)
        *format = ALIGNMENT_NEXUS;
    else if (is_clustal(p))
        *format = ALIGNMENT_CLUSTAL;
    else if (is_stockholm(p))
        *format = ALIGNMENT_STOCKHOLM;
    else if (is_msf(p))
        *format = ALIGNMENT_MSF;
    else {
        char shown[48];
        size_t n = strcspn(p, "\n") < 32 ? strcspn(p, "\n") : 32;
        const char *kind = other_kind(p);
        diag_quote(shown, sizeof shown, p, n);
        if (kind)
            return diag_error(d, ART_ERR_INPUT, input_place(in, p),
                              "the file begins with %s and is not an alignment in a known format "
                              "-- it is %s",
                              shown, kind);
        return diag_error(
            d, ART_ERR_INPUT, input_place(in, p),
            "the file begins with %s, so it is not an alignment in a known format -- FASTA begins "
            "with '>', PHYLIP with the numbers of sequences and sites, NEXUS with #NEXUS, Clustal "
            "with CLUSTAL, Stockholm with # STOCKHOLM; MSF has a line MSF: ... ..",
            shown);
    }
    return ART_OK;
}

static int parse_rows(rows *r, alignment_format format, const alignment_options *o)
{
    switch (format) {
    case ALIGNMENT_FASTA:
        return fasta_parse(r, o->full_names);
    case ALIGNMENT_PHYLIP:
        return phylip_parse(r, o->phylip_strict);
    case ALIGNMENT_NEXUS:
        return nexus_data_parse(r);
    case ALIGNMENT_CLUSTAL:
        return clustal_parse(r);
    case ALIGNMENT_MSF:
        return msf_parse(r);
    case ALIGNMENT_STOCKHOLM:
        return stockholm_parse(r);
    default:
        return ART_ERR_USAGE;
    }
}

/* Refuses what would not fit: the states, the pattern table, and the pattern of every site. */
static int check_size(const rows *r, size_t sites, size_t memory, diag *d)
{
    if (sites > UINT32_MAX - 2 || r->count > INT_MAX / 4)
        return diag_error(d, ART_ERR_LIMIT, input_file(r->in),
                          "%zu sequences of %zu sites -- the limits are %d and %u", r->count, sites,
                          INT_MAX / 4, UINT32_MAX - 2);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (memory == 0 && pages > 0 && page > 0)
        memory = (size_t)pages * (size_t)page;
    double need = (double)r->count * (double)sites * 2 + 16.0 * (double)sites;
    if (memory == 0 || need <= (double)memory)
        return ART_OK;
    return diag_error(d, ART_ERR_LIMIT, input_file(r->in),
                      "%zu sequences of %zu sites need about %.1f MB of memory, and the limit is "
                      "%.1f MB -- use a larger machine, or fewer sequences or sites",
                      r->count, sites, need * 1e-6, (double)memory * 1e-6);
}

/* Moves the names over and compresses the states. */
static int build(alignment *a, rows *r, size_t sites)
{
    a->name = mem_zeros(r->count, sizeof *a->name);
    a->state = mem_zeros(r->count, sites);
    if (!a->name || !a->state)
        return ART_ERR_NOMEM;
    int status = rows_encode(r, a->state, sites);
    if (status != ART_OK)
        return status;
    a->n_taxa = (int)r->count;
    a->n_sites = sites;
    for (size_t i = 0; i < r->count; i++) {
        a->name[i] = r->row[i].name;
        r->row[i].name = NULL;
    }
    return patterns_compress(a);
}

/* The first few names of the empty sequences, or of the identical ones, as a list. */
static void list_names(char *out, size_t size, const alignment *a, const int *same_as, bool empty)
{
    size_t used = 0;
    int listed = 0, left = 0;
    char shown[48], other[48];
    out[0] = '\0';
    for (int i = 0; i < a->n_taxa; i++) {
        bool chosen = empty ? same_as[i] < 0 : same_as[i] >= 0 && same_as[i] != i;
        if (!chosen)
            continue;
        if (listed == 3) {
            left++;
            continue;
        }
        diag_quote(shown, sizeof shown, a->name[i], strlen(a->name[i]));
        if (!empty)
            diag_quote(other, sizeof other, a->name[same_as[i]], strlen(a->name[same_as[i]]));
        used += (size_t)snprintf(out + used, size - used, "%s%s%s%s", listed++ ? ", " : "", shown,
                                 empty ? "" : " = ", empty ? "" : other);
    }
    if (left)
        snprintf(out + used, size - used, ", and %d more", left);
}

/* What is worth knowing about an alignment that can be used. */
static int remark(const alignment *a, const input *in, diag *d)
{
    alignment_stats s;
    int status = alignment_stats_compute(&s, a);
    if (status != ART_OK)
        return status;
    char names[512];
    diag_place file = input_file(in);
    if (s.empty_sites == a->n_sites) {
        status = diag_error(
            d, ART_ERR_INPUT, file,
            "the alignment does not contain a single base -- give an alignment with data");
        goto out;
    }
    if (s.empty_sequences) {
        list_names(names, sizeof names, a, s.same_as, true);
        diag_warning(d, file,
                     "sequences without a single base: %s -- where they stand in a tree is "
                     "determined by the prior alone",
                     names);
    }
    if (s.identical_sequences) {
        list_names(names, sizeof names, a, s.same_as, false);
        diag_note(d, file, "identical sequences: %s", names);
    }
    if (s.empty_sites)
        diag_note(d, file, "columns without a single base: %zu of %zu -- they are ignored",
                  s.empty_sites, a->n_sites);
    if (s.constant_sites == a->n_sites)
        diag_warning(d, file,
                     "no site varies -- the data contain no information about the topology");
out:
    alignment_stats_free(&s);
    return status;
}

int alignment_from_states(alignment *a, char *const *name, const uint8_t *state, int n_taxa,
                          size_t n_sites)
{
    *a = (alignment){.n_taxa = n_taxa, .n_sites = n_sites};
    size_t n = (size_t)n_taxa;
    a->name = mem_zeros(n, sizeof *a->name);
    a->state = mem_zeros(n, n_sites);
    int status = a->name && a->state ? ART_OK : ART_ERR_NOMEM;
    for (size_t i = 0; i < n && status == ART_OK; i++)
        if (!(a->name[i] = mem_text(name[i], strlen(name[i]))))
            status = ART_ERR_NOMEM;
    if (status == ART_OK) {
        memcpy(a->state, state, n * n_sites);
        status = patterns_compress(a);
    }
    if (status != ART_OK)
        alignment_free(a);
    return status;
}

int alignment_parse(alignment *a, const input *in, const alignment_options *options, diag *d)
{
    const alignment_options o = options ? *options : (alignment_options){0};
    memset(a, 0, sizeof *a);
    rows r;
    rows_init(&r, in, d);
    size_t sites = 0;
    int status = detect(&a->format, in, d);
    if (status == ART_OK)
        status = parse_rows(&r, a->format, &o);
    if (status == ART_OK)
        status = rows_check(&r, &sites);
    if (status == ART_OK)
        status = check_size(&r, sites, o.memory, d);
    if (status == ART_OK)
        status = build(a, &r, sites);
    rows_free(&r);
    if (status == ART_OK)
        status = remark(a, in, d);
    if (status == ART_ERR_NOMEM)
        diag_error(d, status, input_file(in),
                   "out of memory -- use a larger machine or a smaller file");
    if (status != ART_OK)
        alignment_free(a);
    return status;
}

int alignment_read(alignment *a, const char *path, const alignment_options *options, diag *d)
{
    input in;
    memset(a, 0, sizeof *a);
    int status = input_read(&in, path, options ? &options->limits : NULL, d);
    if (status == ART_OK)
        status = alignment_parse(a, &in, options, d);
    input_free(&in);
    return status;
}
