/*
 * The MCP server: one client on stdin and stdout, from the first line to the last.
 *
 * Only runs of the engine take time; every other request is answered at once. Side: parent. Source:
 * MCP, the versions of version.h.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "interpreter/settings/settings.h"
#include "sandbox/base/fault.h"

/*
 * Serves the client until SIGTERM, SIGINT or SIGHUP, or until nobody reads its answers any more; then kills every
 * run. At the end of its input it answers what it was asked, however long the runs may take by their limits, and
 * ends then. Blocks these signals and ignores SIGPIPE. 0, or a negative errno
 * with its fault: the server could not start or its loop failed.
 */
int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault);

#endif
