#include "sandbox/base/fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void keeps_the_first_cause(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_int_equal(fault_set(&fault, ENOENT, "cannot open %s: %m", "/x"), -ENOENT);
    assert_string_equal(fault.text, "cannot open /x: No such file or directory");
    assert_int_equal(fault_set(&fault, EIO, "later"), -EIO);
    assert_string_equal(fault.text, "cannot open /x: No such file or directory");
}

static void puts_context_in_front(void **state)
{
    (void)state;
    struct fault fault = {0};
    fault_set(&fault, EINVAL, "bad name");
    fault_prefix(&fault, "image %s", "py");
    assert_string_equal(fault.text, "image py: bad name");
}

static void cuts_a_text_that_is_too_long(void **state)
{
    (void)state;
    struct fault fault = {0};
    char text[2 * FAULT_TEXT_MAX];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    fault_set(&fault, EINVAL, "%s", text);
    assert_int_equal(strlen(fault.text), FAULT_TEXT_MAX - 1);
    fault_prefix(&fault, "%s", text);
    assert_int_equal(strlen(fault.text), FAULT_TEXT_MAX - 1);
}

static void speaks_to_no_terminal(void **state)
{
    (void)state;
    struct fault fault = {0};
    fault_set(&fault, EINVAL, "bad name %s,\nor other", "\x1b[31m\xc2\x9b;\xc3\xa4");
    assert_string_equal(fault.text, "bad name ?[31m??;\xc3\xa4,\nor other");
    fault_prefix(&fault, "\x9b;%s", "\x7f");
    assert_string_equal(fault.text, "?;?: bad name ?[31m??;\xc3\xa4,\nor other");
}

static void says_what_to_do_without_descriptors(void **state)
{
    (void)state;
    struct fault fault = {0};
    fault_set(&fault, EMFILE, "cannot open %s: %m", "/x");
    assert_string_equal(fault.text, "cannot open /x: Too many open files; raise `ulimit -n`");
    struct fault outer = {0};
    fault_set(&outer, EMFILE, "no image: %s", fault.text);
    assert_string_equal(outer.text,
                        "no image: cannot open /x: Too many open files; raise `ulimit -n`");
    struct fault of_all = {""};
    fault_set(&of_all, ENFILE, "cannot open %s: %m", "/x");
    assert_non_null(strstr(of_all.text, "/proc/sys/fs/file-max"));
}

static void works_without_a_place_for_the_text(void **state)
{
    (void)state;
    assert_int_equal(fault_set(NULL, EPERM, "nobody listens"), -EPERM);
    fault_prefix(NULL, "nobody");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_first_cause),
        cmocka_unit_test(puts_context_in_front),
        cmocka_unit_test(cuts_a_text_that_is_too_long),
        cmocka_unit_test(speaks_to_no_terminal),
        cmocka_unit_test(says_what_to_do_without_descriptors),
        cmocka_unit_test(works_without_a_place_for_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
