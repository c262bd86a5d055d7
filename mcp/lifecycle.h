/*
 * How a client and this server find a version: by a handshake, or by each request's own _meta; and
 * ping.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Lifecycle" and "Ping"; 2026-07-28, "Versioning" and
 * "Discovery".
 */
#ifndef MCP_LIFECYCLE_H
#define MCP_LIFECYCLE_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Handlers of requests: each takes over the answer. */
void lifecycle_initialize(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);
void lifecycle_ping(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);
void lifecycle_discover(struct context *context, const struct rpc_message *message,
                        const struct reply *reply);

/* Whether the request is of a version without handshake: it has one of the keys of its _meta. */
bool lifecycle_is_stateless(const struct rpc_message *message);

/*
 * The version that such a request is in. 0; or 1 when what it says of itself is incomplete or
 * unknown: the answer has been given.
 */
int lifecycle_read_version(const struct rpc_message *message, struct rpc_answer *answer,
                           enum version *ret_version);

#endif
