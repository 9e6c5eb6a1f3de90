/* Trees when memory runs short, at every single allocation. */
#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "tree/consensus.h"
#include "tree/tree_set.h"
#include "tree/tree_write.h"

#include <string.h>

/* Reads files into a set and a table of splits, on the taxa that they have in common, makes a
 * consensus of them, roots it, and writes everything: whatever the library allocates. */
static int do_everything(const char *const *path, size_t n)
{
    tree_set s;
    split_table splits;
    consensus c = {0}, again = {0};
    tree_file f = {0};
    tree_writer w = {0};
    buffer out;
    input in = {0};
    taxa common = {0};
    tree_sample sample = {0};
    rooting root = {0};
    tree_options o = {.use = TREE_LENGTHS, .polytomies = true};
    memset(&s, 0, sizeof s);
    memset(&splits, 0, sizeof splits);
    buffer_init(&out);
    int status = tree_file_common_taxa(&common, path, n, &o, NULL);
    o.taxa = &common;
    o.prune = true;
    o.sample = &sample;
    if (!status)
        status = tree_set_read(&s, &splits, path, n, &o, NULL);
    if (!status)
        status = consensus_build(&c, &splits, CONSENSUS_EXTENDED);
    const tree_rows rows = tree_sample_rows(&sample);
    if (!status)
        status = consensus_add_ranges(&c, &rows);
    if (!status)
        status = rooting_outgroup(&root, &s.taxa, "c,d", NULL);
    if (!status)
        status = consensus_root(&c, &root, NULL);
    if (!status)
        status = tree_writer_init(&w, &s.taxa);
    w.rooting = &root;
    if (!status) {
        tree_write_newick(&out, &w, tree_set_decision(&s, 0), NULL);
        consensus_write_nexus(&out, &c, &s.taxa, "x");
        buffer_clear(&out);
        consensus_write_newick(&out, &c, &s.taxa);
        status = buffer_status(&out);
    }
    if (!status)
        status = input_from_memory(&in, "x", out.text, out.length, NULL, NULL);
    if (!status)
        status = tree_file_from_input(&f, &in, NULL, NULL);
    if (!status)
        status = tree_file_next_text(&f, NULL);
    if (!status)
        status = consensus_from_newick(&again, &f.text, &f.index.labels, &f.in, NULL);
    if (!status)
        assert_int_equal(again.count, c.count - 1); /* without the root */
    taxa_free(&common);
    tree_sample_free(&sample);
    rooting_free(&root);
    tree_set_free(&s);
    split_table_free(&splits);
    consensus_free(&c);
    consensus_free(&again);
    tree_writer_free(&w);
    tree_file_free(&f);
    input_free(&in);
    buffer_free(&out);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scratch_make();
    const char *path[] = {
        scratch_write("a.nwk", "(a:1,'b''s':1,(c:1,(d:1,e:1):1):4);((a,c),(('b''s',d),e));"),
        scratch_write("b.nex", "#NEXUS begin trees; translate 1 d, 2 c, 3 'b''s', 4 a, 5 e;"
                               "tree x = [&W 1] (1:1,4:1,(2:1,(3:1,5:1):1):7); end;"),
        scratch_write("c.nex", "#NEXUS begin taxa; title t; taxlabels a 'b''s' c d e; end;"
                               "begin taxa; title u; taxlabels v w; end;"
                               "begin trees; link taxa=t; tree x = (1,2,(3,(4,5))); end;"),
        scratch_write("d.nwk", "(a:1,('b''s':1,x:1):1,c:1,(d:1,e:1):1);"),
    };
    long k = 0, before, refused = 0;
    do {
        before = memory_count();
        memory_fail_at(++k);
        int status = do_everything(path, 4);
        memory_fail_at(0);
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        refused += status != ART_OK;
    } while (k <= memory_count() - before);
    assert_true(refused > 50);
    check_status(do_everything(path, 4));
    scratch_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
