/*
 * The versions of MCP. Up to 2025-11-25 a connection begins with a handshake that chooses one; from
 * 2026-07-28 on there is none, and every request states its version.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Versioning"; 2025-11-25, "Lifecycle".
 */
#ifndef MCP_BASE_VERSION_H
#define MCP_BASE_VERSION_H

#include "sandbox/base/json.h"

/* In chronological order: each version keeps the features of the earlier ones. */
enum version {
    VERSION_NONE, /* before the handshake */
    VERSION_2024_11_05,
    VERSION_2025_03_26,
    VERSION_2025_06_18,
    VERSION_2025_11_25,
    VERSION_2026_07_28,
};

#define VERSION_NEWEST_HANDSHAKE VERSION_2025_11_25
#define VERSION_STATELESS VERSION_2026_07_28

/* "2025-11-25". Static text. */
const char *version_name(enum version version);

/* The version of that name; VERSION_NONE if unknown or NULL. */
enum version version_find(const struct json_value *name);

#endif
