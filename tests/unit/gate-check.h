/* Offers bytes to a gate in every way of cutting them, for its tests. */
#ifndef TESTS_UNIT_GATE_CHECK_H
#define TESTS_UNIT_GATE_CHECK_H

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct policy policy;
};

static inline int set_up(void **state)
{
    static struct fixture fixture;
    static const char *const rules[] = {"good.example", "other.example:443", "*.wild.example",
                                        "proxy.example:80"};
    fixture.policy = POLICY_OFF;
    fixture.policy.mode = NETWORK_ALLOW;
    for (size_t i = 0; i < ARRAY_LENGTH(rules); i++)
        assert_int_equal(policy_add(&fixture.policy, RULES_ALLOW, rules[i], NULL), 0);
    *state = &fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;
    policy_release(&fixture->policy);
    return 0;
}

/* What became of a client's bytes. */
struct outcome {
    enum gate_verdict verdict; /* GATE_PASSES: the gate is open, or waits for the server */
    enum refusal reason;
    char host[HOST_NAME_SIZE];
    size_t passed;
};

#define PROXY_AGREES "HTTP/1.1 200 OK\r\n\r\n"

/* A proxy agrees at once. */
static inline enum gate_verdict judge(struct gate *gate, size_t *ret_length,
                                      struct gate_refusal *ret_refusal)
{
    if (gate->stage == GATE_TUNNEL)
        assert_true(gate_hear(gate, (const uint8_t *)PROXY_AGREES, strlen(PROXY_AGREES)));
    return gate_judge(gate, ret_length, ret_refusal);
}

static inline void offer(struct gate *gate, const uint8_t *bytes, size_t length,
                         struct outcome *outcome)
{
    struct gate_refusal refusal = {0};
    while (length > 0 && outcome->verdict != GATE_REFUSES) {
        size_t room = 0;
        size_t passed = 0;
        assert_int_equal(gate_reserve(gate, &room), 0);
        assert_true(room > 0);
        size_t piece = length < room ? length : room;
        memcpy(gate->bytes + gate->length, bytes, piece);
        gate->length += piece;
        bytes += piece;
        length -= piece;
        enum gate_verdict verdict = judge(gate, &passed, &refusal);
        for (; verdict == GATE_PASSES; verdict = judge(gate, &passed, &refusal)) {
            gate_drop(gate, passed);
            outcome->passed += passed;
        }
        outcome->verdict = verdict;
    }
    if (outcome->verdict == GATE_REFUSES) {
        outcome->reason = refusal.reason;
        snprintf(outcome->host, sizeof(outcome->host), "%s", refusal.host);
    } else if (gate->stage == GATE_OPEN || gate->stage == GATE_ANSWER) {
        outcome->verdict = GATE_PASSES;
    }
}

/* Offers the bytes, `first` of them and then pieces of so many. */
static inline struct outcome outcome_of(const struct policy *policy, const char *host,
                                        uint16_t port, const uint8_t *bytes, size_t length,
                                        size_t first, size_t piece)
{
    OWNED_MEMORY struct gate *gate = gate_new(policy, host, port);
    assert_non_null(gate);
    struct outcome outcome = {0};
    size_t size = first < length ? first : length;
    for (size_t at = 0; at < length; at += size, size = piece) {
        size = size < length - at ? size : length - at;
        if (size == 0)
            continue;
        offer(gate, bytes + at, size, &outcome);
        if (outcome.verdict == GATE_REFUSES || gate->stage == GATE_ANSWER)
            break;
    }
    free(gate->bytes);
    return outcome;
}

static inline void check_ways(const struct policy *policy, const char *host, const uint8_t *bytes,
                              size_t length, const struct outcome *expected)
{
    static const uint16_t ports[] = {80, 443};
    for (size_t p = 0; p < ARRAY_LENGTH(ports); p++) {
        for (size_t first = 0; first < length + 1; first += length > 500 ? 97 : 1) {
            for (size_t piece = 1; piece != 0; piece = piece == 1 && length > 1 ? length : 0) {
                struct outcome found =
                    outcome_of(policy, host, ports[p], bytes, length, first, piece);
                if (found.verdict != expected->verdict || found.reason != expected->reason ||
                    strcmp(found.host, expected->host) != 0)
                    fail_msg("port %u, first %zu, then %zu: %d %d %s for %.*s", ports[p], first,
                             piece, (int)found.verdict, (int)found.reason, found.host, (int)length,
                             bytes);
                if (found.verdict != GATE_PASSES)
                    assert_int_equal(found.passed, 0);
            }
        }
    }
}

#define PASSES {.verdict = GATE_PASSES}
#define WAITS {.verdict = GATE_WAITS}
#define UNKNOWN {.verdict = GATE_REFUSES, .reason = REFUSAL_PROTOCOL, .host = "good.example"}
#define OTHER(name) {.verdict = GATE_REFUSES, .reason = REFUSAL_NAME_MISMATCH, .host = name}
#define EVIL OTHER("evil.example")
#define HOST "Host: good.example\r\n"

struct head_case {
    const char *text;
    struct outcome expected;
};

#endif
