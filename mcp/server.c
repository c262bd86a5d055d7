#include "mcp/server.h"
#include "mcp/base/bounds.h"
#include "mcp/base/end_signals.h"
#include "mcp/base/log.h"
#include "mcp/lifecycle.h"
#include "mcp/resources/resources.h"
#include "mcp/subscriptions.h"
#include "mcp/tools/code_call.h"
#include "mcp/tools/context.h"
#include "mcp/tools/tool_call.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Memory blocks of at least this size are returned to the system when freed. */
#define LARGE_BLOCK (128 * 1024)

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

struct server {
    struct context context;
    struct channel_observer channel_observer;
    struct rpc_observer rpc_observer;
    struct end_signals end_signals;
    struct loop_timer finish; /* armed when the server shall end */
    bool finishing;
};

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
};

static const struct method *find_method(const struct json_value *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        if (json_is(name, methods[i].name))
            return &methods[i];
    }
    return NULL;
}

static void handle_request(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct server *server = data;
    struct reply reply = {answer, server->context.version, TTL_NONE};
    unsigned era = server->context.version == VERSION_NONE ? BEFORE : HANDSHAKE;
    if (lifecycle_is_stateless(message)) {
        if (lifecycle_read_version(message, answer, &reply.version) != 0)
            return;
        era = STATELESS;
    }
    const struct method *method = find_method(message->method);
    if (method == NULL || (era != BEFORE && (method->eras & era) == 0)) {
        rpc_answer_error(answer, RPC_METHOD_NOT_FOUND, "no such method: %.100s",
                         message->method->text);
    } else if ((method->eras & era) == 0) {
        rpc_answer_error(answer, RPC_INVALID_PARAMS,
                         "%s needs initialize before it, or \"_meta\" with "
                         "\"io.modelcontextprotocol/protocolVersion\"",
                         method->name);
    } else if (code_call_is_live(&server->context, answer) ||
               subscriptions_is_live(&server->context, answer)) {
        rpc_answer_error(answer, RPC_INVALID_REQUEST,
                         "a request with this id has not been answered yet");
    } else {
        reply.ttl_ms = method->ttl_ms;
        method->handle(&server->context, message, &reply);
    }
}

static void handle_notification(void *data, const struct rpc_message *message)
{
    struct server *server = data;
    /* The others need no action. */
    if (json_is(message->method, "notifications/initialized")) {
        lifecycle_confirm(&server->context);
    } else if (json_is(message->method, "notifications/cancelled")) {
        const struct json_value *id = json_member(message->params, "requestId");
        code_call_cancel(&server->context, id);
        subscriptions_cancel(&server->context, id);
    }
}

static void send_line(void *data, const char *line, size_t length)
{
    struct server *server = data;
    channel_send(&server->context.channel, line, length);
}

/* Ends from the loop, because the caller may still be using objects that the shutdown frees. */
static void finish_soon(struct server *server)
{
    if (!server->finishing && !server->finish.armed)
        loop_arm(&server->context.loop, &server->finish, clock_now());
}

/*
 * The first call kills all runs and gives the client time to read its answers; the second ends the
 * loop.
 */
static void finish_now(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, finish);
    if (!server->finishing) {
        server->finishing = true;
        channel_stop_reading(&server->context.channel);
        checker_stop(&server->context.checker);
        launcher_release(&server->context.launcher);
        session_table_release(&server->context.sessions);
        code_call_forget_all(&server->context);
        subscriptions_end_all(&server->context);
        if (!channel_is_drained(&server->context.channel)) {
            loop_arm(&server->context.loop, timer,
                     clock_now() + FLUSH_MAX_MS * NANOSECONDS_PER_MILLISECOND);
            return;
        }
    }
    loop_stop(&server->context.loop);
}

static void handle_line(void *data, const char *line, size_t length)
{
    struct server *server = data;
    rpc_receive(&server->context.rpc, line, length);
}

static void handle_oversized(void *data)
{
    struct server *server = data;
    rpc_receive_oversized(&server->context.rpc);
}

static void handle_end(void *data, enum channel_end end)
{
    struct server *server = data;
    if (end == CHANNEL_OUTPUT_FULL)
        log_note("the client has left more than %llu MiB of answers unread: giving up",
                 (unsigned long long)(OUTPUT_MAX / MEBIBYTE));
    if (server->finishing)
        loop_stop(&server->context.loop);
    else
        finish_soon(server);
}

static void handle_paused(void *data, bool is_paused)
{
    struct server *server = data;
    launcher_hold(&server->context.launcher, HOLD_UNREAD, is_paused);
}

static void hold_for_patches(void *data, bool hold)
{
    struct server *server = data;
    launcher_hold(&server->context.launcher, HOLD_PATCHES, hold);
}

static void handle_drained(void *data)
{
    struct server *server = data;
    if (server->finishing)
        loop_stop(&server->context.loop);
}

static void handle_signal(struct end_signals *end_signals, int signal_number)
{
    (void)signal_number;
    finish_soon(container_of(end_signals, struct server, end_signals));
}

static int server_open(struct server *server, const struct settings *settings, int input_fd,
                       int output_fd)
{
    *server = (struct server){
        .context = {.loop = {.epoll_fd = -1},
                    .rpc = {.observer = &server->rpc_observer},
                    .settings = settings,
                    .launcher = launcher_of(&server->context.loop, settings),
                    .metrics = {.loop = &server->context.loop,
                                .path = settings->metrics_file,
                                .look = launcher_look,
                                .data = &server->context.launcher},
                    .sessions = session_table_of(&server->context.loop, settings),
                    .files = {.changed = resources_changed, .data = &server->context},
                    .patches = patch_queue_of(&server->context.loop, hold_for_patches, server),
                    .directory = {settings->files_dir, false}},
        .channel_observer = {.line = handle_line,
                             .oversized = handle_oversized,
                             .ended = handle_end,
                             .paused = handle_paused,
                             .drained = handle_drained,
                             .data = server},
        .rpc_observer = {.request = handle_request,
                         .notification = handle_notification,
                         .send = send_line,
                         .data = server},
        .end_signals = INTERRUPTS(handle_signal),
        .finish = {.fire = finish_now},
    };
    server->context.launcher.warm = settings->engine.warm;
    int r = loop_open(&server->context.loop);
    if (r == 0)
        r = end_signals_open(&server->end_signals, &server->context.loop);
    if (r == 0)
        r = channel_open(&server->context.channel, &server->context.loop, input_fd, output_fd,
                         &server->channel_observer);
    return r;
}

static void server_close(struct server *server)
{
    metrics_file_close(&server->context.metrics);
    checker_stop(&server->context.checker);
    launcher_release(&server->context.launcher);
    session_table_release(&server->context.sessions);
    code_call_forget_all(&server->context);
    checker_release(&server->context.checker);
    subscriptions_end_all(&server->context);
    outputs_release(&server->context.outputs);
    kept_files_release(&server->context.files);
    patch_queue_release(&server->context.patches);
    channel_close(&server->context.channel);
    end_signals_close(&server->end_signals);
    loop_close(&server->context.loop);
}

int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault)
{
    heap_return_blocks_of(LARGE_BLOCK);
    struct server server;
    int r = server_open(&server, settings, input_fd, output_fd);
    if (r < 0)
        fault_set(fault, -r, "starting the server on stdin and stdout: %m");
    if (r == 0)
        r = checker_open(&server.context.checker, &server.context.loop, settings, fault);
    if (r == 0)
        r = metrics_file_open(&server.context.metrics, fault);
    if (r == 0) {
        r = loop_run(&server.context.loop);
        if (r < 0)
            fault_set(fault, -r, "waiting for the client: %m");
    }
    server_close(&server);
    return r;
}
