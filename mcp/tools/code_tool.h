/*
 * Tools that run a snippet of a language: what clients and models read about them.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_CODE_TOOL_H
#define MCP_TOOLS_CODE_TOOL_H

#include "mcp/tools/tool.h"

/* Members of struct tool. */
bool code_tool_is_offered(const struct tool *tool, const struct settings *settings);
void code_tool_describe(const struct tool *tool, const struct settings *settings,
                        struct buffer *text);

/*
 * Appends lines of advice to the model, if stderr of a failed run on that image shows one of the mistakes of
 * hints.h.
 * 0 or a negative errno of buffer_append().
 */
int code_tool_advise(const struct language *language, const struct settings *settings,
                     const char *image_name, const struct run_result *result, struct buffer *text);

#endif
