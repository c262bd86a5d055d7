/*
 * The MCP server: one client on stdin and stdout, from the first line to the last.
 *
 * Everything that may take time is a run of the engine; every other request is answered at once.
 * Side: parent.  Source: MCP, the versions of version.h.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "mcp/base/channel.h"
#include "mcp/base/end_signals.h"
#include "mcp/base/rpc.h"
#include "mcp/base/version.h"
#include "mcp/settings/settings.h"
#include "mcp/tools/launcher.h"
#include "mcp/tools/outputs.h"
#include "sandbox/base/loop.h"

#include <stddef.h>

struct call;
struct subscription;

struct server {
    struct loop loop;
    struct channel channel;
    struct rpc rpc;
    struct channel_observer channel_observer;
    struct rpc_observer rpc_observer;
    const struct settings *settings; /* borrowed */
    struct launcher launcher;
    enum version version; /* that the handshake chose; VERSION_NONE before it */
    struct call *calls;   /* owned: tools/call requests whose runs have not ended; see tools.h */
    struct subscription *subscriptions; /* owned: open ones; see subscriptions.h */
    struct outputs outputs;
    struct end_signals end_signals;
    struct loop_timer finish; /* armed when it is time to end */
    bool finishing;
};

/*
 * Serves the client until its end of file, a SIGTERM, SIGINT or SIGHUP, or until it reads no more;
 * then kills every run. Blocks these signals and ignores SIGPIPE.
 * 0, or a negative errno with its fault: the server could not start or its loop failed.
 */
int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault);

#endif
