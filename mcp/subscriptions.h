/*
 * subscriptions/listen: requests that stay open for announcements. Nothing that is announced there
 * ever changes here, so each is acknowledged with an empty set and waits until it is cancelled.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Subscriptions".
 */
#ifndef MCP_SUBSCRIPTIONS_H
#define MCP_SUBSCRIPTIONS_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Handler of the request: takes over the answer. */
void subscriptions_listen(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);

/* Ends the one of that id without an answer; an unknown or odd id is ignored. */
void subscriptions_cancel(struct context *context, const struct json_value *id);

/* Whether one of the same id is open. */
bool subscriptions_is_live(const struct context *context, const struct rpc_answer *answer);

/* Ends all of them, with a result that says so. */
void subscriptions_end_all(struct context *context);

#endif
