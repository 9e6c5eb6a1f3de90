#include "support/check.h"

#include "artreeformer.h"
#include "tree/newick.h"

#include <string.h>

/* Reads one tree; the text lives in *in. */
static int read_one(newick *t, input *in, const char *text, diag *d)
{
    nexus words;
    newick_init(t);
    check_status(input_from_memory(in, "f", text, strlen(text), NULL, NULL));
    nexus_init(&words, in, NEWICK_PUNCTUATION, d);
    return newick_read(t, &words);
}

static void nodes_are_as_in_the_text(void **state)
{
    (void)state;
    newick t;
    input in;
    check_status(read_one(&t, &in,
                          "[&u][&w 1/4] (a_b:1,'it''s (x)' : 2e-1 ,(c[&prob=0.5,x={1,2}]:3,d,e)0.9"
                          "[&prob=9.8e-01,prob(percent)=\"98\"]:[&rate=1].5[&prob=0])r:9 ; junk",
                          NULL));
    static const struct {
        int32_t parent, children;
        const char *label;
        double length;
    } expected[] = {
        {-1, 3, "r", 9}, {0, 0, "a_b", 1}, {0, 0, "it's (x)", 0.2}, {0, 3, "0.9", 0.5},
        {3, 0, "c", 3},  {3, 0, "d", -1},  {3, 0, "e", -1},
    };
    assert_int_equal(t.count, 7);
    assert_int_equal(t.rooting, NEWICK_UNROOTED);
    assert_true(t.has_weight && t.weight == 0.25);
    for (int i = 0; i < 7; i++) {
        const newick_node *node = &t.node[i];
        size_t n;
        assert_int_equal(node->parent, expected[i].parent);
        assert_int_equal(node->n_children, expected[i].children);
        const char *label = newick_label(&t, node, &n);
        assert_int_equal(n, strlen(expected[i].label));
        assert_memory_equal(label, expected[i].label, n);
        assert_int_equal(node->has_length, expected[i].length >= 0);
        if (node->has_length)
            assert_true(node->length == expected[i].length);
    }
    double value;
    assert_true(newick_annotation(&value, &t.node[4], "prob") && value == 0.5);
    assert_true(newick_annotation(&value, &t.node[3], "prob") && value == 0.98);
    assert_false(newick_annotation(&value, &t.node[3], "percent"));
    assert_false(newick_annotation(&value, &t.node[4], "x"));
    assert_false(newick_annotation(&value, &t.node[1], "prob"));
    newick_free(&t);
    newick_free(&t);
    input_free(&in);
}

/* What is not Newick, with the place. */
static void not_newick(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", ":1:1: error: expected ';'"},
        {";", ":1:1: error: a taxon without a name"},
        {"(a,b)", ":1:6: error: expected ';'"},
        {"(a,b c,d);", ":1:6: error: expected ',', ')' or ';', found 'c'"},
        {"(a,(b)(c),d);", ":1:7: error: expected ',', ')' or ';', found '('"},
        {"(a(b,c),d);", ":1:3: error:"},
        {"(a,b,'');", ":1:8: error: a taxon without a name"},
        {"();", ":1:2: error: a taxon without a name"},
        {"a,b;", ":1:2: error: expected ';'"},
        {"(a:1 2,b,c);", ":1:6: error: expected ',', ')' or ';', found '2'"},
        {"(a:1,b:1)x:1 y;", "found 'y'"},
        {"(a,b]);", "closes no comment"},
        {"(a,b)x'y';", "quote inside"},
        {"[&W x](a,b);", "the weight 'x'"},
        {"[&W 1e300](a,b);", "the weight '1e300'"},
        {"[&W -1/-2](a,b);", "the weight '-1/-2'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        newick t;
        input in;
        diag d;
        diag_init(&d);
        assert_int_equal(read_one(&t, &in, bad[i].text, &d), ART_ERR_INPUT);
        assert_int_equal(d.errors, 1);
        if (!strstr(d.message[0].text, bad[i].words))
            fail_msg("%s: %s", bad[i].text, d.message[0].text);
        newick_free(&t);
        input_free(&in);
        diag_free(&d);
    }
}

/* A label of 64 KiB is the longest. */
static void long_labels(void **state)
{
    (void)state;
    static char text[NEWICK_MAX_LABEL + 16];
    for (int more = 0; more < 2; more++) {
        newick t;
        input in;
        memset(text, 'x', sizeof text);
        text[0] = '(';
        memcpy(text + 1 + NEWICK_MAX_LABEL + more, ",b);", 5);
        assert_int_equal(read_one(&t, &in, text, NULL), more ? ART_ERR_INPUT : ART_OK);
        newick_free(&t);
        input_free(&in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_as_in_the_text),
        cmocka_unit_test(not_newick),
        cmocka_unit_test(long_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
