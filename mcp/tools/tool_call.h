/*
 * Calls of the tools (tool.h) that are going on.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Tools" and "Cancellation".
 */
#ifndef MCP_TOOLS_TOOL_CALL_H
#define MCP_TOOLS_TOOL_CALL_H

#include "mcp/base/reply.h"
#include "mcp/server.h"

/* Handler of the request: takes over the answer. */
void tools_call(struct server *server, const struct rpc_message *message,
                const struct reply *reply);

/* Kills the run of that request and owes it no answer; an unknown, ended or odd id is ignored. */
void tools_cancel(struct server *server, const struct json_value *id);

/* Whether a call of the same id is going on. */
bool tools_is_live(const struct server *server, const struct rpc_answer *answer);

/* Forgets the calls without answers; their runs are gone already, with the engine. */
void tools_forget_all(struct server *server);

#endif
