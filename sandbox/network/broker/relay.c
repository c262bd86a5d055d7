/* Moves the bytes of streams between a jail and the outside. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/gate.h"
#include "sandbox/network/broker/sockets.h"

#include <linux/filter.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What each direction may always keep, whatever the others have kept. */
#define KEPT_ALWAYS 4096

/* From one side to the other. */
struct direction {
    char *kept; /* owned: read, but not taken by the other side yet */
    size_t kept_at, kept_length;
    bool ended; /* nothing more can be read */
    bool done;  /* and the other side has been told */
};

enum side { INNER, OUTER };

struct relay_stream {
    struct broker_jail *jail;
    struct relay_stream *previous, *next;
    struct loop_watch sides[2];     /* own their descriptors */
    int fds[2];
    uint32_t watched[2]; /* the events that are waited for */
    struct direction directions[2]; /* from that side */
    struct loop_timer half_closed;
    struct relay_name name;
    struct gate *gate; /* owned; NULL: everything passes */
    bool has_left; /* the client has ended while it was the server's turn to speak */
    struct loop_timer first_bytes;
    uint64_t moved[2]; /* bytes from that side, not in the record yet */
};

static void forget_kept(struct relay_stream *stream, struct direction *direction)
{
    stream->jail->kept_bytes -= direction->kept_length;
    free(direction->kept);
    direction->kept = NULL;
    direction->kept_length = 0;
    direction->kept_at = 0;
}

static void account(struct relay_stream *stream)
{
    if (stream->moved[INNER] + stream->moved[OUTER] == 0)
        return;
    record_add_bytes(&stream->jail->record, stream->name.host, stream->name.port,
                     stream->moved[OUTER], stream->moved[INNER]);
    stream->moved[INNER] = 0;
    stream->moved[OUTER] = 0;
}

static void open_gate(struct relay_stream *stream)
{
    if (stream->gate == NULL)
        return;
    stream->jail->kept_bytes -= stream->gate->capacity;
    loop_disarm(&stream->jail->loop, &stream->first_bytes);
    gate_free(stream->gate);
    stream->gate = NULL;
}

static void stream_free(struct relay_stream *stream, bool reset)
{
    struct broker_jail *jail = stream->jail;
    struct loop *loop = &jail->loop;
    account(stream);
    if (stream->gate != NULL && gate_is_stuck(stream->gate))
        record_refuse(&jail->record, stream->name.host, stream->name.port, REFUSAL_PROTOCOL);
    open_gate(stream);
    for (int side = INNER; side <= OUTER; side++) {
        loop_unwatch(loop, &stream->sides[side]);
        forget_kept(stream, &stream->directions[side]);
        if (reset)
            socket_reset(stream->fds[side]);
        else
            close(stream->fds[side]);
    }
    loop_disarm(loop, &stream->half_closed);
    LIST_REMOVE(jail->streams, stream);
    jail->stream_count--;
    jail->broker->stream_count--;
    free(stream);
}

static void on_half_closed(struct loop_timer *timer)
{
    stream_free(container_of(timer, struct relay_stream, half_closed), true);
}

static void on_first_bytes_late(struct loop_timer *timer)
{
    stream_free(container_of(timer, struct relay_stream, first_bytes), true);
}

/* 0, also when the other side takes no more now; a negative errno: the stream is broken. */
static int send_kept(struct relay_stream *stream, struct direction *direction, int to)
{
    size_t left = direction->kept_length - direction->kept_at;
    ssize_t sent =
        send(to, direction->kept + direction->kept_at, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN ? 0 : -errno;
    direction->kept_at += (size_t)sent;
    if (direction->kept_at == direction->kept_length)
        forget_kept(stream, direction);
    return 0;
}

/* Adds to what is kept. */
static int keep(struct relay_stream *stream, struct direction *direction, const char *bytes,
                size_t length)
{
    char *kept = realloc(direction->kept, direction->kept_length + length);
    if (kept == NULL)
        return -ENOMEM;
    memcpy(kept + direction->kept_length, bytes, length);
    direction->kept = kept;
    direction->kept_length += length;
    stream->jail->kept_bytes += length;
    return 0;
}

static uint64_t left_to_move(const struct broker_jail *jail)
{
    uint64_t limit = jail->broker->policy.byte_limit;
    return limit > jail->moved_bytes ? limit - jail->moved_bytes : 0;
}

/* How much may be read now: it may all have to be kept. 0: the run has moved what it may. */
static size_t readable_size(const struct broker_jail *jail)
{
    uint64_t left = left_to_move(jail);
    size_t room = jail->kept_bytes < JAIL_KEPT_BYTES_MAX - KEPT_ALWAYS
                      ? JAIL_KEPT_BYTES_MAX - jail->kept_bytes
                      : KEPT_ALWAYS;
    size_t size = room < RELAY_BYTES_MAX ? room : RELAY_BYTES_MAX;
    return left < size ? (size_t)left : size;
}

/* Records the refusal of the host and returns what ends the stream. */
static int refuse(struct relay_stream *stream, enum refusal refusal)
{
    record_refuse(&stream->jail->record, stream->name.host, stream->name.port, refusal);
    open_gate(stream); /* it has nothing more to tell */
    return -EACCES;
}

/* Sends what has been read, and keeps what the other side does not take now. */
static int pass_bytes(struct relay_stream *stream, enum side from, const char *bytes, size_t length)
{
    struct direction *direction = &stream->directions[from];
    ssize_t sent = 0;
    stream->moved[from] += length;
    stream->jail->moved_bytes += length;
    if (direction->kept == NULL)
        sent = send(stream->fds[1 - from], bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return -errno;
    size_t taken = sent < 0 ? 0 : (size_t)sent;
    return taken < length ? keep(stream, direction, bytes + taken, length - taken) : 0;
}

/* Passes what may pass of the bytes at the gate. */
static int run_gate(struct relay_stream *stream)
{
    struct gate *gate = stream->gate;
    struct loop *loop = &stream->jail->loop;
    struct gate_refusal refusal = {0};
    size_t length = 0;
    enum gate_verdict verdict;
    while ((verdict = gate_judge(gate, &length, &refusal)) == GATE_PASSES) {
        loop_disarm(loop, &stream->first_bytes);
        if (length > left_to_move(stream->jail))
            return refuse(stream, REFUSAL_LIMIT);
        int r = pass_bytes(stream, INNER, (const char *)gate->bytes, length);
        if (r < 0)
            return r;
        gate_drop(gate, length);
    }
    if (verdict == GATE_REFUSES) {
        record_refuse(&stream->jail->record, refusal.host, refusal.port, refusal.reason);
        open_gate(stream);
        return -EACCES;
    }
    if (gate->stage == GATE_OPEN)
        open_gate(stream);
    else if (gate_is_stuck(gate) && !stream->first_bytes.armed)
        loop_arm(loop, &stream->first_bytes,
                 clock_now() + FIRST_BYTES_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    return 0;
}

/* Takes bytes of the client to the gate. */
static int take_first_bytes(struct relay_stream *stream)
{
    struct gate *gate = stream->gate;
    struct broker_jail *jail = stream->jail;
    size_t capacity = gate->capacity;
    size_t size = 0;
    if (gate_awaits_server(gate))
        return -ECONNRESET; /* only a broken connection is told of now */
    if (gate->length >= KEPT_ALWAYS && gate->length == capacity &&
        jail->kept_bytes + capacity > JAIL_KEPT_BYTES_MAX)
        return refuse(stream, REFUSAL_LIMIT);
    int r = gate_reserve(gate, &size);
    if (r < 0)
        return r;
    jail->kept_bytes += gate->capacity - capacity;
    ssize_t length = recv(stream->fds[INNER], gate->bytes + gate->length, size, MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (length == 0 && gate_is_stuck(gate))
        return -EPROTO;
    if (length == 0)
        stream->directions[INNER].ended = true;
    gate->length += (size_t)length;
    return run_gate(stream);
}

/* The same of any bytes, once the gate is open, and of the server's. */
static int take_bytes(struct relay_stream *stream, enum side from)
{
    struct broker_jail *jail = stream->jail;
    char *bytes = jail->broker->relay_bytes;
    size_t size = readable_size(jail);
    if (size == 0)
        return refuse(stream, REFUSAL_LIMIT);
    ssize_t length = recv(stream->fds[from], bytes, size, MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (length == 0) {
        stream->directions[from].ended = true;
        return 0;
    }
    if (stream->gate != NULL && !gate_hear(stream->gate, (uint8_t *)bytes, (size_t)length))
        return refuse(stream, REFUSAL_PROTOCOL);
    int r = pass_bytes(stream, from, bytes, (size_t)length);
    return r == 0 && stream->gate != NULL ? run_gate(stream) : r;
}

/* Moves what is there now. 0, or a negative errno: the stream is broken. */
static int move_bytes(struct relay_stream *stream, enum side from)
{
    struct direction *direction = &stream->directions[from];
    if (direction->kept != NULL)
        return send_kept(stream, direction, stream->fds[1 - from]);
    if (direction->ended)
        return 0;
    return from == INNER && stream->gate != NULL ? take_first_bytes(stream)
                                                 : take_bytes(stream, from);
}

/* Tells the other side of the end, once everything before it has been sent. */
static void pass_end(struct relay_stream *stream, enum side from)
{
    struct direction *direction = &stream->directions[from];
    if (!direction->ended || direction->done || direction->kept != NULL)
        return;
    direction->done = true;
    shutdown(stream->fds[1 - from], SHUT_WR);
}

static bool awaits_answer(const struct relay_stream *stream)
{
    return stream->gate != NULL && gate_awaits_server(stream->gate);
}

/* Waits only for what can be acted on, because the loop is level-triggered. */
static int watch_side(struct relay_stream *stream, enum side side)
{
    struct loop *loop = &stream->jail->loop;
    const struct direction *from = &stream->directions[side];
    const struct direction *to = &stream->directions[1 - side];
    uint32_t events =
        (!from->ended && from->kept == NULL ? EPOLLIN : 0U) | (to->kept != NULL ? EPOLLOUT : 0U);
    if (side == INNER &&
        awaits_answer(stream)) /* the server's turn: only the client's end counts */
        events = (events & ~(uint32_t)EPOLLIN) | (stream->has_left ? 0U : EPOLLRDHUP);
    if (events == stream->watched[side])
        return 0;
    stream->watched[side] = events;
    if (events == 0) {
        loop_unwatch(loop, &stream->sides[side]);
        return 0;
    }
    return loop_watch(loop, &stream->sides[side], stream->fds[side], events);
}

static int settle(struct relay_stream *stream)
{
    struct loop *loop = &stream->jail->loop;
    pass_end(stream, INNER);
    pass_end(stream, OUTER);
    if (stream->directions[INNER].done || stream->directions[OUTER].done || stream->has_left)
        loop_arm(loop, &stream->half_closed,
                 clock_now() + HALF_CLOSED_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    int r = watch_side(stream, INNER);
    return r == 0 ? watch_side(stream, OUTER) : r;
}

static void on_side(struct relay_stream *stream, enum side side, uint32_t events)
{
    int r = 0;
    if ((events & EPOLLRDHUP) != 0)
        stream->has_left = true;
    if ((events & EPOLLOUT) != 0)
        r = move_bytes(stream, 1 - side);
    if (r == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
        r = move_bytes(stream, side);
    if (r == 0)
        r = settle(stream);
    if (r < 0)
        stream_free(stream, true);
    else if (stream->directions[INNER].done && stream->directions[OUTER].done)
        stream_free(stream, false);
}

static void on_inner(struct loop_watch *watch, uint32_t events)
{
    on_side(container_of(watch, struct relay_stream, sides[INNER]), INNER, events);
}

static void on_outer(struct loop_watch *watch, uint32_t events)
{
    on_side(container_of(watch, struct relay_stream, sides[OUTER]), OUTER, events);
}

void relay_start(struct broker_jail *jail, int inner_fd, int outer_fd,
                 const struct relay_name *name)
{
    struct relay_stream *stream = calloc(1, sizeof(*stream));
    struct gate *gate =
        name->is_gated ? gate_new(&jail->broker->policy, name->host, name->port) : NULL;
    if (stream == NULL || (name->is_gated && gate == NULL)) {
        free(stream);
        gate_free(gate);
        socket_reset(inner_fd);
        socket_reset(outer_fd);
        return;
    }
    *stream = (struct relay_stream){
        .jail = jail,
        .sides = {{.fd = -1, .ready = on_inner}, {.fd = -1, .ready = on_outer}},
        .fds = {inner_fd, outer_fd},
        .half_closed = {.fire = on_half_closed},
        .gate = gate,
        .first_bytes = {.fire = on_first_bytes_late},
        .name = *name,
    };
    LIST_PREPEND(jail->streams, stream);
    jail->stream_count++;
    jail->broker->stream_count++;
    socket_set(inner_fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* The filter has done its work: the connection exists. */
    socket_set(inner_fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
    if (settle(stream) < 0)
        stream_free(stream, true);
}

void relay_account(struct broker_jail *jail)
{
    for (struct relay_stream *stream = jail->streams; stream != NULL; stream = stream->next)
        account(stream);
}

void relay_release(struct broker_jail *jail)
{
    while (jail->streams != NULL)
        stream_free(jail->streams, true);
}
