/*
 * A tool: what clients and models read about it, and what a call of it does. Each language with a file NAME.c has one; others
 * have a file tool_NAME.c each, and meson.build lists the names.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Tools".
 */
#ifndef MCP_TOOLS_TOOL_H
#define MCP_TOOLS_TOOL_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

struct tool;

/* A tools/call. All but `tool` is borrowed for the call of the handler. */
struct tool_request {
    const struct tool *tool;
    const struct json_value *arguments; /* an object, from the client: untrusted; or NULL */
    const struct json_value *token;     /* progressToken, untrusted; or NULL */
    const struct reply *reply;
    /* Of a program that calls a method of its own: */
    bool is_for_program; /* and gets structured content */
    const char *const *others; /* members that it has read itself, up to NULL; or NULL */
    const struct call_functions *functions; /* of this call, in place of its session's; or NULL */
    void (*refuse)(const struct reply *reply, int status, const struct fault *fault); /* or NULL */
};

struct tool {
    const char *name;
    const char *title; /* NULL: its language's */
    bool is_read_only;
    bool (*is_offered)(const struct tool *tool, const struct settings *settings); /* NULL: always */
    /* Appends what the model is told about it. */
    void (*describe)(const struct tool *tool, const struct settings *settings, struct buffer *text);
    /* Writes the schema of the arguments, an object. */
    void (*write_schema)(const struct tool *tool, const struct settings *settings,
                         struct json_writer *writer);
    /* Takes over the answer: now, or when a run has ended. */
    void (*call)(struct context *context, const struct tool_request *request);
    bool runs_code;
    bool names_language; /* in its arguments */
    const struct language *language; /* of what it runs; NULL: none, or what a call will name */
};

#endif
