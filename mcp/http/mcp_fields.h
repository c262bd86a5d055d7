/*
 * The fields of a request that say again what its message says, for proxies that do not read messages.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Streamable HTTP", Request Metadata.
 */
#ifndef MCP_HTTP_MCP_FIELDS_H
#define MCP_HTTP_MCP_FIELDS_H

#include "mcp/base/rpc.h"
#include "mcp/http/http_exchange.h"

/* Of a message of a version without handshake. NULL: they agree; else the name of a field that does not. */
const char *mcp_fields_find_wrong(struct http_exchange *exchange,
                                  const struct rpc_message *message);

#endif
