#include "sandbox/base/owned.h"
#include "sandbox/base/percent.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void all_but_unreserved_bytes_and_slashes_are_encoded(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"", ""},
        {"totals.csv", "totals.csv"},
        {"a/b-c_d~e.F9", "a/b-c_d~e.F9"},
        {"a b", "a%20b"},
        {"100%?#[]@:&=+,;", "100%25%3F%23%5B%5D%40%3A%26%3D%2B%2C%3B"},
        {"\n\x7f\xff\"\\", "%0A%7F%FF%22%5C"},
        {"\xc3\xa9", "%C3%A9"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(1024);
        assert_int_equal(percent_encode(&text, cases[i].bytes, strlen(cases[i].bytes)), 0);
        assert_string_equal(buffer_string(&text), cases[i].text);
        OWNED(buffer_release) struct buffer bytes = BUFFER(1024);
        assert_int_equal(percent_decode(&bytes, text.data, text.length), 0);
        assert_string_equal(buffer_string(&bytes), cases[i].bytes);
    }
}

static void each_byte_comes_back(void **state)
{
    (void)state;
    char all[256];
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)i;
    OWNED(buffer_release) struct buffer text = BUFFER(1024);
    OWNED(buffer_release) struct buffer bytes = BUFFER(1024);
    assert_int_equal(percent_encode(&text, all, sizeof(all)), 0);
    assert_int_equal(percent_decode(&bytes, text.data, text.length), 0);
    assert_int_equal(bytes.length, sizeof(all));
    assert_memory_equal(bytes.data, all, sizeof(all));
}

static void what_need_not_be_encoded_may_be(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer bytes = BUFFER(16);
    assert_int_equal(percent_decode(&bytes, "%61%2f%2Fb c", 12), 0);
    assert_string_equal(buffer_string(&bytes), "a//b c");
}

static void a_percent_sign_without_two_digits_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"%", "%4", "a%", "%g0", "%0g", "%%41", "% 41", "%-1"};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer bytes = BUFFER(16);
        assert_int_equal(percent_decode(&bytes, cases[i], strlen(cases[i])), -EINVAL);
    }
}

static void no_more_than_the_maximum_is_written(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(5);
    assert_int_equal(percent_encode(&text, "  ", 2), -ENOBUFS);
    OWNED(buffer_release) struct buffer bytes = BUFFER(1);
    assert_int_equal(percent_decode(&bytes, "ab", 2), -ENOBUFS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_unreserved_bytes_and_slashes_are_encoded),
        cmocka_unit_test(each_byte_comes_back),
        cmocka_unit_test(what_need_not_be_encoded_may_be),
        cmocka_unit_test(a_percent_sign_without_two_digits_is_refused),
        cmocka_unit_test(no_more_than_the_maximum_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
