/*
 * Calls of the tools that run a snippet: from the arguments to a run, and from its result to the answer.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Tools" and "Cancellation".
 */
#ifndef MCP_TOOLS_CODE_CALL_H
#define MCP_TOOLS_CODE_CALL_H

#include "mcp/tools/code_arguments.h"
#include "mcp/tools/code_tool.h"

/* Member of struct tool. */
void code_call_begin(struct context *context, const struct tool_request *request);

/* Kills the run of that request of the peer and owes it no answer; an unknown, ended or odd id is ignored. */
void code_call_cancel(struct context *context, uint64_t peer, const struct json_value *id);

/* The same for every call whose answer would go there. */
void code_call_cancel_all(struct context *context, const struct rpc *rpc);

/* Whether a call of the same id is going on. */
bool code_call_is_live(const struct context *context, const struct rpc_answer *answer);

/* Forgets the calls without answers; their runs are gone already, with the engine. */
void code_call_forget_all(struct context *context);

#endif
