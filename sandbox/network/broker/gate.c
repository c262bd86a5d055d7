#include "sandbox/network/broker/gate.h"

#include "sandbox/network/broker/broker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 4096
#define PROXY_HEAD_MAX 8192 /* with those of status 1xx before it */
#define PROXY_STATUS_AT 9 /* behind "HTTP/1.1 " */
#define TUNNELS_MAX 8 /* requests for one: a proxy may ask for a login first */

static bool is_gated_port(uint16_t port)
{
    return port == PORT_HTTP || port == PORT_HTTPS;
}

bool gate_is_needed(const struct policy *policy, bool by_name, uint16_t port)
{
    if (!is_gated_port(port))
        return false;
    return policy_denies_names(policy) || (by_name && policy->mode != NETWORK_ON);
}

/* The host that the next bytes are for. */
static void set_host(struct gate *gate, const char *host, uint16_t port)
{
    struct address address;
    snprintf(gate->host, sizeof(gate->host), "%s", host);
    gate->port = port;
    gate->is_address = address_parse(host, &address);
}

struct gate *gate_new(const struct policy *policy, const char *host, uint16_t port)
{
    struct gate *gate = calloc(1, sizeof(*gate));
    if (gate == NULL)
        return NULL;
    gate->policy = policy;
    set_host(gate, host, port);
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate != NULL)
        free(gate->bytes);
    free(gate);
}

int gate_reserve(struct gate *gate, size_t *ret_size)
{
    if (gate->length == gate->capacity && gate->capacity < FIRST_BYTES_SIZE) {
        size_t capacity = gate->capacity == 0 ? CAPACITY_FIRST : gate->capacity * 2;
        uint8_t *bytes = realloc(gate->bytes, capacity);
        if (bytes == NULL)
            return -ENOMEM;
        gate->bytes = bytes;
        gate->capacity = capacity;
    }
    *ret_size = gate->capacity - gate->length;
    return 0;
}

/* Judged already at the port of the gate; a proxy may be asked for another one. */
static bool may_reach(const struct gate *gate, const char *host, uint16_t port)
{
    const struct policy *policy = gate->policy;
    struct address address;
    struct policy_verdict verdict;
    if (strcmp(host, gate->host) != 0 || port == gate->port)
        verdict = policy_judge_claim(policy, gate->host, host, port);
    else if (address_parse(host, &address))
        verdict = policy_judge_address(policy, false, &address, port);
    else
        verdict = policy_judge_host(policy, host, port);
    return verdict.refusal == REFUSAL_NONE;
}

/*
 * Whether the client may name this host: its own, or another that it could have connected to. A server goes by
 * the port of the connection, a proxy by the one that is named: both must be allowed.
 */
static bool may_name(const struct gate *gate, const struct first_reader *reader)
{
    if (reader->port != 0 && !may_reach(gate, reader->host, reader->port))
        return false;
    return reader->is_tunnel || may_reach(gate, reader->host, gate->port);
}

/* The hello or head may pass: what comes next? */
static void advance(struct gate *gate)
{
    struct first_reader *reader = &gate->reader;
    gate->has_passed = true;
    if (gate->stage == GATE_FIRST && reader->protocol == FIRST_TLS) {
        gate->stage = GATE_ANSWER;
    } else if (reader->is_tunnel && is_gated_port(reader->port)) {
        gate->tunnels++;
        set_host(gate, reader->host, reader->port);
        *reader = (struct first_reader){0};
        gate->proxy = (struct proxy_head){0};
        gate->stage = GATE_TUNNEL;
    } else {
        gate->stage = GATE_OPEN;
    }
}

static enum gate_verdict refuse(const struct gate *gate, const char *host, enum refusal reason,
                                struct gate_refusal *ret_refusal)
{
    *ret_refusal = (struct gate_refusal){reason, host, gate->port};
    return GATE_REFUSES;
}

static enum gate_verdict judge_first(struct gate *gate, size_t *ret_length,
                                     struct gate_refusal *ret_refusal)
{
    struct first_reader *reader = &gate->reader;
    enum first_bytes found = first_bytes_read(reader, gate->bytes, gate->length);
    if (found == FIRST_INCOMPLETE)
        return GATE_WAITS;
    if (found == FIRST_UNKNOWN || (found == FIRST_NAMELESS && !gate->is_address) ||
        gate->tunnels > TUNNELS_MAX)
        return refuse(gate, gate->host, REFUSAL_PROTOCOL, ret_refusal);
    if (found == FIRST_HOST && !may_name(gate, reader))
        return refuse(gate, reader->host, REFUSAL_NAME_MISMATCH, ret_refusal);
    *ret_length = reader->length;
    advance(gate);
    return GATE_PASSES;
}

enum gate_verdict gate_judge(struct gate *gate, size_t *ret_length,
                             struct gate_refusal *ret_refusal)
{
    if (gate_awaits_server(gate) || gate->length == 0)
        return GATE_WAITS;
    if (gate->stage != GATE_OPEN)
        return judge_first(gate, ret_length, ret_refusal);
    *ret_length = gate->length;
    return GATE_PASSES;
}

void gate_drop(struct gate *gate, size_t length)
{
    gate->length -= length;
    memmove(gate->bytes, gate->bytes + length, gate->length);
}

bool gate_is_stuck(const struct gate *gate)
{
    return (gate->stage == GATE_FIRST || gate->stage == GATE_RETRY) && gate->length > 0;
}

bool gate_awaits_server(const struct gate *gate)
{
    return gate->stage == GATE_ANSWER || gate->stage == GATE_TUNNEL;
}

/* The next byte; a line may end without CR, as clients read it. Whether it ends the last head. */
static bool take_proxy_byte(struct proxy_head *head, uint8_t byte)
{
    if (++head->length == PROXY_STATUS_AT + 1)
        head->is_final = byte != '1';
    if (byte != '\n') {
        head->line += byte != '\r';
        return false;
    }
    bool has_ended = head->line == 0;
    head->line = 0;
    if (has_ended && !head->is_final)
        head->length = 0; /* the next one follows */
    return has_ended && head->is_final;
}

/* What is behind the head is from the server, which has not heard the client yet. False: it is no head. */
static bool hear_proxy(struct gate *gate, const uint8_t *bytes, size_t length)
{
    struct proxy_head *head = &gate->proxy;
    for (size_t i = 0; i < length; i++) {
        if (head->heard++ == PROXY_HEAD_MAX)
            return false;
        if (take_proxy_byte(head, bytes[i])) {
            gate->stage = GATE_FIRST;
            return true;
        }
    }
    return true;
}

bool gate_hear(struct gate *gate, const uint8_t *bytes, size_t length)
{
    if (gate->stage == GATE_TUNNEL)
        return hear_proxy(gate, bytes, length);
    if (gate->stage == GATE_ANSWER) {
        enum server_answer answer = server_hello_read(&gate->answer, bytes, length);
        if (answer == ANSWER_RETRY) {
            gate->stage = GATE_RETRY;
            gate->reader = FIRST_READER_RETRY;
        } else if (answer == ANSWER_OTHER) {
            gate->stage = GATE_OPEN;
        }
    }
    return gate->has_passed;
}
