/*
 * One client: its JSON-RPC and what it has agreed on. Over stdio there is one; over HTTP each request
 * begins with what its session has agreed on.
 *
 * Side: parent.
 */
#ifndef MCP_BASE_CLIENT_H
#define MCP_BASE_CLIENT_H

#include "mcp/base/rpc.h"
#include "mcp/base/version.h"
#include "sandbox/base/owned.h"

#include <stdbool.h>
#include <stddef.h>

struct client {
    struct rpc rpc;
    enum version version; /* agreed in the handshake; VERSION_NONE before it */
    bool is_initialized;  /* the client has confirmed the handshake: it may be notified */
    bool is_deaf; /* notifications do not reach it */
    bool is_silent; /* nothing comes from it any more: it answers no request */
    /* Bytes sent and not yet read. */
    size_t (*unsent)(const struct client *client);
};

/* The client that gets the answer. */
static inline struct client *client_of(const struct rpc_answer *answer)
{
    return container_of(rpc_answer_rpc(answer), struct client, rpc);
}

#endif
