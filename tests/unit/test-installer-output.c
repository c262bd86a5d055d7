#include "images/build/installer_output.h"
#include "sandbox/base/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void the_version_of_a_distribution_is_in_its_name(void **state)
{
    (void)state;
    char version[VERSION_SIZE] = "as it was";
    assert_true(distribution_version("usr/lib-1/google_genai-1.2.3.dist-info", version));
    assert_string_equal(version, "1.2.3");
    static const char *const others[] = {
        "", "x", "x-1.dist", "x.dist-info", "x-.dist-info", "a-1.dist-info/x"};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(distribution_version(others[i], version));
    assert_string_equal(version, "1.2.3");
}

static void installed_sizes_add_up(void **state)
{
    (void)state;
    assert_int_equal(apt_installed_sum(""), 0);
    assert_int_equal(apt_installed_sum("Package: a\nInstalled-Size: 3\n\nInstalled-Size: x\n"
                                       " Installed-Size: 5\nInstalled-Size: 4"),
                     7 << 10);
}

static void a_failure_of_pip_is_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"python3 failed with exit code 1:\nWARNING: Retrying (Retry(total=0)) after connection "
         "broken by 'NewConnectionError()'\nERROR: No matching distribution found for x",
         "its index cannot be reached"},
        {"python3 failed with exit code 1:\nWARNING: x\nERROR: No matching distribution\nERROR: y",
         "No matching distribution"},
        {"a\nb\n", "b"},
        {"a\033[1mb", "a?[1mb"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char line[ANSWER_LINE_SIZE];
        assert_string_equal(pip_failure(cases[i].text, line), cases[i].line);
    }
}

static void a_failure_of_npm_is_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"npm failed with exit code 1:\nnpm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n"
         "npm error errno EAI_AGAIN\nnpm error request to https://x/ failed, reason: no\n",
         "request to https://x/ failed, reason: no"},
        {"npm failed:\nnpm ERR! code E404\nnpm ERR! 404 Not Found\nnpm ERR! more", "404 Not Found"},
        {"npm was killed by signal 9", "npm was killed by signal 9"},
        {"x:\nnpm error code E", "npm error code E"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char line[ANSWER_LINE_SIZE];
        assert_string_equal(npm_failure(cases[i].text, line), cases[i].line);
    }
}

static void a_long_line_is_cut(void **state)
{
    (void)state;
    char text[2 * ANSWER_LINE_SIZE], line[ANSWER_LINE_SIZE];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(strlen(pip_failure(text, line)), ANSWER_LINE_SIZE - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_of_a_distribution_is_in_its_name),
        cmocka_unit_test(installed_sizes_add_up),
        cmocka_unit_test(a_failure_of_pip_is_one_line),
        cmocka_unit_test(a_failure_of_npm_is_one_line),
        cmocka_unit_test(a_long_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
