/*
 * The icon that clients may show for the server and its tools.
 *
 * Side: parent.  Source: MCP 2025-11-25, "Icons"; RFC 2397, data: URIs.
 */
#ifndef MCP_BASE_ICON_H
#define MCP_BASE_ICON_H

#include "mcp/base/version.h"
#include "sandbox/base/json.h"

/* Writes the member "icons" of an object, in protocol versions that have it. */
void icon_write_member(struct json_writer *writer, enum version version);

#endif
