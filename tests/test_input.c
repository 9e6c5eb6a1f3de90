#include "support/check.h"
#include "support/gzip.h"

#include "artreeformer.h"
#include "io/input.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A file of the test's own, removed by forget(). */
typedef struct scratch {
    char path[64];
} scratch;

static scratch keep(const void *data, size_t size)
{
    scratch s = {"/tmp/art_input_XXXXXX"};
    int fd = mkstemp(s.path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
    return s;
}

static void expect_text(const char *data, size_t size, const char *text)
{
    diag d;
    diag_init(&d);
    input in;
    check_status(input_from_memory(&in, "memory", data, size, NULL, &d));
    assert_string_equal(in.text, text);
    assert_int_equal(in.length, strlen(text));
    assert_int_equal(d.count, 0);
    input_free(&in);
    scratch s = keep(data, size);
    check_status(input_read(&in, s.path, NULL, &d));
    assert_string_equal(in.text, text);
    assert_int_equal(d.count, 0);
    input_free(&in);
    unlink(s.path);
}

/* Refused with this status, and a message with all of the words (separated by '|'). */
static void expect_refusal(int expected, const input_limits *limits, const void *data, size_t size,
                           const char *words)
{
    diag d;
    diag_init(&d);
    input in;
    assert_int_equal(input_from_memory(&in, "memory", data, size, limits, &d), expected);
    assert_int_equal(d.count, 1);
    char list[256];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word; word = strtok(NULL, "|"))
        if (!strstr(d.message[0].text, word))
            fail_msg("'%s' is not in: %s", word, d.message[0].text);
    assert_non_null(strstr(d.message[0].text, " -- "));
    assert_int_equal(strncmp(d.message[0].text, "memory:", 7), 0);
    input_free(&in);
    diag_free(&d);
}

static void line_ends_become_one(void **state)
{
    (void)state;
    expect_text("", 0, "");
    expect_text("a", 1, "a");
    expect_text("a\nb\n", 4, "a\nb\n");
    expect_text("a\r\nb\r\n", 6, "a\nb\n");
    expect_text("a\rb\r", 4, "a\nb\n");
    expect_text("\r\r\n\n\r", 5, "\n\n\n\n");
    expect_text("a\nb\r\nc\rd", 8, "a\nb\nc\nd");
    expect_text("\xEF\xBB\xBF>a\r\nAC", 9, ">a\nAC");
}

static void other_encodings_are_refused(void **state)
{
    (void)state;
    expect_refusal(ART_ERR_INPUT, NULL, "\xFF\xFE>\0", 4, "UTF-16|:1:1: error|plain text");
    expect_refusal(ART_ERR_INPUT, NULL, "\xFE\xFF\0>", 4, "UTF-16");
    expect_refusal(ART_ERR_INPUT, NULL, ">a\r\nAC\0T\n", 9, "memory:2:3: error|NUL|offset 6");
}

static void gzip_is_recognised_by_content(void **state)
{
    (void)state;
    unsigned char packed[512];
    size_t n = gzip_pack(packed, sizeof packed, ">a\r\nACGT\n", 9);
    expect_text((char *)packed, n, ">a\nACGT\n");
    size_t m = gzip_pack(packed + n, sizeof packed - n, ">b\nAC\n", 6);
    expect_text((char *)packed, n + m, ">a\nACGT\n>b\nAC\n");
    size_t e = gzip_pack(packed + n + m, sizeof packed - n - m, "", 0);
    expect_text((char *)packed, n + m + e, ">a\nACGT\n>b\nAC\n");

    for (size_t cut = 2; cut < n; cut++)
        expect_refusal(ART_ERR_INPUT, NULL, packed, cut, "compressed data ends early");
    for (size_t cut = n + 1; cut < n + m; cut++)
        expect_refusal(ART_ERR_INPUT, NULL, packed, cut, "compressed data ends early");
    unsigned char bad[512];
    memcpy(bad, packed, n);
    bad[n - 5] ^= 1; /* the CRC's last byte */
    expect_refusal(ART_ERR_INPUT, NULL, bad, n, "CRC|gzip -t");
    memcpy(bad, packed, n);
    memcpy(bad + n, "garbage", 7);
    expect_refusal(ART_ERR_INPUT, NULL, bad, n + 7, "not gzip");
    for (size_t bit = 0; bit < 8 * n; bit++) { /* damage never crashes or hangs */
        memcpy(bad, packed, n);
        bad[bit / 8] ^= (unsigned char)(1u << bit % 8);
        input in;
        input_from_memory(&in, "memory", bad, n, NULL, NULL);
        input_free(&in);
    }
}

static void limits_hold(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    char *zeros = malloc(size);
    memset(zeros, 'A', size);
    unsigned char packed[8192];
    size_t n = gzip_pack(packed, sizeof packed, zeros, size);
    input_limits small = {.bytes = 100000};
    expect_refusal(ART_ERR_LIMIT, &small, packed, n, "more than 100000 bytes");
    expect_refusal(ART_ERR_LIMIT, &small, zeros, size, "more than 100000 bytes");
    input_limits exact = {.bytes = size};
    input in;
    check_status(input_from_memory(&in, "memory", packed, n, &exact, NULL));
    assert_int_equal(in.length, size);
    input_free(&in);
    free(zeros);
}

/* 100 MB from 100 kB: the ratio is what stops it. */
static void a_bomb_is_refused(void **state)
{
    (void)state;
    enum { MEMBERS = 100, MEMBER = 1 << 20 };
    char *text = malloc(MEMBER);
    memset(text, 'A', MEMBER);
    unsigned char *packed = malloc(MEMBERS * 2048);
    size_t n = gzip_pack(packed, 2048, text, MEMBER);
    for (size_t i = 1; i < MEMBERS; i++)
        memcpy(packed + i * n, packed, n);
    expect_refusal(ART_ERR_LIMIT, NULL, packed, MEMBERS * n, "bomb|unpack");
    input_limits generous = {.ratio = 2000};
    input in;
    check_status(input_from_memory(&in, "memory", packed, MEMBERS * n, &generous, NULL));
    assert_int_equal(in.length, (size_t)MEMBERS * MEMBER);
    input_free(&in);
    free(text);
    free(packed);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    input in;
    assert_int_equal(input_read(&in, "/nonexistent/x.fasta", NULL, &d), ART_ERR_INPUT);
    assert_non_null(strstr(d.message[0].text, "/nonexistent/x.fasta: error: "));
    assert_non_null(strstr(d.message[0].text, strerror(ENOENT)));
    input_free(&in);
    assert_int_equal(input_read(&in, "/tmp", NULL, &d), ART_ERR_INPUT);
    assert_non_null(strstr(d.message[1].text, strerror(EISDIR)));
    input_free(&in);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/art_input_%d.socket", (int)getpid());
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(input_read(&in, address.sun_path, NULL, &d), ART_ERR_INPUT);
    assert_non_null(strstr(d.message[2].text, strerror(ENXIO)));
    input_free(&in);
    close(s);
    unlink(address.sun_path);

    if (geteuid() != 0) { /* root may read anything */
        scratch f = keep("x", 1);
        chmod(f.path, 0);
        assert_int_equal(input_read(&in, f.path, NULL, &d), ART_ERR_INPUT);
        assert_non_null(strstr(d.message[3].text, strerror(EACCES)));
        input_free(&in);
        unlink(f.path);
    }
    diag_free(&d);
}

/* One piece after the other; what does not get through is missed by the reader. */
static void *write_slowly(void *context)
{
    const int *fd = context;
    bool is_well = true;
    for (int i = 0; i < 5 && is_well; i++) {
        usleep(1000);
        is_well = write(*fd, ">a\nACGT\n", 8) == 8;
    }
    close(*fd);
    return NULL;
}

/* Standard input is a pipe that delivers in pieces. */
static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    int fd[2], kept = dup(0);
    assert_int_equal(pipe(fd), 0);
    assert_true(dup2(fd[0], 0) == 0);
    close(fd[0]);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_slowly, &fd[1]), 0);
    input in;
    int status = input_read(&in, "-", NULL, NULL);
    pthread_join(thread, NULL);
    dup2(kept, 0);
    close(kept);
    check_status(status);
    assert_string_equal(in.name, "<stdin>");
    assert_int_equal(in.length, 40);
    input_free(&in);
}

typedef struct appender {
    FILE *file;
    atomic_int stop;
} appender;

static void *append(void *context)
{
    appender *a = context;
    while (!atomic_load(&a->stop)) {
        fputs("ACGT\n", a->file);
        fflush(a->file);
    }
    return NULL;
}

/* The file is read while another thread appends to it all the time. Reading ends. */
static void a_growing_file_is_refused(void **state)
{
    (void)state;
    size_t size = 1 << 24;
    char *text = malloc(size);
    memset(text, 'A', size);
    scratch s = keep(text, size);
    free(text);
    appender a = {.file = fopen(s.path, "a")};
    atomic_init(&a.stop, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, append, &a), 0);
    diag d;
    diag_init(&d);
    input in;
    int status = ART_OK;
    const time_t latest = time(NULL) + 60; /* a busy machine may let the other wait */
    while (status == ART_OK && time(NULL) < latest) {
        status = input_read(&in, s.path, NULL, &d);
        input_free(&in);
    }
    atomic_store(&a.stop, 1);
    pthread_join(thread, NULL);
    fclose(a.file);
    unlink(s.path);
    assert_int_equal(status, ART_ERR_INPUT);
    assert_non_null(strstr(d.message[0].text, "when it was opened"));
    diag_free(&d);
}

/* Places by the index against counting from the start, on lines of all lengths. */
static void places_are_exact(void **state)
{
    (void)state;
    size_t size = 5 * INPUT_BLOCK + 17;
    char *text = malloc(size);
    memset(text, 'x', size);
    for (size_t i = 0, step = 1; i < size; i += step, step = step * 3 % 200003 + 1)
        text[i] = '\n';
    text[INPUT_BLOCK - 1] = text[2 * INPUT_BLOCK] = text[3 * INPUT_BLOCK + 1] = '\n';
    input in;
    check_status(input_from_memory(&in, "memory", text, size, NULL, NULL));
    size_t line = 1, column = 1;
    for (size_t i = 0; i <= size; i++) {
        if (i % 97 == 0 || (i + 2) % INPUT_BLOCK < 5 || i == size) {
            diag_place place = input_place(&in, in.text + i);
            assert_int_equal(place.line, line);
            assert_int_equal(place.column, column);
        }
        column = text[i < size ? i : 0] == '\n' ? (line++, 1) : column + 1;
    }
    input_free(&in);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends_become_one),
        cmocka_unit_test(other_encodings_are_refused),
        cmocka_unit_test(gzip_is_recognised_by_content),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(a_growing_file_is_refused),
        cmocka_unit_test(places_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
