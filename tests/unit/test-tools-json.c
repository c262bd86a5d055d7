#include "images/runners/bash/tools_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct json_span span_of(const char *text)
{
    return (struct json_span){text, text + strlen(text)};
}

static void assert_string(const char *object, const char *name, const char *expected)
{
    char text[128];
    size_t length = json_string_of(span_of(object), name, text, sizeof(text));
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, length);
}

static void takes_an_array_apart(void **state)
{
    (void)state;
    static const char *const values[] = {
        "{\"a\":[1,{\"b\":\"]}\"}]}", "\"x,\\\"y\"", "-1.5e3", "true", "[]", "null"};
    struct json_span value,
        list =
            json_inside(span_of("[{\"a\":[1,{\"b\":\"]}\"}]}, \"x,\\\"y\",-1.5e3 ,true,[],null]"));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_true(json_next(&list, &value));
        assert_int_equal(value.end - value.at, strlen(values[i]));
        assert_memory_equal(value.at, values[i], strlen(values[i]));
    }
    assert_false(json_next(&list, &value));
    list = json_inside(span_of("[]"));
    assert_false(json_next(&list, &value));
}

static void finds_a_string_by_its_name(void **state)
{
    (void)state;
    assert_string("{\"name\":\"add\",\"description\":\"two\"}", "description", "two");
    assert_string("{\"x\":{\"name\":\"no\"},\"y\":[\"name\"],\"name\":\"add\"}", "name", "add");
    assert_string("{\"names\":\"no\",\"nam\":\"no\"}", "name", "");
    assert_string("{\"name\":7}", "name", "");
    assert_string("{\"a\":\"name\",\"name\":\"yes\"}", "name", "yes");
    assert_string("{}", "name", "");
}

static void decodes_strings(void **state)
{
    (void)state;
    assert_string("{\"t\":\"a\\n\\t\\r\\b\\f\\\"\\\\\\/\"}", "t", "a\n\t\r\b\f\"\\/");
    assert_string("{\"t\":\"\\u0041\\u00fC\\u20ac\\ud83d\\uDE00\"}", "t",
                  "A\u00fc\u20ac\U0001f600");
    assert_string("{\"t\":\"\\ud83d!\\ude00\\ud83d\\u0041\"}", "t",
                  "\ufffd!\ufffd\ufffd"
                  "A");
    assert_string("{\"t\":\"\u00fc\"}", "t", "\u00fc");
}

static void writes_no_more_than_there_is_room_for(void **state)
{
    (void)state;
    char text[8] = "-------";
    assert_int_equal(json_string_of(span_of("{\"t\":\"12345678\"}"), "t", text, 3), 3);
    assert_string_equal(text, "123----");
}

static void what_is_cut_off_ends_at_its_end(void **state)
{
    (void)state;
    static const char whole[] = "[{\"name\":\"a\\u00e4\\\\\",\"x\":[1,{}]},\"\\\"\"]";
    for (size_t length = 0; length < sizeof(whole); length++) {
        char text[16];
        struct json_span value, list = json_inside((struct json_span){whole, whole + length});
        while (json_next(&list, &value)) {
            assert_true(value.end > value.at && value.end <= whole + length);
            assert_true(json_string_of(value, "name", text, sizeof(text)) <= sizeof(text));
        }
    }
}

static void finds_words_whatever_their_letters(void **state)
{
    (void)state;
    struct json_span text = span_of("get-all Lists ALL pages");
    assert_true(text_has_words(text, ""));
    assert_true(text_has_words(text, "list"));
    assert_true(text_has_words(text, " LISTS  page "));
    assert_true(text_has_words(text, "pages"));
    assert_false(text_has_words(text, "lists none"));
    assert_false(text_has_words(text, "pagesx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_an_array_apart),
        cmocka_unit_test(finds_a_string_by_its_name),
        cmocka_unit_test(decodes_strings),
        cmocka_unit_test(writes_no_more_than_there_is_room_for),
        cmocka_unit_test(what_is_cut_off_ends_at_its_end),
        cmocka_unit_test(finds_words_whatever_their_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
