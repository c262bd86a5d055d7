/*
 * The gate of a stream to a host that is allowed by its name, at port 80 or 443: nothing of the client passes
 * but a complete TLS ClientHello or head of an HTTP/1 request that names a host it may reach. A server for
 * many hosts would otherwise answer for those that are not allowed.
 *
 *     GATE_FIRST ── a head ──> GATE_OPEN      (of CONNECT: GATE_TUNNEL)
 *     GATE_FIRST ── a hello ─> GATE_ANSWER ── the server wants another hello ─> GATE_RETRY ── it ─> GATE_OPEN
 *                                         └── any other answer ──────────────> GATE_OPEN
 *     GATE_TUNNEL ── the head of the proxy's answer ──> GATE_FIRST, for the host behind the proxy
 *
 * The gate keeps what the client has sent until it is judged; it makes no system calls.
 *
 * Side: the broker. Source: see first_bytes.h.
 */
#ifndef SANDBOX_NETWORK_BROKER_GATE_H
#define SANDBOX_NETWORK_BROKER_GATE_H

#include "sandbox/network/broker/first_bytes.h"
#include "sandbox/network/policy.h"

enum gate_stage {
    GATE_FIRST,  /* reads the client's first bytes */
    GATE_ANSWER, /* the client waits for the server */
    GATE_RETRY,  /* reads the second ClientHello */
    GATE_TUNNEL, /* the client waits for a proxy, whose answer is not the server's */
    GATE_OPEN,   /* everything passes */
};

/* The head of a proxy's answer, as far as it has come. */
struct proxy_head {
    size_t heard;  /* bytes, with those of heads before it */
    size_t length; /* bytes of this head */
    size_t line;   /* bytes of its last line, without its end */
    bool is_final; /* its status is none of those, 1xx, that another head follows */
};

struct gate {
    const struct policy *policy; /* borrowed */
    enum gate_stage stage;
    char host[HOST_NAME_SIZE]; /* that the client has connected to */
    uint16_t port;
    bool
        is_address; /* it is an address: the client need not name it, and may name what is not denied */
    bool has_passed; /* something of the client; before, the server has nothing to say */
    uint8_t *bytes; /* owned: the client's, not judged yet */
    size_t length, capacity;
    unsigned tunnels; /* that were asked for */
    struct first_reader reader;
    struct server_hello answer;
    struct proxy_head proxy; /* of the answer to the last request for a tunnel */
};

/*
 * Whether such a connection needs a gate: at port 80 or 443, with NETWORK_ALLOW to a host that is listed by
 * its name, and to any host and address, if names are denied.
 */
bool gate_is_needed(const struct policy *policy, bool by_name, uint16_t port);

/* NULL: no memory. gate_free(NULL) is fine. */
struct gate *gate_new(const struct policy *policy, const char *host, uint16_t port);
void gate_free(struct gate *gate);

/*
 * Room for further bytes of the client, of which *ret_size may be read to gate->bytes + gate->length and
 * then be added to gate->length. There always is some after GATE_WAITS. 0 or -ENOMEM.
 */
int gate_reserve(struct gate *gate, size_t *ret_size);

enum gate_verdict {
    GATE_WAITS, /* for more bytes, or, where gate_awaits_server(), for the server */
    GATE_PASSES, /* the first *ret_length of gate->bytes; the stage may be another now */
    GATE_REFUSES, /* *ret_refusal is set */
};

struct gate_refusal {
    enum refusal reason;
    const char *host; /* borrowed from the gate */
    uint16_t port;
};

/* Judges the bytes. To be called again after GATE_PASSES, when gate_drop() has removed what has passed. */
enum gate_verdict gate_judge(struct gate *gate, size_t *ret_length,
                             struct gate_refusal *ret_refusal);
void gate_drop(struct gate *gate, size_t length);

/* Whether the client has begun a hello or head and not ended it. */
bool gate_is_stuck(const struct gate *gate);

/* Whether nothing of the client can pass before gate_hear(). */
bool gate_awaits_server(const struct gate *gate);

/*
 * The server has sent these bytes. False: it speaks first, or answers a request for a tunnel with no head,
 * and so speaks no protocol that is known here.
 */
bool gate_hear(struct gate *gate, const uint8_t *bytes, size_t length);

#endif
