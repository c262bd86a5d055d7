/*
 * The methods of MCP: finds what answers a request.
 *
 * Side: parent.  Source: MCP, the versions of version.h.
 */
#ifndef MCP_METHODS_H
#define MCP_METHODS_H

#include "mcp/base/client.h"
#include "mcp/tools/context.h"

/* Answers the request, at once or later. Takes ownership of the answer. */
void methods_answer(struct context *context, const struct rpc_message *message,
                    struct rpc_answer *answer);

/* Heeds a notification of the client. */
void methods_notice(struct context *context, struct client *client,
                    const struct rpc_message *message);

#endif
