#include "support/check.h"

#include "artreeformer.h"
#include "io/nexus.h"
#include "base/rng.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void names_are_quoted_where_needed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *newick, *nexus;
    } expected[] = {
        {"Homo_sapiens", "Homo_sapiens", "Homo_sapiens"},
        {"a-b.c|d#e", "a-b.c|d#e", "a-b.c|d#e"},
        {"a b", "'a b'", "'a b'"},
        {"CoteD'Ivoire", "'CoteD''Ivoire'", "'CoteD''Ivoire'"},
        {"A/x/2007", "A/x/2007", "'A/x/2007'"},
        {"x*", "x*", "'x*'"},
        {"12", "12", "'12'"},
        {"12a", "12a", "12a"},
        {"a(1)", "'a(1)'", "'a(1)'"},
        {"a[1]", "'a[1]'", "'a[1]'"},
        {"a:1;", "'a:1;'", "'a:1;'"},
        {"\xc3\xa9t\xc3\xa9", "'\xc3\xa9t\xc3\xa9'", "'\xc3\xa9t\xc3\xa9'"},
        {"", "''", "''"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        buffer b;
        buffer_init(&b);
        nexus_write_name(&b, expected[i].name, QUOTE_NEWICK);
        assert_string_equal(b.text, expected[i].newick);
        buffer_clear(&b);
        nexus_write_name(&b, expected[i].name, QUOTE_NEXUS);
        assert_string_equal(b.text, expected[i].nexus);
        buffer_free(&b);
    }
}

static void fill(taxa *t, int32_t n)
{
    static const char *const odd[] = {"a b",   "it's",  "x(1):2;[3],", "A/x/2007", "2",
                                      "star*", "\"q\"", "{b}",         "=",        "\xc3\xa9"};
    taxa_init(t);
    for (int32_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, i < 10 ? "%s" : "%s%d", i < 10 ? odd[i] : "t", i);
        check_status(taxa_add(t, name, strlen(name)));
    }
    check_status(taxa_sort(t, NULL));
}

static void known_texts(void **state)
{
    (void)state;
    taxa t;
    taxa_init(&t);
    for (const char *name = "abcde"; *name; name++)
        check_status(taxa_add(&t, name, 1));
    tree_writer w;
    check_status(tree_writer_init(&w, &t));
    buffer b;
    buffer_init(&b);
    static const int32_t decision[] = {0, 4}; /* d on the edge of b, e above these two */
    static const double length[] = {1, 0.1, 1e-7, 3, 1.0 / 3, 5, 6};
    tree_write_newick(&b, &w, decision, NULL);
    assert_string_equal(b.text, "((e,(d,b)),c,a);");
    buffer_clear(&b);
    tree_write_newick(&b, &w, decision, length);
    assert_string_equal(b.text, "((e:5,(d:3,b:1):0.3333333333333333):6,c:0.1,a:1e-07);");
    buffer_clear(&b);
    w.digits = 3;
    double weight = 0.1;
    tree_write_tree(&b, &w, "t 1", &weight, decision, length);
    assert_string_equal(b.text,
                        "   tree 't 1' = [&U] [&W 0.1] ((5:5,(4:3,2:1):0.333):6,3:0.1,1:1e-07);\n");
    buffer_clear(&b);
    tree_write_probability(&b, &w, 7, 0.25, 0.9, decision);
    assert_string_equal(b.text,
                        "   tree tree_7 [p = 0.250, P = 0.900] = [&W 0.250000] ((5,(4,2)),3,1);\n");
    buffer_free(&b);
    tree_writer_free(&w);
    taxa_free(&t);
}

/* What is written is read back: names, topologies, weights and every bit of the lengths. */
static void written_trees_are_read_back(void **state)
{
    (void)state;
    for (int32_t n = 3; n <= 40; n += n < 12 ? 1 : 7) {
        taxa t;
        tree_writer w;
        fill(&t, n);
        check_status(tree_writer_init(&w, &t));
        rng r = rng_at(5, RNG_TEST, (uint32_t)n, 0);
        int32_t decision[10][40];
        double length[10][80], weight[10];
        buffer out[2];
        buffer_init(&out[0]);
        buffer_init(&out[1]);
        tree_write_begin(&out[1], &t);
        for (int i = 0; i < 10; i++) {
            for (int32_t j = 0; j < n - 3; j++)
                decision[i][j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
            for (int32_t e = 0; e < 2 * n - 3; e++)
                length[i][e] = exp(20 * rng_normal(&r));
            weight[i] = rng_uniform(&r);
            tree_write_newick(&out[0], &w, decision[i], length[i]);
            buffer_char(&out[0], '\n');
            tree_write_tree(&out[1], &w, "x", &weight[i], decision[i], length[i]);
        }
        tree_write_end(&out[1]);
        for (int k = 0; k < 2; k++) {
            input in;
            tree_file f;
            check_status(input_from_memory(&in, "f", out[k].text, out[k].length, NULL, NULL));
            check_status(tree_file_from_input(&f, &in, &(tree_options){.use = TREE_LENGTHS}, NULL));
            assert_true(taxa_equal(f.taxa, &t));
            for (int i = 0; i < 10; i++) {
                check_status(tree_file_next(&f, NULL));
                assert_memory_equal(f.tree.decision, decision[i],
                                    (size_t)(n - 3) * sizeof(int32_t));
                assert_memory_equal(f.tree.length, length[i], (size_t)(2 * n - 3) * sizeof(double));
                assert_true(f.tree.weight == (k ? weight[i] : 1));
            }
            assert_false(tree_file_more(&f));
            tree_file_free(&f);
            buffer_free(&out[k]);
        }
        tree_writer_free(&w);
        taxa_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_quoted_where_needed),
        cmocka_unit_test(known_texts),
        cmocka_unit_test(written_trees_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
