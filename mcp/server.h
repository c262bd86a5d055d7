/*
 * The MCP server: one client on stdin and stdout, from the first line to the last.
 *
 * Everything that may take time is a run of the engine; every other request is answered at once.
 * Side: parent.  Source: MCP, the versions of version.h.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "mcp/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Serves the client until its end of file, a SIGTERM, SIGINT or SIGHUP, or until it reads no more;
 * then kills every run. Blocks these signals and ignores SIGPIPE.
 * 0, or a negative errno with its fault: the server could not start or its loop failed.
 */
int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault);

#endif
