#include "sandbox/network/broker/dns_answer.h"
#include "sandbox/network/broker/dns_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t asked[] = {0x12, 0x34, 1, 0,   0, 1, 0,       0, 0,           0,
                                0,    0,    1, 'a', 0, 0, DNS_TXT, 0, DNS_CLASS_IN};

static size_t put16(uint8_t *bytes, size_t at, unsigned value)
{
    dns_put16(bytes + at, value);
    return at + 2;
}

/*
 * An answer with two records: data of a type that is not read, full of pointers, each to the one before it,
 * and a text whose owner is at the last of them: the name that was asked for.
 */
static size_t put_answer(uint8_t *bytes, size_t pointers)
{
    size_t at = sizeof(asked);
    unsigned target = DNS_HEADER_SIZE;
    memcpy(bytes, asked, sizeof(asked));
    put16(bytes, 2, DNS_FLAG_ANSWER);
    put16(bytes, 6, 2);
    for (int i = 0; i < 2; i++) {
        at = put16(bytes, at, DNS_POINTER << 8 | target);
        at = put16(bytes, at, i == 0 ? 99 : DNS_TXT);
        at = put16(bytes, at, DNS_CLASS_IN);
        at = put16(bytes, put16(bytes, at, 0), 300);
        at = put16(bytes, at, i == 0 ? (unsigned)(2 * (pointers - 1)) : 2);
        for (size_t k = 1; i == 0 && k < pointers; k++) {
            unsigned here = (unsigned)at;
            at = put16(bytes, at, DNS_POINTER << 8 | target);
            target = here;
        }
    }
    bytes[at] = 1;
    bytes[at + 1] = 'x';
    return at + 2;
}

static void name_has_few_pointers(void **state)
{
    (void)state;
    struct dns_question question;
    struct dns_adopted adopted;
    uint8_t bytes[DNS_MESSAGE_MAX];
    assert_int_equal(dns_question_read(asked, sizeof(asked), &question), DNS_QUESTION);
    size_t length = put_answer(bytes, 64);
    assert_int_equal(dns_answer_adopt(&question, bytes, length, &adopted), DNS_ADOPTED);
    assert_int_equal(adopted.bytes[7], 1);
    length = put_answer(bytes, 65);
    assert_int_equal(dns_answer_adopt(&question, bytes, length, &adopted), DNS_UNUSABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_has_few_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
