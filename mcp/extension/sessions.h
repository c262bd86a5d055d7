/*
 * code-sandbox/open, /close, /cell and /changes: sessions of a program; and /run, which needs none.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_SESSIONS_H
#define MCP_EXTENSION_SESSIONS_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handlers; each takes ownership of the answer. */
void sessions_open_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);
void sessions_close_answer(struct context *context, const struct rpc_message *message,
                           const struct reply *reply);
void sessions_cell_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);
void sessions_run_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply);
void sessions_changes_answer(struct context *context, const struct rpc_message *message,
                             const struct reply *reply);

#endif
