#include "interpreter/languages/placeholders.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct placeholder_values values = {
    .of = {.file = "File", .main = "a.Main"},
    .heap_mib = 512,
    .work = "/work",
};

static void check(const char *word, const char *filled)
{
    OWNED_MEMORY char *text = placeholders_fill(word, &values);
    assert_non_null(text);
    assert_string_equal(text, filled);
}

static void each_placeholder_has_its_value(void **state)
{
    (void)state;
    check("{class}", "File");
    check("{class}.java", "File.java");
    check("{main}", "a.Main");
    check("-Xmx{heap_mb}m", "-Xmx512m");
    check("{work}/main", "/work/main");
    check("{work}:{work}{class}{main}", "/work:/workFilea.Main");
}

static void everything_else_stays(void **state)
{
    (void)state;
    static const char *const words[] = {"",       "main.c",    "{",       "}",        "{}",
                                        "{class", "{classes}", "{Class}", "{ class}", "class}",
                                        "{{{",    "${HOME}",   "%s%n",    "\xff"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
        check(words[i], words[i]);
    check("{{class}}", "{File}");
}

static void values_are_not_filled_again(void **state)
{
    (void)state;
    const struct placeholder_values nested = {.of = {.file = "{main}", .main = "{work}"},
                                              .work = "{class}"};
    OWNED_MEMORY char *text = placeholders_fill("{class}{main}{work}", &nested);
    assert_string_equal(text, "{main}{work}{class}");
}

static void a_word_that_becomes_too_long_is_none(void **state)
{
    (void)state;
    OWNED_MEMORY char *word = malloc(100001);
    assert_non_null(word);
    memset(word, 'x', 100000);
    word[100000] = '\0';
    assert_null(placeholders_fill(word, &values));
    word[60000] = '\0';
    OWNED_MEMORY char *text = placeholders_fill(word, &values);
    assert_string_equal(text, word);
}

static void a_heap_leaves_memory_to_its_runtime(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 16, 40, 41, 64, 128, 256, 512, 1024, 2048, 65536};
    uint64_t last = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        uint64_t heap = placeholder_heap_mib(sizes[i] * MEBIBYTE);
        assert_true(heap >= 8 && heap >= last);
        assert_true(heap == 8 || heap + 40 < sizes[i]);
        last = heap;
    }
    assert_true(last > 40000);
    assert_true(placeholder_heap_mib(RUN_MEMORY_MAX) < RUN_MEMORY_MAX / MEBIBYTE);
    assert_true(placeholder_heap_mib(UINT64_MAX) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_placeholder_has_its_value),
        cmocka_unit_test(everything_else_stays),
        cmocka_unit_test(values_are_not_filled_again),
        cmocka_unit_test(a_word_that_becomes_too_long_is_none),
        cmocka_unit_test(a_heap_leaves_memory_to_its_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
