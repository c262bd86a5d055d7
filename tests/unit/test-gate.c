#include "tests/unit/gate-check.h"
#include "tests/unit/hello.h"

/* A client with early data, whose server answers in pieces; then its second hello. */
static struct outcome second_hello(const struct policy *policy, bool is_retry, const char *name,
                                   size_t piece)
{
    static uint8_t bytes[MESSAGE_MAX];
    static const uint8_t early[] = {20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 3, 'x', 'y', 'z'};
    uint8_t answer[200];
    OWNED_MEMORY struct gate *gate = gate_new(policy, "good.example", 443);
    struct outcome outcome = {0};
    size_t first = put_hello(bytes, &(struct hello){0});
    memcpy(bytes + first, early, sizeof(early));
    offer(gate, bytes, first + sizeof(early), &outcome);
    assert_int_equal(outcome.passed, first);
    assert_int_equal(gate->stage, GATE_ANSWER);
    size_t length = put_answer(answer, is_retry);
    for (size_t at = 0; at < length; at += piece)
        assert_true(gate_hear(gate, answer + at, piece < length - at ? piece : length - at));
    outcome = (struct outcome){0};
    size_t second = put_hello(bytes, &(struct hello){.name = name, .is_nameless = name == NULL});
    offer(gate, bytes, second, &outcome);
    free(gate->bytes);
    return outcome;
}

static void second_hello_is_judged_where_the_server_wants_one(void **state)
{
    struct fixture *fixture = *state;
    const struct policy *policy = &fixture->policy;
    for (size_t piece = 1; piece < 70; piece += 17) {
        assert_int_equal(second_hello(policy, true, "good.example", piece).verdict, GATE_PASSES);
        assert_int_equal(second_hello(policy, true, "evil.example", piece).reason,
                         REFUSAL_NAME_MISMATCH);
        assert_int_equal(second_hello(policy, true, NULL, piece).reason, REFUSAL_PROTOCOL);
        assert_int_equal(second_hello(policy, false, "evil.example", piece).verdict, GATE_PASSES);
    }
}

static void warning_of_the_server_precedes_its_answer(void **state)
{
    struct fixture *fixture = *state;
    uint8_t bytes[400];
    uint8_t answer[200] = {21, 3, 3, 0, 2, 1, 112};
    OWNED_MEMORY struct gate *gate = gate_new(&fixture->policy, "good.example", 443);
    struct outcome outcome = {0};
    offer(gate, bytes, put_hello(bytes, &(struct hello){0}), &outcome);
    size_t length = put_answer(answer + 7, true) + 7;
    for (size_t i = 0; i < length && gate->stage == GATE_ANSWER; i++)
        gate_hear(gate, answer + i, 1);
    assert_int_equal(gate->stage, GATE_RETRY);
    free(gate->bytes);
}

static void server_that_speaks_first_is_not_heard(void **state)
{
    struct fixture *fixture = *state;
    static const char head[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
    OWNED_MEMORY struct gate *gate = gate_new(&fixture->policy, "good.example", 80);
    struct outcome outcome = {0};
    assert_false(gate_hear(gate, (const uint8_t *)"x", 1));
    offer(gate, (const uint8_t *)head, 20, &outcome);
    assert_true(gate_is_stuck(gate));
    assert_false(gate_hear(gate, (const uint8_t *)"x", 1));
    offer(gate, (const uint8_t *)head + 20, strlen(head) - 20, &outcome);
    assert_false(gate_is_stuck(gate));
    assert_true(gate_hear(gate, (const uint8_t *)"x", 1));
    free(gate->bytes);
}

struct tunnel_case {
    const char *text;
    enum gate_verdict verdict;
    enum refusal reason;
};

/* What follows a CONNECT request is for the host that it names. */
static const struct tunnel_case tunnel_cases[] = {
    {"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n", GATE_WAITS, 0},
    {"CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n", GATE_WAITS, 0},
    {"CONNECT other.example:443 HTTP/1.0\r\n\r\n"
     "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n",
     GATE_PASSES, 0},
    {"CONNECT other.example:443 HTTP/1.0\r\n\r\n"
     "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
     GATE_REFUSES, REFUSAL_NAME_MISMATCH},
    {"CONNECT other.example:443 HTTP/1.0\r\n\r\n"
     "GET / HTTP/1.1\r\nHost: proxy.example:80\r\n\r\n",
     GATE_REFUSES, REFUSAL_NAME_MISMATCH},
    {"CONNECT other.example:443 HTTP/1.0\r\n\r\nSSH-2.0-x\r\n", GATE_REFUSES, REFUSAL_PROTOCOL},
    {"CONNECT other.example:443 HTTP/1.0\r\n\r\n"
     "CONNECT other.example:443 HTTP/1.0\r\n\r\n"
     "CONNECT good.example:443 HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
     GATE_PASSES, 0},
};

/* Whether what the client sends with its request for a tunnel waits until the proxy has answered so. */
static void check_proxy(const struct policy *policy, const char *answer, bool is_whole,
                        size_t piece)
{
    static const char request[] = "CONNECT good.example:443 HTTP/1.0\r\n\r\n";
    uint8_t bytes[MESSAGE_MAX];
    size_t request_length = strlen(request);
    size_t length = strlen(answer);
    size_t passed = 0;
    struct gate_refusal refusal;
    OWNED_MEMORY struct gate *gate = gate_new(policy, "proxy.example", 80);
    memcpy(bytes, request, request_length);
    size_t size = request_length + put_hello(bytes + request_length, &(struct hello){0});
    assert_int_equal(gate_reserve(gate, &passed), 0);
    memcpy(gate->bytes, bytes, size);
    gate->length = size;
    assert_int_equal(gate_judge(gate, &passed, &refusal), GATE_PASSES);
    assert_int_equal(passed, request_length);
    gate_drop(gate, passed);
    for (size_t at = 0; at < length; at += piece) {
        assert_int_equal(gate_judge(gate, &passed, &refusal), GATE_WAITS);
        assert_true(gate_awaits_server(gate) && !gate_is_stuck(gate));
        assert_true(gate_hear(gate, (const uint8_t *)answer + at,
                              piece < length - at ? piece : length - at));
    }
    assert_int_equal(gate_judge(gate, &passed, &refusal), is_whole ? GATE_PASSES : GATE_WAITS);
    assert_int_equal(gate->stage, is_whole ? GATE_ANSWER : GATE_TUNNEL);
    free(gate->bytes);
}

static void answer_of_the_proxy_is_not_the_servers(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *answer;
        bool is_whole;
    } cases[] = {
        {PROXY_AGREES, true},
        {"HTTP/1.1 200 OK\nVia: x\n\n", true},
        {"HTTP/1.1 100 Continue\r\n\r\n" PROXY_AGREES, true},
        {"HTTP/1.1 100 Continue\r\n\r\n", false},
        {"HTTP/1.1 200 OK\r\nVia: x\r\n", false},
        {"\r\n\r\n", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        check_proxy(&fixture->policy, cases[i].answer, cases[i].is_whole, 1);
        check_proxy(&fixture->policy, cases[i].answer, cases[i].is_whole, SIZE_MAX / 2);
    }
}

static void head_of_the_proxy_is_bounded(void **state)
{
    struct fixture *fixture = *state;
    OWNED_MEMORY struct gate *gate = gate_new(&fixture->policy, "good.example", 443);
    gate->stage = GATE_TUNNEL;
    for (size_t i = 0; i < 8192; i++)
        assert_true(gate_hear(gate, (const uint8_t *)"x", 1));
    assert_false(gate_hear(gate, (const uint8_t *)"x", 1));
}

static void tunnels_are_asked_for_a_few_times(void **state)
{
    struct fixture *fixture = *state;
    static const char head[] = "CONNECT good.example:443 HTTP/1.0\r\n\r\n";
    char text[20 * sizeof(head)] = "";
    for (int i = 0; i < 20; i++)
        strcat(text, head);
    struct outcome found = outcome_of(&fixture->policy, "proxy.example", 80, (uint8_t *)text,
                                      strlen(text), strlen(text), 1);
    assert_int_equal(found.reason, REFUSAL_PROTOCOL);
    assert_true(found.passed < 10 * strlen(head));
}

/* A server goes by the port of the connection, whatever is named. */
static void port_of_the_connection_counts(void **state)
{
    (void)state;
    static const char head[] = "GET / HTTP/1.1\r\nHost: evil.example:8443\r\n\r\n";
    const struct outcome evil = EVIL;
    OWNED(policy_release) struct policy on = POLICY_OFF;
    OWNED(policy_release) struct policy allow = POLICY_OFF;
    on.mode = NETWORK_ON;
    allow.mode = NETWORK_ALLOW;
    assert_int_equal(policy_add(&on, RULES_DENY, "evil.example:443", NULL), 0);
    assert_int_equal(policy_add(&on, RULES_DENY, "evil.example:80", NULL), 0);
    assert_int_equal(policy_add(&allow, RULES_ALLOW, "evil.example:8443", NULL), 0);
    check_ways(&on, "good.example", (const uint8_t *)head, strlen(head), &evil);
    check_ways(&allow, "good.example", (const uint8_t *)head, strlen(head), &evil);
}

static void tunnel_leads_to_allowed_hosts_alone(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(tunnel_cases); i++) {
        const struct tunnel_case *row = &tunnel_cases[i];
        size_t length = strlen(row->text);
        for (size_t first = 1; first <= length; first++) {
            struct outcome found = outcome_of(&fixture->policy, "proxy.example", 80,
                                              (const uint8_t *)row->text, length, first, 1);
            if (found.verdict != row->verdict || found.reason != row->reason)
                fail_msg("%s: %d %d", row->text, (int)found.verdict, (int)found.reason);
        }
    }
}

static void address_need_not_be_named(void **state)
{
    (void)state;
    static const struct head_case cases[] = {
        {"GET / HTTP/1.0\r\n\r\n", PASSES},
        {"GET / HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n", PASSES},
        {"GET / HTTP/1.1\r\nHost: fine.example\r\n\r\n", PASSES},
        {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", EVIL},
    };
    OWNED(policy_release) struct policy policy = POLICY_OFF;
    uint8_t bytes[400];
    assert_int_equal(policy_add(&policy, RULES_ALLOW, "192.0.2.7", NULL), 0);
    assert_int_equal(policy_add(&policy, RULES_DENY, "evil.example", NULL), 0);
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(cases); i++) {
        const struct head_case *row = &cases[i / 2];
        policy.mode = i % 2 == 0 ? NETWORK_ON : NETWORK_ALLOW;
        check_ways(&policy, "192.0.2.7", (const uint8_t *)row->text, strlen(row->text),
                   &row->expected);
    }
    const struct outcome passes = PASSES;
    const struct outcome evil = EVIL;
    check_ways(&policy, "192.0.2.7", bytes, put_hello(bytes, &(struct hello){.is_nameless = true}),
               &passes);
    check_ways(&policy, "192.0.2.7", bytes,
               put_hello(bytes, &(struct hello){.name = "evil.example"}), &evil);
}

static void gate_is_where_names_are_limited(void **state)
{
    struct fixture *fixture = *state;
    OWNED(policy_release) struct policy on = POLICY_OFF;
    on.mode = NETWORK_ON;
    assert_true(gate_is_needed(&fixture->policy, true, 80));
    assert_true(gate_is_needed(&fixture->policy, true, 443));
    assert_false(gate_is_needed(&fixture->policy, true, 8080));
    assert_false(gate_is_needed(&fixture->policy, false, 443));
    assert_int_equal(policy_add(&on, RULES_DENY, "192.0.2.0/24", NULL), 0);
    assert_false(gate_is_needed(&on, true, 443));
    assert_int_equal(policy_add(&on, RULES_DENY, "evil.example:22", NULL), 0);
    assert_true(gate_is_needed(&on, true, 443));
    assert_true(gate_is_needed(&on, false, 80));
    assert_false(gate_is_needed(&on, true, 22));
    on.mode = NETWORK_ALLOW;
    assert_true(gate_is_needed(&on, false, 80));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_hello_is_judged_where_the_server_wants_one),
        cmocka_unit_test(warning_of_the_server_precedes_its_answer),
        cmocka_unit_test(server_that_speaks_first_is_not_heard),
        cmocka_unit_test(tunnel_leads_to_allowed_hosts_alone),
        cmocka_unit_test(answer_of_the_proxy_is_not_the_servers),
        cmocka_unit_test(head_of_the_proxy_is_bounded),
        cmocka_unit_test(tunnels_are_asked_for_a_few_times),
        cmocka_unit_test(port_of_the_connection_counts),
        cmocka_unit_test(address_need_not_be_named),
        cmocka_unit_test(gate_is_where_names_are_limited),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
