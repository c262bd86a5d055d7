#include "sandbox/base/owned.h"
#include "sandbox/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminals_are_not_spoken_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
