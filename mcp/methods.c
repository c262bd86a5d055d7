#include "mcp/methods.h"
#include "mcp/extension/exec.h"
#include "mcp/extension/files.h"
#include "mcp/extension/program_tests.h"
#include "mcp/extension/sessions.h"
#include "mcp/lifecycle.h"
#include "mcp/resources/resources.h"
#include "mcp/subscriptions.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/utf8.h"

/* When a method is available: before the handshake, after it, in versions without one. */
#define BEFORE 1
#define HANDSHAKE 2
#define STATELESS 4

/*
 * How long a client may cache results: those that rarely change, and those that change with a
 * fetch.
 */
#define TTL_LONG_MS 3600000
#define TTL_SHORT_MS 60000

struct method {
    const char *name;
    unsigned eras;
    int32_t ttl_ms;
    /* Takes ownership of the answer. */
    void (*handle)(struct context *context, const struct rpc_message *message,
                   const struct reply *reply);
};

static const struct method methods[] = {
    {"initialize", BEFORE | HANDSHAKE, TTL_NONE, lifecycle_initialize},
    {"ping", BEFORE | HANDSHAKE, TTL_NONE, lifecycle_ping},
    {"server/discover", STATELESS, TTL_LONG_MS, lifecycle_discover},
    {"tools/list", HANDSHAKE | STATELESS, TTL_SHORT_MS, tool_list_answer},
    {"tools/call", HANDSHAKE | STATELESS, TTL_NONE, tool_call_answer},
    {"resources/list", HANDSHAKE | STATELESS, TTL_SHORT_MS, resources_list},
    {"resources/templates/list", HANDSHAKE | STATELESS, TTL_LONG_MS, resources_list_templates},
    {"resources/read", HANDSHAKE | STATELESS, TTL_SHORT_MS, resources_read},
    {"subscriptions/listen", STATELESS, TTL_NONE, subscriptions_listen},
    {"code-sandbox/open", HANDSHAKE | STATELESS, TTL_NONE, sessions_open_answer},
    {"code-sandbox/close", HANDSHAKE | STATELESS, TTL_NONE, sessions_close_answer},
    {"code-sandbox/cell", HANDSHAKE | STATELESS, TTL_NONE, sessions_cell_answer},
    {"code-sandbox/changes", HANDSHAKE | STATELESS, TTL_NONE, sessions_changes_answer},
    {"code-sandbox/run", HANDSHAKE | STATELESS, TTL_NONE, sessions_run_answer},
    {"code-sandbox/test", HANDSHAKE | STATELESS, TTL_NONE, program_tests_answer},
    {"code-sandbox/exec", HANDSHAKE | STATELESS, TTL_NONE, exec_answer},
    {"code-sandbox/connect", HANDSHAKE | STATELESS, TTL_NONE, exec_connect_answer},
    {"code-sandbox/stdin", HANDSHAKE | STATELESS, TTL_NONE, exec_stdin_answer},
    {"code-sandbox/kill", HANDSHAKE | STATELESS, TTL_NONE, exec_kill_answer},
    {"code-sandbox/read", HANDSHAKE | STATELESS, TTL_NONE, files_read_answer},
    {"code-sandbox/write", HANDSHAKE | STATELESS, TTL_NONE, files_write_answer},
    {"code-sandbox/list", HANDSHAKE | STATELESS, TTL_NONE, files_list_answer},
    {"code-sandbox/stat", HANDSHAKE | STATELESS, TTL_NONE, files_stat_answer},
    {"code-sandbox/mkdir", HANDSHAKE | STATELESS, TTL_NONE, files_mkdir_answer},
    {"code-sandbox/move", HANDSHAKE | STATELESS, TTL_NONE, files_move_answer},
    {"code-sandbox/remove", HANDSHAKE | STATELESS, TTL_NONE, files_remove_answer},
};

static const struct method *find_method(const struct json_value *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        if (json_is(name, methods[i].name))
            return &methods[i];
    }
    return NULL;
}

void methods_answer(struct context *context, const struct rpc_message *message,
                    struct rpc_answer *answer)
{
    struct reply reply = {answer, client_of(answer)->version, TTL_NONE};
    unsigned era = reply.version == VERSION_NONE ? BEFORE : HANDSHAKE;
    if (lifecycle_is_stateless(message)) {
        if (lifecycle_read_version(message, answer, &reply.version) != 0)
            return;
        era = STATELESS;
    }
    const struct method *method = find_method(message->method);
    if (method == NULL || (era != BEFORE && (method->eras & era) == 0)) {
        rpc_answer_error(answer, RPC_METHOD_NOT_FOUND, "no such method: %s",
                         visible_name(message->method->text).text);
    } else if ((method->eras & era) == 0) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "%s needs initialize before it, or \"_meta\" with "
                         "\"io.modelcontextprotocol/protocolVersion\"",
                         method->name);
    } else if (open_requests_have(&context->requests, answer)) {
        rpc_answer_error(answer, RPC_INVALID_REQUEST,
                         "a request with this id has not been answered yet");
    } else {
        reply.ttl_ms = method->ttl_ms;
        method->handle(context, message, &reply);
    }
}

void methods_notice(struct context *context, struct client *client,
                    const struct rpc_message *message)
{
    /* The others need no action. */
    if (json_is(message->method, "notifications/initialized")) {
        lifecycle_confirm(client);
    } else if (json_is(message->method, "notifications/cancelled")) {
        const struct json_value *id = json_member(message->params, "requestId");
        open_requests_cancel(&context->requests, client->rpc.peer, id);
    }
}
