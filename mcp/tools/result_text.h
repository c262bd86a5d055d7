/*
 * What a model is shown of a run: plain lines, bounded, with what was printed never lost silently.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_RESULT_TEXT_H
#define MCP_TOOLS_RESULT_TEXT_H

#include "mcp/base/version.h"
#include "mcp/tools/result_view.h"
#include "sandbox/base/json.h"
#include "sandbox/result.h"

/* One stream, cut to what is shown. */
struct shown_stream {
    struct buffer text; /* owned */
    uint64_t cut;       /* bytes of the stream that are not in it */
};

struct result_text {
    struct shown_stream out, err;
};

void result_text_release(struct result_text *shown);

/*
 * Takes SHOWN_MAX bytes of both streams: the head and the tail of each, with a line between that
 * tells what was cut, and where it is: the resource of that number (outputs.h), if it is not 0.
 * Blank lines at both ends and white space behind the last line are taken off. 0 or -ENOMEM.
 */
int result_text_make(const struct run_result *result, uint64_t output_number,
                     struct result_text *ret_shown);

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

/* The JSON schema of structuredContent. */
void result_text_write_schema(struct json_writer *writer);

#endif
