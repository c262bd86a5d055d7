/*
 * /mcp: MCP over HTTP. Each POST has one message, or a batch of version 2025-03-26, and its response the
 * answer; a request with a progress token may get a stream of events with its progress before that, and one that runs
 * a snippet in a session with functions gets their calls so. Answers to these are posted.
 *
 * There is no GET: the server sends nothing of its own accord.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Streamable HTTP"; 2026-07-28, "Streamable HTTP".
 */
#ifndef MCP_HTTP_MCP_ENDPOINT_H
#define MCP_HTTP_MCP_ENDPOINT_H

#include "mcp/http/http_exchange.h"
#include "mcp/http/mcp_sessions.h"
#include "mcp/tools/context.h"

struct mcp_post;

struct mcp_endpoint {
    struct context *context; /* borrowed */
    struct mcp_sessions sessions;
    struct mcp_post *posts; /* owned by their exchanges */
    uint64_t last_peer;
    size_t batches_held; /* by the batches of all clients */
};

/* Members of a struct http_endpoint whose owner is a struct mcp_endpoint. */
void mcp_endpoint_begin(struct http_exchange *exchange, void *owner);
void mcp_endpoint_end(struct http_exchange *exchange, void *owner);

/* After the last exchange. */
void mcp_endpoint_release(struct mcp_endpoint *endpoint);

#endif
