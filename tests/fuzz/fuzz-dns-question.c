/* Questions of DNS: any datagram; and the answers to it, which fit, repeat the question, and are answers. */
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_message.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_answer(const struct dns_question *question, const uint8_t *answer, size_t length)
{
    FUZZ_CHECK(length >= DNS_HEADER_SIZE + question->wire_length && length <= DNS_MESSAGE_MAX);
    FUZZ_CHECK(answer[0] == question->id >> 8 && answer[1] == (question->id & 0xff));
    FUZZ_CHECK(memcmp(answer + DNS_HEADER_SIZE, question->wire, question->wire_length) == 0);
}

static void check_written(const struct dns_question *question)
{
    uint32_t ipv4[64];
    uint8_t bytes[DNS_MESSAGE_MAX];
    memset(ipv4, 7, sizeof(ipv4));
    for (size_t count = 0; count <= ARRAY_LENGTH(ipv4); count += 16) {
        const struct dns_answer answer = {
            .rcode = count == 0 ? DNS_NO_NAME : DNS_OK,
            .is_prohibited = count == 0,
            .ttl = 60,
            .ipv4 = ipv4,
            .count = count,
        };
        size_t length = dns_answer_write(question, &answer, bytes);
        check_answer(question, bytes, length);
        FUZZ_CHECK(length <= DNS_PLAIN_MAX && (bytes[2] & 0x80) != 0);
        FUZZ_CHECK((size_t)bytes[7] <= count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question;
    char again[HOST_NAME_SIZE];
    enum dns_reading reading = dns_question_read(data, size, &question);
    if (reading == DNS_NOTHING)
        return 0;
    FUZZ_CHECK(question.wire_length <= DNS_QUESTION_MAX && question.size_max <= DNS_MESSAGE_MAX);
    check_written(&question);
    if (reading == DNS_QUESTION) {
        FUZZ_CHECK(host_name_read(question.name, strlen(question.name), again));
        FUZZ_CHECK(strcmp(again, question.name) == 0);
    }
    return 0;
}
