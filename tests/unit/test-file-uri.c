#include "interpreter/files/file_uri.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int read_uri(const char *text, struct file_uri *uri)
{
    return file_uri_read(text, strlen(text), uri);
}

static void a_uri_is_read_as_it_was_written(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.csv",     "d/e/f", "-rf", "a b?offset=3",
                                        "\xff\n%41", "..",    "a//b"};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(FILE_URI_MAX);
        OWNED(file_uri_release) struct file_uri uri = {0};
        assert_int_equal(file_uri_write(&text, UINT64_MAX, paths[i]), 0);
        assert_int_equal(file_uri_read(text.data, text.length, &uri), 0);
        assert_int_equal(uri.call, UINT64_MAX);
        assert_string_equal(uri.path, paths[i]);
        assert_int_equal(uri.offset, 0);
    }
    OWNED(buffer_release) struct buffer text = BUFFER(FILE_URI_MAX);
    assert_int_equal(file_uri_write(&text, 7, "totals 1.csv"), 0);
    assert_string_equal(buffer_string(&text), "sandbox://files/7/totals%201.csv");
}

static void an_offset_is_read(void **state)
{
    (void)state;
    OWNED(file_uri_release) struct file_uri uri = {0};
    assert_int_equal(read_uri("sandbox://files/7/a%3Fb?offset=18446744073709551615", &uri), 0);
    assert_string_equal(uri.path, "a?b");
    assert_int_equal(uri.offset, UINT64_MAX);
}

static void other_queries_are_refused(void **state)
{
    (void)state;
    static const char *const queries[] = {"?",
                                          "?offset",
                                          "?offset=",
                                          "?offset=-1",
                                          "?offset=+1",
                                          "?offset= 1",
                                          "?offset=1x",
                                          "?offset=1&length=2",
                                          "?offset=18446744073709551616",
                                          "?length=1",
                                          "?OFFSET=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(queries); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(FILE_URI_MAX);
        struct file_uri uri = {0};
        assert_int_equal(file_uri_write(&text, 7, "a"), 0);
        assert_int_equal(buffer_append_text(&text, queries[i]), 0);
        assert_int_equal(file_uri_read(text.data, text.length, &uri), -EINVAL);
        assert_null(uri.path);
    }
}

static void what_is_no_uri_of_a_file_is_left_to_others(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "sandbox://files",
        "sandbox://files/",
        "sandbox://files/7",
        "sandbox://files/7/",
        "sandbox://files//a",
        "sandbox://files/x/a",
        "sandbox://files/-7/a",
        "sandbox://files/ 7/a",
        "sandbox://files/18446744073709551616/a",
        "sandbox://output/7/stdout",
        "Sandbox://files/7/a",
        "file:///etc/passwd",
        "sandbox://files/7/%",
        "sandbox://files/7/a%00b",
        "sandbox://files/7/?offset=1",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct file_uri uri = {0};
        assert_int_equal(read_uri(texts[i], &uri), 1);
    }
    static char longest[FILE_URI_MAX + 2];
    memset(longest, 'a', FILE_URI_MAX + 1);
    memcpy(longest, "sandbox://files/7/", 18);
    struct file_uri uri = {0};
    assert_int_equal(read_uri(longest, &uri), 1);
    longest[FILE_URI_MAX] = '\0';
    assert_int_equal(read_uri(longest, &uri), 0);
    file_uri_release(&uri);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_read_as_it_was_written),
        cmocka_unit_test(an_offset_is_read),
        cmocka_unit_test(other_queries_are_refused),
        cmocka_unit_test(what_is_no_uri_of_a_file_is_left_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
