/*
 * The handshake, and ping.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Lifecycle" and "Ping".
 */
#ifndef MCP_LIFECYCLE_H
#define MCP_LIFECYCLE_H

#include "mcp/server.h"

/* Handlers of requests: each takes over the answer. */
void lifecycle_initialize(struct server *server, const struct rpc_message *message,
                          struct rpc_answer *answer);
void lifecycle_ping(struct server *server, const struct rpc_message *message,
                    struct rpc_answer *answer);

#endif
