/*
 * Output of commands in JSON: text where it is UTF-8, else base64.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_EXEC_OUTPUT_H
#define MCP_EXTENSION_EXEC_OUTPUT_H

#include "mcp/base/rpc.h"
#include "sandbox/capture.h"
#include "sandbox/result.h"

/* A stream that is told as it comes. Empty is {0}. */
struct exec_stream {
    char rest[4]; /* the beginning of a character, of which the end has not come */
    size_t length;
};

/* What a notification tells: of the request, which is not answered yet. */
struct exec_piece {
    const struct rpc_answer *answer;
    enum output_stream stream;
    const char *bytes;
    size_t length;
};

/* A member, or one with "_base64" behind its name. */
void exec_output_write(struct json_writer *writer, const char *name, const char *bytes,
                       size_t length);

/* The same of what was kept; what was cut is a line in the text. Whether all of it is there. */
bool exec_output_write_capture(struct json_writer *writer, const char *name,
                               const struct capture *capture);

/* Tells a piece of output; the last of a stream, which may be empty, with `is_last`. */
void exec_output_tell(struct exec_stream *stream, const struct exec_piece *piece, bool is_last);

#endif
