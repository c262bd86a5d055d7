/*
 * Answers of DNS servers: the first byte is the length of a question, then the question, then the answer. What
 * is adopted fits, repeats the question, and is adopted again as it is.
 */
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_answer.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_adopted(const struct dns_question *question, const struct dns_adopted *adopted)
{
    struct dns_adopted again;
    FUZZ_CHECK(adopted->length >= DNS_HEADER_SIZE + question->wire_length);
    FUZZ_CHECK(adopted->length <= question->size_max);
    FUZZ_CHECK(memcmp(adopted->bytes + DNS_HEADER_SIZE, question->wire, question->wire_length) ==
               0);
    FUZZ_CHECK(adopted->bytes[8] == 0 && adopted->bytes[9] == 0 && adopted->bytes[10] == 0);
    FUZZ_CHECK(adopted->bytes[11] == question->has_edns);
    FUZZ_CHECK(adopted->aliases.count <= NAME_ALIASES_MAX);
    FUZZ_CHECK(dns_answer_adopt(question, adopted->bytes, adopted->length, &again) == DNS_ADOPTED);
    FUZZ_CHECK(again.length == adopted->length);
    FUZZ_CHECK(memcmp(again.bytes, adopted->bytes, again.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question;
    struct dns_adopted adopted;
    if (size == 0 || size - 1 < data[0])
        return 0;
    const uint8_t *answer = data + 1 + data[0];
    if (dns_question_read(data + 1, data[0], &question) != DNS_QUESTION)
        return 0;
    enum dns_adoption adoption = dns_answer_adopt(&question, answer, size - 1 - data[0], &adopted);
    if (adoption == DNS_ADOPTED)
        check_adopted(&question, &adopted);
    question.size_max = DNS_MESSAGE_MAX;
    if (adoption == DNS_CUT &&
        dns_answer_adopt(&question, answer, size - 1 - data[0], &adopted) == DNS_ADOPTED)
        check_adopted(&question, &adopted);
    return 0;
}
