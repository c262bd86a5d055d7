#include "interpreter/base/bounds.h"
#include "interpreter/settings/environment.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SECRET "s3cret"

static int set(struct environment *environment, const char *text, struct fault *fault)
{
    return environment_set(environment, ENVIRONMENT_SET, "--env", text, strlen(text), fault);
}

/* Later ones of a name replace earlier ones, as the jail does: a line for each that is left. */
static void assert_gives(const struct environment *environment, const struct language *language,
                         const char *expected)
{
    const char *texts[ENVIRONMENT_COUNT_MAX];
    size_t count = environment_for(environment, language, texts);
    OWNED(buffer_release) struct buffer lines = BUFFER(4096);
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t j = i + 1; j < count; j++)
            is_replaced =
                is_replaced || strncmp(texts[i], texts[j], strcspn(texts[i], "=") + 1) == 0;
        if (!is_replaced)
            buffer_format(&lines, "%s\n", texts[i]);
    }
    const char *text = buffer_string(&lines);
    assert_string_equal(text != NULL ? text : "", expected);
}

static void a_value_is_all_that_follows_the_first_equals_sign(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "A=", "A==", "A= b=\"c\" ", "_1=:", "a=\n\t\x01\xff", "A=python:B=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        OWNED(environment_release) struct environment environment = {0};
        assert_int_equal(set(&environment, texts[i], NULL), 0);
        const char *given[1];
        assert_int_equal(environment_for(&environment, &language_python, given), 1);
        assert_string_equal(given[0], texts[i]);
    }
}

static void a_variable_of_one_language_is_for_that_one_and_counts_more(void **state)
{
    (void)state;
    OWNED(environment_release) struct environment environment = {0};
    static const char *const texts[] = {"python:A=py", "node:B=js", "A=all", "sh:A=sh",
                                        "javascript:B=js2"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        assert_int_equal(set(&environment, texts[i], NULL), 0);
    assert_gives(&environment, &language_python, "A=py\n");
    assert_gives(&environment, &language_javascript, "A=all\nB=js2\n");
    assert_gives(&environment, &language_bash, "A=sh\n");
}

static void a_later_source_counts_more_whatever_the_order(void **state)
{
    (void)state;
    OWNED(environment_release) struct environment environment = {0};
    setenv("TEST_A", "passed", 1);
    setenv("TEST_B", "passed", 1);
    assert_int_equal(set(&environment, "TEST_A=set", NULL), 0);
    static const char file[] = "TEST_A=file\nTEST_B=file\npython:TEST_A=file\n";
    assert_int_equal(environment_read_text(&environment, "x", file, strlen(file), NULL), 0);
    assert_int_equal(environment_pass(&environment, "TEST_A", strlen("TEST_A"), NULL), 0);
    assert_int_equal(environment_pass(&environment, "TEST_B", strlen("TEST_B"), NULL), 0);
    assert_gives(&environment, &language_python, "TEST_B=file\nTEST_A=set\n");
}

static void a_name_that_is_not_set_here_is_kept_for_a_note_and_gives_nothing(void **state)
{
    (void)state;
    OWNED(environment_release) struct environment environment = {0};
    unsetenv("TEST_A");
    for (int i = 0; i < 2; i++)
        assert_int_equal(environment_pass(&environment, "TEST_A", strlen("TEST_A"), NULL), 0);
    assert_int_equal(environment.count, 1);
    assert_gives(&environment, &language_python, "");
    assert_int_equal(set(&environment, "TEST_A=1", NULL), 0);
    assert_gives(&environment, &language_python, "TEST_A=1\n");
}

/* No message has the secret in it, wherever it was written. */
static void what_is_wrong_is_told_without_what_may_be_secret(void **state)
{
    (void)state;
    static const struct {
        const char *text, *named;
    } cases[] = {
        {SECRET, "must be NAME=VALUE"},
        {"", "must be NAME=VALUE"},
        {"=" SECRET, "the name before the ="},
        {"1A=" SECRET, "the name before the ="},
        {"A B=" SECRET, "the name before the ="},
        {SECRET "-=x", "the name before the ="},
        {"A\xc3\xa9=" SECRET, "the name before the ="},
        {"export A=" SECRET, "leave out \"export\""},
        {"pyhton:A=" SECRET, "did you mean python?"},
        {":A=" SECRET, "python, javascript or bash"},
        {"https://" SECRET "@host/?a=b", "python, javascript or bash"},
        {"python:=" SECRET, "the name before the ="},
        {"python:js:A=" SECRET, "the name before the ="},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(environment_release) struct environment environment = {0};
        struct fault fault = {0};
        assert_int_equal(set(&environment, cases[i].text, &fault), -EINVAL);
        if (strstr(fault.text, cases[i].named) == NULL || strstr(fault.text, "--env") == NULL)
            fail_msg("\"%s\" does not have \"%s\"", fault.text, cases[i].named);
        assert_null(strstr(fault.text, SECRET));
        assert_int_equal(environment.count, 0);
    }
    struct fault fault = {0};
    OWNED(environment_release) struct environment environment = {0};
    static const char pair[] = "A=" SECRET;
    assert_int_equal(environment_pass(&environment, pair, strlen(pair), &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "names only"));
    assert_null(strstr(fault.text, SECRET));
}

static int read_text(struct environment *environment, const char *text, size_t length,
                     struct fault *fault)
{
    return environment_read_text(environment, "the/file", text, length, fault);
}

static void lines_end_as_any_system_ends_them(void **state)
{
    (void)state;
    static const char *const files[] = {
        "A=1\nB=2\n",
        "A=1\r\nB=2\r\n",
        "\xef\xbb\xbf"
        "A=1\nB=2",
        "\n# c\n \t# c=d\n\n  \nA=1\r\nB=2\n\r\n",
        "A=0\nA=1\nB=2",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        OWNED(environment_release) struct environment environment = {0};
        assert_int_equal(read_text(&environment, files[i], strlen(files[i]), NULL), 0);
        assert_gives(&environment, &language_bash, "A=1\nB=2\n");
    }
    static const char odd[] = "A= x \"y\" # z\rB\r\r\n";
    OWNED(environment_release) struct environment environment = {0};
    assert_int_equal(read_text(&environment, odd, strlen(odd), NULL), 0);
    assert_gives(&environment, &language_bash, "A= x \"y\" # z\rB\r\n");
}

static void a_wrong_line_is_told_by_its_number(void **state)
{
    (void)state;
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *text;
        size_t length;
        const char *named;
    } cases[] = {
        {BYTES("A=1\n\n# c\n" SECRET "\n"), "line 4 of the/file must be NAME=VALUE"},
        {BYTES("A=1\r\nB:=" SECRET), "line 2 of the/file: the language"},
        {BYTES("export A=" SECRET), "line 1 of the/file: leave out"},
        {BYTES("\xef\xbb\xbf\xef\xbb\xbf"
               "A=" SECRET),
         "line 1 of the/file: the name"},
        {BYTES(" A=" SECRET), "line 1 of the/file: the name"},
        {BYTES("A\0=" SECRET), "line 1 of the/file: the name"},
        {BYTES("\0"), "line 1 of the/file must be"},
        {BYTES("A=" SECRET "\0" SECRET "\n"), "line 1 of the/file: the value of A has a NUL byte"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        OWNED(environment_release) struct environment environment = {0};
        struct fault fault = {0};
        assert_int_equal(read_text(&environment, cases[i].text, cases[i].length, &fault), -EINVAL);
        if (strstr(fault.text, cases[i].named) == NULL || strstr(fault.text, SECRET) != NULL)
            fail_msg("%zu: \"%s\"", i, fault.text);
    }
}

static void everything_has_a_bound(void **state)
{
    (void)state;
    static char text[ENVIRONMENT_TEXT_MAX + 2];
    memset(text, 'A', sizeof(text) - 1);
    struct fault fault = {0};
    OWNED(environment_release) struct environment environment = {0};
    text[ENVIRONMENT_NAME_MAX + 1] = '=';
    assert_int_equal(set(&environment, text, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "at most 255 bytes"));
    fault.text[0] = '\0';
    text[1] = '=';
    assert_int_equal(set(&environment, text, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "the value of A is longer than 127 KiB"));
    fault.text[0] = '\0';
    text[sizeof(text) - 2] = '\0';
    int set_count = 0;
    for (; set(&environment, text, &fault) == 0; set_count++)
        text[0]++;
    assert_non_null(strstr(fault.text, "1024 KiB together"));
    assert_int_equal(set_count, ENVIRONMENT_BYTES_MAX / ENVIRONMENT_TEXT_MAX);
    text[0]--; /* the same once more takes the place of itself */
    assert_int_equal(set(&environment, text, NULL), 0);
    fault.text[0] = '\0';
    OWNED(environment_release) struct environment many = {0};
    char name[16];
    for (int i = 0; i < ENVIRONMENT_COUNT_MAX; i++) {
        snprintf(name, sizeof(name), "A%d=", i);
        assert_int_equal(set(&many, name, NULL), 0);
    }
    assert_int_equal(set(&many, name, NULL), 0);
    assert_int_equal(set(&many, "B=", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "more than 256 variables"));
}

/* A file of its own for each test. */
static int file_make(void **state)
{
    static char path[32];
    strcpy(path, "/tmp/test-environment-XXXXXX");
    OWNED_FD int fd = mkstemp(path);
    *state = path;
    return fd < 0 ? -1 : 0;
}

static int file_remove(void **state)
{
    return unlink(*state);
}

static void write_file(const char *path, const char *byte, size_t length)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(fputs(byte, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void a_file_that_others_can_use_is_refused(void **state)
{
    static const mode_t modes[] = {0604, 0640, 0602, 0620, 0610, 0601, 0666};
    const char *path = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        OWNED(environment_release) struct environment environment = {0};
        struct fault fault = {0};
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(environment_read_file(&environment, "--env-file", path, &fault), -EPERM);
        char remedy[64];
        snprintf(remedy, sizeof(remedy), "run chmod 600 %s", path);
        assert_non_null(strstr(fault.text, remedy));
    }
    OWNED(environment_release) struct environment environment = {0};
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(environment_read_file(&environment, "--env-file", path, NULL), 0);
}

static void only_a_regular_file_of_bounded_size_is_read(void **state)
{
    const char *path = *state;
    OWNED(environment_release) struct environment environment = {0};
    write_file(path, "\n", ENVIRONMENT_FILE_MAX);
    assert_int_equal(environment_read_file(&environment, "--env-file", path, NULL), 0);
    write_file(path, "\n", ENVIRONMENT_FILE_MAX + 1);
    static const struct {
        const char *path; /* NULL: that file */
        int error;
        const char *named;
    } cases[] = {
        {NULL, EINVAL, "longer than 256 KiB"},
        {"/", EINVAL, "not a regular file"},
        {"/dev/null", EINVAL, "not a regular file"},
        {"/nowhere/x", ENOENT, "--env-file: there is no environment file /nowhere/x"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fault fault = {0};
        assert_int_equal(environment_read_file(&environment, "--env-file",
                                               cases[i].path != NULL ? cases[i].path : path,
                                               &fault),
                         -cases[i].error);
        assert_non_null(strstr(fault.text, cases[i].named));
    }
}

static void a_file_of_another_user_is_refused(void **state)
{
    const char *path = *state;
    OWNED(environment_release) struct environment environment = {0};
    struct fault fault = {0};
    /* Only root can make one; an ordinary user has root's files to be refused for their mode. */
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(chown(path, 1, 1), 0);
    assert_int_equal(
        environment_read_file(&environment, "--env-file", is_root ? path : "/etc/passwd", &fault),
        -EPERM);
    assert_non_null(strstr(fault.text, "use a file of your own"));
}

#define FILED(test) cmocka_unit_test_setup_teardown(test, file_make, file_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_all_that_follows_the_first_equals_sign),
        cmocka_unit_test(a_variable_of_one_language_is_for_that_one_and_counts_more),
        cmocka_unit_test(a_later_source_counts_more_whatever_the_order),
        cmocka_unit_test(a_name_that_is_not_set_here_is_kept_for_a_note_and_gives_nothing),
        cmocka_unit_test(what_is_wrong_is_told_without_what_may_be_secret),
        cmocka_unit_test(lines_end_as_any_system_ends_them),
        cmocka_unit_test(a_wrong_line_is_told_by_its_number),
        cmocka_unit_test(everything_has_a_bound),
        FILED(a_file_that_others_can_use_is_refused),
        FILED(only_a_regular_file_of_bounded_size_is_read),
        FILED(a_file_of_another_user_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
