/*
 * Requests about resources: the lists of them, and reading one. resource.h has the kinds.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Resources".
 */
#ifndef MCP_RESOURCES_RESOURCES_H
#define MCP_RESOURCES_RESOURCES_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* Request handlers; each takes ownership of the answer. */
void resources_list(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);
void resources_list_templates(struct context *context, const struct rpc_message *message,
                              const struct reply *reply);
void resources_read(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);

#endif
