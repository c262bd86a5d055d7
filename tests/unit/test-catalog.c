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

static void every_language_has_a_recipe_for_its_image(void **state)
{
    (void)state;
    size_t count;
    const struct language *languages = language_list(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_non_null(recipe_find(languages[i].image));
}

static void every_language_runs_its_code_file(void **state)
{
    (void)state;
    size_t count;
    const struct language *languages = language_list(&count);
    for (size_t i = 0; i < count; i++) {
        size_t last = 0;
        while (languages[i].argv[last + 1] != NULL)
            last++;
        assert_string_equal(languages[i].argv[last], languages[i].code_name);
        assert_string_equal(strrchr(languages[i].code_name, '.'), languages[i].extensions[0]);
        assert_non_null(strstr(languages[i].probe, "'ok'"));
    }
}

static void finds_recipes_by_exact_name(void **state)
{
    (void)state;
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(recipe_find(recipes[i].name), &recipes[i]);
    assert_null(recipe_find("pytho"));
    assert_null(recipe_find("python3"));
}

/* A list with a package twice is one whose author lost sight of it. */
static bool has_twice(const char *const *words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        for (size_t j = i + 1; words[j] != NULL; j++)
            if (strcmp(words[i], words[j]) == 0)
                return true;
    return false;
}

static void no_recipe_names_a_package_twice(void **state)
{
    (void)state;
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    for (size_t i = 0; i < count; i++) {
        assert_false(has_twice(recipes[i].packages));
        assert_false(has_twice(recipes[i].left_out));
        assert_false(has_twice(recipes[i].pip));
    }
}

/* What is removed from an image is named by a path below its root. */
static void what_is_pruned_is_named_below_the_root(void **state)
{
    (void)state;
    size_t count;
    const struct recipe *recipes = recipe_list(&count);
    for (size_t i = 0; i < count; i++)
        for (const char *const *at = recipes[i].pruned; at != NULL && *at != NULL; at++) {
            assert_true((*at)[0] != '/');
            assert_null(strstr(*at, ".."));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_languages_by_name_and_other_names),
        cmocka_unit_test(knows_no_other_language),
        cmocka_unit_test(every_language_has_a_recipe_for_its_image),
        cmocka_unit_test(every_language_runs_its_code_file),
        cmocka_unit_test(finds_recipes_by_exact_name),
        cmocka_unit_test(no_recipe_names_a_package_twice),
        cmocka_unit_test(what_is_pruned_is_named_below_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
