/*
 * /run_code: one snippet for one POST, in the form of SandboxFusion.
 *
 * It runs as a call of a tool does: the same limits, rules, queue and counts. A snippet that could not run
 * has the status SandboxError in an answer with the status 200, as clients of SandboxFusion expect.
 *
 * Side: parent.
 */
#ifndef MCP_HTTP_RUN_ENDPOINT_H
#define MCP_HTTP_RUN_ENDPOINT_H

#include "mcp/http/http_exchange.h"
#include "mcp/tools/context.h"

/* Members of a struct http_endpoint whose owner is the struct context. */
void run_endpoint_begin(struct http_exchange *exchange, void *owner);
void run_endpoint_end(struct http_exchange *exchange, void *owner);

#endif
