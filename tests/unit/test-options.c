#include "sandbox/base/options.h"
#include "sandbox/base/owned.h"
#include "sandbox/base/spelling.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ARGUMENTS_COUNT_MAX 16

struct seen {
    const char *name;
    int flags;
};

static int apply_name(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    assert_string_equal(option->name, "--name");
    if (strcmp(value, "bad") == 0)
        return fault_set(fault, EINVAL, "a bad name");
    struct seen *seen = data;
    seen->name = value;
    return 0;
}

static int apply_flag(void *data, const struct option *option, const char *value,
                      struct fault *fault)
{
    (void)option;
    (void)fault;
    assert_null(value);
    struct seen *seen = data;
    seen->flags++;
    return 0;
}

static const struct option options[] = {
    {"--name", "NAME", "a name", apply_name, NULL},
    {0},
};

static const struct option more_options[] = {
    {"--flag", NULL, "a flag\nof two lines", apply_flag, NULL},
    {0},
};

/* Reads a copy of the NULL-terminated arguments; operands are moved to the front of `ret_argv`. */
static int read_arguments(const char *const *arguments, char **ret_argv, struct seen *seen,
                          int *ret_operands, struct fault *fault)
{
    int count = 0;
    for (; arguments[count] != NULL; count++)
        ret_argv[count] = (char *)arguments[count];
    const struct option_table tables[] = {{options, seen}, {more_options, seen}, {0}};
    return options_read(tables, count, ret_argv, ret_operands, fault);
}

static void reads_values_in_both_forms(void **state)
{
    (void)state;
    static const char *const forms[][4] = {{"--name", "x", "--flag", NULL},
                                           {"--name=x", "--flag", NULL}};
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        char *argv[ARGUMENTS_COUNT_MAX];
        struct seen seen = {0};
        int operands = -1;
        assert_int_equal(read_arguments(forms[i], argv, &seen, &operands, NULL), 0);
        assert_string_equal(seen.name, "x");
        assert_int_equal(seen.flags, 1);
        assert_int_equal(operands, 0);
    }
}

static void values_may_look_like_options_or_be_empty(void **state)
{
    (void)state;
    char *argv[ARGUMENTS_COUNT_MAX];
    struct seen seen = {0};
    int operands;
    static const char *const dashes[] = {"--name", "--flag", NULL};
    assert_int_equal(read_arguments(dashes, argv, &seen, &operands, NULL), 0);
    assert_string_equal(seen.name, "--flag");
    assert_int_equal(seen.flags, 0);
    static const char *const empty[] = {"--name=", NULL};
    assert_int_equal(read_arguments(empty, argv, &seen, &operands, NULL), 0);
    assert_string_equal(seen.name, "");
    static const char *const equals[] = {"--name=a=b", NULL};
    assert_int_equal(read_arguments(equals, argv, &seen, &operands, NULL), 0);
    assert_string_equal(seen.name, "a=b");
}

static void operands_are_moved_to_the_front_in_order(void **state)
{
    (void)state;
    static const char *const arguments[] = {"a",  "--flag", "-",     "--name", "x",
                                            "--", "--flag", "-last", NULL};
    static const char *const expected[] = {"a", "-", "--flag", "-last"};
    char *argv[ARGUMENTS_COUNT_MAX];
    struct seen seen = {0};
    int operands = 0;
    assert_int_equal(read_arguments(arguments, argv, &seen, &operands, NULL), 0);
    assert_int_equal(operands, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        assert_string_equal(argv[i], expected[i]);
    assert_int_equal(seen.flags, 1);
}

static void the_first_operand_may_end_the_options(void **state)
{
    (void)state;
    static const struct {
        const char *given[8], *left[8];
    } table[] = {
        {{"--flag", "a", "--flag", "--help"}, {"a", "--flag", "--help"}},
        {{"--flag", "-", "--name"}, {"-", "--name"}},
        {{"--flag", "--", "-a", "--", "b"}, {"-a", "--", "b"}},
        {{"--flag", "a", "--", "b"}, {"a", "--", "b"}},
        {{"--flag", "--name", "x", "", "--unknown"}, {"", "--unknown"}},
        {{"--flag"}, {NULL}},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        char *argv[ARRAY_LENGTH(table[i].given)];
        struct seen seen = {0};
        int count = 0, operands = 0;
        for (; table[i].given[count] != NULL; count++)
            argv[count] = (char *)table[i].given[count];
        const struct option_table tables[] = {{options, &seen}, {more_options, &seen}, {0}};
        assert_int_equal(options_read_leading(tables, count, argv, &operands, NULL), 0);
        assert_int_equal(seen.flags, 1);
        for (int k = 0; k < operands; k++)
            assert_string_equal(argv[k], table[i].left[k]);
        assert_null(table[i].left[operands]);
    }
}

static void help_and_version_are_known_everywhere(void **state)
{
    (void)state;
    static const struct {
        const char *argument;
        int outcome;
    } cases[] = {{"--help", OPTIONS_HELP}, {"-h", OPTIONS_HELP}, {"--version", OPTIONS_VERSION}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *const arguments[] = {"x", cases[i].argument, NULL};
        char *argv[ARGUMENTS_COUNT_MAX];
        struct seen seen = {0};
        int operands;
        assert_int_equal(read_arguments(arguments, argv, &seen, &operands, NULL), cases[i].outcome);
    }
}

static void faults_name_the_argument_and_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[3];
        const char *hint;
    } cases[] = {
        {{"--nmae", "x"}, "did you mean --name?"},
        {{"--nam=x"}, "did you mean --name?"},
        {{"--hlep"}, "did you mean --help?"},
        {{"--elephant"}, "see --help"},
        {{"--name"}, "--name NAME"},
        {{"--flag=1"}, "takes no value"},
        {{"--name", "bad"}, "a bad name"},
        {{"-x"}, "unknown option -x"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char *argv[ARGUMENTS_COUNT_MAX];
        struct seen seen = {0};
        struct fault fault = {0};
        int operands;
        assert_int_equal(read_arguments(cases[i].arguments, argv, &seen, &operands, &fault),
                         -EINVAL);
        if (strstr(fault.text, cases[i].hint) == NULL)
            fail_msg("%s: no \"%s\" in \"%s\"", cases[i].arguments[0], cases[i].hint, fault.text);
    }
}

static void names_the_command_that_has_the_option(void **state)
{
    (void)state;
    char name[] = "--flag";
    char *argv[] = {name, NULL};
    struct fault fault = {0};
    int operands = 0;
    const struct option_table tables[] = {{more_options, NULL, "other"}, {0}};
    assert_int_equal(options_read(tables, 1, argv, &operands, &fault), -EINVAL);
    assert_string_equal(fault.text,
                        "unknown option --flag: `other` takes it, this command does not");
}

static void breaks_long_lines_between_words(void **state)
{
    (void)state;
    char text[1024] = {0};
    FILE *stream = fmemopen(text, sizeof(text), "w");
    assert_non_null(stream);
    options_print_words("one", 4, stream);
    options_print_words("12345678901234567890 1234567890123456 x "
                        "a-word-that-is-longer-than-the-line",
                        40, stream);
    options_print_words("", 4, stream);
    fclose(stream);
    assert_string_equal(text, "one\n"
                              "12345678901234567890 1234567890123456 x\n"
                              "                                        "
                              "a-word-that-is-longer-than-the-line\n"
                              "\n");
}

static void prints_a_table(void **state)
{
    (void)state;
    char text[1024] = {0};
    FILE *stream = fmemopen(text, sizeof(text), "w");
    assert_non_null(stream);
    options_print(options, stream);
    options_print(more_options, stream);
    options_print_common(stream);
    fclose(stream);
    assert_string_equal(text, "  --name NAME                 a name\n"
                              "  --flag                      a flag\n"
                              "                              of two lines\n"
                              "  --help                      this text\n"
                              "  --version                   the version\n");
}

static void the_nearest_word_is_offered(void **state)
{
    (void)state;
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"rnu", "run"},     {"serv", "serve"},  {"imagse", "images"},
                 {"ftech", "fetch"}, {"imag", "images"}, {"xyz", NULL},
                 {"", NULL},         {"run", "run"},     {"r", NULL}};
    static const char *const words[] = {"serve", "run", "fetch", "images"};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct spelling spelling = spelling_of(cases[i].word);
        for (size_t j = 0; j < ARRAY_LENGTH(words); j++)
            spelling_offer(&spelling, words[j]);
        if (cases[i].nearest == NULL)
            assert_null(spelling.nearest);
        else
            assert_string_equal(spelling.nearest, cases[i].nearest);
    }
}

static void long_words_are_near_to_nothing(void **state)
{
    (void)state;
    char word[4096];
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    struct spelling spelling = spelling_of(word);
    spelling_offer(&spelling, "serve");
    assert_null(spelling.nearest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_values_in_both_forms),
        cmocka_unit_test(values_may_look_like_options_or_be_empty),
        cmocka_unit_test(operands_are_moved_to_the_front_in_order),
        cmocka_unit_test(the_first_operand_may_end_the_options),
        cmocka_unit_test(help_and_version_are_known_everywhere),
        cmocka_unit_test(faults_name_the_argument_and_what_would_be_right),
        cmocka_unit_test(names_the_command_that_has_the_option),
        cmocka_unit_test(breaks_long_lines_between_words),
        cmocka_unit_test(prints_a_table),
        cmocka_unit_test(the_nearest_word_is_offered),
        cmocka_unit_test(long_words_are_near_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
