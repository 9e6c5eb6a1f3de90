/* What readable files are read as. What is refused is in test_alignment_bad.c. */
#include "support/check.h"

#include "artreeformer.h"
#include "seq/alignment.h"
#include "seq/alignment_stats.h"
#include "seq/alignment_write.h"
#include "seq/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void parse(alignment *a, const char *text, const alignment_options *options)
{
    diag d;
    diag_init(&d);
    input in;
    check_status(input_from_memory(&in, "memory", text, strlen(text), NULL, &d));
    int status = alignment_parse(a, &in, options, &d);
    if (status != ART_OK)
        fail_msg("%s", d.count ? d.message[0].text : art_strerror(status));
    input_free(&in);
    diag_free(&d);
}

/* The rows as text, "name=ACGT name=ACGT". */
static void expect_options(const char *text, const alignment_options *options, const char *expected)
{
    alignment a;
    parse(&a, text, options);
    char got[2048];
    size_t used = 0;
    for (int i = 0; i < a.n_taxa; i++) {
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s=", i ? " " : "", a.name[i]);
        for (size_t j = 0; j < a.n_sites; j++)
            got[used++] = symbol_of_state(a.state[(size_t)i * a.n_patterns + a.site_pattern[j]]);
        got[used] = '\0';
    }
    assert_string_equal(got, expected);
    alignment_free(&a);
}

static void expect(const char *text, const char *expected)
{
    expect_options(text, NULL, expected);
}

static void fasta(void **state)
{
    (void)state;
    expect(">a\nACGT\n>b\nACGA\n>c\nACGC\n", "a=ACGT b=ACGA c=ACGC");
    expect("\n>a x y\nAC\nGT\n\n>b\n ACG A\n>c\tz\nacgc", "a=ACGT b=ACGA c=ACGC");
    expect("> a\nAC\n>b>c\nAG\n>(d)\nAT", "a=AC b>c=AG (d)=AT");
    expect(">a\nUuTt\n>b\n-?NX\n>c\nO~RY", "a=TTTT b=-NNN c=NNRY");
    expect(">a\nRYSWKMBDHVN\n>b\nryswkmbdhvn\n>c\nAAAAAAAAAAA", "a=RYSWKMBDHVN b=RYSWKMBDHVN "
                                                                "c=AAAAAAAAAAA");
    expect(">a\n.A!\n>b\nAAA\n>c\nAAA", "a=NA- b=AAA c=AAA");
    expect("; old\n>a\n;x\nAC\n; y\nG\n>b\nACG\n>c\nACT\n", "a=ACG b=ACG c=ACT");
    alignment_options full = {.full_names = true};
    expect_options(">a x \nAC\n>a  y\nAG\n> b\nAT", &full, "a x=AC a  y=AG b=AT");
}

static void phylip(void **state)
{
    (void)state;
    const char *expected = "a=ACGTAC b=ACGAAC c=ACGCAC";
    expect("3 6\na ACGTAC\nb ACGAAC\nc ACGCAC\n", expected);
    expect("  3\t6\na\tACG TAC\n\n b  ACGAAC  \nc ACGCAC", expected);
    expect("3 6\na ACG\nTAC\nb ACGA\nA\nC\nc\nACGCAC\n", expected);
    expect("3 6\na ACG\nb ACG\nc ACG\n\nTAC\nAAC\nCAC\n", expected);
    expect("3 6\na ACG\nb ACG\nc ACG\nTAC\nAAC\nCAC\n", expected);
    expect("3 6\na AC\nb ACG\nc A\n\nGTAC\nAAC\nCGCAC\n", expected);
    expect("3 6\na ACG\nb ACG\nc ACG\n\na TAC\nb AAC\nc CAC\n", expected);
    expect("3 6 I\na ACG\nb ACG\nc ACG\n\nTAC\nAAC\nCAC\n", expected);
    /* names that are bases themselves */
    expect("3 4\nA AC\nC AC\nG AC\nGT\nGA\nGC\n", "A=ACGT C=ACGA G=ACGC");
    alignment_options strict = {.phylip_strict = true};
    expect_options("3 4\nHomo sapieACGT\nPan       ACGA\n  x y     ACGC", &strict,
                   "Homo sapie=ACGT Pan=ACGA x y=ACGC");
    expect_options("3 4\nHomo sapieAC\nPan       AC\n  x y     AC\n\n GT\nGA\n          GC",
                   &strict, "Homo sapie=ACGT Pan=ACGA x y=ACGC");
}

static void nexus(void **state)
{
    (void)state;
    const char *expected = "a=ACGT b=ACGA c=ACGC";
    expect("#NEXUS\nbegin data;\ndimensions ntax=3 nchar=4;\nformat datatype=dna missing=? gap=-;\n"
           "matrix\na ACGT\nb ACGA\nc ACGC\n;\nend;\n",
           expected);
    expect("#nexus BEGIN CHARACTERS; DIMENSIONS NCHAR=4; MATRIX a ACGT b AC\nGA c A C G C; END;",
           expected);
    expect(
        "#NEXUS begin taxa; dimensions ntax=3; taxlabels a b c; end; begin characters; dimensions"
        " nchar=4; format datatype=RNA interleave=no; matrix a ACGT b ACGA c ACGC; endblock;",
        expected);
    expect("#NEXUS begin data; dimensions ntax=3 nchar=4; format interleave;\nmatrix\na AC\nb AC\n"
           "c AC\n\na GT\nb GA\nc GC\n;\nend;",
           expected);
    expect("#NEXUS begin data; dimensions ntax=3 nchar=4; format matchchar=. interleave=yes;\n"
           "matrix\na AC\nb ..\nc ..\n\na GT\nb .A\nc .C;\nend;",
           expected);
    expect("#NEXUS [x [y] ] begin data; dimensions ntax=3 nchar=4; format gap=+ missing=* ;\n"
           "matrix 'it''s' AC[1]G+ [comment] b-c A[2]CG* 'd e'ACGC; end;",
           "it's=ACG- b-c=ACGN d e=ACGC");
    expect("#NEXUS begin data; title x; dimensions ntax=3 nchar=4; format symbols=\"A C G T\" "
           "labels; options gapmode=missing; matrix a ACGT b ACGA c ACGC; end; begin sets; charset "
           "x = 1-4/3; end; begin mrbayes; execute 'rm -rf'; end;",
           expected);
}

/* What FORMAT may say, and names that mean the same. */
static void nexus_format(void **state)
{
    (void)state;
    expect("#NEXUS begin data; dimensions ntax=3 nchar=4; format datatype=dna "
           "equate=\"1=A r=T 2={CG} 3=(A-)\"; matrix a 1Cr2 b rRG3 c 11GC; end;",
           "a=ACTS b=TRGN c=AAGC");
    expect("#NEXUS begin data; dimensions ntax=3 nchar=4; matrix a {CG}(a,c)G{A?} b ACGT c ACGC; "
           "end;",
           "a=SMGN b=ACGT c=ACGC");
    expect("#NEXUS begin taxa; dimensions ntax=3; taxlabels 'x y' b c; end; begin characters; "
           "dimensions nchar=4; format nolabels; matrix AC[1]GT ACG\nA ACGC; end;",
           "x y=ACGT b=ACGA c=ACGC");
    expect("#NEXUS begin taxa; dimensions ntax=3; taxlabels a b c; end; begin characters; "
           "dimensions nchar=4; format labels=no "
           "interleave;\nmatrix\nAC\nAC\nAC\n[2]\n\nGT\nGA\nGC\n; "
           "end;",
           "a=ACGT b=ACGA c=ACGC");
    expect(
        "#NEXUS begin taxa; dimensions ntax=3; taxlabels a_b 'c d' e; end; begin characters; "
        "dimensions nchar=4; format interleave;\nmatrix\n'a b' AC\n'c_d' AC\ne AC\n\na_b GT\n'c d' "
        "GA\ne GC\n; end;",
        "a b=ACGT c_d=ACGA e=ACGC");
}

static void clustal(void **state)
{
    (void)state;
    const char *expected = "a|1=ACG-AC b=ACGA-C c=AC-CAC";
    expect(
        "CLUSTAL W (1.81) multiple sequence alignment\n\n\na|1    ACG-\nb      ACGA\nc      AC.C\n"
        "       ** .\n\na|1    AC\nb      ~C\nc      AC\n        *\n",
        expected);
    expect("MUSCLE (3.8) multiple sequence alignment\n\na|1 acg- 4\nb acga 4\nc ac-c 4\n\n    \n"
           "a|1 ac 6\nb -c 6\nc ac 6",
           expected);
    expect("\nclustal\na|1 ACG-AC\nb ACGA-C\nc AC-CAC\n", expected);
}

static void msf(void **state)
{
    (void)state;
    const char *expected = "a=ACGTAC b=--GA-C c=AC-CAC";
    expect(
        "!!NA_MULTIPLE_ALIGNMENT 1.0\n\n x.msf  MSF: 6  Type: N  Nov 1, 2026  Check: 1 ..\n\n"
        " Name: a   Len: 6  Check: 1  Weight: 1.00\n Name: b oo Len: 6\n Name: c  Len: 6\n\n//\n\n"
        "     1      4\na    AC GT\nb    ~~ GA\nc    AC .C\n\n     5 6\na    AC\nb    .C\nc    "
        "AC\n",
        expected);
    expect(
        "PileUp\n\n MSF: 6 Type: N Check: 1 ..\nName: a\nName: b\nName: c\n//\nc AC-CAC\nb --GA-C\n"
        "a ACGTAC\n",
        expected);
}

static void stockholm(void **state)
{
    (void)state;
    const char *expected = "a/1-6=ACGTAC b=ACGA-C c=AC-CAC";
    expect("# STOCKHOLM 1.0\n#=GF ID x\n#=GS b AC 1\n\na/1-6 ACGT\n#=GR b SS ....\nb ACGA\nc AC.C\n"
           "#=GC RF xxxx\n\na/1-6 AC\nb -C\nc AC\n//\n\n",
           expected);
    expect("# STOCKHOLM 1.0\na/1-6 ACGTAC\nb ACGA.C\nc AC.CAC\n//", expected);
}

/* Patterns, weights and their numbering, against counting by hand. */
static void patterns(void **state)
{
    (void)state;
    alignment a;
    parse(&a, ">a\nACA-CN\n>b\nAGANG?\n>c\nATA-TN\n", NULL);
    assert_int_equal(a.n_taxa, 3);
    assert_int_equal(a.n_sites, 6);
    assert_int_equal(a.n_patterns, 4); /* '-' and 'N' are different states */
    const uint32_t weight[] = {2, 2, 1, 1}, pattern[] = {0, 1, 0, 2, 1, 3};
    const uint8_t first[] = {STATE_A, STATE_C, STATE_GAP, STATE_ANY};
    for (size_t j = 0; j < 4; j++) {
        assert_int_equal(a.weight[j], weight[j]);
        assert_int_equal(a.state[j], first[j]);
    }
    for (size_t j = 0; j < 6; j++)
        assert_int_equal(a.site_pattern[j], pattern[j]);
    alignment_free(&a);
    alignment_free(&a);
}

static void stats(void **state)
{
    (void)state;
    alignment a;
    /* columns: constant; constant by R and gap; variable; informative; ambiguous, so not
     * informative; empty */
    parse(&a, ">a\nAAAAA-\n>b\nARAARN\n>c\nA-GCC?\n>d\nAAACY-\n>e\nAAAAA-\n>f\n-NNN??\n", NULL);
    alignment_stats s;
    check_status(alignment_stats_compute(&s, &a));
    assert_int_equal(s.constant_sites, 3);
    assert_int_equal(s.informative_sites, 1);
    assert_int_equal(s.empty_sites, 1);
    assert_int_equal(s.empty_sequences, 1);
    assert_int_equal(s.identical_sequences, 1);
    const int same_as[] = {0, 1, 2, 3, 0, -1};
    const double gaps[] = {1, 1, 2, 1, 1, 6};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(s.same_as[i], same_as[i]);
        check_near(s.gap_share[i], gaps[i] / 6, 0);
    }
    alignment_stats_free(&s);
    alignment_free(&a);
}

/* The published sizes (DS1, DS4, DS8), the rest counted with another program. */
static void shared_alignments(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int taxa;
        size_t sites, patterns, empty;
    } known[] = {
        {"DS1", 27, 1949, 934, 9},   {"DS2", 29, 2520, 1253, 381}, {"DS3", 36, 1812, 1020, 0},
        {"DS4", 41, 1137, 769, 3},   {"DS5", 50, 378, 256, 0},     {"DS6", 50, 1133, 493, 7},
        {"DS7", 59, 1824, 1037, 0},  {"DS8", 64, 1008, 407, 0},    {"flu25", 25, 1681, 683, 0},
        {"flu50", 50, 1681, 775, 0}, {"flu75", 75, 1681, 838, 0},  {"flu100", 100, 1681, 890, 0},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        char path[64];
        snprintf(path, sizeof path, "data/alignments/%s.fasta", known[k].name);
        alignment a;
        check_status(alignment_read(&a, shared_path(path), NULL, NULL));
        assert_int_equal(a.n_taxa, known[k].taxa);
        assert_int_equal(a.n_sites, known[k].sites);
        assert_int_equal(a.n_patterns, known[k].patterns);
        alignment_stats s;
        check_status(alignment_stats_compute(&s, &a));
        assert_int_equal(s.empty_sites, known[k].empty);
        alignment_stats_free(&s);
        alignment_free(&a);
    }
}

static void check_equal(const alignment *a, const alignment *b)
{
    assert_int_equal(a->n_taxa, b->n_taxa);
    assert_int_equal(a->n_sites, b->n_sites);
    assert_int_equal(a->n_patterns, b->n_patterns);
    for (int i = 0; i < a->n_taxa; i++)
        assert_string_equal(a->name[i], b->name[i]);
    assert_memory_equal(a->state, b->state, (size_t)a->n_taxa * a->n_patterns);
    assert_memory_equal(a->weight, b->weight, a->n_patterns * sizeof *a->weight);
    assert_memory_equal(a->site_pattern, b->site_pattern, a->n_sites * sizeof *a->site_pattern);
}

/* Written in every format and read again, it is the same. */
static void check_round_trip(const alignment *a)
{
    for (alignment_format format = ALIGNMENT_FASTA; format <= ALIGNMENT_NEXUS; format++) {
        buffer text;
        buffer_init(&text);
        check_status(alignment_write(&text, a, format, NULL));
        alignment again;
        parse(&again, text.text, NULL);
        assert_int_equal(again.format, format);
        check_equal(a, &again);
        alignment_free(&again);
        buffer_free(&text);
    }
}

static void round_trip(void **state)
{
    (void)state;
    alignment a;
    parse(&a, ">it's\nACGTUNX\n>1\nRYSWKMB\n>(a:b)[c];,=\"\ndhv-?.!\n>\xC3\xA9\n-------\n", NULL);
    check_round_trip(&a);
    alignment_free(&a);
}

static void round_trip_of_shared(void **state)
{
    (void)state;
    static const char *const name[] = {"DS1", "DS2", "DS3",   "DS4",   "DS5",   "DS6",
                                       "DS7", "DS8", "flu25", "flu50", "flu75", "flu100"};
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        char path[64];
        snprintf(path, sizeof path, "data/alignments/%s.fasta", name[k]);
        alignment a;
        check_status(alignment_read(&a, shared_path(path), NULL, NULL));
        check_round_trip(&a);
        alignment_free(&a);
    }
}

static void names_that_do_not_fit(void **state)
{
    (void)state;
    alignment a;
    parse(&a, "#NEXUS begin data; dimensions nchar=1; matrix 'a b' A c C d G; end;", NULL);
    buffer text;
    buffer_init(&text);
    diag d;
    diag_init(&d);
    assert_int_equal(alignment_write(&text, &a, ALIGNMENT_PHYLIP, &d), ART_ERR_UNSUPPORTED);
    assert_int_equal(text.length, 0);
    assert_non_null(strstr(d.message[0].text, "PHYLIP cannot hold the name 'a b'"));
    check_status(alignment_write(&text, &a, ALIGNMENT_FASTA, &d));
    assert_int_equal(d.count, 2);
    assert_non_null(strstr(d.message[1].text, "warning: the name 'a b' contains spaces"));
    alignment again;
    alignment_options full = {.full_names = true};
    parse(&again, text.text, &full);
    check_equal(&a, &again);
    alignment_free(&again);
    alignment_free(&a);
    buffer_free(&text);
    diag_free(&d);
}

static void from_states(void **state)
{
    (void)state;
    alignment a, b;
    char one[] = "x", two[] = "y", three[] = "z", *name[] = {one, two, three};
    const uint8_t states[] = {1, 2, 1, 2, 2, 2, 4, 8, 4};
    check_status(alignment_from_states(&a, name, states, 3, 3));
    parse(&b, ">x\nACA\n>y\nCCC\n>z\nGTG\n", NULL);
    check_equal(&a, &b);
    alignment_free(&a);
    alignment_free(&b);
}

/* Columns that differ in one place only, and many equal ones, against a plain count. */
static void patterns_of_many_columns(void **state)
{
    (void)state;
    enum { TAXA = 37, SITES = 5000, KINDS = 211 };
    static uint8_t states[TAXA][SITES];
    char *name[TAXA], text[TAXA][8];
    for (int i = 0; i < TAXA; i++) {
        snprintf(text[i], sizeof text[i], "t%d", i);
        name[i] = text[i];
        for (int j = 0; j < SITES; j++) {
            int kind = j * j % KINDS;
            states[i][j] = (uint8_t)(kind % TAXA == i ? 1 << kind / TAXA % 4 : STATE_GAP);
        }
    }
    alignment a;
    check_status(alignment_from_states(&a, name, &states[0][0], TAXA, SITES));
    size_t next = 0, total = 0;
    for (size_t j = 0; j < SITES; j++) {
        size_t p = a.site_pattern[j];
        assert_true(p <= next);
        next += p == next;
        for (size_t i = 0; i < TAXA; i++)
            assert_int_equal(a.state[i * a.n_patterns + p], states[i][j]);
    }
    assert_int_equal(next, a.n_patterns);
    for (size_t p = 0; p < next; p++) /* no two are equal */
        for (size_t q = 0; q < p; q++) {
            size_t same = 0;
            for (size_t i = 0; i < TAXA; i++)
                same += a.state[i * next + p] == a.state[i * next + q];
            assert_true(same < TAXA);
        }
    for (size_t p = 0; p < a.n_patterns; p++)
        total += a.weight[p];
    assert_int_equal(total, SITES);
    alignment_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fasta),
        cmocka_unit_test(phylip),
        cmocka_unit_test(nexus),
        cmocka_unit_test(nexus_format),
        cmocka_unit_test(clustal),
        cmocka_unit_test(msf),
        cmocka_unit_test(stockholm),
        cmocka_unit_test(patterns),
        cmocka_unit_test(stats),
        cmocka_unit_test(shared_alignments),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(round_trip_of_shared),
        cmocka_unit_test(names_that_do_not_fit),
        cmocka_unit_test(from_states),
        cmocka_unit_test(patterns_of_many_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
