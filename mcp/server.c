#include "mcp/server.h"
#include "mcp/base/bounds.h"
#include "mcp/base/log.h"
#include "mcp/lifecycle.h"
#include "mcp/resources.h"
#include "mcp/subscriptions.h"
#include "mcp/tools/tool_call.h"
#include "mcp/tools/tool_list.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>

/* Blocks of memory from this size on go back to the system when they are freed. */
#define LARGE_BLOCK (128 * 1024)

/* When a method is known: before a handshake, after it, in requests of a version without one. */
#define BEFORE 1
#define HANDSHAKE 2
#define STATELESS 4

/* How long a client may keep what seldom changes, and what an image that is fetched changes. */
#define TTL_LONG_MS 3600000
#define TTL_SHORT_MS 60000

struct method {
    const char *name;
    unsigned eras;
    int32_t ttl_ms;
    /* Takes over the answer. */
    void (*handle)(struct server *server, const struct rpc_message *message,
                   const struct reply *reply);
};

static const struct method methods[] = {
    {"initialize", BEFORE | HANDSHAKE, TTL_NONE, lifecycle_initialize},
    {"ping", BEFORE | HANDSHAKE, TTL_NONE, lifecycle_ping},
    {"server/discover", STATELESS, TTL_LONG_MS, lifecycle_discover},
    {"tools/list", HANDSHAKE | STATELESS, TTL_SHORT_MS, tools_list},
    {"tools/call", HANDSHAKE | STATELESS, TTL_NONE, tools_call},
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
    struct reply reply = {answer, server->version, TTL_NONE};
    unsigned era = server->version == VERSION_NONE ? BEFORE : HANDSHAKE;
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
                         "%s came before initialize, and without \"_meta\" that tells "
                         "\"io.modelcontextprotocol/protocolVersion\": send one or the other",
                         method->name);
    } else if (tools_is_live(server, answer) || subscriptions_is_live(server, answer)) {
        rpc_answer_error(answer, RPC_INVALID_REQUEST,
                         "a request with this id has not been answered yet");
    } else {
        reply.ttl_ms = method->ttl_ms;
        method->handle(server, message, &reply);
    }
}

static void handle_notification(void *data, const struct rpc_message *message)
{
    /* Of the others, notifications/initialized among them, there is nothing to learn. */
    if (!json_is(message->method, "notifications/cancelled"))
        return;
    const struct json_value *id = json_member(message->params, "requestId");
    tools_cancel(data, id);
    subscriptions_cancel(data, id);
}

static void send_line(void *data, const char *line, size_t length)
{
    struct server *server = data;
    channel_send(&server->channel, line, length);
}

/* Ends from the loop, because the caller may be deep in what ending takes away. */
static void finish_soon(struct server *server)
{
    if (!server->finishing && !server->finish.armed)
        loop_arm(&server->loop, &server->finish, clock_now());
}

/* Once to kill what runs and give the client time to read its answers, then once to leave. */
static void finish_now(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, finish);
    if (!server->finishing) {
        server->finishing = true;
        channel_stop_reading(&server->channel);
        launcher_release(&server->launcher);
        tools_forget_all(server);
        subscriptions_end_all(server);
        if (!channel_is_drained(&server->channel)) {
            loop_arm(&server->loop, timer,
                     clock_now() + FLUSH_MAX_MS * NANOSECONDS_PER_MILLISECOND);
            return;
        }
    }
    loop_stop(&server->loop);
}

static void handle_line(void *data, const char *line, size_t length)
{
    struct server *server = data;
    rpc_receive(&server->rpc, line, length);
}

static void handle_oversized(void *data)
{
    struct server *server = data;
    rpc_receive_oversized(&server->rpc);
}

static void handle_end(void *data, enum channel_end end)
{
    struct server *server = data;
    if (end == CHANNEL_OUTPUT_FULL)
        log_note("the client has left more than %llu MiB of answers unread: giving up",
                 (unsigned long long)(OUTPUT_MAX / MEBIBYTE));
    if (server->finishing)
        loop_stop(&server->loop);
    else
        finish_soon(server);
}

static void handle_paused(void *data, bool is_paused)
{
    struct server *server = data;
    launcher_hold(&server->launcher, is_paused);
}

static void handle_drained(void *data)
{
    struct server *server = data;
    if (server->finishing)
        loop_stop(&server->loop);
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
        .loop = {.epoll_fd = -1},
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
        .rpc = {.observer = &server->rpc_observer},
        .settings = settings,
        .launcher = launcher_of(&server->loop, settings),
        .end_signals = INTERRUPTS(handle_signal),
        .finish = {.fire = finish_now},
    };
    server->launcher.warm = (unsigned)settings->warm;
    int r = loop_open(&server->loop);
    if (r == 0)
        r = end_signals_open(&server->end_signals, &server->loop);
    if (r == 0)
        r = channel_open(&server->channel, &server->loop, input_fd, output_fd,
                         &server->channel_observer);
    return r;
}

static void server_close(struct server *server)
{
    launcher_release(&server->launcher);
    tools_forget_all(server);
    subscriptions_end_all(server);
    outputs_release(&server->outputs);
    channel_close(&server->channel);
    end_signals_close(&server->end_signals);
    loop_close(&server->loop);
}

int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault)
{
    /* Setting it keeps it: else one large message would make malloc hold on to as much for good. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    struct server server;
    int r = server_open(&server, settings, input_fd, output_fd);
    if (r < 0)
        fault_set(fault, -r, "starting the server on stdin and stdout: %m");
    if (r == 0) {
        r = loop_run(&server.loop);
        if (r < 0)
            fault_set(fault, -r, "waiting for the client: %m");
    }
    server_close(&server);
    return r;
}
