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

/* Ends the peer's subscription with that id without an answer; an unknown or invalid id is ignored. */
void subscriptions_cancel(struct context *context, uint64_t peer, const struct json_value *id);

/* The same for every subscription whose answer would go there. */
void subscriptions_cancel_all(struct context *context, const struct rpc *rpc);

/* Whether a subscription with the same id is open. */
bool subscriptions_is_live(const struct context *context, const struct rpc_answer *answer);

/* Ends all subscriptions, with a result that says so. */
void subscriptions_end_all(struct context *context);

#endif
