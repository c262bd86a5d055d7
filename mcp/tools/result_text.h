/*
 * What a model is shown of a run: plain lines, bounded, with what was printed never lost silently.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_RESULT_TEXT_H
#define MCP_TOOLS_RESULT_TEXT_H

#include "interpreter/result/result_view.h"
#include "mcp/base/version.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

/*
 * Of a struct result_body, for the result of tools/call: content, isError, and where it is wanted
 * structuredContent; and the record of the run, in _meta.
 */
void result_text_write(struct json_writer *writer, enum version version, const void *view);
void result_text_write_meta(struct json_writer *writer, const void *view);

/* The same of a tool that could not do its work, from its fault: one text, isError true; its id in _meta. */
void result_text_write_error(struct json_writer *writer, enum version version, const void *fault);
void result_text_write_error_meta(struct json_writer *writer, const void *fault);

/* The same of a program that --policy refuses, from its struct check. */
void result_text_write_not_run(struct json_writer *writer, enum version version, const void *check);
void result_text_write_not_run_meta(struct json_writer *writer, const void *check);

#endif
