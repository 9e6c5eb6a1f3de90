#include "alignment_fuzz.h"

#include "artreeformer.h"
#include "seq/alignment_write.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition)
        abort();
}

static void must_be_equal(const alignment *a, const alignment *b)
{
    must(a->n_taxa == b->n_taxa && a->n_sites == b->n_sites && a->n_patterns == b->n_patterns);
    for (int i = 0; i < a->n_taxa; i++)
        must(strcmp(a->name[i], b->name[i]) == 0);
    must(memcmp(a->state, b->state, (size_t)a->n_taxa * a->n_patterns) == 0);
    must(memcmp(a->weight, b->weight, a->n_patterns * sizeof *a->weight) == 0);
    must(memcmp(a->site_pattern, b->site_pattern, a->n_sites * sizeof *a->site_pattern) == 0);
}

static int parse(alignment *a, const void *data, size_t size, const alignment_options *options)
{
    const input_limits limits = {.bytes = 1 << 20};
    diag d;
    diag_init(&d);
    input in;
    memset(a, 0, sizeof *a);
    int status = input_from_memory(&in, "input", data, size, &limits, &d);
    if (status == ART_OK)
        status = alignment_parse(a, &in, options, &d);
    must((status == ART_OK) == (d.errors == 0));
    for (size_t i = 0; i < d.count; i++)
        must(d.message[i].level != DIAG_ERROR || strstr(d.message[i].text, " -- "));
    input_free(&in);
    diag_free(&d);
    return status;
}

void alignment_fuzz(const uint8_t *data, size_t size, const alignment_options *options)
{
    const alignment_options whole = {.full_names = true};
    alignment a, again;
    if (parse(&a, data, size, options) != ART_OK)
        return;
    for (alignment_format format = ALIGNMENT_FASTA; format <= ALIGNMENT_NEXUS; format++) {
        buffer text;
        buffer_init(&text);
        int status = alignment_write(&text, &a, format, NULL);
        must(status == ART_OK || (status == ART_ERR_UNSUPPORTED && format != ALIGNMENT_NEXUS));
        if (status == ART_OK) {
            must(parse(&again, text.text, text.length, &whole) == ART_OK);
            must(again.format == format);
            must_be_equal(&a, &again);
            alignment_free(&again);
        }
        buffer_free(&text);
    }
    alignment_free(&a);
}
