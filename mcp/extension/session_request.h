/*
 * What every request of the extension has: methods for programs, beside those of MCP. They work on sessions of the
 * client's own, those that its tools started, too.
 *
 * An error has the code RPC_REFUSED, or RPC_INVALID_PARAMS for a wrong parameter, and "data" with an "id" for programs.
 *
 * Side: parent.
 */
#ifndef MCP_EXTENSION_SESSION_REQUEST_H
#define MCP_EXTENSION_SESSION_REQUEST_H

#include "mcp/base/open_requests.h"
#include "mcp/base/reply.h"
#include "mcp/tools/context.h"

/* A request that uses a session until it is answered. */
struct session_request {
    struct open_request open;
    struct context *context;
    struct reply reply;
    unsigned owner;
    char handle[SESSION_HANDLE_SIZE];
    const char *method; /* static: for the log */
    int64_t began;      /* clock_now() */
};

/* The language that a request names; or NULL, with a fault that lists them. */
const struct language *session_request_language(const struct json_value *params,
                                                struct fault *fault);

/* Answers with an error. */
void session_request_refuse(const struct reply *reply, int status, const struct fault *fault);

/* The client's session of that handle; or NULL, with why there is none: "no_session", "lost". */
struct session_entry *session_request_find(const struct context *context, unsigned owner,
                                           const char *handle, struct fault *fault);

/* The session of a request that names nothing else; or NULL with a fault. */
struct session_entry *session_request_read(const struct context *context,
                                           const struct rpc_message *message,
                                           const struct reply *reply, struct fault *fault);

/* The request begins to use its session, which then does not end for idleness. `cancel` is a member of open_request. */
void session_request_begin(struct session_request *request, struct context *context,
                           const struct reply *reply, struct session_entry *entry,
                           void (*cancel)(struct open_request *open));

/* NULL: the session has ended. */
struct session_entry *session_request_entry(const struct session_request *request);

/* It uses the session no more. The answer is given or dropped behind it. */
void session_request_end(struct session_request *request);

/* A line for the log, with its outcome: static. */
void session_request_log(const struct session_request *request, const char *outcome);

#endif
