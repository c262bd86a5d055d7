/* Proxies: their answers, and their addresses: any text. */
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/proxy_talk.h"
#include "sandbox/network/policy.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_answer(const char *bytes, size_t length)
{
    size_t head = 0;
    size_t again = 0;
    enum proxy_result result = proxy_answer_read(bytes, length, &head);
    if (result != PROXY_CONNECTED)
        return;
    FUZZ_CHECK(head <= length && memcmp(bytes + head - 4, "\r\n\r\n", 4) == 0);
    FUZZ_CHECK(proxy_answer_read(bytes, head, &again) == PROXY_CONNECTED && again == head);
    FUZZ_CHECK(proxy_answer_read(bytes, head - 1, &again) == PROXY_INCOMPLETE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    OWNED_MEMORY char *text = fuzz_rest(&input);
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    OWNED(policy_release) struct policy again = POLICY_OFF;
    OWNED(buffer_release) struct buffer written = BUFFER(POLICY_TEXT_MAX);
    struct fault fault = {0};
    check_answer((const char *)data, size);
    int r = proxy_read(text, &policy.proxy, &fault);
    fuzz_check_fault(r, &fault);
    if (r < 0)
        return 0;
    FUZZ_CHECK(policy_write(&policy, &written) == 0);
    FUZZ_CHECK(policy_read(written.data, written.length, &again) == 0);
    FUZZ_CHECK(strcmp(again.proxy.host, policy.proxy.host) == 0);
    FUZZ_CHECK(strcmp(again.proxy.login, policy.proxy.login) == 0);
    FUZZ_CHECK(again.proxy.port == policy.proxy.port);
    return 0;
}
