/*
 * subscriptions/listen: requests that stay open for change notifications. Without a handshake no
 * list changes (see resources.h), so each is acknowledged with an empty set and stays open until cancelled.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Subscriptions".
 */
#ifndef MCP_SUBSCRIPTIONS_H
#define MCP_SUBSCRIPTIONS_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handler; takes ownership of the answer. */
void subscriptions_listen(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);

#endif
