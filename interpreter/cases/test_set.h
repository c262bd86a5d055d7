/*
 * Tests of a program: what it is given, and what is expected of it; and how that is judged.
 *
 *     {"tests": [{"stdin": "1 2\n", "expect": "3\n"}, {"args": ["-v"], "exit_code": 2}],
 *      "compare": "tokens", "stop_at_first_failure": true, "parallel": 2}
 *
 * Side: parent.  The JSON comes from a client: untrusted.
 */
#ifndef INTERPRETER_CASES_TEST_SET_H
#define INTERPRETER_CASES_TEST_SET_H

#include "interpreter/input_files.h"
#include "sandbox/base/fault.h"
#include "sandbox/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TESTS_MAX 1000

enum test_comparison {
    COMPARE_TRIMMED, /* apart from white space at the ends of lines, and empty lines at the end */
    COMPARE_EXACT,
    COMPARE_TOKENS, /* apart from the white space between words */
    COMPARE_COUNT
};

/* Everything is borrowed from the JSON of its set but what is owned. */
struct test_case {
    struct run_stdin stdin_source;
    const char **arguments; /* owned; NULL-terminated; NULL: none are given */
    struct input_files files; /* owned */
    const char *expect; /* NULL: any output is right */
    size_t expect_length;
    int exit_code; /* that is right, 0..255 */
};

/* {0}: none is given. */
struct test_set {
    struct json *json; /* owned: a copy */
    struct test_case *list; /* owned */
    size_t count; /* 0: a run is wanted, and no tests */
    enum test_comparison comparison;
    bool stops_at_failure; /* begins no further test after one that fails */
    size_t parallel; /* tests at once; 0: as many as fit */
};

/* The members that are read, up to NULL. */
extern const char *const test_set_members[];

/*
 * Reads the members of an object, of which none need be there. 0; -EINVAL, -E2BIG, -ENOMEM with a fault that names test and
 * member. To be released in either case.
 */
int test_set_read(const struct json_value *object, struct test_set *ret_set, struct fault *fault);
void test_set_release(struct test_set *set);

/* Whether the program did what the test expects of it. */
bool test_case_passed(const struct test_case *test, enum test_comparison comparison,
                      const struct run_result *result);

#endif
