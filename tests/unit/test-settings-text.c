#include "images/build/settings_text.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of a text that has no byte behind it. */
static int selected_of(const char *bytes, size_t length, bool is_npm, struct buffer *selected)
{
    struct buffer text = BUFFER(length + 1);
    assert_int_equal(buffer_append(&text, bytes, length), 0);
    int r = settings_select(&text, is_npm, selected);
    buffer_release(&text);
    return r;
}

static void expect_settings(const char *text, bool is_npm, const char *wanted)
{
    OWNED(buffer_release) struct buffer selected = BUFFER(4096);
    assert_int_equal(selected_of(text, strlen(text), is_npm, &selected), 0);
    assert_string_equal(buffer_string(&selected), wanted);
}

static void only_settings_that_are_passed_on_are_selected(void **state)
{
    (void)state;
    expect_settings("", false, "");
    expect_settings("timeout = 1\n", false, "");
    expect_settings("[global]\ntimeout = 1\nlog = a\n b\nretries: 2", false,
                    "[global]\ntimeout = 1\nretries: 2\n");
    expect_settings("[global]\n  timeout = 1\n log = 2\n  3\n", false, "[global]\n  timeout = 1\n");
    expect_settings("[global]\nfind-links =\n  [a]\n  b\n", false,
                    "[global]\nfind-links =\n  [a]\n  b\n");
    expect_settings("[other]\ntimeout = 1\n[install]\npre = 1\n", false, "[install]\npre = 1\n");
    expect_settings("registry=a\nother=b\n//host/:_auth=c\n// comment=d\n//x=e\n@s=f\n", true,
                    "registry=a\n//host/:_auth=c\n");
    expect_settings("registry=a\r\nregistry=b\rpassword=c\r\n", true, "registry=a\r\n");
    expect_settings("[global]\npre = 1\rpassword = c\n\ttimeout = 1\n", false,
                    "[global]\n\ttimeout = 1\n");
    expect_settings("[global]\npre = 1\nlog =\ra\n b\n", false, "[global]\npre = 1\n");
    expect_settings("registry=a\n  more\n[global]\nregistry=b\n", true, "registry=a\n");
}

static void bytes_of_no_text_are_left_out(void **state)
{
    (void)state;
    static const char zero[] = "regis\0try=1\n=\n\0=2\nregistry\0=3\nregistry=4\0";
    OWNED(buffer_release) struct buffer selected = BUFFER(4096);
    assert_int_equal(selected_of(zero, sizeof(zero) - 1, true, &selected), 0);
    assert_int_equal(selected.length, 0);
}

static int constraints_of(const char *bytes, size_t length, struct buffer *selected)
{
    struct buffer text = BUFFER(length + 1);
    assert_int_equal(buffer_append(&text, bytes, length), 0);
    int r = constraints_select(&text, selected);
    buffer_release(&text);
    return r;
}

static void constraints_are_told_from_other_lines(void **state)
{
    (void)state;
    static const char *const none[] = {
        "token=abc",
        "name: value",
        "machine example.org login x",
        "-----BEGIN X---",
        "- item",
        "a@example.org",
        "x==",
        "x <y@z>",
        "https://user:word@example.org",
        "x[",
        "./x.whl",
        "--token abc",
        "x==1\rtoken",
    };
    static const char *const constraints[] = {
        "x==1",     "x ~= 1.0",   "x<2,>1",   "x[a,b]>=1 ; python_version > '3'",
        "x (< v2)", "--pre",      "-c other", "x @ https://example.org/x.whl",
        "x===1.0a", "--hash=a:b",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
        OWNED(buffer_release) struct buffer selected = BUFFER(4096);
        assert_int_equal(constraints_of(none[i], strlen(none[i]), &selected), 1);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(constraints); i++) {
        OWNED(buffer_release) struct buffer selected = BUFFER(4096);
        assert_int_equal(constraints_of(constraints[i], strlen(constraints[i]), &selected), 0);
        assert_int_equal(selected.length, strlen(constraints[i]) + 1);
        assert_memory_equal(selected.data, constraints[i], strlen(constraints[i]));
    }
}

static void what_constrains_nothing_becomes_empty(void **state)
{
    (void)state;
    static const char text[] = "# a\nname\nname[x] ; y\\\n  more\n\nx==1 # b\n x==2\\\n y";
    static const char zero[] = "a==1\nb==1\0c\n";
    OWNED(buffer_release) struct buffer selected = BUFFER(4096);
    assert_int_equal(constraints_of(text, sizeof(text) - 1, &selected), 0);
    assert_string_equal(buffer_string(&selected), "\n\n\n\n\nx==1\nx==2\\\ny\n");
    assert_int_equal(constraints_of(zero, sizeof(zero) - 1, &selected), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_settings_that_are_passed_on_are_selected),
        cmocka_unit_test(bytes_of_no_text_are_left_out),
        cmocka_unit_test(constraints_are_told_from_other_lines),
        cmocka_unit_test(what_constrains_nothing_becomes_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
