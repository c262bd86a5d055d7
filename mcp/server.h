/*
 * The MCP server: one client on stdin and stdout, from the first line to the last.
 *
 * Only runs of the engine take time; every other request is answered at once. Side: parent. Source:
 * MCP, the versions of version.h.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "mcp/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Serves the client until end of file, SIGTERM, SIGINT or SIGHUP, or until the client stops
 * reading; then kills every run. Blocks these signals and ignores SIGPIPE. 0, or a negative errno
 * with its fault: the server could not start or its loop failed.
 */
int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault);

#endif
