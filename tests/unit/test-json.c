#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal) (literal), sizeof(literal) - 1

static struct json *parse(const char *data, size_t length)
{
    struct fault fault = {0};
    struct json *json = NULL;
    int r = json_parse(data, length, &json, &fault);
    if (r != 0)
        fail_msg("%d: %s", r, fault.text);
    return json;
}

static void assert_refused(const char *data, size_t length, int error)
{
    struct fault fault = {0};
    struct json *json = NULL;
    assert_int_equal(json_parse(data, length, &json, &fault), error);
    assert_null(json);
    assert_true(fault.text[0] != '\0');
}

static void assert_bytes(const struct json_value *value, const char *bytes, size_t length)
{
    assert_non_null(value);
    assert_int_equal(value->type, JSON_STRING);
    assert_int_equal(value->length, length);
    assert_memory_equal(value->text, bytes, length);
    assert_int_equal(value->text[length], '\0');
}

static void reads_every_type(void **state)
{
    (void)state;
    OWNED(json_release)
    struct json *json = parse(TEXT(" {\"a\":[null,true,false,-1.5e3,\"x\",{}],\"b\":[]}\r"));
    const struct json_value *list = json_member(json_root(json), "a");
    assert_int_equal(list->count, 6);
    static const enum json_type types[] = {JSON_NULL,   JSON_BOOLEAN, JSON_BOOLEAN,
                                           JSON_NUMBER, JSON_STRING,  JSON_OBJECT};
    const struct json_value *value = list->first;
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++, value = value->next)
        assert_int_equal(value->type, types[i]);
    assert_null(value);
    assert_true(list->first->next->boolean);
    assert_false(list->first->next->next->boolean);
    assert_string_equal(list->first->next->next->next->text, "-1.5e3");
    assert_int_equal(json_member(json_root(json), "b")->count, 0);
    assert_null(json_member(json_root(json), "c"));
    assert_null(json_member(list, "a"));
    assert_null(json_member(NULL, "a"));
}

static void keeps_nul_in_keys_and_strings(void **state)
{
    (void)state;
    OWNED(json_release) struct json *json = parse(TEXT("{\"a\\u0000b\":\"c\\u0000d\",\"a\":1}"));
    assert_int_equal(json_member(json_root(json), "a")->type, JSON_NUMBER);
    assert_bytes(json_root(json)->first, TEXT("c\0d"));
    assert_false(json_is(json_root(json)->first, "c"));
}

static void last_of_two_equal_members_counts(void **state)
{
    (void)state;
    OWNED(json_release) struct json *json = parse(TEXT("{\"a\":\"1\",\"a\":\"2\"}"));
    assert_true(json_is(json_member(json_root(json), "a"), "2"));
}

static void keeps_how_a_lone_surrogate_was_written(void **state)
{
    (void)state;
    static const char text[] =
        "[\"a\\\"\\\\\", \"\\ud800\\\"x\\\\\", {\"k\": \"\\uDC00\"}, \"\\\\ud800\"]";
    OWNED(json_release) struct json *json = NULL;
    assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
    const struct json_value *value = json_root(json)->first;
    assert_null(value->written);
    value = value->next;
    assert_string_equal(value->written, "\"\\ud800\\\"x\\\\\"");
    value = value->next;
    assert_string_equal(json_member(value, "k")->written, "\"\\uDC00\"");
    assert_null(value->next->written);
}

static void decodes_surrogates_and_replaces_lone_ones(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\uD83D\\uDE00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud800\"", "\xef\xbf\xbd"},
        {"\"\\udc00\"", "\xef\xbf\xbd"},
        {"\"\\ud800x\"", "\xef\xbf\xbdx"},
        {"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
        {"\"\\ud800\\u0041\"", "\xef\xbf\xbd\x41"},
        {"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\udc00\\ud800\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\\\ud800\"", "\\ud800"},
        {"\"\\\\\\ud800\"", "\\\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(json_release) struct json *json = parse(cases[i].json, strlen(cases[i].json));
        assert_bytes(json_root(json), cases[i].text, strlen(cases[i].text));
    }
}

static void refuses_what_is_not_json(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          " ",          "{",
        "[1,]",      "{\"a\":1,}", "{\"a\"}",
        "01",        "1 2",        "nul",
        "\"a",       "\"\\u12\"",  "\"\\ud8\"",
        "\"\\ud800", "'a'",        "// c\n1",
        "[1}",       "\"\n\"",     "NaN",
        "+1",        ".5",         "1.",
        "{1:2}",     "\\u0020",    "[1]]",
        "\"\\x\"",   "-",          "\xef\xbb\xbf{}",
        "\"a\tb\"",  "\v1",        "1\f",
        "1 \"",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        assert_refused(texts[i], strlen(texts[i]), -EINVAL);
    assert_refused(TEXT("{}\0"), -EINVAL);
    assert_refused(TEXT("\"\0\""), -EINVAL);
}

static void refuses_bytes_that_are_not_utf8(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\"\xff\"",         "\"\xc0\x80\"",     "\"\xc1\xbf\"",         "\"\xe0\x80\x80\"",
        "\"\xed\xa0\x80\"", "\"\xed\xbf\xbf\"", "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"",
        "\"\xe2\x82\"",     "\"\x80\"",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        assert_refused(texts[i], strlen(texts[i]), -EINVAL);
    OWNED(json_release) struct json *json = parse(TEXT("\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\""));
    assert_bytes(json_root(json), TEXT("\xf4\x8f\xbf\xbf\xed\x9f\xbf"));
}

static char *repeated(const char *unit, size_t times, size_t *ret_length)
{
    size_t length = strlen(unit);
    char *text = malloc(length * times + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * length, unit, length);
    text[length * times] = '\0';
    *ret_length = length * times;
    return text;
}

static void refuses_deep_nesting(void **state)
{
    (void)state;
    size_t length;
    OWNED_MEMORY char *arrays = repeated("[", 100000, &length);
    assert_refused(arrays, length, -E2BIG);
    OWNED_MEMORY char *objects = repeated("{\"a\":", 100000, &length);
    assert_refused(objects, length, -E2BIG);
}

static void reads_the_deepest_nesting_allowed(void **state)
{
    (void)state;
    char text[2 * JSON_DEPTH_MAX];
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    OWNED(json_release) struct json *json = parse(text, sizeof(text));
    OWNED(buffer_release) struct buffer copy = BUFFER(4096);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&copy, &writer), 0);
    json_copy(writer, json_root(json));
    assert_int_equal(json_writer_close(writer), 0);
    assert_int_equal(copy.length, sizeof(text));
    assert_memory_equal(copy.data, text, sizeof(text));
}

static void refuses_too_many_values(void **state)
{
    (void)state;
    size_t length;
    OWNED_MEMORY char *text = repeated("[],", JSON_VALUES_MAX + 1, &length);
    text[0] = '[';
    text[1] = ' ';
    text[2] = ' ';
    assert_refused(text, length, -E2BIG);
}

static void large_strings_survive(void **state)
{
    (void)state;
    size_t length;
    OWNED_MEMORY char *text = repeated("\\n", 1000000, &length);
    OWNED(buffer_release) struct buffer line = BUFFER(4000000);
    assert_int_equal(buffer_format(&line, "[\"%s\",1]", text), 0);
    OWNED(json_release) struct json *json = parse(line.data, line.length);
    assert_int_equal(json_root(json)->first->length, 1000000);
    assert_int_equal(json_root(json)->first->text[999999], '\n');
    assert_string_equal(json_root(json)->first->next->text, "1");
}

static void integers_are_exact_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        int64_t integer;
    } cases[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"9007199254740993", 0, INT64_C(9007199254740993)},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"1.0", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"1e400", -EINVAL, 0},
        {"\"1\"", -EINVAL, 0},
        {"true", -EINVAL, 0},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(json_release) struct json *json = parse(cases[i].text, strlen(cases[i].text));
        int64_t integer = 0;
        assert_int_equal(json_integer(json_root(json), &integer), cases[i].status);
        assert_int_equal(integer, cases[i].integer);
    }
    int64_t integer;
    assert_int_equal(json_integer(NULL, &integer), -EINVAL);
}

static void faults_tell_where(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct json *json = NULL;
    assert_int_equal(json_parse(TEXT("{\"a\":\xff}"), &json, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "byte 5"));
    assert_null(strchr(fault.text, '\n'));
}

static void writes_every_type(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_begin_object(writer);
    json_key(writer, "a");
    json_begin_array(writer);
    json_null(writer);
    json_boolean(writer, true);
    json_boolean(writer, false);
    json_number(writer, INT64_MIN);
    json_double(writer, 0.1);
    json_double(writer, 1.0 / 3);
    json_double(writer, INFINITY);
    json_double(writer, NAN);
    json_begin_object(writer);
    json_end_object(writer);
    json_end_array(writer);
    json_key(writer, "b\n");
    json_text(writer, "");
    json_end_object(writer);
    assert_int_equal(json_writer_close(writer), 0);
    assert_string_equal(buffer_string(&text),
                        "{\"a\":[null,true,false,-9223372036854775808,0.1,0.3333333333333333,"
                        "null,null,{}],\"b\\n\":\"\"}");
}

static void assert_written(const char *bytes, size_t length, const char *expected)
{
    OWNED(buffer_release) struct buffer text = BUFFER(4096);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_string(writer, bytes, length);
    assert_int_equal(json_writer_close(writer), 0);
    assert_string_equal(buffer_string(&text), expected);
}

static void escapes_what_json_must(void **state)
{
    (void)state;
    assert_written(TEXT("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    assert_written(TEXT("\0\x1b[0m\x1f\x7f"), "\"\\u0000\\u001b[0m\\u001f\x7f\"");
    assert_written(TEXT("\xe2\x80\xa8\xf0\x9f\x98\x80"), "\"\xe2\x80\xa8\xf0\x9f\x98\x80\"");
}

#define R "\xef\xbf\xbd"

/* The examples of Unicode 3.9, tables 3-8 to 3-11. */
static void replaces_each_maximal_bad_part(void **state)
{
    (void)state;
    assert_written(TEXT("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), "\"" R R R R R R R R "A\"");
    assert_written(TEXT("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), "\"" R R R R R R R R "A\"");
    assert_written(TEXT("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), "\"" R R R R R "A" R R "B\"");
    assert_written(TEXT("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), "\"" R R R R "A\"");
    assert_written(TEXT("a\xe2\x82"), "\"a" R "\"");
}

static void copies_values_as_they_were(void **state)
{
    (void)state;
    static const char text[] = "[1e400,-0,18446744073709551616,1.50,\"a\\u0000\",{\"k\\u0000\":"
                               "[true,null]},\"\"]";
    OWNED(json_release) struct json *json = parse(TEXT(text));
    OWNED(buffer_release) struct buffer copy = BUFFER(4096);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&copy, &writer), 0);
    json_copy(writer, json_root(json));
    assert_int_equal(json_writer_close(writer), 0);
    assert_string_equal(buffer_string(&copy), text);
}

static void a_full_buffer_is_told_at_close(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(8);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_begin_array(writer);
    json_text(writer, "long enough");
    json_end_array(writer);
    assert_int_equal(json_writer_close(writer), -ENOBUFS);
}

static void unbalanced_writing_is_an_error(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(64);
    struct json_writer *writer;
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_begin_array(writer);
    assert_int_equal(json_writer_close(writer), -EINVAL);
    assert_int_equal(json_writer_open(&text, &writer), 0);
    json_end_object(writer);
    assert_int_equal(json_writer_close(writer), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(keeps_nul_in_keys_and_strings),
        cmocka_unit_test(last_of_two_equal_members_counts),
        cmocka_unit_test(decodes_surrogates_and_replaces_lone_ones),
        cmocka_unit_test(keeps_how_a_lone_surrogate_was_written),
        cmocka_unit_test(refuses_what_is_not_json),
        cmocka_unit_test(refuses_bytes_that_are_not_utf8),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(reads_the_deepest_nesting_allowed),
        cmocka_unit_test(refuses_too_many_values),
        cmocka_unit_test(large_strings_survive),
        cmocka_unit_test(integers_are_exact_or_refused),
        cmocka_unit_test(faults_tell_where),
        cmocka_unit_test(writes_every_type),
        cmocka_unit_test(escapes_what_json_must),
        cmocka_unit_test(replaces_each_maximal_bad_part),
        cmocka_unit_test(copies_values_as_they_were),
        cmocka_unit_test(a_full_buffer_is_told_at_close),
        cmocka_unit_test(unbalanced_writing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
