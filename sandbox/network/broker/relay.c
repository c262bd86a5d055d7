/* Moves the bytes of streams between a jail and the outside. */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/owned.h"
#include "sandbox/network/broker/first_bytes.h"
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

struct stream {
    struct jail *jail;
    struct stream *previous, *next;
    struct loop_watch sides[2];     /* own their descriptors */
    int fds[2];
    uint32_t watched[2]; /* the events that are waited for */
    struct direction directions[2]; /* from that side */
    struct loop_timer half_closed;
    struct relay_name name;
    size_t seen; /* first bytes of the client that did not suffice */
    uint64_t moved[2]; /* bytes from that side, not in the record yet */
};

static void forget_kept(struct stream *stream, struct direction *direction)
{
    stream->jail->kept_bytes -= direction->kept_length;
    free(direction->kept);
    direction->kept = NULL;
    direction->kept_length = 0;
    direction->kept_at = 0;
}

static void account(struct stream *stream)
{
    if (stream->moved[INNER] + stream->moved[OUTER] == 0)
        return;
    record_add_bytes(&stream->jail->record, stream->name.host, stream->name.port,
                     stream->moved[OUTER], stream->moved[INNER]);
    stream->moved[INNER] = 0;
    stream->moved[OUTER] = 0;
}

static void stream_free(struct stream *stream, bool reset)
{
    struct jail *jail = stream->jail;
    struct loop *loop = &jail->broker->loop;
    account(stream);
    for (int side = INNER; side <= OUTER; side++) {
        loop_unwatch(loop, &stream->sides[side]);
        forget_kept(stream, &stream->directions[side]);
        if (reset)
            socket_reset(stream->fds[side]);
        else
            close(stream->fds[side]);
    }
    loop_disarm(loop, &stream->half_closed);
    *(stream->previous != NULL ? &stream->previous->next : &jail->streams) = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    jail->stream_count--;
    jail->broker->stream_count--;
    free(stream);
}

static void on_half_closed(struct loop_timer *timer)
{
    stream_free(container_of(timer, struct stream, half_closed), true);
}

/* 0, also when the other side takes no more now; a negative errno: the stream is broken. */
static int send_kept(struct stream *stream, struct direction *direction, int to)
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

static int keep(struct stream *stream, struct direction *direction, const char *bytes,
                size_t length)
{
    direction->kept = malloc(length);
    if (direction->kept == NULL)
        return -ENOMEM;
    memcpy(direction->kept, bytes, length);
    direction->kept_length = length;
    direction->kept_at = 0;
    stream->jail->kept_bytes += length;
    return 0;
}

/* How much may be read now: it may all have to be kept. 0: the run has moved what it may. */
static size_t readable_size(const struct jail *jail)
{
    uint64_t left = jail->broker->policy.byte_limit > jail->moved_bytes
                        ? jail->broker->policy.byte_limit - jail->moved_bytes
                        : 0;
    size_t room = jail->kept_bytes < JAIL_KEPT_BYTES_MAX - KEPT_ALWAYS
                      ? JAIL_KEPT_BYTES_MAX - jail->kept_bytes
                      : KEPT_ALWAYS;
    size_t size = room < RELAY_BYTES_MAX ? room : RELAY_BYTES_MAX;
    return left < size ? (size_t)left : size;
}

/*
 * Whether the client may name this host: the one that it has connected to, or another that it could
 * have. A server for many hosts would otherwise answer for those that are not allowed.
 */
static bool may_name(const struct stream *stream, enum first_bytes found, const char *host)
{
    const struct policy *policy = &stream->jail->broker->policy;
    if (found == FIRST_STRANGE)
        return false;
    return found != FIRST_HOST ||
           policy_judge_claim(policy, stream->name.host, host, stream->name.port).refusal ==
               REFUSAL_NONE;
}

/*
 * Looks at the first bytes of the client, without taking them. 0: they may pass, or with
 * stream->name.is_checked still set, more are needed; -EACCES: they name another host.
 */
static int check_first_bytes(struct stream *stream)
{
    struct jail *jail = stream->jail;
    uint8_t *bytes = (uint8_t *)jail->broker->relay_bytes;
    char host[HOST_NAME_SIZE] = "";
    int fd = stream->fds[INNER];
    ssize_t length = recv(fd, bytes, FIRST_BYTES_SIZE, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    enum first_bytes found = stream->name.port == PORT_HTTPS
                                 ? first_bytes_read_tls(bytes, (size_t)length, host)
                                 : first_bytes_read_http(bytes, (size_t)length, host);
    /* The same length again: the client has ended. */
    if (found == FIRST_INCOMPLETE && (size_t)length > stream->seen) {
        stream->seen = (size_t)length;
        socket_set(fd, SOL_SOCKET, SO_RCVLOWAT, (int)length + 1);
        return 0;
    }
    socket_set(fd, SOL_SOCKET, SO_RCVLOWAT, 1);
    stream->name.is_checked = false;
    if (may_name(stream, found, host))
        return 0;
    record_refuse(&jail->record, found == FIRST_HOST ? host : stream->name.host, stream->name.port,
                  REFUSAL_NAME_MISMATCH);
    return -EACCES;
}

/* Moves what is there now. 0, or a negative errno: the stream is broken. */
static int move_bytes(struct stream *stream, enum side from)
{
    struct direction *direction = &stream->directions[from];
    struct jail *jail = stream->jail;
    char *bytes = jail->broker->relay_bytes;
    int to = stream->fds[1 - from];
    if (direction->kept != NULL)
        return send_kept(stream, direction, to);
    if (direction->ended)
        return 0;
    if (from == INNER && stream->name.is_checked) {
        int r = check_first_bytes(stream);
        if (r < 0 || stream->name.is_checked)
            return r;
    }
    size_t size = readable_size(jail);
    if (size == 0) {
        record_refuse(&jail->record, stream->name.host, stream->name.port, REFUSAL_LIMIT);
        return -EDQUOT;
    }
    ssize_t length = recv(stream->fds[from], bytes, size, MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN ? 0 : -errno;
    if (length == 0) {
        direction->ended = true;
        return 0;
    }
    stream->moved[from] += (uint64_t)length;
    jail->moved_bytes += (uint64_t)length;
    ssize_t sent = send(to, bytes, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return -errno;
    if (sent < 0)
        sent = 0;
    return sent < length ? keep(stream, direction, bytes + sent, (size_t)(length - sent)) : 0;
}

/* Tells the other side of the end, once everything before it has been sent. */
static void pass_end(struct stream *stream, enum side from)
{
    struct direction *direction = &stream->directions[from];
    if (!direction->ended || direction->done || direction->kept != NULL)
        return;
    direction->done = true;
    shutdown(stream->fds[1 - from], SHUT_WR);
}

/* Waits only for what can be acted on, because the loop is level-triggered. */
static int watch_side(struct stream *stream, enum side side)
{
    struct loop *loop = &stream->jail->broker->loop;
    const struct direction *from = &stream->directions[side];
    const struct direction *to = &stream->directions[1 - side];
    uint32_t events =
        (!from->ended && from->kept == NULL ? EPOLLIN : 0U) | (to->kept != NULL ? EPOLLOUT : 0U);
    if (events == stream->watched[side])
        return 0;
    stream->watched[side] = events;
    if (events == 0) {
        loop_unwatch(loop, &stream->sides[side]);
        return 0;
    }
    return loop_watch(loop, &stream->sides[side], stream->fds[side], events);
}

static int settle(struct stream *stream)
{
    struct loop *loop = &stream->jail->broker->loop;
    pass_end(stream, INNER);
    pass_end(stream, OUTER);
    if (stream->directions[INNER].done || stream->directions[OUTER].done)
        loop_arm(loop, &stream->half_closed,
                 clock_now() + HALF_CLOSED_MAX_MS * NANOSECONDS_PER_MILLISECOND);
    int r = watch_side(stream, INNER);
    return r == 0 ? watch_side(stream, OUTER) : r;
}

static void on_side(struct stream *stream, enum side side, uint32_t events)
{
    int r = 0;
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
    on_side(container_of(watch, struct stream, sides[INNER]), INNER, events);
}

static void on_outer(struct loop_watch *watch, uint32_t events)
{
    on_side(container_of(watch, struct stream, sides[OUTER]), OUTER, events);
}

void relay_start(struct jail *jail, int inner_fd, int outer_fd, const struct relay_name *name)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        socket_reset(inner_fd);
        socket_reset(outer_fd);
        return;
    }
    *stream = (struct stream){
        .jail = jail,
        .next = jail->streams,
        .sides = {{.fd = -1, .ready = on_inner}, {.fd = -1, .ready = on_outer}},
        .fds = {inner_fd, outer_fd},
        .half_closed = {.fire = on_half_closed},
        .name = *name,
    };
    if (jail->streams != NULL)
        jail->streams->previous = stream;
    jail->streams = stream;
    jail->stream_count++;
    jail->broker->stream_count++;
    record_add_stream(&jail->record, name->host, name->port);
    socket_set(inner_fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* The filter has done its work: the connection exists. */
    socket_set(inner_fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
    if (settle(stream) < 0)
        stream_free(stream, true);
}

void relay_account(struct jail *jail)
{
    for (struct stream *stream = jail->streams; stream != NULL; stream = stream->next)
        account(stream);
}

void relay_release(struct jail *jail)
{
    while (jail->streams != NULL)
        stream_free(jail->streams, true);
}
