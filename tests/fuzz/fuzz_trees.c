/* Reads the bytes as a tree file; what can be read is written as Newick and as NEXUS, rooted or
 * not, read again, and must be the same, with polytomies or without. Taxa are removed from trees
 * that do not all have them. A refusal must come with an error that says how to put it right. */
#include "artreeformer.h"
#include "tree/consensus.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition)
{
    if (!condition)
        abort();
}

static void check_messages(int status, const diag *d)
{
    must((status == ART_OK) == (d->errors == 0));
    for (size_t i = 0; i < d->count; i++)
        must(d->message[i].level != DIAG_ERROR || strstr(d->message[i].text, " -- "));
}

static int open_bytes(tree_file *f, const void *data, size_t size, const tree_options *o, diag *d)
{
    const input_limits limits = {.bytes = 1 << 20};
    input in;
    memset(f, 0, sizeof *f);
    int status = input_from_memory(&in, "input", data, size, &limits, d);
    if (status != ART_OK) {
        input_free(&in);
        return status;
    }
    return tree_file_from_input(f, &in, o, d);
}

/* Writes what can be read of the bytes to both texts, with the first and the last taxon as outgroup
 * if is_rooted. */
static int rewrite(buffer *newick_text, buffer *nexus_text, const void *data, size_t size,
                   const tree_options *o, bool is_rooted)
{
    tree_file f;
    tree_writer w = {0};
    diag d;
    diag_init(&d);
    int status = open_bytes(&f, data, size, o, &d);
    int32_t ends[2] = {0};
    const rooting root = {ROOT_OUTGROUP, status ? 0 : f.taxa->count, 2, ends};
    if (status == ART_OK) {
        ends[1] = f.taxa->count - 1;
        must(tree_writer_init(&w, f.taxa) == ART_OK);
        w.rooting = is_rooted ? &root : NULL;
        tree_write_begin(nexus_text, f.taxa);
    }
    while (status == ART_OK && tree_file_more(&f)) {
        if ((status = tree_file_next(&f, &d)) != ART_OK)
            break;
        must(o->polytomies || f.tree.n_contracted == 0);
        const double *length = o->use == TREE_LENGTHS ? f.tree.length : NULL;
        must(f.weighted || !f.tree.has_weight);
        tree_write_newick(newick_text, &w, f.tree.decision, length);
        tree_write_tree(nexus_text, &w, "t", f.weighted ? &f.tree.weight : NULL, f.tree.decision,
                        length);
    }
    tree_write_end(nexus_text);
    must(buffer_status(newick_text) == ART_OK && buffer_status(nexus_text) == ART_OK);
    check_messages(status, &d);
    tree_writer_free(&w);
    tree_file_free(&f);
    diag_free(&d);
    return status;
}

static void round_trip(const void *data, size_t size, tree_use use, bool polytomies)
{
    const tree_options o = {.use = use, .polytomies = polytomies};
    buffer a[2], b[2];
    for (int i = 0; i < 2; i++) {
        buffer_init(&a[i]);
        buffer_init(&b[i]);
    }
    if (rewrite(&a[0], &a[1], data, size, &o, false) == ART_OK)
        for (int i = 0; i < 2; i++) {
            buffer_clear(&b[0]);
            buffer_clear(&b[1]);
            must(rewrite(&b[0], &b[1], a[i].text, a[i].length, &o, false) == ART_OK);
            must(strcmp(a[0].text, b[0].text) == 0);
            must(i == 0 || strcmp(a[1].text, b[1].text) == 0); /* Newick has no weights */
            buffer_clear(&b[0]);
            buffer_clear(&b[1]);
            must(rewrite(&b[0], &b[1], a[i].text, a[i].length, &o, true) == ART_OK);
            if (use == TREE_LENGTHS) /* halves of the smallest numbers do not add up */
                continue;
            buffer c[2];
            for (int k = 0; k < 2; k++)
                buffer_init(&c[k]);
            must(rewrite(&c[0], &c[1], b[i].text, b[i].length, &o, false) == ART_OK);
            must(strcmp(a[0].text, c[0].text) == 0);
            for (int k = 0; k < 2; k++)
                buffer_free(&c[k]);
        }
    for (int i = 0; i < 2; i++) {
        buffer_free(&a[i]);
        buffer_free(&b[i]);
    }
}

/* The first tree, whatever its degrees. */
static int read_any(consensus *c, tree_file *f, const void *data, size_t size)
{
    diag d;
    diag_init(&d);
    memset(c, 0, sizeof *c);
    int status = open_bytes(f, data, size, NULL, &d);
    if (status == ART_OK)
        status = tree_file_next_text(f, &d);
    if (status == ART_OK)
        status = consensus_from_newick(c, &f->text, &f->index.labels, &f->in, &d);
    check_messages(status, &d);
    diag_free(&d);
    return status;
}

static void round_trip_of_any(const void *data, size_t size)
{
    tree_file f, g;
    consensus c, again;
    if (read_any(&c, &f, data, size) == ART_OK)
        for (int i = 0; i < 2; i++) {
            buffer out;
            buffer_init(&out);
            if (i == 0)
                consensus_write_newick(&out, &c, f.taxa);
            else
                consensus_write_nexus(&out, &c, f.taxa, "con");
            must(read_any(&again, &g, out.text, out.length) == ART_OK);
            must(taxa_equal(f.taxa, g.taxa) && again.count == c.count);
            for (int32_t j = 0; j < c.count; j++)
                must(c.node[j].parent == again.node[j].parent &&
                     c.node[j].taxon == again.node[j].taxon);
            consensus_free(&again);
            tree_file_free(&g);
            buffer_free(&out);
        }
    consensus_free(&c);
    tree_file_free(&f);
}

/* Removes all taxa but the first and the last three of the first tree. */
static void pruned(const void *data, size_t size)
{
    tree_file f;
    taxa keep;
    diag d;
    diag_init(&d);
    taxa_init(&keep);
    int status = open_bytes(&f, data, size, NULL, &d);
    for (int32_t i = 0; status == ART_OK && i < f.taxa->count; i++)
        if (i < 3 || i >= f.taxa->count - 3)
            must(taxa_add(&keep, f.taxa->name[i], strlen(f.taxa->name[i])) == ART_OK);
    tree_file_free(&f);
    if (status == ART_OK) {
        const tree_options o = {
            .use = TREE_LENGTHS_KNOWN, .polytomies = true, .taxa = &keep, .prune = true};
        diag_clear(&d);
        status = open_bytes(&f, data, size, &o, &d);
        while (status == ART_OK && tree_file_more(&f))
            status = tree_file_next(&f, &d);
        check_messages(status, &d);
        tree_file_free(&f);
    }
    taxa_free(&keep);
    diag_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    round_trip(data, size, TREE_TOPOLOGY, false);
    round_trip(data, size, TREE_LENGTHS, false);
    round_trip(data, size, TREE_TOPOLOGY, true);
    round_trip(data, size, TREE_LENGTHS, true);
    round_trip_of_any(data, size);
    pruned(data, size);
    return 0;
}
