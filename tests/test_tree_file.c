#include "support/check.h"
#include "support/files.h"
#include "support/run.h"

#include "artreeformer.h"
#include "base/buffer.h"
#include "base/rng.h"
#include "tree/tree_file.h"
#include "tree/tree_write.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads all the trees of a text; what was said is left in d. */
static int read_text(size_t *count, const char *name, const char *text, const tree_options *o,
                     diag *d)
{
    input in;
    tree_file f = {0};
    int status = input_from_memory(&in, name, text, strlen(text), NULL, d);
    *count = 0;
    if (!status)
        status = tree_file_from_input(&f, &in, o, d);
    while (!status && tree_file_more(&f))
        if ((status = tree_file_next(&f, d)) == ART_OK)
            (*count)++;
    tree_file_free(&f);
    return status;
}

static const char *said(const diag *d)
{
    static char all[20000];
    size_t used = 0;
    all[0] = '\0';
    for (size_t i = 0; i < d->count; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s\n", d->message[i].text);
    return all;
}

#define NEXUS(table, trees) "#NEXUS\nbegin trees;\n translate " table ";\n" trees "end;\n"
#define TABLE               "1 a, 2 b, 3 c, 4 d"
/* Three TAXA blocks, and trees as Mesquite writes them. */
#define LINKED(link, newick)                                                                    \
    "#NEXUS\nBEGIN TAXA; TITLE Plants; DIMENSIONS NTAX=3; TAXLABELS x y z; END;\n"              \
    "BEGIN TAXA; TITLE the_beasts; TAXLABELS a b c d; END;\n"                                   \
    "BEGIN TAXA; TITLE Beasts; TAXLABELS a b c d; END;\nBEGIN TREES; " link " tree t = " newick \
    ";\nEND;\n"

/* The cases of the table of bad inputs that concern trees, by their numbers. accept: how many
 * trees are read; -1: refused. words: what the messages must contain, all of them; without
 * words nothing may be said. */
static const struct bad_input {
    int number;
    int accept;
    const char *text;
    const char *words[4];
    const char *name;
    tree_options options;
} BAD_INPUTS[] = {
    {92, -1, "(a,b,(c,d))", .words = {"error: expected ';' at the end of the tree", "add it"}},
    {92, -1, "(a,b,(c,d))\n(a,b,(c,d));",
     .words = {":2:1: error: expected ',', ')' or ';', found '('"}},
    {93, -1, "(a,b,(c,d);", .words = {":1:11: error:", "2 '(' and 1 ')'"}},
    {93, -1, "((a,b,(c,d)", .words = {"3 '(' and 1 ')'"}},
    {93, -1, "(a,b,(c,d)));", .words = {":1:12: error:", "2 '(' and 3 ')'"}},
    {94, 1, "('a b','it''s',('x(1):2;[3],',(d,'''')));", .words = {NULL}},
    {95, -1, "(CoteD'Ivoire,b,(c,d));", .words = {":1:7: error:", "'CoteD'", "quotes"}},
    {95, -1, "('Cote''D'Ivoire,b,(c,d));", .words = {":1:11: error:", "found 'Ivoire'"}},
    {96, -1, "(a;b,c,(d,e));", .words = {":1:4: error: expected '('", "names with ';'"}},
    {96, -1, "(a,b,(c,d));e,f);",
     .words = {":1:13: error: expected '('", "found 'e'", "names with ';'"}},
    {98, 1, "(a:1e-5,b:1E0,(c:4.03E-4,d:+1.e+2):.5e-3);", .words = {NULL},
     .options = {.use = TREE_LENGTHS}},
    {99, -1, "(a:1,b:1,(c:-2,d:1):1);", .words = {":1:11: error: the branch length -2 is negative"},
     .options = {.use = TREE_LENGTHS}},
    {99, 2, "(a:1,b:1,(c:-2,d:1):1);(a:1,b:1,(c:-2,d:1):-1);", .words = {"note: negative"}},
    {99, 1, "(a:1,b:1,(c:-2,d:1):1);", .words = {"note: negative", "not used"},
     .options = {.use = TREE_LENGTHS_KNOWN}},
    {99, 1, "(a:1,b:1,(c:-0,d:1):1);", .words = {NULL}, .options = {.use = TREE_LENGTHS}},
    {100, -1, "(a:nan,b:1,(c:1,d:1):1);",
     .words = {":1:4: error: expected a branch length", "'nan'"}},
    {100, -1, "(a:inf,b:1,(c:1,d:1):1);", .words = {"'inf'"}},
    {100, -1, "(a:0x1p3,b:1,(c:1,d:1):1);", .words = {"'0x1p3'"}},
    {100, -1, "(a:1e999,b:1,(c:1,d:1):1);", .words = {"'1e999'"}},
    {100, -1, "(a:1,5,b:1,5,(c:1,5,d:1,5):1,5);", .words = {"multifurcating", "not a comma"}},
    {100, -1, "(a:1,5,b:0,25,(c:1,5,d:1,5):1,5);", .words = {"decimal comma", "not a comma"},
     .options = {.polytomies = true}},
    {100, 1, "(a:1,5:1,(c:1,d:1):1,e:1);", .words = {NULL}, .options = {.polytomies = true}},
    {101, -1, "(a:1.2.3,b:1,(c:1,d:1):1);", .words = {":1:4: error:", "'1.2.3'"}},
    {101, -1, "(a:,b:1,(c:1,d:1):1);", .words = {"branch length", "found ','"}},
    {101, -1, "(a:'1',b:1,(c:1,d:1):1);", .words = {"branch length", "found '1'"}},
    {101, -1, "(a:1:2,b:1,(c:1,d:1):1);", .words = {":1:5: error:", "one length"}},
    {102, 2, "(a,b,(c,d));(a:0,b:0.0,(c:0,d:0e5):0);", .words = {NULL},
     .options = {.use = TREE_LENGTHS}},
    {103, 1, "  4 1\n(a:1,b #2:2,(c:1,d:1) #1:3)$3; // the tree\n// the end\n", .words = {NULL}},
    {103, 1, "1\n(a,b,(c,d)); (a,c,(b,d));", .words = {":2:14: note: the first line", "(1)"}},
    {103, -1, "2 x\n(a,b,(c,d));", .words = {"expected '('", "found 'x'"}},
    {103, 1, "(a:1,b:2,(c:1,d:1)0.98:3[58])root:0;", .words = {NULL}},
    {103, 1, "(a,b,(c,d)'98/0.9')[&prob=1];", .words = {NULL}},
    {104, 1, "(a[&r={1,2},h=(3;4)]:[&x]1[&y={1,2}],b[&&NHX:S=x:E=1]:1,(c,d)[&p=1]:2[[n]]);",
     .words = {NULL}},
    {104, -1, "(a[&r={1,2},b,(c,d));", .words = {":1:3: error: this comment is never closed"}},
    {105, 3, "[&R](a,b,(c,d)); [&U] (a,b,(c,d));\n[&r] [lh=-1] (a,b,(c,d));", .words = {NULL}},
    {105, 2, "[&W 1/4] (a,b,(c,d)); [&U] [&w 0.75 ](a,b,(c,d));", .words = {NULL}},
    {106, 2, "((a,b),(c,d));\n((a,c),(b,d));", .words = {":1:1: note: rooted trees"}},
    {107, -1, "(a,b,c,(d,e,f,g),(h,i));", .words = {":1:1: error:", "2 multi", "with 5 children"}},
    {107, 2, "(a,b,c,(d,e,f,g),(h,i));((a,b,c),(d,e,f,g),h,i);", .words = {NULL},
     .options = {.polytomies = true}},
    {107, -1, "(a,b,(c,(d,e,f,g)));", .words = {":1:9: error:", "1 multi", "with 4 children"}},
    {108, -1, "(a,b,((c,d)));",
     .words = {":1:6: error:", "1 node(s)", "extra pair of parentheses"}},
    {108, -1, "((a,b,(c,d)));", .words = {":1:1: error:", "1 node(s) with a single child"}},
    {108, -1, "(a,b,(c));", .words = {"single child"}},
    {94, 1, "(a,b,(Gink\ngo,d));", .words = {":1:7: note: a name goes on", "'Ginkgo'"}},
    {94, -1, "(a,b,(Gink \ngo,d));", .words = {":2:1: error:", "found 'go'", "quotes"}},
    {94, -1, "(a,b,('Gink'\ngo,d));", .words = {":2:1: error:", "found 'go'", "quotes"}},
    {109, -1, "(a,b,(c,d));\n(a,b,(c,c));",
     .words = {":2:9: error: taxon 'c' occurs twice", "'d' of the first"}},
    {109, -1, "(a,b,(c,d));\n(a,b,(x,y));",
     .words = {"'x' of the tree", "'y' of the tree", "'c'", "'d'"}},
    {109, -1, "(a,b,(c,(d,a)));", .words = {":1:12: error: taxon 'a' occurs twice in the tree"}},
    {109, -1, "(a,b,(c,d));\n(a,b,(c,(d,e)));", .words = {":2:12: error: taxon 'e'"}},
    {109, -1, "(a,b,c);\n", .words = {"'d' of the alignment is missing"},
     .options = {.taxa_from = "?"}},
    {109, -1, "(a,(b,B),c);\n", .words = {"'B'", "the alignment"}, .options = {.taxa_from = "?"}},
    {109, -1, "(a,,(c,d));", .words = {":1:4: error: a taxon without a name"}},
    {32, -1, "(a_b,'a b',(c,d));", .words = {"'a_b' and 'a b'", "underscores"}},
    {109, -1, "(a,b);", .words = {"2 different taxa", "at least 3"}},
    {110, 1, NEXUS(TABLE, "tree x = (1,2,(3,4));"), .words = {NULL}},
    {110, 1, NEXUS(TABLE, "tree x = (a,2,('c',d));"), .words = {NULL}},
    {110, -1, NEXUS("1 a, 2 b, 3 c", "tree x = (1,2,(3,4));"),
     .words = {"taxon '4' of the tree is not in"}},
    {110, -1, NEXUS("1 a, 2, 3 c, 4 d", "tree x = (1,2,(3,4));"),
     .words = {"expected the name of a taxon"}},
    {110, -1, NEXUS("1 a, 2 b 3 c, 4 d", "tree x = (1,2,(3,4));"),
     .words = {"expected ',' or ';'"}},
    {110, -1, NEXUS("1 a, 2 b, 2 c, 4 d", "tree x = (1,2,(3,4));"),
     .words = {"token '2' occurs twice"}},
    {110, -1, NEXUS("1 a, 2 b, 3 a, 4 d", "tree x = (1,2,(3,4));"),
     .words = {"taxon 'a' is listed twice"}},
    {110, -1, NEXUS("1 a*, 2 b, 3 c, 4 d", "tree x = (1,2,(3,4));"),
     .words = {":3:14: error:", "'a*'"}},
    {110, 1, NEXUS("1 'a*', 2 b, 3 c, 4 d,", "tree * x = (1,2,(3,4));"), .words = {NULL}},
    {110, -1, NEXUS("1 a, 2 b, 3 c, 4 x", "tree x = (1,2,(3,4));"),
     .words = {"'x' of the tree is not in the alignment", "'d' of the alignment is missing"},
     .options = {.taxa_from = "?"}},
    {110, 1, NEXUS("1 a, 2 b, 3 c, 4 d, 5 root", "tree x = (1,2,(3,4))5;"), .words = {NULL}},
    {110, 2,
     NEXUS(TABLE,
           "tree x = (1,2,(3,4));") "begin trees; translate 2 b, 5 e; tree y = (1,2,(3,4)); end;",
     .words = {NULL}},
    {110, -1,
     NEXUS(TABLE, "tree x = (1,2,(3,4));") "begin trees; translate 2 c; tree y = (1,2,(3,4)); end;",
     .words = {":5:24: error:", "'2' stood for another taxon", "separate files"}},
    {110, 1, LINKED("link taxa = Beasts;", "(1,2,(3,4))"), .words = {NULL},
     .options = {.taxa_from = "?"}},
    {110, 1, LINKED("title t; LINK CHARACTERS = x  TAXA = 'the BEASTS';", "(a,b,(c,4))"),
     .words = {NULL}, .options = {.taxa_from = "?"}},
    {110, 1, LINKED("", "(a,b,(c,d))"), .words = {NULL}},
    {110, -1, LINKED("", "(1,2,(3,4))"), .words = {"taxon '1' of the tree is not in the list"}},
    {110, -1, LINKED("link taxa = plants;", "(a,b,(c,d))"),
     .words = {"taxon 'a' of the tree is not in the list"}},
    {110, -1, LINKED("link taxa = fungi;", "(a,b,(c,d))"),
     .words = {":5:26: error: no TAXA block before this has the title 'fungi'",
               "'Plants', 'the_beasts', 'Beasts'", "correct LINK"}},
    {110, -1, LINKED("link taxa beasts;", "(a,b,(c,d))"), .words = {"expected '='", "LINK TAXA ="}},
    {110, -1, LINKED("link taxa = ;", "(a,b,(c,d))"), .words = {"expected the title of a block"}},
    {110, -1,
     LINKED("link taxa = beasts;",
            "(1,2,(3,4))") "begin trees; link taxa=plants; tree u = (1,2,3); end;",
     .words = {"are of the taxa 'plants'", "separate files"}},
    {110, -1,
     "#NEXUS begin taxa; title a b; taxlabels a b c; end; begin trees; tree x = (a,b,c); end;",
     .words = {"expected ';' at the end of TITLE, found 'b'", "quotes"}},
    {110, 1,
     "#NEXUS begin taxa; taxlabels a b c; end; begin trees; link taxa=t; tree x = (1,2,3); end;",
     .words = {"note: no TAXA block before this has the title 't'; the only one"}},
    {110, -1,
     "#NEXUS begin taxa; title x; taxlabels a b c; end; begin taxa; title X; taxlabels b c d; end; "
     "begin trees; link taxa=x; tree x = (1,2,3); end;",
     .words = {"2 TAXA blocks have the title 'x'", "different titles"}},
    {111, -1, NEXUS(TABLE, "tree x = (1,2,(3,4));"), .words = {"no weight", "[&W w]"},
     .name = "x.trprobs"},
    {111, -1, "[&W 1](a,b,(c,d));\n(a,b,(c,d));", .words = {"this tree has no weight"}},
    {111, -1, "(a,b,(c,d));\n[&W 1](a,b,(c,d));",
     .words = {":1:1: error: this tree has no weight"}},
    {111, 3, "[&W 5](a,b,(c,d));(a,b,(c,d));\n[&W 1](a,c,(b,d));",
     .words = {":1:19: note: 1 of 3 trees has no weight", "count 1"}},
    {111, -1, "[&W 5](a,b,(c,d));(a,b,(c,d));", .words = {"no weight"}, .name = "x.trprobs"},
    {111, -1, "[&W -0.5](a,b,(c,d));", .words = {":1:1: error: the weight '-0.5'"}},
    {111, -1, "[&W nan](a,b,(c,d));", .words = {"the weight 'nan'"}},
    {111, -1, "[&W 1/0](a,b,(c,d));", .words = {"the weight '1/0'"}},
    {111, -1, "[&W 0](a,b,(c,d));", .words = {"weights of the trees are all 0"}},
    {111, 2, "[&W 0.5](a,b,(c,d));[&W 0.4](a,c,(b,d));", .words = {"note: the weights sum to 0.9"}},
    {111, 2, "[&W 0.5](a,b,(c,d));[&W 0.4995](a,c,(b,d));", .words = {NULL}},
    {112, 2, "(a,b,(c,d));\n(a,b,(c,d));\n(a,b,(c",
     .words = {":3:1: note: the last tree is incomplete"}},
    {112, 1, "(a,b,(c,d));\n(a,b,(c,d))", .words = {":2:1: note: the last tree is incomplete"}},
    {112, 1, "#NEXUS\nbegin trees;\ntree x = (a,b,(c,d));\ntree y = (a,'b",
     .words = {":4:1: note:"}},
    {112, 1, "#NEXUS\nbegin trees;\ntree x = (a,b,(c,d));\ntree y", .words = {":4:1: note:"}},
    {112, 1, "#NEXUS\nbegin trees;\ntree x = (a,b,(c,d));\n", .words = {NULL}},
    {112, 1, "(a,b,(c,d));\n[&W 0.", .words = {":2:1: note: the last tree is incomplete"}},
    {112, 1, "(a,b,(c,d));\n[the end]\n", .words = {NULL}},
    {112, -1, "#NEXUS\nbegin trees;\ntree x = (a,b,(c,d))",
     .words = {"expected ';' at the end of the tree"}},
    {112, -1, "(a,b,(c,d));\n(a,'b,(c,d));\n(a,b,(c,d));",
     .words = {":2:4: error: this quote is never"}},
    {112, -1, "(a,b,(c,d));(a,b,(c,d));", .words = {"burn-in of 2 leaves none of the 2 trees"},
     .options = {.burnin_trees = 2}},
    {112, 1, "(a,b,(c,d));(a,b,(c,d));", .words = {NULL}, .options = {.burnin_share = 0.5}},
    /* of the other sections, what meets trees as well */
    {13, -1, "(a,b,(c,\xff));", .words = {"not valid UTF-8"}},
    {14, 1, "(a,b,(c,\xc3\xa9));", .words = {NULL}},
    {21, -1, "<!DOCTYPE html>\n<p>;", .words = {":1:1: error: expected '('", "'<!DOCTYPE'"}},
    {3, -1, "", .words = {"no trees"}},
    {4, -1, " \n\n", .words = {"no trees"}},
    {91, 1, "#NEXUS\nbegin mrbayes; execute x; end; begin trees; tree x = (a,b,c); end;",
     .words = {":2:1: note: the commands of this block are not executed"}},
    {112, -1, "#NEXUS\nbegin trees;\nend;", .words = {"no trees"}},
};

/* The program says the same, and ends with 2 where the trees are refused. Under sanitizers it
 * takes too long to start for so many of them; the reader itself has been looked at by then. */
static void check_program(const struct bad_input *b)
{
#ifdef ART_SANITIZED
    return;
#endif
    char line[256], words[256] = "";
    const char *file = b->name ? b->name : "f";
    scratch_write(file, b->text);
    if (b->options.taxa_from || b->options.use == TREE_LENGTHS)
        snprintf(line, sizeof line, "evaluate -s abcd.fasta -m JC %s", file);
    else if (b->number == 107 && !b->options.polytomies)
        snprintf(line, sizeof line, "embed %s", file); /* needs bifurcating trees */
    else if (b->number % 2)
        snprintf(line, sizeof line, "summarize --prefix out --redo --burnin %g %s",
                 (double)b->options.burnin_trees + b->options.burnin_share, file);
    else
        snprintf(line, sizeof line, "compare --burnin %g %s",
                 (double)b->options.burnin_trees + b->options.burnin_share, file);
    for (size_t w = 0; w < 4 && b->words[w]; w++) {
        strcat(words, w ? "|" : "");
        strcat(words, b->words[w]);
    }
    run_result r = run_line(NULL, line);
    check_run(&r, b->text, b->accept >= 0 ? 0 : 2, NULL, words);
    assert_true(b->accept < 0 || !strstr(r.err, "error"));
    run_free(&r);
}

static void bad_inputs(void **state)
{
    (void)state;
    taxa given;
    taxa_init(&given);
    for (const char *name = "abcd"; *name; name++)
        check_status(taxa_add(&given, name, 1));
    scratch_write("abcd.fasta", ">a\nACGT\n>b\nACGA\n>c\nACGC\n>d\nACGG\n");
    int failures = 0;
    for (size_t i = 0; i < sizeof BAD_INPUTS / sizeof BAD_INPUTS[0]; i++) {
        const struct bad_input *b = &BAD_INPUTS[i];
        tree_options o = b->options;
        if (o.taxa_from) {
            o.taxa = &given;
            o.taxa_from = "the alignment";
        }
        diag d;
        diag_init(&d);
        size_t count;
        int status = read_text(&count, b->name ? b->name : "f", b->text, &o, &d);
        int wrong = (status == ART_OK) != (b->accept >= 0);
        wrong |= (status == ART_OK) != (d.errors == 0);
        wrong |= status == ART_OK && count != (size_t)b->accept;
        wrong |= !b->words[0] && d.count > 0;
        wrong |= status == ART_OK && b->words[0] && d.count != 1; /* one note, not one per tree */
        for (size_t w = 0; w < 4 && b->words[w]; w++)
            wrong |= !strstr(said(&d), b->words[w]);
        if (wrong)
            print_error("case %d (%zu): %s\n status %d, %zu trees, said: %s\n", b->number, i,
                        b->text, status, count, said(&d));
        failures += wrong;
        diag_free(&d);
        check_program(b);
    }
    taxa_free(&given);
    assert_int_equal(failures, 0);
}

/* 97: a caterpillar whose text nests a million parentheses. */
static void a_million_parentheses(void **state)
{
    (void)state;
    enum { DEEP = 1000000 };
    buffer b;
    buffer_init(&b);
    for (int i = 0; i < DEEP; i++)
        buffer_char(&b, '(');
    buffer_text(&b, "x,y");
    for (int i = 0; i < DEEP; i++)
        buffer_printf(&b, i < DEEP - 1 ? "),%d" : ",z);", i);
    check_status(buffer_status(&b));
    diag d;
    diag_init(&d);
    size_t count;
    check_status(read_text(&count, "deep", b.text, NULL, &d));
    assert_int_equal(count, 1);
    assert_int_equal(d.count, 0);
    b.text[DEEP] = ';'; /* nothing but opening ones */
    b.text[DEEP + 1] = '\0';
    assert_int_equal(read_text(&count, "deep", b.text, NULL, &d), ART_ERR_INPUT);
    assert_non_null(strstr(said(&d), "1000000 '(' and 0 ')'"));
    diag_free(&d);
    buffer_free(&b);
}

static void open_text(tree_file *f, const char *text, const tree_options *o)
{
    input in;
    check_status(input_from_memory(&in, "text", text, strlen(text), NULL, NULL));
    check_status(tree_file_from_input(f, &in, o, NULL));
}

/* The same tree and lengths, written in many ways. */
static void what_is_read_does_not_depend_on_the_text(void **state)
{
    (void)state;
    static const char *const same[] = {
        "(a:1,(b:2,(c:3,d:4):5):6,e:7);",
        "(e:7,((d:4,c:3):5,b:2):6,a:1);",
        "((c:3,d:4):5,b:2,(a:1,e:7):6);",
        "(c:3,d:4,(b:2,(a:1,e:7):6):5);",
        "((a:1,(b:2,(c:3,d:4):5):6):5,e:2);",
        "(a:0.25,((b:2,(c:3,d:4):5):6,e:7):.75);",
        "((a:1,e:7):2.5,((c:3,d:4):5,b:2):3.5):9;",
        "#nexus begin taxa; taxlabels e d c b a; end; begin trees; utree t = "
        "(5:1,(4:2,(c:3,2:4):5):6,1:7); end;",
        "#NEXUS\nBEGIN TREES;TRANSLATE x a,y b,a c,2 'd',e e;TREE t=[&R]"
        "(x:1,(y:2,(a:3,2:4):5):6,'e':7);END;",
    };
    tree_options o = {.use = TREE_LENGTHS};
    tree_file first, f;
    open_text(&first, same[0], &o);
    check_status(tree_file_next(&first, NULL));
    assert_true(first.tree.has_lengths);
    double sum = 0;
    for (int i = 0; i < 7; i++)
        sum += first.tree.length[i];
    check_near(sum, 28, 0); /* small whole numbers: exact */
    assert_true(first.tree.length[node_edge(3, 5)] == 4);
    for (size_t i = 1; i < sizeof same / sizeof same[0]; i++) {
        open_text(&f, same[i], &o);
        check_status(tree_file_next(&f, NULL));
        assert_true(taxa_equal(f.taxa, first.taxa));
        assert_memory_equal(f.tree.decision, first.tree.decision, 2 * sizeof(int32_t));
        for (int e = 0; e < 7; e++)
            check_near(f.tree.length[e], first.tree.length[e], 0);
        assert_false(tree_file_more(&f));
        assert_int_equal(tree_file_next(&f, NULL), ART_ERR_USAGE);
        tree_file_free(&f);
    }
    tree_file_free(&first);
}

/* What is seen of a tree from `node` looking away from `from`, children in random order. The
 * length is that of the branch between them, or a part of it. */
static void write_from(buffer *out, const topology *t, const double *length, int32_t node,
                       int32_t from, double own, rng *r)
{
    int32_t next[3], count = 0;
    int32_t around[] = {t->parent[node], t->child[node][0], t->child[node][1]};
    for (int i = 0; i < 3; i++)
        if (around[i] >= 0 && around[i] != from)
            next[count++] = around[i];
    if (node < t->n_taxa) {
        buffer_printf(out, "t%d", node);
    } else {
        for (int32_t first = (int32_t)rng_below(r, (uint32_t)count), i = 0; i < count; i++) {
            int32_t v = next[(first + i) % count];
            int32_t below = v == t->parent[node] ? node : v;
            buffer_char(out, i ? ',' : '(');
            write_from(out, t, length, v, node, length[node_edge(below, t->n_taxa)], r);
        }
        buffer_char(out, ')');
    }
    buffer_char(out, ':');
    buffer_double(out, own, 0);
}

/* Random trees, each written with its root at a random node or in the middle of a branch. */
static void any_rooting_gives_the_same_tree(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 3000; trial++) {
        rng r = rng_at(11, RNG_TEST, 0, trial);
        int32_t n = 3 + (int32_t)rng_below(&r, 8), decision[16]; /* t0..t9: sorted as numbers */
        double length[32];
        for (int32_t j = 0; j < n - 3; j++)
            decision[j] = (int32_t)rng_below(&r, (uint32_t)topology_edges(j + 3));
        for (int32_t e = 0; e < topology_edges(n); e++)
            length[e] = rng_exponential(&r);
        topology t;
        check_status(topology_init(&t, n));
        topology_build(&t, decision);
        buffer out;
        buffer_init(&out);
        if (trial % 2) {
            int32_t root = n + (int32_t)rng_below(&r, (uint32_t)(n - 2));
            write_from(&out, &t, length, root, -1, 0, &r);
        } else {
            int32_t v = 1 + (int32_t)rng_below(&r, (uint32_t)(2 * n - 3));
            double half = length[node_edge(v, n)] / 2; /* exact, as is the sum of two halves */
            buffer_char(&out, '(');
            write_from(&out, &t, length, v, t.parent[v], half, &r);
            buffer_char(&out, ',');
            write_from(&out, &t, length, t.parent[v], v, half, &r);
            buffer_char(&out, ')');
        }
        buffer_char(&out, ';');
        tree_file f;
        open_text(&f, out.text, &(tree_options){.use = TREE_LENGTHS});
        check_status(tree_file_next(&f, NULL));
        assert_int_equal(f.tree.was_rooted, trial % 2 == 0);
        assert_memory_equal(f.tree.decision, decision, (size_t)(n - 3) * sizeof *decision);
        assert_memory_equal(f.tree.length, length, (size_t)(2 * n - 3) * sizeof *length);
        tree_file_free(&f);
        buffer_free(&out);
        topology_free(&t);
    }
}

static void lengths_may_be_missing(void **state)
{
    (void)state;
    tree_options o = {.use = TREE_LENGTHS};
    tree_file f;
    open_text(&f, "(a:1,b,(c:3,d:4):5);((a:1,b:2):0.5,(c:3,d:4));(a:1,b:2,(c:3,d:4):0);", &o);
    check_status(tree_file_next(&f, NULL));
    assert_false(f.tree.has_lengths);
    assert_true(isnan(f.tree.length[node_edge(1, 4)]));
    assert_true(f.tree.length[node_edge(2, 4)] == 3);
    check_status(tree_file_next(&f, NULL)); /* half of the inner branch is unknown */
    assert_false(f.tree.has_lengths);
    assert_true(f.tree.was_rooted);
    check_status(tree_file_next(&f, NULL));
    assert_true(f.tree.has_lengths);
    tree_file_free(&f);
}

static void weights_and_burnin(void **state)
{
    (void)state;
    static const char *const three = "(a,b,(c,d));(a,c,(b,d));(a,d,(b,c));";
    static const char *const weighted =
        "[&W 0.5](a,b,(c,d));[&W 0.3](a,c,(b,d));[&W 0.2](a,d,(b,c));";
    tree_file f;
    open_text(&f, three, &(tree_options){.burnin_trees = 1, .burnin_share = 0.67});
    assert_int_equal(f.skipped, 2);
    assert_int_equal(f.count, 1);
    check_near(f.total, 1, 0);
    check_status(tree_file_next(&f, NULL));
    assert_int_equal(f.tree.decision[0], 2); /* the third tree: d on the edge of a */
    tree_file_free(&f);
    open_text(&f, weighted, &(tree_options){.burnin_trees = 1});
    assert_int_equal(f.count, 3);
    check_near(f.total, 1, 1e-15); /* rounding of the sum */
    check_status(tree_file_next(&f, NULL));
    assert_true(f.weighted && f.tree.has_weight && f.tree.weight == 0.5);
    tree_file_free(&f);
    size_t count;
    assert_int_equal(read_text(&count, "f", three, &(tree_options){.burnin_share = 1}, NULL),
                     ART_ERR_USAGE);
}

/* As the programs write them, shortened. */
static void files_of_other_programs(void **state)
{
    (void)state;
    const char *const texts[] = {
        /* MrBayes .t */
        "#NEXUS\n[ID: 9409050143]\n[Param: tree]\nbegin trees;\n   translate\n      1\tTarsius,\n"
        "      2\tLemur,\n      3\tHomo,\n      4\tPan;\n   tree gen.0 = [&U] "
        "(2:2.000000e-02,(3:2.000000e-02,4:2.000000e-02):2.000000e-02,1:2.000000e-02);\n   tree "
        "gen.500 = [&U] (3:1.2e-01,(2:2.000000e-02,4:2.1e-02):2.000000e-02,1:2.000000e-02);\n"
        "end;\n",
        /* MrBayes .con.tre */
        "#NEXUS\n[ID: 9409050143]\nbegin taxa;\n\tdimensions ntax=4;\n\ttaxlabels\n\t\tTarsius\n"
        "\t\tLemur\n\t\tHomo\n\t\tPan\n\t\t;\nend;\nbegin trees;\n\ttranslate\n\t\t1\tTarsius,\n"
        "\t\t2\tLemur,\n\t\t3\tHomo,\n\t\t4\tPan\n\t\t;\n   tree con_50_majrule = [&U] "
        "(1[&prob=1.0e+00,prob_range={1.0e+00,1.0e+00},prob(percent)=\"100\",prob+-sd=\"100+-0\"]"
        ":1.0e-01[&length_mean=1.0e-01,length_95%HPD={6.8e-02,1.4e-01}],2[&prob=1.0e+00]:1.2e-01,"
        "(3[&prob=1.0e+00]:3.3e-02,4:4e-02)[&prob=9.8e-01,prob(percent)=\"98\"]:1.1e-01"
        "[&length_mean=1.1e-01]);\nend;\n",
        /* BEAST .trees */
        "#NEXUS\n\nBegin taxa;\n\tDimensions ntax=4;\n\tTaxlabels\n\t\t'A/Brisbane/59/2007'\n\t\t"
        "'B b'\n\t\tC\n\t\tD\n;\nEnd;\n\nBegin trees;\n\tTranslate\n\t\t1 'A/Brisbane/59/2007',"
        "\n\t\t2 'B b',\n\t\t3 C,\n\t\t4 D\n;\ntree STATE_0 [&lnP=-6.3,posterior=-6.3] = [&R] "
        "((1:[&rate=0.1]1.0,2[&h={1,2}]:[&rate=0.1]1.0)[&x=\"y\"]:[&rate=1.0E-3]2.0,(3:1.5,4:1.5):"
        "1.5);\ntree STATE_10 [&lnP=-6.1] = [&R] ((1:1.0,3:1.0):2.0,(2:1.5,4:1.5):1.5);\nEnd;\n",
        /* a list of bootstrap trees, one with its likelihood in front */
        ("(A,(B:0.1,C:2e-06)100/98:0.1,D:0.2);\r\n"
         "[ lh=-1234.5 ](A:0.1,((B:0.1,C:0.2)0.95:0.1,D:0.2):0.0);\r\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        diag d;
        diag_init(&d);
        size_t count;
        check_status(read_text(&count, "f", texts[i], &(tree_options){.use = TREE_LENGTHS}, &d));
        assert_int_equal(count, i == 1 ? 1 : 2);
        assert_int_equal(d.count, i < 2 ? 0 : 1); /* the last two are rooted */
        diag_free(&d);
    }
}

/* Reads a .trprobs file and writes it as MrBayes does: the same bytes, but for the comments at
 * the top. */
static void round_trip(const char *path)
{
    tree_file f;
    tree_writer w;
    buffer out;
    buffer_init(&out);
    check_status(tree_file_open(&f, path, NULL, NULL));
    check_status(tree_writer_init(&w, f.taxa));
    tree_write_begin(&out, f.taxa);
    double sum = 0;
    while (tree_file_more(&f)) {
        check_status(tree_file_next(&f, NULL));
        sum += f.tree.weight;
        tree_write_probability(&out, &w, f.next, f.tree.weight, sum, f.tree.decision);
    }
    tree_write_end(&out);
    check_status(buffer_status(&out));
    const char *theirs = strstr(f.in.text, "begin trees"), *ours = strstr(out.text, "begin trees");
    assert_non_null(theirs);
    for (; *theirs && *ours; theirs += *theirs == '\n', ours += *ours == '\n') {
        size_t n = strcspn(theirs, "\n"), m = strcspn(ours, "\n");
        /* The sum P of rounded weights may differ from the sum of counts in its last digit. */
        size_t skip = strncmp(theirs, "   tree", 7) == 0 ? strcspn(theirs, "=") + 20 : 0;
        if (n != m || memcmp(theirs + skip, ours + skip, n - skip) != 0)
            fail_msg("%s:\n%.*s\n%.*s", path, (int)n, theirs, (int)m, ours);
        theirs += n;
        ours += m;
    }
    assert_int_equal(*theirs, *ours);
    tree_writer_free(&w);
    tree_file_free(&f);
    buffer_free(&out);
}

static void round_trip_of_the_shared_trees(void **state)
{
    (void)state;
    static const char *const folders[] = {"DS1/truth", "DS1/short", "DS2/truth", "DS2/short",
                                          "DS3/truth", "DS3/short", "DS4/truth", "DS4/short",
                                          "DS7/short", "DS8/short"};
    int files = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char relative[64], path[4400];
        snprintf(relative, sizeof relative, "data/trees/%s", folders[i]);
        const char *folder = shared_path(relative);
        DIR *list = opendir(folder);
        assert_non_null(list);
        for (struct dirent *entry; (entry = readdir(list));) {
            if (!strstr(entry->d_name, ".trprobs"))
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            round_trip(path);
            files++;
        }
        closedir(list);
    }
    assert_int_equal(files, 66);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scratch_folder(bad_inputs),
        cmocka_unit_test(a_million_parentheses),
        cmocka_unit_test(what_is_read_does_not_depend_on_the_text),
        cmocka_unit_test(any_rooting_gives_the_same_tree),
        cmocka_unit_test(lengths_may_be_missing),
        cmocka_unit_test(weights_and_burnin),
        cmocka_unit_test(files_of_other_programs),
        cmocka_unit_test(round_trip_of_the_shared_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
