#include "sandbox/jail/folders/git_files.h"

#include "sandbox/base/owned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void paths_in_settings_are_read_as_git_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int setting; /* -1: none */
        const char *value;
    } cases[] = {
        {"[core]\n\thooksPath = a/b\n", GIT_HOOKS, "a/b"},
        {"[CORE]HOOKSPATH=a", GIT_HOOKS, "a"},
        {"\xef\xbb\xbf[core] hooksPath = a", GIT_HOOKS, "a"},
        {"[core]\r\nhooksPath = a \r\n", GIT_HOOKS, "a"},
        {"[core]\nhooksPath = \"a b\" c # no\n", GIT_HOOKS, "a b c"},
        {"[core]\nhooksPath = a\\\\b\\\"c ; no\n", GIT_HOOKS, "a\\b\"c"},
        {"[core]\nhooksPath = a\\\nb\n", GIT_HOOKS, "ab"},
        {"[core]\nhooksPath = a\\\r\nb\n", GIT_HOOKS, "ab"},
        {"[core]\nhooksPath = \"a#b;\"\n", GIT_HOOKS, "a#b;"},
        {"[core]\nhooksPath = \" a \"\n", GIT_HOOKS, " a "},
        {"# [x]\n[user]\nname = x\n[core]\nbare\nworktree = ../x", GIT_WORKTREE, "../x"},
        {"[include]\npath=x", GIT_INCLUDE, "x"},
        {"[includeIf \"gitdir:]\\\"x\"]\npath=x", GIT_INCLUDE, "x"},
        {"[includeIf.x] path=x", GIT_INCLUDE, "x"},
        {"[remote \"x\"]\npath=x", -1, NULL},
        {"hooksPath = x\n", -1, NULL},
        {"[core]\n;hooksPath = x\n#hooksPath = x\n", -1, NULL},
        {"[core]\nhooksPathx = x\nhookspath\n", -1, NULL},
        {"[corexxxxxxxxxxxxxxxxxxx]\nhooksPath = x\n", -1, NULL},
        {"", -1, NULL},
        {"[", -1, NULL},
        {"[core", -1, NULL},
        {"[core]\nhooksPath = \\", GIT_HOOKS, "\\"},
        {"[core]\nhooksPath =", GIT_HOOKS, ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED_MEMORY char *text = strdup(cases[i].text);
        char section[GIT_SECTION_SIZE] = "";
        enum git_setting setting;
        char *at = text;
        const char *value = git_settings_next(&at, section, &setting);
        if ((value == NULL) != (cases[i].value == NULL))
            fail_msg("%s: %s", cases[i].text, value != NULL ? value : "none");
        if (value == NULL)
            continue;
        assert_string_equal(value, cases[i].value);
        assert_int_equal(setting, cases[i].setting);
        assert_null(git_settings_next(&at, section, &setting));
    }
}

static void all_settings_of_a_file_are_read(void **state)
{
    (void)state;
    char text[] = "[core]\nhooksPath = a\nx = y\nhooksPath = b\n[include]\npath = c\n";
    char section[GIT_SECTION_SIZE] = "";
    char *at = text;
    enum git_setting setting;
    static const char *const expected[] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_string_equal(git_settings_next(&at, section, &setting), expected[i]);
    assert_null(git_settings_next(&at, section, &setting));
}

static void path_of_a_git_file_is_read_as_git_does(void **state)
{
    (void)state;
    char plain[] = "gitdir: a b\n\r\n";
    assert_string_equal(git_file_gitdir(plain), "a b");
    char other[] = "gitdir:a";
    assert_null(git_file_gitdir(other));
    char empty[] = "gitdir: \n";
    assert_null(git_file_gitdir(empty));
    char common[] = "../..\n";
    assert_string_equal(git_file_commondir(common), "../..");
    char nothing[] = "\n";
    assert_null(git_file_commondir(nothing));
}

static void only_regular_files_are_read_and_no_large_one(void **state)
{
    (void)state;
    char path[] = "/tmp/test-git-files-XXXXXX";
    char name[64];
    char text[8];
    assert_non_null(mkdtemp(path));
    snprintf(name, sizeof(name), "%s/x", path);
    assert_int_equal(git_file_read(name, text, sizeof(text)), -ENOENT);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_int_equal(git_file_read(name, text, sizeof(text)), -EINVAL); /* and does not wait */
    assert_int_equal(unlink(name), 0);
    OWNED_FD int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "1234567", 7), 7);
    assert_int_equal(git_file_read(name, text, sizeof(text)), 7);
    assert_string_equal(text, "1234567");
    assert_int_equal(write(fd, "8", 1), 1);
    assert_int_equal(git_file_read(name, text, sizeof(text)), -EFBIG);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_in_settings_are_read_as_git_does),
        cmocka_unit_test(all_settings_of_a_file_are_read),
        cmocka_unit_test(path_of_a_git_file_is_read_as_git_does),
        cmocka_unit_test(only_regular_files_are_read_and_no_large_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
