#include "images/store/catalog.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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
        cmocka_unit_test(finds_recipes_by_exact_name),
        cmocka_unit_test(no_recipe_names_a_package_twice),
        cmocka_unit_test(what_is_pruned_is_named_below_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
