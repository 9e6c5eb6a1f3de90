#include "support/check.h"

#include "artreeformer.h"
#include "io/nexus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All tokens of a text as one line: kind letter, then the text unquoted. */
static int split(char *out, size_t size, const char *text, const char *punctuation, bool comments,
                 diag *d)
{
    input in;
    check_status(input_from_memory(&in, "memory", text, strlen(text), NULL, d));
    nexus n;
    nexus_init(&n, &in, punctuation, d);
    n.comments = comments;
    nexus_token t;
    int status;
    size_t used = 0;
    out[0] = '\0';
    while ((status = nexus_next(&n, &t)) == ART_OK && t.kind != NEXUS_END) {
        char word[256];
        assert_true(t.length < sizeof word);
        nexus_unquote(word, &t);
        used += (size_t)snprintf(out + used, size - used, "%s%c:%s", used ? " " : "",
                                 " WQSMC"[t.kind], word);
    }
    input_free(&in);
    return status;
}

static void expect_tokens(const char *text, const char *punctuation, bool comments,
                          const char *expected)
{
    char got[1024];
    check_status(split(got, sizeof got, text, punctuation, comments, NULL));
    assert_string_equal(got, expected);
}

static void tokens(void **state)
{
    (void)state;
    expect_tokens("", NEXUS_PUNCTUATION, false, "");
    expect_tokens(" \n\t", NEXUS_PUNCTUATION, false, "");
    expect_tokens("begin Data;dimensions ntax=3;", NEXUS_PUNCTUATION, false,
                  "W:begin W:Data M:; W:dimensions W:ntax M:= W:3 M:;");
    expect_tokens("gap=- missing=? symbols=\"A C\" a-b", NEXUS_PUNCTUATION, false,
                  "W:gap M:= W:- W:missing M:= W:? W:symbols M:= S:A C W:a-b");
    expect_tokens("'it''s [not] a; comment' x", NEXUS_PUNCTUATION, false,
                  "Q:it's [not] a; comment W:x");
    expect_tokens("'' ''''", NEXUS_PUNCTUATION, false, "Q: Q:'");
    expect_tokens("a[x [y] 'z]b [&U]c", NEXUS_PUNCTUATION, false, "W:a W:b W:c");
    expect_tokens("[&U] (a:1e-5[&r={1,2}],\"b=c\":-.1)[];", NEWICK_PUNCTUATION, true,
                  "C:U M:( W:a M:: W:1e-5 C:r={1,2} M:, W:\"b=c\" M:: W:-.1 M:) M:;");
}

static void expect_refusal(const char *text, const char *message)
{
    diag d;
    diag_init(&d);
    char got[1024];
    assert_int_equal(split(got, sizeof got, text, NEXUS_PUNCTUATION, false, &d), ART_ERR_INPUT);
    assert_int_equal(d.count, 1);
    if (!strstr(d.message[0].text, message))
        fail_msg("'%s' is not in: %s", message, d.message[0].text);
    diag_free(&d);
}

static void refusals(void **state)
{
    (void)state;
    expect_refusal("a\n [b [c] d", "memory:2:2: error: this comment is never closed -- ");
    expect_refusal("a\n 'b c", "memory:2:2: error: this quote is never closed -- ");
    expect_refusal("a 'b''", "memory:1:3: error: this quote is never closed -- ");
    expect_refusal("x=\"b", "memory:1:3: error: this string is never closed -- ");
    expect_refusal("a ] b", "memory:1:3: error: ']' closes no comment -- ");
    expect_refusal("CoteD'Ivoire",
                   "memory:1:6: error: a quote inside the unquoted word 'CoteD' -- ");
}

static void blocks_are_skipped(void **state)
{
    (void)state;
    const char *text = "begin x; end_of 'end;' a; lset [end;] nst=6; ; End ; begin";
    input in;
    check_status(input_from_memory(&in, "memory", text, strlen(text), NULL, NULL));
    nexus n;
    nexus_init(&n, &in, NEXUS_PUNCTUATION, NULL);
    check_status(nexus_skip_command(&n));
    check_status(nexus_skip_block(&n));
    nexus_token t;
    check_status(nexus_peek(&n, &t));
    assert_true(nexus_is(&t, "BEGIN"));
    check_status(nexus_next(&n, &t));
    assert_true(nexus_is(&t, "BEGIN"));
    assert_int_equal(nexus_skip_block(&n), ART_ERR_INPUT);
    input_free(&in);
}

/* A million nested comments, and as many unclosed: no recursion, linear time. */
static void deep_comments(void **state)
{
    (void)state;
    size_t depth = 1000000;
    char *text = malloc(2 * depth + 2);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    memcpy(text + 2 * depth, "a", 2);
    char got[64];
    check_status(split(got, sizeof got, text, NEXUS_PUNCTUATION, false, NULL));
    assert_string_equal(got, "W:a");
    text[2 * depth - 1] = ' ';
    assert_int_equal(split(got, sizeof got, text, NEXUS_PUNCTUATION, false, NULL), ART_ERR_INPUT);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(refusals),
        cmocka_unit_test(blocks_are_skipped),
        cmocka_unit_test(deep_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
