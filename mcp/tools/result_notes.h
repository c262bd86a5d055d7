/*
 * The notes of a result: what there is to say beside what the program printed, one line each, in one text.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_RESULT_NOTES_H
#define MCP_TOOLS_RESULT_NOTES_H

#include "mcp/tools/result_view.h"
#include "sandbox/base/buffer.h"

/* Appends the lines, without a newline at the end; nothing if there is nothing to say. 0 or a negative errno. */
int result_notes_compose(const struct result_view *view, struct buffer *text);

#endif
