#include "sandbox/base/owned.h"
#include "sandbox/scope/dbus_message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) (text), sizeof(text) - 1

/* An error "a.B" with the text "no", for the call 7. */
#define FIELDS                                                                                     \
    "\5\1u\0\7\0\0\0"                                                                              \
    "\4\1s\0\3\0\0\0a.B\0\0\0\0\0"                                                                 \
    "\10\1g\0\1s\0\0"
#define BODY "\2\0\0\0no\0"
#define ERROR_HEADER "l\3\0\1\7\0\0\0\1\0\0\0\37\0\0\0"
#define ERROR_MESSAGE ERROR_HEADER FIELDS BODY

static void a_call_is_written_as_the_specification_has_it(void **state)
{
    (void)state;
    static const struct dbus_call call = {7, "d.D", "/p", "i.I", "M", "s"};
    static const char expected[] = "l\1\0\1\7\0\0\0\7\0\0\0\107\0\0\0"
                                   "\1\1o\0\2\0\0\0/p\0\0\0\0\0\0"
                                   "\6\1s\0\3\0\0\0d.D\0\0\0\0\0"
                                   "\2\1s\0\3\0\0\0i.I\0\0\0\0\0"
                                   "\3\1s\0\1\0\0\0M\0\0\0\0\0\0\0"
                                   "\10\1g\0\1s\0\0"
                                   "\2\0\0\0no";
    OWNED(dbus_writer_release) struct dbus_writer body = DBUS_WRITER;
    OWNED(dbus_writer_release) struct dbus_writer message = DBUS_WRITER;
    dbus_put_string(&body, "no");
    assert_int_equal(dbus_call_write(&call, &body, &message), 0);
    size_t length = 0;
    assert_int_equal(dbus_message_length(message.bytes.data, &length), 0);
    assert_int_equal(length, message.bytes.length);
    assert_int_equal(message.bytes.length, sizeof(expected));
    assert_memory_equal(message.bytes.data, expected, sizeof(expected));
}

static void an_array_counts_its_elements_without_the_padding_before_them(void **state)
{
    (void)state;
    OWNED(dbus_writer_release) struct dbus_writer writer = DBUS_WRITER;
    dbus_put_number(&writer, 1);
    dbus_put_number(&writer, 2);
    size_t begin = dbus_begin_array(&writer);
    dbus_begin_structure(&writer);
    dbus_put_string(&writer, "x");
    dbus_end_array(&writer, begin);
    begin = dbus_begin_array(&writer);
    dbus_end_array(&writer, begin);
    static const char expected[] = "\1\0\0\0\2\0\0\0\6\0\0\0\0\0\0\0\1\0\0\0x\0\0\0\0\0\0\0\0\0\0";
    assert_int_equal(writer.error, 0);
    assert_int_equal(writer.bytes.length, sizeof(expected));
    assert_memory_equal(writer.bytes.data, expected, sizeof(expected));
}

static void a_writer_stops_at_its_maximum(void **state)
{
    (void)state;
    static const struct dbus_call call = {1, "d.D", "/p", "i.I", "M", "s"};
    OWNED(dbus_writer_release) struct dbus_writer body = {.bytes = BUFFER(10)};
    OWNED(dbus_writer_release) struct dbus_writer message = DBUS_WRITER;
    dbus_put_string(&body, "longer than this");
    dbus_put_number(&body, 1);
    assert_int_equal(body.error, -ENOBUFS);
    assert_int_equal(body.bytes.length, 4);
    assert_int_equal(dbus_call_write(&call, &body, &message), -ENOBUFS);
}

static void an_error_is_read_with_its_name_and_text(void **state)
{
    (void)state;
    struct dbus_answer answer;
    assert_int_equal(dbus_answer_read(BYTES(ERROR_MESSAGE), &answer), 0);
    assert_int_equal(answer.type, DBUS_ERROR);
    assert_int_equal(answer.reply_serial, 7);
    assert_string_equal(answer.error_name, "a.B");
    assert_string_equal(answer.error_text, "no");
}

static void other_messages_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        char type;
        enum dbus_type expected;
    } cases[] = {
        {1, DBUS_OTHER}, {2, DBUS_RETURN}, {3, DBUS_ERROR}, {4, DBUS_OTHER}, {9, DBUS_OTHER}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char message[] = ERROR_MESSAGE;
        struct dbus_answer answer;
        message[1] = cases[i].type;
        assert_int_equal(dbus_answer_read(message, sizeof(message) - 1, &answer), 0);
        assert_int_equal(answer.type, cases[i].expected);
        assert_string_equal(answer.error_name, cases[i].expected == DBUS_ERROR ? "a.B" : "");
        assert_string_equal(answer.error_text, cases[i].expected == DBUS_ERROR ? "no" : "");
    }
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        char byte;
    } cases[] = {
        {0, 'B'},   /* of another byte order */
        {3, 2},     /* of another version */
        {4, 8},     /* longer than it is */
        {7, 1},     /* far above the maximum */
        {12, 30},   /* a field is cut off */
        {15, 1},    /* fields far above the maximum */
        {17, 2},    /* a type of two letters, cut off */
        {18, 'x'},  /* of a type that is not known */
        {19, 'y'},  /* a type that does not end */
        {28, 2},    /* text after its end */
        {28, 4},    /* text that does not end where it says */
        {29, 1},    /* text beyond the message */
        {48, 9},    /* the same in the body */
        {54, 'x'},  /* text of the body without an end */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char message[] = ERROR_MESSAGE;
        struct dbus_answer answer;
        message[cases[i].at] = cases[i].byte;
        assert_int_equal(dbus_answer_read(message, sizeof(message) - 1, &answer), -EBADMSG);
    }
    for (size_t length = 0; length < sizeof(ERROR_MESSAGE) - 1; length++) {
        struct dbus_answer answer;
        assert_int_equal(dbus_answer_read(ERROR_MESSAGE, length, &answer), -EBADMSG);
    }
}

static void a_long_text_is_cut(void **state)
{
    (void)state;
    static const char header[] = "l\3\0\1\375\1\0\0\1\0\0\0\37\0\0\0" FIELDS "\370\1\0\0";
    char message[sizeof(header) - 1 + 505] = "";
    struct dbus_answer answer;
    memcpy(message, header, sizeof(header) - 1);
    memset(message + sizeof(header) - 1, 'x', 504);
    assert_int_equal(dbus_answer_read(message, sizeof(message), &answer), 0);
    assert_int_equal(strlen(answer.error_text), DBUS_NAME_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_written_as_the_specification_has_it),
        cmocka_unit_test(an_array_counts_its_elements_without_the_padding_before_them),
        cmocka_unit_test(a_writer_stops_at_its_maximum),
        cmocka_unit_test(an_error_is_read_with_its_name_and_text),
        cmocka_unit_test(other_messages_are_told_apart),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(a_long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
