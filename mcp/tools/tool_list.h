/*
 * What the tools are, and what clients and models read about them: tools/list.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Tools".
 */
#ifndef MCP_TOOLS_TOOL_LIST_H
#define MCP_TOOLS_TOOL_LIST_H

#include "mcp/base/reply.h"
#include "mcp/server.h"

struct tool {
    const char *name;
    const char *title;
    const char *language; /* of the catalog */
    const char *description;
    const char *libraries; /* said of the language's own image, while that is not there */
    const char *code;      /* what to write into the argument */
    const char *example;   /* of the argument */
    const char *silent_hint;
};

/* The tool of that name; NULL: unknown, of a language that is not offered, or no string. */
const struct tool *tool_find(const struct settings *settings, const struct json_value *name);

/* For people and models: 2500 is 2.5. */
double tool_seconds(int64_t milliseconds);

/* Handler of the request: takes over the answer. */
void tools_list(struct server *server, const struct rpc_message *message,
                const struct reply *reply);

#endif
