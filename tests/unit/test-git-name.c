#include "interpreter/changes/git_name.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void quotes_as_git_does(void **state)
{
    (void)state;
    static const struct {
        const char *path, *quoted;
    } cases[] = {
        {"a", "a/a"},
        {"with space", "a/with space"},
        {"'*?$", "a/'*?$"},
        {"tab\t", "\"a/tab\\t\""},
        {"\a\b\n\v\f\r", "\"a/\\a\\b\\n\\v\\f\\r\""},
        {"quo\"te", "\"a/quo\\\"te\""},
        {"back\\slash", "\"a/back\\\\slash\""},
        {"\x01\x1f\x7f", "\"a/\\001\\037\\177\""},
        {"\xc3\xa4\xff", "\"a/\\303\\244\\377\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(buffer_release) struct buffer text = BUFFER(256);
        assert_int_equal(git_name_quote(&text, "a/", cases[i].path), 0);
        assert_string_equal(buffer_string(&text), cases[i].quoted);
    }
}

static void refuses_to_grow_past_its_buffer(void **state)
{
    (void)state;
    OWNED(buffer_release) struct buffer text = BUFFER(8);
    assert_int_equal(git_name_quote(&text, "a/", "\n\n\n\n"), -ENOBUFS);
}

static void knows_gits_own_names(void **state)
{
    (void)state;
    static const char *const own[] = {
        ".git",      ".GIT",       ".giT",    ".git.",      ".git ",     ".git. ",
        ".git\\",    ".git:$x",    ".git...", "git~1",      "GIT~1",     "git~1 ",
        "git~1::$x", ".git\\hook", "a\\.git", "\\git~1\\x", "a\\b\\.GIT"};
    static const char *const others[] = {"git",   ".gitignore", ".gitx", "x.git", ".github",
                                         ".gi",   "",           "git~2", "git~",  "git~12",
                                         " .git", "a\\x.git",   "\\",    "a\\"};
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        if (!git_name_is_git(own[i]))
            fail_msg("%s", own[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        if (git_name_is_git(others[i]))
            fail_msg("%s", others[i]);
}

static void knows_names_of_modules(void **state)
{
    (void)state;
    static const char *const own[] = {".gitmodules",
                                      ".GitModules ",
                                      "GITMOD~1",
                                      "gi7eba~1",
                                      "a/.gitmodules",
                                      ".gitmodules/a",
                                      "a/b/.gitmodules/c/d",
                                      "a\\.gitmodules",
                                      "a/b\\gi7eba~1",
                                      ".gitmodules\\a"};
    static const char *const others[] = {"gitmodules", ".gitmodule", "ginger", "ginger/a~1",
                                         "a/gi/~",     "",           "/",      "a/"};
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
        if (!git_path_has_modules(own[i]))
            fail_msg("%s", own[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        if (git_path_has_modules(others[i]))
            fail_msg("%s", others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_as_git_does),
        cmocka_unit_test(refuses_to_grow_past_its_buffer),
        cmocka_unit_test(knows_gits_own_names),
        cmocka_unit_test(knows_names_of_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
