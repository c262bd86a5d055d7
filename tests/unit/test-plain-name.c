#include "interpreter/files/plain_name.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_plain(const char *name, const char *expected)
{
    OWNED_MEMORY char *plain = strdup(name);
    assert_non_null(plain);
    plain_name_make(plain);
    assert_string_equal(plain, expected);
    plain_name_make(plain);
    assert_string_equal(plain, expected);
}

static void ordinary_names_stay(void **state)
{
    (void)state;
    static const char *const names[] = {
        "totals.csv",     "a b.txt",           "x-y_z~", "a.b.c",  "résumé.pdf", "図.png",
        "\U0001f600.txt", "a'b\"c\\d$e;f&g|h", "CON",    "%2e%2e", "a..b",       "100%",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        assert_plain(names[i], names[i]);
}

static void a_first_character_with_a_meaning_is_replaced(void **state)
{
    (void)state;
    assert_plain("-rf", "_rf");
    assert_plain("--help", "_-help");
    assert_plain(".", "_");
    assert_plain("..", "_.");
    assert_plain(".git", "_git");
    assert_plain("HEAD", "_EAD");
    assert_plain("head", "_ead");
    assert_plain("HEADER", "HEADER");
    assert_plain("lefthook.yml", "_efthook.yml");
    assert_plain(".bashrc", "_bashrc");
    assert_plain("~", "_");
    assert_plain("~root", "_root");
    assert_plain(" a", "_a");
    assert_plain("a ", "a_");
    assert_plain(" ", "_");
}

static void control_characters_are_replaced(void **state)
{
    (void)state;
    assert_plain("a\nb", "a_b");
    assert_plain("\x1b[2J", "_[2J");
    assert_plain("a\x7f\tb\r", "a__b_");
    assert_plain("a\xc2\x9b"
                 "2J",
                 "a_2J");
    assert_plain("\n", "_");
}

static void what_cannot_be_seen_is_replaced(void **state)
{
    (void)state;
    assert_plain("invoice\u202efdp.exe", "invoice_fdp.exe");
    assert_plain("\u200b", "_");
    assert_plain("a\u2066b\u2069", "a_b_");
    assert_plain("a\u00adb\ufeff\u2028\u061c", "a_b___");
    assert_plain("\U000e0041", "_");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    assert_plain("\xff", "_");
    assert_plain("a\xff\xfe"
                 "b",
                 "a__b");
    assert_plain("caf\xe9", "caf_");
    assert_plain("\xed\xa0\x80", "___");
    assert_plain("\xf0\x9f\x98", "_");
}

static void no_name_grows(void **state)
{
    (void)state;
    char name[256];
    memset(name, '\n', 255);
    name[255] = '\0';
    plain_name_make(name);
    assert_int_equal(strlen(name), 255);
    assert_int_equal(strspn(name, "_"), 255);
    assert_plain("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_names_stay),
        cmocka_unit_test(a_first_character_with_a_meaning_is_replaced),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(what_cannot_be_seen_is_replaced),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(no_name_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
