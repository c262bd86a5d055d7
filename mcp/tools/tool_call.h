/*
 * tools/call: finds the tool and lets it answer.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Tools".
 */
#ifndef MCP_TOOLS_TOOL_CALL_H
#define MCP_TOOLS_TOOL_CALL_H

#include "mcp/tools/tool.h"

/* Handler of the request: takes over the answer. */
void tool_call_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply);

#endif
