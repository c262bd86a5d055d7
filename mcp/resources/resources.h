/*
 * Requests about resources: the lists of them, and reading one. resource.h has the kinds.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Resources".
 */
#ifndef MCP_RESOURCES_RESOURCES_H
#define MCP_RESOURCES_RESOURCES_H

#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

#include <stdbool.h>

/*
 * Whether resources/list ends with the files left by calls, and the client is notified of changes:
 * some clients read only listed resources. Versions without a handshake have neither: their clients
 * may cache the list for its ttlMs, while each call changes the files, and no notification corrects
 * a cached list unless the client subscribes.
 */
bool resources_list_files(enum version version);

/*
 * Other files are listed now: notifies the client, once it has confirmed the handshake. `data` is
 * the struct context.
 */
void resources_changed(void *data);

/* Request handlers; each takes ownership of the answer. */
void resources_list(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);
void resources_list_templates(struct context *context, const struct rpc_message *message,
                              const struct reply *reply);
void resources_read(struct context *context, const struct rpc_message *message,
                    const struct reply *reply);

#endif
