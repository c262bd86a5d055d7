/*
 * code-sandbox/test: a program and its tests (interpreter/cases/test_run.h), each run in a sandbox of its own.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_PROGRAM_TESTS_H
#define MCP_EXTENSION_PROGRAM_TESTS_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handler; it takes ownership of the answer. */
void program_tests_answer(struct context *context, const struct rpc_message *message,
                          const struct reply *reply);

#endif
