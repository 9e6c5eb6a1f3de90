/* Reading and writing when memory runs short, at every single allocation. */
#include "support/check.h"
#include "support/gzip.h"
#include "support/memory.h"

#include "artreeformer.h"
#include "seq/alignment_write.h"

#include <stdio.h>
#include <string.h>

/* Fails each allocation in turn until none is left to fail: the status is ART_ERR_NOMEM, or
 * ART_OK where the memory was not essential (a message, a block that could be made smaller). */
static void read_short_of_memory(const void *data, size_t size)
{
    long k = 0, before, used, refused = 0;
    do {
        diag d;
        diag_init(&d);
        input in;
        alignment a = {0};
        before = memory_count();
        memory_fail_at(++k);
        int status = input_from_memory(&in, "file", data, size, NULL, &d);
        if (status == ART_OK)
            status = alignment_parse(&a, &in, NULL, &d);
        memory_fail_at(0);
        used = memory_count() - before;
        assert_true(status == ART_OK || status == ART_ERR_NOMEM);
        assert_int_equal(d.errors, status != ART_OK);
        refused += status != ART_OK;
        assert_int_equal(a.n_taxa, status == ART_OK ? 3 : 0);
        alignment_free(&a);
        input_free(&in);
        diag_free(&d);
    } while (k <= used);
    assert_true(refused > 5); /* the allocations do pass through memory.h */
}

static void every_format(void **state)
{
    (void)state;
    const char *const text[] = {
        ">a\nAC.T\n>b\n;x\nACGA\n>A\nAC-A\n",
        "3 6 I\na ACG\nb ACG\nc ACG\n\nTAC\nAAC\nCAC\n",
        "3 6\na ACG\nTAC\nb ACG\nAAC\nc ACG\nCAC\n",
        ("#NEXUS begin taxa; dimensions ntax=3; taxlabels a 'b''s' c; end; begin characters; "
         "dimensions nchar=4; matrix a ACGT 'b''s' ACGA c AC[x]GC; end; begin paup; quit; end;"),
        ("#NEXUS begin taxa; title x; taxlabels d e; end; begin taxa; title y; taxlabels a b c; "
         "end; "
         "begin characters; link taxa=y; dimensions nchar=4; format nolabels; matrix ACGT ACGA "
         "ACGC; end;"),
        "3 4\nHomo_sapieACGT\nPan_troglaACGA\nGorilla_goACGC\n",
        "CLUSTAL W\n\na AC\nb AC\nc AC\n\na GT\nb GA\nc GC\n",
        "x\n MSF: 4 Type: N Check: 0 ..\n Name: a\n Name: b\n Name: c\n//\na ACGT\nb ACGA\nc "
        "ACGC\n",
        "# STOCKHOLM 1.0\na ACGT\nb ACGA\nc ACGC\n//\n",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        read_short_of_memory(text[i], strlen(text[i]));
    unsigned char packed[512];
    size_t n = gzip_pack(packed, sizeof packed, text[0], strlen(text[0]));
    read_short_of_memory(packed, n);
}

static void writing(void **state)
{
    (void)state;
    char name[3][8] = {"a", "b c", "d"}, *names[] = {name[0], name[1], name[2]};
    const uint8_t states[] = {1, 2, 1, 2, 2, 2, 4, 8, 4};
    alignment a;
    for (long k = 1; k <= 6; k++) { /* names, states, three copies, patterns: at the least */
        memory_fail_at(k);
        assert_int_equal(alignment_from_states(&a, names, states, 3, 3), ART_ERR_NOMEM);
        memory_fail_at(0);
        alignment_free(&a);
    }
    check_status(alignment_from_states(&a, names, states, 3, 3));
    buffer text;
    buffer_init(&text);
    memory_fail_at(1);
    assert_int_equal(alignment_write(&text, &a, ALIGNMENT_NEXUS, NULL), ART_ERR_NOMEM);
    memory_fail_at(0);
    buffer_free(&text);
    alignment_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_format), cmocka_unit_test(writing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
