/*
 * tools/list and tools/call: the tools, for clients and models.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Tools".
 */
#ifndef MCP_TOOLS_TOOL_LIST_H
#define MCP_TOOLS_TOOL_LIST_H

#include "mcp/tools/tool.h"

/* The tool of that name; NULL: unknown, not offered, or no string. */
const struct tool *tool_list_find(const struct settings *settings, const struct json_value *name);

/* The tool that runs snippets of the language, offered or not. */
const struct tool *tool_list_find_language(const struct language *language);

/* run_code, for a call that names this language. */
const struct tool *tool_code_with(const struct language *language);

/* Handler of tools/list: takes over the answer. */
void tool_list_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply);

/* Handler of tools/call: finds the tool and lets it answer; takes over the answer. */
void tool_call_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply);

#endif
