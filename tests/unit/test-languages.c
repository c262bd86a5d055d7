#include "interpreter/languages/language.h"

#include "images/store/catalog.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void finds_languages_by_name_and_other_names(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *found;
    } cases[] = {
        {"python", "python"}, {"py", "python"},       {"javascript", "javascript"},
        {"js", "javascript"}, {"node", "javascript"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct language *language = language_find(cases[i].asked);
        assert_non_null(language);
        assert_string_equal(language->name, cases[i].found);
    }
}

static void knows_no_other_language(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Python", "pyt", "ruby", ".py"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        assert_null(language_find(names[i]));
}

static void every_language_is_what_its_place_and_name_say(void **state)
{
    (void)state;
    static const char *const names[] = {
#define LANGUAGE(name, place) [LANGUAGE_##place] = #name,
        LANGUAGES
#undef LANGUAGE
    };
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        assert_string_equal(languages[i]->name, names[i]);
        assert_int_equal(language_place(languages[i]), i);
        assert_ptr_equal(language_find(names[i]), languages[i]);
    }
}

static void every_language_has_a_recipe_for_its_image(void **state)
{
    (void)state;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++)
        assert_non_null(recipe_find(languages[i]->image));
}

static void every_language_runs_its_code_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        const struct language *language = languages[i];
        size_t last = 0;
        while (language->argv[last + 1] != NULL)
            last++;
        assert_string_equal(language->argv[last], language->code_name);
        assert_string_equal(strrchr(language->code_name, '.'), language->extensions[0]);
        assert_non_null(strstr(language->probe, "ok"));
    }
}

static void a_guess_is_the_nearest_name(void **state)
{
    (void)state;
    assert_string_equal(language_guess("pyton"), "python");
    assert_string_equal(language_guess("javscript"), "javascript");
    assert_null(language_guess("cobol-85"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_languages_by_name_and_other_names),
        cmocka_unit_test(knows_no_other_language),
        cmocka_unit_test(every_language_is_what_its_place_and_name_say),
        cmocka_unit_test(every_language_has_a_recipe_for_its_image),
        cmocka_unit_test(every_language_runs_its_code_file),
        cmocka_unit_test(a_guess_is_the_nearest_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
