/*
 * Version negotiation, by a handshake or by each request's _meta; and ping.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Lifecycle" and "Ping"; 2026-07-28, "Versioning" and
 * "Discovery".
 */
#ifndef MCP_LIFECYCLE_H
#define MCP_LIFECYCLE_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handlers; each takes ownership of the answer. */
void lifecycle_initialize(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);
void lifecycle_ping(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);
void lifecycle_discover(struct context *context, const struct rpc_message *message,
                        const struct reply *reply);

/* The client has confirmed the handshake; without one this is ignored. */
void lifecycle_confirm(struct client *client);

/*
 * Whether the request belongs to a version without handshake: its _meta has one of the required
 * keys.
 */
bool lifecycle_is_stateless(const struct rpc_message *message);

/* Reads the version of such a request. 0; 1: incomplete or unknown, and the error has been sent. */
int lifecycle_read_version(const struct rpc_message *message, struct rpc_answer *answer,
                           enum version *ret_version);

#endif
