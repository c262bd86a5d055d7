#include "mcp/http/http_server.h"

#include "interpreter/base/bounds.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/base/log.h"
#include "mcp/context_open.h"
#include "mcp/http/http_daemon.h"
#include "mcp/http/mcp_endpoint.h"
#include "mcp/http/run_endpoint.h"
#include "mcp/http/state_endpoint.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <microhttpd.h>
#include <stddef.h>

#define LARGE_BLOCK (128 * KIBIBYTE) /* memory blocks of this size are returned when freed */
#define DRAIN_LOOK_MS 10
#define ENDPOINT_COUNT 5

struct http_server {
    struct context context;
    struct http_guard guard;
    struct http_endpoint endpoints[ENDPOINT_COUNT];
    struct mcp_endpoint mcp;
    struct http_daemon daemon;
    struct end_signals end_signals;
    struct loop_timer finish;
    int64_t deadline; /* of the end; 0: it has not begun */
};

/* Who waits for a run that is killed gets this. */
static void refuse_waiting(struct http_server *server)
{
    for (struct http_exchange *exchange = server->daemon.requests.exchanges; exchange != NULL;
         exchange = exchange->next)
        if (exchange->state == HTTP_WAITING)
            http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is ending");
}

/* The first call kills all runs; later ones end the loop when clients have read their answers. */
static void finish_now(struct loop_timer *timer)
{
    struct http_server *server = container_of(timer, struct http_server, finish);
    int64_t now = clock_now();
    if (server->deadline == 0) {
        server->deadline = now + FLUSH_MAX_MS * NANOSECONDS_PER_MILLISECOND;
        http_daemon_stop(&server->daemon);
        refuse_waiting(server);
        context_stop(&server->context);
    }
    if (http_daemon_is_drained(&server->daemon) || now >= server->deadline)
        loop_stop(&server->context.loop);
    else
        loop_arm(&server->context.loop, timer, now + DRAIN_LOOK_MS * NANOSECONDS_PER_MILLISECOND);
}

static void handle_signal(struct end_signals *end_signals, int signal_number)
{
    struct http_server *server = container_of(end_signals, struct http_server, end_signals);
    (void)signal_number;
    if (server->deadline == 0 && !server->finish.armed)
        loop_arm(&server->context.loop, &server->finish, clock_now());
}

/* Whoever reaches the address may run code. */
static int open_guard(struct http_server *server, const struct settings *settings, int *ret_fd,
                      struct fault *fault)
{
    struct http_guard *guard = &server->guard;
    struct http_address address;
    int r = http_address_read(settings->http, &address, fault);
    if (r == 0 && settings->http_token_file != NULL)
        r = http_tokens_read(&guard->tokens, settings->http_token_file, fault);
    if (r < 0)
        return r;
    if (!address.is_loopback && guard->tokens.count == 0)
        return fault_set(fault, EPERM,
                         "%.60s can be reached from other machines: name the file of a token with "
                         "--http-token-file, or listen at 127.0.0.1",
                         settings->http);
    http_address_show(&address, guard->address);
    guard->is_loopback = address.is_loopback;
    guard->names = settings->http_hosts;
    return http_address_listen(&address, ret_fd, &guard->port, fault);
}

static struct http_endpoint state_endpoint(struct http_server *server, const char *path,
                                           void (*answer)(struct http_exchange *exchange,
                                                          void *owner))
{
    return (struct http_endpoint){
        .path = path,
        .methods = "GET",
        .begin = answer,
        .end = state_endpoint_end,
        .owner = &server->context,
    };
}

static void name_endpoints(struct http_server *server)
{
    server->endpoints[0] = (struct http_endpoint){
        .path = "/mcp",
        .methods = "POST, DELETE",
        .begin = mcp_endpoint_begin,
        .end = mcp_endpoint_end,
        .owner = &server->mcp,
    };
    server->endpoints[1] = (struct http_endpoint){
        .path = "/run_code",
        .methods = "POST",
        .begin = run_endpoint_begin,
        .end = run_endpoint_end,
        .owner = &server->context,
    };
    server->endpoints[2] = state_endpoint(server, "/health", state_endpoint_answer_health);
    server->endpoints[3] = state_endpoint(server, "/v1/ping", state_endpoint_answer_ping);
    server->endpoints[4] = state_endpoint(server, "/metrics", state_endpoint_answer_metrics);
}

static int server_open(struct http_server *server, const struct settings *settings,
                       struct fault *fault)
{
    OWNED_FD int fd = -1;
    *server = (struct http_server){
        .mcp = {.context = &server->context},
        .daemon.requests = {.guard = &server->guard,
                            .endpoints = server->endpoints,
                            .endpoint_count = ENDPOINT_COUNT},
        .end_signals = INTERRUPTS(handle_signal),
        .finish = {.fire = finish_now},
    };
    name_endpoints(server);
    int r = context_open(&server->context, settings, fault);
    if (r == 0)
        r = open_guard(server, settings, &fd, fault);
    if (r < 0)
        return r;
    r = end_signals_open(&server->end_signals, &server->context.loop);
    if (r < 0)
        return fault_set(fault, -r, "waiting for signals: %m");
    return http_daemon_open(&server->daemon, &server->context.loop, &fd, fault);
}

static void server_close(struct http_server *server)
{
    http_daemon_close(&server->daemon);
    context_stop(&server->context);
    mcp_endpoint_release(&server->mcp);
    end_signals_close(&server->end_signals);
    context_close(&server->context);
    http_guard_release(&server->guard);
}

int http_server_run(const struct settings *settings, struct fault *fault)
{
    heap_return_blocks_of(LARGE_BLOCK);
    struct http_server server;
    int r = server_open(&server, settings, fault);
    if (r == 0) {
        log_note("serving http://%s:%u/mcp and /run_code%s", server.guard.address,
                 server.guard.port, server.guard.tokens.count > 0 ? ", with a token" : "");
        r = loop_run(&server.context.loop);
        if (r < 0)
            fault_set(fault, -r, "waiting for clients: %m");
    }
    server_close(&server);
    return r;
}
