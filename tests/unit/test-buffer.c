#include "sandbox/base/buffer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void refuses_to_grow_past_its_maximum(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER(10);
    assert_int_equal(buffer_append(&buffer, "12345678", 8), 0);
    assert_int_equal(buffer_append(&buffer, "901", 3), -ENOBUFS);
    assert_int_equal(buffer.length, 8);
    assert_int_equal(buffer_append(&buffer, "90", 2), 0);
    assert_memory_equal(buffer.data, "1234567890", 10);
    assert_int_equal(buffer_append(&buffer, "x", 1), -ENOBUFS);
    buffer_release(&buffer);
}

static void refuses_a_length_that_would_overflow(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER(10);
    assert_int_equal(buffer_append(&buffer, "1", 1), 0);
    assert_int_equal(buffer_reserve(&buffer, SIZE_MAX), -ENOBUFS);
    buffer_release(&buffer);
}

static void consumes_from_the_front(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER(1000);
    buffer_consume(&buffer, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buffer_format(&buffer, "%02d", i), 0);
    buffer_consume(&buffer, 196);
    assert_string_equal(buffer_string(&buffer), "9899");
    assert_int_equal(buffer.length, 4);
    buffer_release(&buffer);
}

static void is_usable_again_after_release(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER(8);
    assert_int_equal(buffer_append_text(&buffer, "one"), 0);
    buffer_release(&buffer);
    assert_int_equal(buffer.length, 0);
    assert_int_equal(buffer_append_text(&buffer, "two"), 0);
    assert_string_equal(buffer_string(&buffer), "two");
    buffer_release(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_to_grow_past_its_maximum),
        cmocka_unit_test(refuses_a_length_that_would_overflow),
        cmocka_unit_test(consumes_from_the_front),
        cmocka_unit_test(is_usable_again_after_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
