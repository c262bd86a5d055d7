#include "sandbox/capture.h"

#include "sandbox/limits/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 1000 /* head 750, tail at least 250 */

/* Feeds the numbers 0000 to count-1, four bytes each, in pieces of that many numbers. */
static void feed(struct capture *capture, int count, int piece)
{
    char text[4 * 64 + 1];
    for (int i = 0; i < count;) {
        size_t length = 0;
        for (int n = 0; n < piece && i < count; n++, i++)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%04d", i % 10000);
        assert_int_equal(capture_add(capture, text, length), 0);
    }
}

static void keeps_all_of_a_short_stream(void **state)
{
    (void)state;
    struct capture capture;
    capture_open(&capture, KEPT);
    feed(&capture, 100, 7);
    assert_int_equal(capture.total, 400);
    assert_int_equal(capture.cut, 0);
    assert_int_equal(capture.head.length, 400);
    assert_int_equal(capture.tail.length, 0);
    capture_release(&capture);
}

static void keeps_the_head_and_the_tail_of_a_long_stream(void **state)
{
    (void)state;
    for (int piece = 1; piece <= 64; piece++) {
        struct capture capture;
        capture_open(&capture, KEPT);
        feed(&capture, 9999, piece);
        assert_int_equal(capture.total, 9999 * 4);
        assert_int_equal(capture.head.length + capture.cut + capture.tail.length, capture.total);
        assert_memory_equal(capture.head.data, "000000010002", 12);
        assert_true(capture.tail.length >= KEPT / 4);
        assert_memory_equal(capture.tail.data + capture.tail.length - 8, "99979998", 8);
        /* The tail is contiguous: every number is followed by the next. */
        size_t first = 4 - (capture.head.length + (size_t)capture.cut) % 4;
        int before = -1;
        for (size_t at = first % 4; at + 4 <= capture.tail.length; at += 4) {
            char digits[5] = "";
            memcpy(digits, capture.tail.data + at, 4);
            int number = (int)strtol(digits, NULL, 10);
            if (before >= 0)
                assert_int_equal(number, before + 1);
            before = number;
        }
        capture_release(&capture);
    }
}

static void memory_stays_bounded_whatever_comes(void **state)
{
    (void)state;
    struct capture capture;
    capture_open(&capture, MEBIBYTE);
    static char block[65536];
    for (int i = 0; i < 4096; i++)
        assert_int_equal(capture_add(&capture, block, sizeof(block)), 0);
    assert_int_equal(capture.total, UINT64_C(4096) * sizeof(block));
    assert_true(capture.head.length + capture.tail.length <= MEBIBYTE + RUN_OUTPUT_TAIL);
    capture_release(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_all_of_a_short_stream),
        cmocka_unit_test(keeps_the_head_and_the_tail_of_a_long_stream),
        cmocka_unit_test(memory_stays_bounded_whatever_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
