#include "interpreter/base/bounds.h"
#include "interpreter/result/screen.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 65536
#define BYTES(text) {text, sizeof(text) - 1}
#define UP(rows) "\x1b[" #rows "A"

/* A stream that was kept as a whole, in two pieces. */
static struct capture capture_of(const char *bytes, size_t length, size_t cut_at)
{
    struct capture capture = {.head = BUFFER(1 << 20), .tail = BUFFER(1 << 20), .total = length};
    assert_int_equal(buffer_append(&capture.head, bytes, cut_at), 0);
    assert_int_equal(buffer_append(&capture.tail, bytes + cut_at, length - cut_at), 0);
    return capture;
}

static void assert_drawing(const char *bytes, size_t length, size_t cut_at, const char *expected)
{
    OWNED(capture_release) struct capture written = capture_of(bytes, length, cut_at);
    OWNED(capture_release) struct capture drawn = {0};
    assert_int_equal(screen_draw(&written, KEPT, &drawn), 0);
    assert_int_equal(drawn.cut, 0);
    assert_int_equal(drawn.total, strlen(expected));
    assert_int_equal(drawn.tail.length, 0);
    assert_string_equal(buffer_string(&drawn.head), expected);
}

static const struct {
    const char *written, *drawn;
} redraws[] = {
    /* tqdm, its last state and its end; without a trace; two of them, one in the other */
    {"\r  0%|    | 0/2\r 50%|##  | 1/2\r100%|####| 2/2\nsaved\n", "100%|####| 2/2\nsaved\n"},
    {"\r 50%|##  | 1/2\r                \rdone\n", "done\n"},
    {"\rA:   0%\n\rB:   0%" UP(1) "\n\rB: 100%" UP(1) "\rA: 100%\n\n\nend\n",
     "A: 100%\nB: 100%\n\nend\n"},
    {"\xe2\x96\x88\xe2\x96\x8f  |\r\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88 |",
     "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88 |"},
    /* curl and dpkg */
    {"  % Total\n\r  0  10\r100  10\n", "  % Total\n100  10\n"},
    {"(Reading ... 5%\r(Reading ... 100%\r(Reading ... 7 files.)\n", "(Reading ... 7 files.)\n"},
    {"long line\rshort", "shortline"},
    {"abc\b\bX\n", "aXc\n"},
    {"|\b/\b-\b\\\b \bdone\n", "done\n"},
    {"\b\b\ra\n", "a\n"},
    {"N\bNA\bAM\bME\bE\n", "NAME\n"},
    /* erasing */
    {"downloading\r\x1b[Kready\n", "ready\n"},
    {"downloading\x1b[2K\rready\n", "ready\n"},
    {"abcdef\x1b[3D\x1b[1K\n", "    ef\n"},
    {"abcdef\x1b[3D\x1b[0K\n", "abc\n"},
    {"abc\x1b[7Kd\n", "abcd\n"},
    /* rows: docker, log-update, ink */
    {"one: wait\ntwo: wait\n" UP(2) "\x1b[2Kone: done\n\x1b[2Ktwo: done\nend\n",
     "one: done\ntwo: done\nend\n"},
    {"a 1\nb 1\n\x1b[2K" UP(1) "\x1b[2K" UP(1) "\x1b[2K\x1b[Ga 2\nb 2\n", "a 2\nb 2\n"},
    {"a 1\nb 1\nc 1\n" UP(3) "\x1b[Ja 2\n", "a 2\n"},
    {"a\nb\n\x1b[2Fc\x1b[1Ed\n", "c\nd\n"},
    {"a\nb\n" UP(99) "\x1b[99Bend\n", "a\nb\nend\n"},
    /* columns */
    {"name\x1b[8Gvalue\n", "name   value\n"},
    {"a\x1b[3Cb\x1b[9999C\x1b[9999Dc\n", "c   b\n"},
    /* a screen that is addressed goes on below */
    {"\x1b[H\x1b[2Jframe 1\nx\x1b[H\x1b[2Jframe 2\ny", "frame 1\nx\nframe 2\ny"},
    {"text\x1b"
     "c\x1b[5;1Hmore\n",
     "text\nmore\n"},
    /* colours and the rest */
    {"\x1b[1;31mred\x1b[0m and \x1b[38:2:1:2:3mrgb\x1b[m\n", "red and rgb\n"},
    {"\x1b]0;title\aa\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\n", "alink\n"},
    {"\x1b[?25lhidden\x1b[?25h\x1b(B\x1b=\x1b[>4;1m\n", "hidden\n"},
    {"\x1bP1$r0m\x1b\\a\x1b_b\x1b\\c\x1b^d\x1b\\e\x1bXf\x1b\\\n", "ace\n"},
    /* without their ends */
    {"\x1b]0;title\nnext\n", "\nnext\n"},
    {"\x1b]0;a\x18"
     "b\x1b]0;c\x1a"
     "d\x1b]0;e\x1b[1mf\n",
     "bdf\n"},
    {"a\x1b[1;3\nb\x1b[1\xc3\xa9\x1b(\nc\x1b\nd\x1b\x1b[m\n", "a\nb\xc3\xa9\nc\nd\n"},
    {"end\x1b[1;3", "end"},
    {"end\x1b", "end"},
    {"\x1b[mend\x1b]0;x", "end"},
};

/* Wherever the pieces meet. */
static void a_redraw_leaves_its_last_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(redraws); i++) {
        size_t length = strlen(redraws[i].written);
        for (size_t cut_at = 0; cut_at <= length; cut_at++) {
            OWNED(capture_release)
            struct capture written = capture_of(redraws[i].written, length, cut_at);
            assert_true(screen_is_needed(&written));
            assert_drawing(redraws[i].written, length, cut_at, redraws[i].drawn);
        }
    }
}

/* They have no redraw, so they are shown as they were written, whatever else is in them. */
static void other_bytes_need_no_screen(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        BYTES(""),
        BYTES("plain\n\n  text  \n"),
        BYTES("a\r\nb\r\n"),
        BYTES("a\r\r\n"),
        BYTES("50%\r"),
        BYTES("a\tb\vc\fd"),
        BYTES("\0\a\x01\x18\x7f"),
        BYTES("caf\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xae"),
        BYTES("\xff\xfe\x9b[1m\xc2\x9b"),
        BYTES("[31m \\x1b[0m ^[[A"),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        for (size_t cut_at = 0; cut_at <= cases[i].length; cut_at++) {
            OWNED(capture_release)
            struct capture written = capture_of(cases[i].bytes, cases[i].length, cut_at);
            assert_false(screen_is_needed(&written));
        }
    }
}

/* What is no redraw comes through the screen as it was. */
static void text_beside_a_redraw_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "  indented  \nand\n\n\nempty lines \n",
        "a\tb\vc\fd\n",
        "caf\xc3\xa9 \xf0\x9f\x98\x80\n",
        "\xff\xc3(\xe2\x82\xf0\x9f\x80\x80\n",
        "\a\x01\x18\x7f\n",
        "\xe2\x80\xae\xcc\x81\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        char written[128];
        int length = snprintf(written, sizeof(written), "\x1b[m%s", texts[i]);
        assert_drawing(written, (size_t)length, 0, texts[i]);
    }
}

static void long_lines_and_many_rows_stay_whole(void **state)
{
    (void)state;
    enum { LINE = 2000, ROWS = 1000 };
    OWNED(buffer_release) struct buffer text = BUFFER(KEPT);
    for (size_t i = 0; i < LINE; i++)
        buffer_format(&text, "%zu", i % 10);
    for (size_t i = 0; i < ROWS; i++)
        buffer_format(&text, "\nrow %zu", i);
    OWNED(buffer_release) struct buffer written = BUFFER(KEPT);
    buffer_append_text(&written, "\x1b[m");
    buffer_append(&written, text.data, text.length);
    assert_drawing(written.data, written.length, 1, buffer_string(&text));
}

static void the_cursor_reaches_no_row_that_has_left(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(KEPT);
    OWNED(buffer_release) struct buffer expected = BUFFER(KEPT);
    for (size_t i = 0; i < 100; i++) {
        buffer_format(&text, "%zu\n", i);
        /* 64 rows are left: from 37 to 99, and the empty one. */
        buffer_format(&expected, i == 37 ? "X7\n" : "%zu\n", i);
    }
    buffer_append_text(&text, UP(9999) "X");
    assert_drawing(text.data, text.length, 7, buffer_string(&expected));
}

/* What is missing is told, and the end is drawn for itself. */
static void a_gap_divides_the_drawing(void **state)
{
    (void)state;
    OWNED(capture_release)
    struct capture written = capture_of("a\rb\n" UP(1) UP(9) "c", 13, 8);
    OWNED(capture_release) struct capture drawn = {0};
    written.cut = 1000;
    written.total += 1000;
    assert_int_equal(screen_draw(&written, KEPT, &drawn), 0);
    assert_string_equal(buffer_string(&drawn.head), "b\n");
    assert_string_equal(buffer_string(&drawn.tail), "c");
    assert_int_equal(drawn.cut, 1000);
    assert_int_equal(drawn.total, 1003);
}

/* A few bytes can make a wide row; no more of it is kept than was asked for. */
static void a_drawing_is_bounded(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(1 << 20);
    for (size_t i = 0; i < 1000; i++)
        buffer_append_text(&text, "\x1b[500Gx\n");
    OWNED(capture_release) struct capture written = capture_of(text.data, text.length, 0);
    OWNED(capture_release) struct capture drawn = {0};
    assert_int_equal(screen_draw(&written, KEPT, &drawn), 0);
    assert_int_equal(drawn.total, 501000);
    assert_true(drawn.head.length + drawn.tail.length <= KEPT);
    assert_int_equal(drawn.head.length + drawn.cut + drawn.tail.length, drawn.total);
    assert_memory_equal(drawn.tail.data + drawn.tail.length - 2, "x\n", 2);
}

/* Of a very long stream, the middle is missing. */
static void only_so_much_is_drawn(void **state)
{
    (void)state;
    enum { LENGTH = 3 * DRAWN_MAX };
    OWNED(buffer_release) struct buffer text = BUFFER(LENGTH);
    while (text.length + 8 <= LENGTH)
        buffer_append_text(&text, "1234567\n");
    memcpy(text.data, "abc\rABCD", 8);
    memcpy(text.data + text.length - 8, "efg\rEFGH", 8);
    for (size_t tail = 0; tail <= 32768; tail += 16384) {
        OWNED(capture_release)
        struct capture written = {
            .head = BUFFER(LENGTH), .tail = BUFFER(LENGTH), .total = text.length};
        OWNED(capture_release) struct capture drawn = {0};
        buffer_append(&written.head, text.data, text.length - tail);
        buffer_append(&written.tail, text.data + text.length - tail, tail);
        assert_int_equal(screen_draw(&written, KEPT, &drawn), 0);
        assert_memory_equal(drawn.head.data, "ABCD1234567\n", 12);
        assert_memory_equal(drawn.tail.data + drawn.tail.length - 12, "1234567\nEFGH", 12);
        assert_true(drawn.total <= text.length && drawn.total >= text.length - 16);
        assert_int_equal(drawn.cut, drawn.total - drawn.head.length - drawn.tail.length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_redraw_leaves_its_last_state),
        cmocka_unit_test(other_bytes_need_no_screen),
        cmocka_unit_test(text_beside_a_redraw_stays),
        cmocka_unit_test(long_lines_and_many_rows_stay_whole),
        cmocka_unit_test(the_cursor_reaches_no_row_that_has_left),
        cmocka_unit_test(a_gap_divides_the_drawing),
        cmocka_unit_test(a_drawing_is_bounded),
        cmocka_unit_test(only_so_much_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
