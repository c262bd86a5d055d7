/*
 * The other programs of this project, started by this one. They are separate executables because
 * they have different privileges, or link libraries that this program must not load.
 *
 * Side: parent.
 */
#ifndef MCP_BASE_HELPERS_H
#define MCP_BASE_HELPERS_H

#define IMAGE_PROGRAM "code-sandbox-mcp-image"
#define CHANGES_PROGRAM "code-sandbox-mcp-changes"
#define CHANGES_FOLDER "mcp/changes"
#define FLEET_PROGRAM "code-sandbox-mcp-fleet"
#define FLEET_FOLDER "mcp/fleet"
#define NETWORK_PROGRAM "code-sandbox-mcp-network"
#define NETWORK_FOLDER "sandbox/network/broker"
#define SCOPE_PROGRAM "code-sandbox-mcp-scope"

/*
 * Finds a program: in LIBEXEC_DIRECTORY, beside this program, or in `folder` ("images") of the build directory
 * that contains this program. A relative LIBEXEC_DIRECTORY starts at the directory of this program. The
 * caller owns the path. 0; -ENOENT: in none of these places; another negative errno: the search failed.
 */
int helpers_find(const char *name, const char *folder, char **ret_path);

#endif
