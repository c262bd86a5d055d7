/*
 * Writes results in the form of the request's protocol version.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Base protocol" and "Caching".
 */
#ifndef MCP_BASE_REPLY_H
#define MCP_BASE_REPLY_H

#include "mcp/base/rpc.h"
#include "mcp/base/version.h"

#include <stdint.h>

/* The result must not be cached: no caching members are written. */
#define TTL_NONE (-1)

/* The pending answer to a request, and its form. */
struct reply {
    struct rpc_answer *answer; /* owned */
    enum version version;
    int32_t ttl_ms; /* how long a client may cache the result, or TTL_NONE */
};

/* The contents of a result. */
struct result_body {
    /* Writes its members, except _meta and those common to all results. */
    void (*write)(struct json_writer *writer, enum version version, const void *data);
    /* Writes members of its _meta; or NULL. */
    void (*write_meta)(struct json_writer *writer, const void *data);
    const void *data; /* borrowed for the call */
    bool introduces;  /* _meta describes the server in full, not in short */
};

/* Answers the request, like rpc_answer_result(). */
void reply_result(const struct reply *reply, const struct result_body *body);

/* Answers with a result without members of its own. */
void reply_nothing(const struct reply *reply);

/* Writes the server's object of type Implementation; `is_short`: only the required members. */
void reply_write_implementation(struct json_writer *writer, enum version version, bool is_short);

#endif
