/*
 * The notes of a result: lines about everything except the program's output, in one text.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_RESULT_NOTES_H
#define MCP_TOOLS_RESULT_NOTES_H

#include "mcp/tools/result_view.h"
#include "sandbox/base/buffer.h"

/* Appends the lines, if any, without a newline at the end. 0 or a negative errno. */
int result_notes_compose(const struct result_view *view, struct buffer *text);

#endif
