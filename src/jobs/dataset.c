#include "jobs/dataset.h"

#include "artreeformer.h"
#include "base/hash.h"
#include "io/input.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the file, one per line, blank lines skipped. */
static int read_order(taxa *t, const char *path, diag *d)
{
    input in;
    int status = input_read(&in, path, NULL, d);
    for (const char *line = in.text; status == ART_OK && *line;) {
        size_t length = strcspn(line, "\n");
        if (length > 0) {
            status = taxa_add(t, line, length);
            if (status == ART_ERR_INPUT)
                status = diag_error(d, status, input_place(&in, line),
                                    "the name %.*s occurs twice -- list every taxon once",
                                    (int)(length < 200 ? length : 200), line);
        }
        line += length + (line[length] == '\n');
    }
    input_free(&in);
    return status;
}

/* The names as they are in the alignment. */
static int name_rows(taxa *rows, const alignment *a)
{
    int status = ART_OK;
    taxa_init(rows);
    for (int i = 0; i < a->n_taxa && status == ART_OK; i++)
        status = taxa_add(rows, a->name[i], strlen(a->name[i]));
    return status;
}

static int settle_order(dataset *data, const char *order, diag *d)
{
    taxa rows;
    int status = name_rows(&rows, &data->alignment);
    if (status == ART_OK && order) {
        status = read_order(&data->taxa, order, d);
        if (status == ART_OK)
            status = taxa_compare(&data->taxa, "the taxon order", &rows, "the alignment",
                                  (diag_place){.file = order}, d);
    } else if (status == ART_OK) {
        status = taxa_copy(&data->taxa, &rows);
        if (status == ART_OK)
            status = taxa_sort(&data->taxa, NULL);
    }
    data->row = mem_zeros((size_t)rows.count, sizeof *data->row);
    if (status == ART_OK)
        status = data->row ? ART_OK : ART_ERR_NOMEM;
    if (status == ART_OK)
        taxa_map(data->row, &data->taxa, &rows);
    taxa_free(&rows);
    return status;
}

int dataset_read(dataset *data, const char *path, const alignment_options *options,
                 const char *order, diag *d)
{
    memset(data, 0, sizeof *data);
    taxa_init(&data->taxa);
    int status = alignment_read(&data->alignment, path, options, d);
    return status ? status : settle_order(data, order, d);
}

int dataset_match(dataset *data, const taxa *names, const char *path, diag *d)
{
    taxa rows;
    int status = name_rows(&rows, &data->alignment);
    if (status == ART_OK)
        status =
            taxa_compare(&rows, "the alignment", names, "the model", (diag_place){.file = path}, d);
    taxa_free(&data->taxa);
    if (status == ART_OK)
        status = taxa_copy(&data->taxa, names);
    if (status == ART_OK)
        taxa_map(data->row, names, &rows);
    taxa_free(&rows);
    return status;
}

void dataset_free(dataset *data)
{
    alignment_free(&data->alignment);
    taxa_free(&data->taxa);
    free(data->row);
    memset(data, 0, sizeof *data);
}

json_t *dataset_identity(const dataset *data)
{
    const alignment *a = &data->alignment;
    uint64_t hash = hash_bytes(a->weight, a->n_patterns * sizeof *a->weight);
    for (int i = 0; i < a->n_taxa; i++) {
        const char *name = data->taxa.name[i];
        hash = hash_mix(hash ^ hash_bytes(name, strlen(name)));
        hash = hash_mix(hash ^
                        hash_bytes(a->state + (size_t)data->row[i] * a->n_patterns, a->n_patterns));
    }
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    return json_pack("{s:i, s:I, s:I, s:s}", "taxa", a->n_taxa, "sites", (json_int_t)a->n_sites,
                     "patterns", (json_int_t)a->n_patterns, "hash", text);
}
