/*
 * The other programs of this project, which this one starts: each has a file of its own, because it
 * is trusted with something else or links something that this one shall not load.
 *
 * Side: parent.
 */
#ifndef MCP_BASE_HELPERS_H
#define MCP_BASE_HELPERS_H

#define IMAGE_PROGRAM "code-sandbox-mcp-image"
#define SCOPE_PROGRAM "code-sandbox-mcp-scope"

/*
 * Where a program is: where it is installed, or in `folder` ("images") of the build directory that
 * this program is in. Owned by the caller.
 * 0; -ENOENT it is in neither place; another negative errno: could not be looked for.
 */
int helpers_find(const char *name, const char *folder, char **ret_path);

#endif
