#include "mcp/server.h"
#include "interpreter/base/bounds.h"
#include "interpreter/base/channel.h"
#include "interpreter/base/end_signals.h"
#include "interpreter/base/log.h"
#include "mcp/context_open.h"
#include "mcp/extension/functions.h"
#include "mcp/methods.h"
#include "sandbox/base/heap.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <stddef.h>

/* Memory blocks of at least this size are returned to the system when freed. */
#define LARGE_BLOCK (128 * 1024)

struct server {
    struct context context;
    struct channel channel;
    struct client client;
    size_t batches_held; /* by its batches */
    struct channel_observer channel_observer;
    struct rpc_observer rpc_observer;
    struct end_signals end_signals;
    struct loop_timer finish; /* armed when the server shall end */
    bool finishing;
    bool input_ended;       /* it ends when everything is answered */
    bool is_told;           /* by a signal */
    struct loop_timer look; /* from then on: whether the client reads */
    uint64_t seen;          /* channel.taken at the last look */
};

static void handle_request(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct server *server = data;
    methods_answer(&server->context, message, answer);
}

static void handle_notification(void *data, const struct rpc_message *message)
{
    struct server *server = data;
    methods_notice(&server->context, &server->client, message);
}

static void handle_answer(void *data, const struct json_value *id, const struct json_value *result,
                          const struct json_value *error)
{
    struct server *server = data;
    functions_take_answer(&server->context, server->client.rpc.owner, id, result, error);
}

static size_t count_unsent(const struct client *client)
{
    return channel_unsent(&container_of(client, struct server, client)->channel);
}

static void send_line(void *data, struct buffer *line)
{
    struct server *server = data;
    channel_send_whole(&server->channel, line);
}

/* Ends from the loop, because the caller may still be using objects that the shutdown frees. */
static void finish_soon(struct server *server)
{
    if (!server->finishing && !server->finish.armed)
        loop_arm(&server->context.loop, &server->finish, clock_now());
}

static void arm_after(struct server *server, struct loop_timer *timer, int64_t wait_ms)
{
    loop_arm(&server->context.loop, timer, clock_now() + wait_ms * NANOSECONDS_PER_MILLISECOND);
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
        channel_stop_reading(&server->channel);
        context_stop(&server->context);
        if (!channel_is_drained(&server->channel)) {
            if (server->is_told || !server->input_ended)
                arm_after(server, timer, FLUSH_MAX_MS);
            return;
        }
    }
    loop_stop(&server->context.loop);
}

/* A client that is there and has stopped reading is as good as gone. */
static void look_now(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, look);
    bool is_stuck = channel_unsent(&server->channel) > 0 && server->channel.taken == server->seen;
    server->seen = server->channel.taken;
    if (!is_stuck)
        arm_after(server, timer, UNREAD_MAX_MS);
    else if (server->finishing)
        loop_stop(&server->context.loop);
    else
        finish_soon(server);
}

static void end_if_answered(struct server *server)
{
    if (server->input_ended && server->client.rpc.open == 0)
        finish_soon(server);
}

static void handle_settled(void *data)
{
    end_if_answered(data);
}

/* No further request comes; those that have no end are ended. */
static void answer_rest(struct server *server)
{
    server->input_ended = true;
    functions_silence(&server->context, &server->client);
    server->seen = server->channel.taken;
    open_requests_conclude(&server->context.requests);
    arm_after(server, &server->look, UNREAD_MAX_MS);
    end_if_answered(server);
}

static void handle_line(void *data, const char *line, size_t length)
{
    struct server *server = data;
    rpc_receive(&server->client.rpc, line, length);
}

static void handle_oversized(void *data)
{
    struct server *server = data;
    rpc_receive_oversized(&server->client.rpc);
}

static void handle_end(void *data, enum channel_end end)
{
    struct server *server = data;
    if (end == CHANNEL_OUTPUT_FULL)
        log_note("the client has left more than %llu MiB of answers unread: giving up",
                 (unsigned long long)(OUTPUT_MAX / MEBIBYTE));
    if (server->finishing)
        loop_stop(&server->context.loop);
    else if (end == CHANNEL_INPUT_ENDED)
        answer_rest(server);
    else
        finish_soon(server);
}

static void handle_paused(void *data, bool is_paused)
{
    struct server *server = data;
    launcher_hold(&server->context.launcher, HOLD_UNREAD, is_paused);
}

static void handle_drained(void *data)
{
    struct server *server = data;
    if (server->finishing)
        loop_stop(&server->context.loop);
}

static void handle_signal(struct end_signals *end_signals, int signal_number)
{
    struct server *server = container_of(end_signals, struct server, end_signals);
    (void)signal_number;
    server->is_told = true;
    if (server->finishing && !server->finish.armed)
        arm_after(server, &server->finish, FLUSH_MAX_MS);
    finish_soon(server);
}

static int server_open(struct server *server, const struct settings *settings, int input_fd,
                       int output_fd, struct fault *fault)
{
    *server = (struct server){
        .channel = CHANNEL_NONE,
        .client = {.rpc = {.observer = &server->rpc_observer,
                           .batches_held = &server->batches_held},
                   .unsent = count_unsent},
        .channel_observer = {.line = handle_line,
                             .oversized = handle_oversized,
                             .ended = handle_end,
                             .paused = handle_paused,
                             .drained = handle_drained,
                             .data = server},
        .rpc_observer = {.request = handle_request,
                         .notification = handle_notification,
                         .answered = handle_answer,
                         .send = send_line,
                         .settled = handle_settled,
                         .data = server},
        .end_signals = INTERRUPTS(handle_signal),
        .finish = {.fire = finish_now},
        .look = {.fire = look_now},
    };
    int r = context_open(&server->context, settings, fault);
    if (r < 0)
        return r;
    server->context.listener = &server->client;
    r = end_signals_open(&server->end_signals, &server->context.loop);
    if (r == 0)
        r = channel_open(&server->channel, &server->context.loop, input_fd, output_fd,
                         &server->channel_observer);
    return r < 0 ? fault_set(fault, -r, "starting the server on stdin and stdout: %m") : 0;
}

/* What ends may still send. */
static void server_close(struct server *server)
{
    context_stop(&server->context);
    channel_close(&server->channel);
    end_signals_close(&server->end_signals);
    context_close(&server->context);
}

int server_run(const struct settings *settings, int input_fd, int output_fd, struct fault *fault)
{
    heap_return_blocks_of(LARGE_BLOCK);
    struct server server;
    int r = server_open(&server, settings, input_fd, output_fd, fault);
    if (r == 0) {
        r = loop_run(&server.context.loop);
        if (r < 0)
            fault_set(fault, -r, "waiting for the client: %m");
    }
    server_close(&server);
    return r;
}
