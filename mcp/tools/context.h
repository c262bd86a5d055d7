/*
 * What the handlers of requests share: the connection to the client and what they work with.
 *
 * Side: parent.
 */
#ifndef MCP_TOOLS_CONTEXT_H
#define MCP_TOOLS_CONTEXT_H

#include "mcp/base/channel.h"
#include "mcp/base/rpc.h"
#include "mcp/base/version.h"
#include "mcp/settings/settings.h"
#include "mcp/tools/launcher.h"
#include "mcp/tools/outputs.h"
#include "sandbox/base/loop.h"

struct code_call;
struct subscription;

struct context {
    struct loop loop;
    struct channel channel;
    struct rpc rpc;
    const struct settings *settings; /* borrowed */
    struct launcher launcher;
    struct outputs outputs;
    enum version version;               /* agreed in the handshake; VERSION_NONE before it */
    struct code_call *calls;            /* owned: running ones; see code_call.h */
    struct subscription *subscriptions; /* owned: open ones; see subscriptions.h */
};

#endif
