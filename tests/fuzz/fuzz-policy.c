/* Rules of the network: any text. What is accepted is read again as the same, and decides the same. */
#include "sandbox/base/owned.h"
#include "sandbox/network/policy.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_same(const struct policy *one, const struct policy *other)
{
    static const char *const names[] = {"example.org", "a.example.org", "b.a.example.org",
                                        "localhost", "x"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        for (uint16_t port = 79; port < 82; port++)
            FUZZ_CHECK(policy_judge_host(one, names[i], port).refusal ==
                       policy_judge_host(other, names[i], port).refusal);
    }
    for (uint32_t i = 0; i < 16; i++) {
        const struct address address = address_of_ipv4(i * 0x10030201U);
        FUZZ_CHECK(policy_judge_address(one, false, &address, 80).refusal ==
                   policy_judge_address(other, false, &address, 80).refusal);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    OWNED(policy_release) struct policy read = POLICY_OFF;
    policy_read((const char *)data, size, &read);
    for (size_t list = 0; list < RULE_LISTS; list++) {
        OWNED(policy_release) struct policy policy = POLICY_OFF;
        OWNED(policy_release) struct policy again = POLICY_OFF;
        OWNED(buffer_release) struct buffer written = BUFFER(POLICY_TEXT_MAX);
        struct fault fault = {0};
        policy.mode = NETWORK_ALLOW;
        int r = policy_add(&policy, (enum rule_list)list, text, &fault);
        fuzz_check_fault(r, &fault);
        FUZZ_CHECK(policy.rules[list].count == (r == 0 ? 1U : 0U));
        FUZZ_CHECK(policy_write(&policy, &written) == 0);
        FUZZ_CHECK(policy_read(written.data, written.length, &again) == 0);
        FUZZ_CHECK(again.rules[list].count == policy.rules[list].count);
        if (r == 0)
            check_same(&policy, &again);
    }
    return 0;
}
