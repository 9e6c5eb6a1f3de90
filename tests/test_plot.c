/* Pictures of tables: the SVG itself, the tables' columns, and the command. */
#include "support/check.h"
#include "support/files.h"
#include "support/memory.h"
#include "support/run.h"

#include "artreeformer.h"
#include "results/columns.h"
#include "results/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void has(const char *text, const char *word)
{
    if (!strstr(text, word))
        fail_msg("no %s in\n%s", word, text);
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        n++;
    return n;
}

/* Four numbers of the first line through points: two points. */
static void first_two(double at[4], const char *svg)
{
    const char *points = strstr(svg, "points=\"");
    assert_non_null(points);
    assert_int_equal(sscanf(points, "points=\"%lf,%lf %lf,%lf", at, at + 1, at + 2, at + 3), 4);
}

static void curves_are_drawn(void **state)
{
    (void)state;
    const double x[] = {25, 50, 200}, y[] = {0.001, 0.01, 1}, bad[] = {1, 0, 1};
    const plot_series series[] = {{"first", x, y, 3, PLOT_LINE}, {"a < b", x, x, 3, PLOT_DASHED}};
    const plot_series wrong = {"wrong", x, bad, 3, PLOT_LINE}, none = {"none", x, y, 0, PLOT_LINE};
    const plot p = {
        .title = "Title", .x_name = "taxa", .y_name = "seconds", .log_x = true, .log_y = true};
    buffer out;
    buffer_init(&out);
    check_status(plot_svg(&out, &p, series, 2));
    static const char *const words[] = {"<svg xmlns=", "</svg>\n", ">Title<",    ">taxa<",
                                        ">seconds<",   ">first<",  ">a &lt; b<", "stroke-dasharray",
                                        ">100<",       ">0.01<"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        has(out.text, words[i]);
    double at[4]; /* larger is to the right, and higher up */
    first_two(at, out.text);
    assert_true(at[0] < at[2]);
    assert_true(at[1] > at[3]);
    assert_int_equal(plot_svg(&out, &p, &wrong, 1), ART_ERR_USAGE);
    assert_int_equal(plot_svg(&out, &p, &none, 1), ART_ERR_USAGE);
    buffer_clear(&out);
    check_status(plot_svg(&out, &(plot){.title = "", .x_name = "", .y_name = ""}, &wrong, 1));
    has(out.text, ">0<"); /* an even axis takes 0, and its ticks are even */
    has(out.text, ">0.2<");
    has(out.text, ">0.8<");
    buffer_free(&out);
}

static void one_value_has_an_axis(void **state)
{
    (void)state;
    const double x[] = {-7108.4}, y[] = {3};
    const plot_series one = {"one", x, y, 1, PLOT_POINTS};
    buffer out;
    buffer_init(&out);
    check_status(plot_svg(&out, &(plot){.title = "", .x_name = "", .y_name = ""}, &one, 1));
    has(out.text, ">3<");
    assert_null(strstr(out.text, "nan"));
    assert_null(strstr(out.text, "inf"));
    buffer_free(&out);
}

/* The points of y = x are on the diagonal, whatever the axes are. */
static void diagonals_go_through_equal_points(void **state)
{
    (void)state;
    const double x[] = {0.01, 0.5, 2}, y[] = {0.03, 0.5, 1};
    const plot_series points = {"points", x, y, 3, PLOT_POINTS};
    for (int log = 0; log < 2; log++) {
        const plot p = {.title = "",
                        .x_name = "",
                        .y_name = "",
                        .log_x = log == 1,
                        .log_y = log == 1,
                        .diagonal = true};
        buffer out;
        double line[4], mark[2];
        buffer_init(&out);
        check_status(plot_svg(&out, &p, &points, 1));
        first_two(line, out.text);
        const char *circle = strstr(strstr(out.text, "<circle cx=") + 1, "<circle cx=");
        circle = strstr(circle + 1, "<circle cx="); /* legend, first, second */
        assert_int_equal(sscanf(circle, "<circle cx=\"%lf\" cy=\"%lf\"", mark, mark + 1), 2);
        const double slope = (line[3] - line[1]) / (line[2] - line[0]);
        check_near(mark[1], line[1] + slope * (mark[0] - line[0]), 0.2); /* a tenth is printed */
        buffer_free(&out);
    }
}

static void columns_are_found(void **state)
{
    (void)state;
    static const char *const text[] = {
        "method\tx\tother\ty\nfast\t1\tz\t2.5\n\nslow\t-3e2\tz\t-\nfast\t7\tz\t\n",
        "{\"y\":2.5,\"x\":1,\"method\":\"fast\"}\n{\"x\":-300,\"method\":\"slow\",\"y\":null}\n"
        "\n{\"method\":\"fast\",\"x\":7,\"z\":[1]}"};
    static const char *const name[] = {"x", "y"};
    for (int i = 0; i < 2; i++) {
        columns c;
        check_status(columns_read(&c, scratch_write("t", text[i]), name, 2, "method", NULL));
        assert_int_equal(c.rows, 3);
        check_near(c.value[0], 1, 0);
        check_near(c.value[1], 2.5, 0);
        check_near(c.value[2], -300, 0);
        assert_true(isnan(c.value[3]));
        check_near(c.value[4], 7, 0);
        assert_true(isnan(c.value[5]));
        assert_string_equal(c.label[1], "slow");
        columns_free(&c);
    }
}

/* What MrBayes (two versions) and BEAST write. */
static void tables_of_other_programs(void **state)
{
    (void)state;
    static const char *const text[] = {
        "[ID: 7509243380]\nGen\tLnL\tLnPr\tTL\n0\t-3.6e+04\t3.4e+01\t1.1\n",
        "[ID: 1]\nGen\tlnLike\tlnPrior\tTL\n0\t-3.6e+04\t3.4e+01\t1.1\n",
        "# BEAST v1\n# Sun\nGen\tLnPr\tLnL\n0\t34\t-36000\n",
    };
    static const char *const name[][2] = {{"LnL", "LnPr"}, {"lnLike", "lnPrior"}};
    for (int i = 0; i < 6; i++) {
        columns c;
        check_status(columns_read(&c, scratch_write("t", text[i / 2]), name[i % 2], 2, NULL, NULL));
        assert_int_equal(c.rows, 1);
        check_near(c.value[0], -36000, 0);
        check_near(c.value[1], 34, 0);
        columns_free(&c);
    }
}

static void bad_tables_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "t: error: no column 'x'"},
        {"step\ty\n1\t2\n", "t: error: no column 'x'"},
        {"x\ty\n1\t2\n1\tword\n", "t:3:3: error: 'word' in column 'y' is not a number"},
        {"x\ty\n1\t2\n1\n", "t:3:1: error: 1 field, but the line of names has 2"},
        {"x\ty\n1\tnan\n", "t:2:3: error: 'nan' in column 'y' is not a number"},
        {"{\"x\":1,\"y\":2}\n{\"x\":\n", "t:2:1: error: not a JSON object"},
        {"{\"x\":1,\"y\":2}\n[1]\n", "t:2:1: error: not a JSON object"},
        {"{\"x\":1,\"y\":\"two\"}\n", "t:1:1: error: 'two' in column 'y' is not a number"},
        {"{\"x\":1,\"y\":[]}\n", "t:1:1: error: 'this' in column 'y' is not a number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scratch_write("t", bad[i].text);
        run_result r = run_line(NULL, "plot t --x-axis x --y-axis y");
        check_run(&r, bad[i].text, 2, "", bad[i].message);
        run_free(&r);
    }
}

static void tables_survive_short_memory(void **state)
{
    (void)state;
    static const char *const name[] = {"x"};
    const char *path = scratch_write("t", "x\tm\n1\tone\n2\ttwo\n");
    int status = ART_ERR_NOMEM;
    for (int k = 1; status == ART_ERR_NOMEM; k++) {
        columns c;
        memory_fail_at(k);
        status = columns_read(&c, path, name, 1, "m", NULL);
        memory_fail_at(0);
        columns_free(&c);
        assert_true(k < 100);
    }
    assert_int_equal(status, ART_OK);
}

static void runs_are_compared(void **state)
{
    (void)state;
    scratch_write("a.metrics.jsonl",
                  "{\"step\":1,\"kl\":4}\n{\"step\":2}\n{\"step\":3,\"kl\":1}\n");
    scratch_write("b.metrics.jsonl", "{\"step\":1,\"kl\":3}\n{\"step\":3,\"kl\":0}\n");
    run_result r =
        run_line(NULL, "plot a.metrics.jsonl b.metrics.jsonl --y-axis kl --log y --title KL");
    check_run(&r, "two runs", 0, ">b</text>", "cannot be shown with --log: 1 left out");
    has(r.out, ">a</text>");
    has(r.out, ">KL</text>");
    has(r.out, ">step</text>");
    assert_int_equal(count(r.out, "<circle"), 3);
    run_free(&r);
    scratch_write("t.tsv", "who\ts\td\nx\t1\t2\ny\t1\t3\nx\t2\t4\n");
    r = run_line(
        NULL, "plot t.tsv --x-axis s --y-axis d --by who --points --from 1.5 --y-label distance");
    check_run(&r, "words", 0, ">x</text>", "");
    assert_null(strstr(r.out, ">y</text>"));
    has(r.out, ">distance</text>");
    assert_int_equal(count(r.out, "<circle"), 2); /* the point, and the legend's */
    run_free(&r);
    r = run_line(NULL, "plot t.tsv --x-axis s --y-axis d,s");
    check_run(&r, "two columns", 0, ">d</text>", "");
    has(r.out, ">s</text>");
    run_free(&r);
}

static void wrong_wishes_are_refused(void **state)
{
    (void)state;
    scratch_write("t.tsv", "w\ts\tscore\nx\t1\t\ny\t1\t\nz\t1\t\na\t1\t\nb\t1\t\nc\t1\t\nd\t1\t\n");
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"plot t.tsv", "--y-axis"},
        {"plot t.tsv --y-axis s,,s", "empty name"},
        {"plot t.tsv --y-axis a,b,c,d,e,f,g", "more than 6 columns"},
        {"plot t.tsv --x-axis s --y-axis s --by w", "more than 6 curves"},
        {"plot t.tsv --x-axis s --y-axis s --from 2", "no row can be shown"},
        {"plot t.tsv --x-axis s --y-axis ss", "no column 'ss'"},
        {"plot t.tsv --x-axis s --y-axis sore --by w", "no column 'sore' -- did you mean 'score'?"},
        {"plot absent --y-axis s", "absent"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        run_result r = run_line(NULL, bad[i].line);
        check_run(&r, bad[i].line, 2, "", bad[i].message);
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_are_drawn),
        cmocka_unit_test(one_value_has_an_axis),
        cmocka_unit_test(diagonals_go_through_equal_points),
        in_scratch_folder(columns_are_found),
        in_scratch_folder(tables_of_other_programs),
        in_scratch_folder(bad_tables_are_explained),
        in_scratch_folder(tables_survive_short_memory),
        in_scratch_folder(runs_are_compared),
        in_scratch_folder(wrong_wishes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
