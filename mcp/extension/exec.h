/*
 * code-sandbox/exec, /connect, /stdin and /kill: commands of a session, and connections to its ports.
 *
 * A command is named by the id of its exec request, which differs from those of the session's others. Output that is not
 * UTF-8 is told as base64, in a member of the same name with "_base64".
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_EXEC_H
#define MCP_EXTENSION_EXEC_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handlers; each takes ownership of the answer. */
void exec_answer(struct context *context, const struct rpc_message *message,
                 const struct reply *reply);
void exec_connect_answer(struct context *context, const struct rpc_message *message,
                         const struct reply *reply);
void exec_stdin_answer(struct context *context, const struct rpc_message *message,
                       const struct reply *reply);
void exec_kill_answer(struct context *context, const struct rpc_message *message,
                      const struct reply *reply);

#endif
