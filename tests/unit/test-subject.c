#include "fleet/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef"

static void reads_what_it_writes(void **state)
{
    (void)state;
    const struct call_address written = {"python-0123456789ab", "alice", ID, 42};
    struct call_address read;
    char subject[WIRE_SUBJECT_SIZE];
    subject_write_call(WIRE_RUN, "default", &written, subject);
    assert_string_equal(subject, "csm.run.default.python-0123456789ab.alice." ID ".42");
    assert_true(subject_read_call(subject, WIRE_RUN, "default", &read));
    assert_string_equal(read.front, "alice");
    assert_string_equal(read.environment, "python-0123456789ab");
    assert_string_equal(read.instance, ID);
    assert_int_equal(read.number, 42);
    subject_write_front("default", &read, subject);
    assert_string_equal(subject, "csm.front.default.alice." ID ".42");
    assert_int_equal(subject_read_number(subject, "csm.front.default.alice." ID), 42);
}

static void reads_answers(void **state)
{
    (void)state;
    const struct question_address written = {"bob", ID, 3, 7};
    struct question_address read;
    char subject[WIRE_SUBJECT_SIZE];
    subject_write_question("default", &written, subject);
    assert_string_equal(subject, "csm.worker.default.bob." ID ".3.7");
    assert_true(subject_read_question(subject, "default", &read));
    assert_string_equal(read.front, "bob");
    assert_string_equal(read.worker, ID);
    assert_int_equal(read.call, 3);
    assert_int_equal(read.question, 7);
}

static void refuses_any_other_subject(void **state)
{
    (void)state;
    static const char *const subjects[] = {
        "",
        "csm",
        "csm.run.default",
        "csm.run.default.x.alice." ID,
        "csm.run.default.x.alice." ID ".",
        "csm.run.default.x.alice." ID ".0",
        "csm.run.default.x.alice." ID ".01",
        "csm.run.default.x.alice." ID ".1.",
        "csm.run.default.x.alice." ID ".1.2",
        "csm.run.default.x.alice." ID ".-1",
        "csm.run.default.x.alice." ID ".+1",
        "csm.run.default.x.alice." ID ".1x",
        "csm.run.default.x.alice." ID ".18446744073709551617",
        "csm.run.default.x.alice.0123.1",
        "csm.run.default.x.alice." ID "0.1",
        "csm.run.default.x.alice.0123456789ABCDEF0123456789ABCDEF.1",
        "csm.run.default.x.*." ID ".1",
        "csm.run.default.x.>." ID ".1",
        "csm.run.default..alice." ID ".1",
        "csm.run.default.x.al ice." ID ".1",
        "csm.run.default.x.al\xc3\xa9." ID ".1",
        "csm.run.defaults.x.alice." ID ".1",
        "csm.run.other.x.alice." ID ".1",
        "csm.who.default.x.alice." ID ".1",
        "csm.run.default.x."
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa." ID ".1",
        " csm.run.default.x.alice." ID ".1",
        "xcsm.run.default.x.alice." ID ".1",
    };
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        struct call_address address;
        if (subject_read_call(subjects[i], WIRE_RUN, "default", &address))
            fail_msg("%s is taken for a call", subjects[i]);
    }
}

static void names_are_different(void **state)
{
    (void)state;
    char one[SUBJECT_ID_SIZE], other[SUBJECT_ID_SIZE];
    assert_int_equal(subject_make_id(one), 0);
    assert_int_equal(subject_make_id(other), 0);
    assert_int_equal(strlen(one), SUBJECT_ID_SIZE - 1);
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_answers),
        cmocka_unit_test(refuses_any_other_subject),
        cmocka_unit_test(names_are_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
