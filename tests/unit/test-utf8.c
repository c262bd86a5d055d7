#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void terminals_are_not_spoken_to(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line, *lines; /* made plain without `lines` and with */
    } cases[] = {
        {"", "", ""},
        {"plain ~ text", "plain ~ text", "plain ~ text"},
        {"a\nb\tc\rd", "a?b?c?d", "a\nb\tc?d"},
        {"\x1b[31m\x01\x1f\x7f", "?[31m???", "?[31m???"},
        {"\xc2\x9b;1m", "??;1m", "??;1m"}, /* CSI in one character */
        {"\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0", "????\xc2\xa0"},
        {"\x9b;1m\xff", "?;1m?", "?;1m?"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xe1\x82\x9b", "\xe1\x82\x9b", "\xe1\x82\x9b"},
        {"cut \xe2\x82", "cut ??", "cut ??"},
        {"\xc0\x9b\xed\xa0\x80", "?????", "?????"},
        {"a\u202eb\u2028c\u200b", "a???b???c???", "a???b???c???"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", cases[i].text);
        utf8_make_plain(text, false);
        assert_string_equal(text, cases[i].line);
        snprintf(text, sizeof(text), "%s", cases[i].text);
        utf8_make_plain(text, true);
        assert_string_equal(text, cases[i].lines);
    }
}

static void what_could_be_misread_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *name, *visible;
    } cases[] = {
        {"", ""},
        {"a b/c'\"$%s.txt", "a b/c'\"$%s.txt"},
        {"\u00e4\u20ac\U0001f600", "\u00e4\u20ac\U0001f600"},
        {"a\nb\tc\rd\x1b[2J\x7f", "a\\nb\\tc\\rd\\x1b[2J\\x7f"},
        {"a\\nb", "a\\\\nb"},
        {"\u202efdp.exe\u2066", "\\u202efdp.exe\\u2066"},
        {"\u2028\u2029\xc2\x85"
         "\u00ad\ufeff\u200b",
         "\\u2028\\u2029\\u0085\\u00ad\\ufeff\\u200b"},
        {"\U000e0041", "\\U000e0041"},
        {"\xff\xc3(\xe2\x82", "\\xff\\xc3(\\xe2\\x82"},
        {"\xed\xa0\x80\xc0\xaf", "\\xed\\xa0\\x80\\xc0\\xaf"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(256);
        assert_int_equal(visible_append(&text, cases[i].name, strlen(cases[i].name)), 0);
        assert_string_equal(buffer_string(&text), cases[i].visible);
        assert_string_equal(visible_name(cases[i].name).text, cases[i].visible);
    }
}

static void long_name_is_cut_between_characters(void **state)
{
    (void)state;
    char name[3 * VISIBLE_NAME_MAX + 1];
    for (size_t i = 0; i < VISIBLE_NAME_MAX; i++)
        memcpy(name + 3 * i, "\u20ac", 4);
    const struct visible visible = visible_name(name);
    assert_int_equal(strlen(visible.text), VISIBLE_NAME_MAX / 3 * 3 + 3);
    assert_string_equal(visible.text + VISIBLE_NAME_MAX / 3 * 3, "...");
    memset(name, '\xff', sizeof(name) - 1);
    assert_int_equal(strlen(visible_name(name).text), 4 * VISIBLE_NAME_MAX + 3);
    name[VISIBLE_NAME_MAX] = '\0';
    assert_int_equal(strlen(visible_name(name).text), 4 * VISIBLE_NAME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminals_are_not_spoken_to),
        cmocka_unit_test(what_could_be_misread_is_escaped),
        cmocka_unit_test(long_name_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
