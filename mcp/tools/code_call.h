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

/* Answers a call whose arguments are wrong. */
void code_call_refuse(struct context *context, const struct tool_request *request,
                      const struct fault *fault);

/* Of whom waits for the cell that runs in this session of the owner's; borrowed. NULL: nobody does, or none runs. */
struct rpc_answer *code_call_answer(const struct context *context, unsigned owner,
                                    const char *handle);

#endif
