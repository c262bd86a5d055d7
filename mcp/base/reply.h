/*
 * Results in the form of the version that their request was in.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Base protocol" and "Caching".
 */
#ifndef MCP_BASE_REPLY_H
#define MCP_BASE_REPLY_H

#include "mcp/base/rpc.h"
#include "mcp/base/version.h"

#include <stdint.h>

/* The result is of this moment: nothing is said about keeping it. */
#define TTL_NONE (-1)

/* An answer that is owed to a request, and in which form. */
struct reply {
    struct rpc_answer *answer; /* owned */
    enum version version;
    int32_t ttl_ms; /* how long a client may keep the result, or TTL_NONE */
};

/* What is in a result. */
struct result_body {
    /* Writes its members, but for _meta and what every result has. */
    void (*write)(struct json_writer *writer, enum version version, const void *data);
    /* Writes members of its _meta; or NULL. */
    void (*write_meta)(struct json_writer *writer, const void *data);
    const void *data; /* borrowed for the call */
    bool introduces;  /* it is how the client gets to know us */
};

/* Gives the answer, as rpc_answer_result(). */
void reply_result(const struct reply *reply, const struct result_body *body);

/* A result without members of its own. */
void reply_nothing(const struct reply *reply);

/* Who we are: an object of the type Implementation; the short one has only what it must have. */
void reply_write_implementation(struct json_writer *writer, enum version version, bool is_short);

#endif
