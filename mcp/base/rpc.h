/*
 * JSON-RPC 2.0 as used by MCP: one message per line; each request gets one answer.
 *
 * Independent of MCP's methods. Input from the client is untrusted. Side: parent. Source: JSON-RPC
 * 2.0 specification; MCP 2025-11-25, "Base protocol".
 */
#ifndef MCP_BASE_RPC_H
#define MCP_BASE_RPC_H

#include "sandbox/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rpc_error {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_REFUSED = -32000, /* a method of the extension could not do it: "data" says why */
    RPC_HEADER_MISMATCH = -32020, /* MCP 2026-07-28, over HTTP */
    RPC_UNSUPPORTED_VERSION = -32022, /* MCP 2026-07-28 */
};

/* The pending answer to a request; its owner completes it by one of the rpc_answer_*(). */
struct rpc_answer;

/* A request or a notification. Everything is borrowed for the call. */
struct rpc_message {
    const struct json_value *method; /* a string */
    const struct json_value *params; /* an object, or NULL if absent */
    bool in_batch;
};

struct rpc_observer {
    /* Takes ownership of the answer. */
    void (*request)(void *data, const struct rpc_message *message, struct rpc_answer *answer);
    void (*notification)(void *data, const struct rpc_message *message);
    /*
     * An answer to a request of the server's: an error, or NULL and the result. NULL: there are no such requests, since
     * answers do not come this way.
     */
    void (*answered)(void *data, const struct json_value *id, const struct json_value *result,
                     const struct json_value *error);
    /* A line for the client, without newline, shorter than LINE_OUT_MAX. Its bytes may be taken. */
    void (*send)(void *data, struct buffer *line);
    /* The same for a notification or a request of the server's; NULL: send() takes these, too. */
    void (*notify)(void *data, struct buffer *line);
    /* Every request so far has been answered or dropped. May be NULL; must not free the struct rpc. */
    void (*settled)(void *data);
    void *data;
};

struct rpc {
    const struct rpc_observer *observer; /* borrowed */
    bool batches; /* arrays of messages are accepted */
    size_t *batches_held; /* borrowed: bytes of all clients' batches that wait */
    bool null_ids; /* errors for messages without an id have the id null; false: no id member */
    uint64_t peer; /* whose messages these are: the ids of a peer's open requests differ */
    unsigned owner; /* whose sessions, outputs and files the peer may use */
    size_t open; /* requests neither answered nor dropped */
    int error; /* enum rpc_error of the latest answer; 0: it was a result */
};

/* Processes one line; blank lines are ignored, invalid ones answered with an error. */
void rpc_receive(struct rpc *rpc, const char *line, size_t length);

/* Answers a line longer than LINE_IN_MAX with an error. */
void rpc_receive_oversized(struct rpc *rpc);

/*
 * Sends the result and frees the answer. `write` writes one value, the result. If it does not fit
 * in a line, or in what all batches may hold, an internal error says so; of a batch, no further request
 * is then carried out.
 */
void rpc_answer_result(struct rpc_answer *answer,
                       void (*write)(struct json_writer *writer, const void *data),
                       const void *data);

/* Sends an error as the answer and frees it. The message is truncated to FAULT_TEXT_MAX. */
void rpc_answer_error(struct rpc_answer *answer, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As rpc_answer_error(), with data: `write` writes one value. */
void rpc_answer_error_with(struct rpc_answer *answer, int code, const char *message,
                           void (*write)(struct json_writer *writer, const void *data),
                           const void *data);

/* Sends a notification; `write` writes its params, an object. Without memory it is dropped. */
void rpc_notify(struct rpc *rpc, const char *method,
                void (*write)(struct json_writer *writer, const void *data), const void *data);

/*
 * Sends a request of the server's, whose answer comes to observer->answered with that id. As rpc_notify(). 0 or a negative
 * errno: it was not sent.
 */
int rpc_ask(struct rpc *rpc, const char *id, const char *method,
            void (*write)(struct json_writer *writer, const void *data), const void *data);

/* Writes the id of the request, one value. */
void rpc_answer_write_id(const struct rpc_answer *answer, struct json_writer *writer);

/* Frees the answer without sending it. */
void rpc_answer_drop(struct rpc_answer *answer);

/*
 * Writes an id, or a value with the same rules, as JSON text: a string or an integer. 0; -EINVAL if
 * it is neither, or longer than ID_MAX; -ENOMEM. `id` may be NULL (-EINVAL).
 */
int rpc_id_write(const struct json_value *id, struct buffer *text);

/* Where the answer goes. */
struct rpc *rpc_answer_rpc(const struct rpc_answer *answer);

/* Whether this answer belongs to the peer's request with that id: same type and value. */
bool rpc_answer_is_for(const struct rpc_answer *answer, uint64_t peer, const struct json_value *id);

/* Whether both answers belong to requests of the same peer with the same id. */
bool rpc_answer_same_id(const struct rpc_answer *answer, const struct rpc_answer *other);

/* The same, whoever the peers are. */
bool rpc_answer_has_id(const struct rpc_answer *answer, const struct json_value *id);
bool rpc_answer_shares_id(const struct rpc_answer *answer, const struct rpc_answer *other);

#endif
