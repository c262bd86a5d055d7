/*
 * code-sandbox/read, /write, /list, /stat, /mkdir, /move and /remove: files of a session. sandbox/session_file.h has what
 * they do.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_FILES_H
#define MCP_EXTENSION_FILES_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handlers; each takes ownership of the answer. */
void files_read_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply);
void files_write_answer(struct context *context, const struct rpc_message *message,
                        const struct reply *reply);
void files_list_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply);
void files_stat_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply);
void files_mkdir_answer(struct context *context, const struct rpc_message *message,
                        const struct reply *reply);
void files_move_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply);
void files_remove_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply);

#endif
