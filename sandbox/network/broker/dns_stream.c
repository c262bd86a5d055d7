/*
 * The clients of DNS over TCP: one question after another, each behind its length of two bytes.
 *
 * Source: RFC 1035, 4.2.2; RFC 7766.
 */
#include "sandbox/network/broker/broker.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/network/broker/dns_message.h"
#include "sandbox/network/broker/sockets.h"

#include <stddef.h>
#include <string.h>

#define LENGTH_SIZE 2
#define QUESTION_SIZE_MAX 1500

struct dns_stream {
    struct broker_jail *jail;
    struct dns_stream *previous, *next;
    struct loop_watch client;  /* owns its descriptor */
    struct question *question; /* under way; NULL: none */
    uint8_t bytes[LENGTH_SIZE + QUESTION_SIZE_MAX];
    size_t length;
    struct loop_timer deadline;
};

static void stream_free(struct dns_stream *stream)
{
    struct broker_jail *jail = stream->jail;
    struct loop *loop = &jail->loop;
    int fd = stream->client.fd;
    if (stream->question != NULL)
        dns_forget_stream(stream->question);
    loop_unwatch(loop, &stream->client);
    fd_close(&fd);
    loop_disarm(loop, &stream->deadline);
    LIST_REMOVE(jail->dns_streams, stream);
    jail->dns_stream_count--;
    free(stream);
}

static void on_deadline(struct loop_timer *timer)
{
    stream_free(container_of(timer, struct dns_stream, deadline));
}

static void arm(struct dns_stream *stream, int64_t milliseconds)
{
    loop_arm(&stream->jail->loop, &stream->deadline,
             clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
}

/* Bytes of the message with its length, as far as they are known. */
static size_t size_of(const struct dns_stream *stream)
{
    if (stream->length < LENGTH_SIZE)
        return LENGTH_SIZE;
    return LENGTH_SIZE + ((size_t)stream->bytes[0] << 8 | stream->bytes[1]);
}

/* False: the client is to be cut off. */
static bool receive(struct dns_stream *stream)
{
    ssize_t count = recv(stream->client.fd, stream->bytes + stream->length,
                         size_of(stream) - stream->length, MSG_DONTWAIT);
    if (count <= 0)
        return count < 0 && errno == EAGAIN;
    stream->length += (size_t)count;
    if (size_of(stream) > sizeof(stream->bytes))
        return false;
    if (stream->length < LENGTH_SIZE || stream->length < size_of(stream))
        return true;
    size_t length = stream->length - LENGTH_SIZE;
    stream->length = 0;
    arm(stream, DNS_STREAM_MAX_MS);
    return dns_take(stream->jail, stream, stream->bytes + LENGTH_SIZE, length);
}

static void on_client(struct loop_watch *watch, uint32_t events)
{
    struct dns_stream *stream = container_of(watch, struct dns_stream, client);
    bool has_gone = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (has_gone || !receive(stream))
        stream_free(stream);
}

void dns_stream_expect(struct dns_stream *stream, struct question *question)
{
    stream->question = question;
    /* Only one at a time: the next is read once this one is answered. */
    uint32_t events = question != NULL ? 0 : EPOLLIN;
    if (loop_watch(&stream->jail->loop, &stream->client, stream->client.fd, events) < 0)
        arm(stream, 0);
}

/* Does not free the stream, which is in use further up. */
void dns_stream_answer(struct dns_stream *stream, const uint8_t *bytes, size_t length)
{
    uint8_t message[LENGTH_SIZE + DNS_MESSAGE_MAX] = {(uint8_t)(length >> 8), (uint8_t)length};
    size_t size = LENGTH_SIZE + length;
    memcpy(message + LENGTH_SIZE, bytes, length);
    /* A client that leaves so many answers unread gets no more. */
    if (send(stream->client.fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        arm(stream, 0);
}

void dns_stream_start(struct broker_jail *jail, int client_fd)
{
    struct dns_stream *stream =
        jail->dns_stream_count < JAIL_DNS_STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;
    if (stream == NULL) {
        socket_reset(client_fd);
        return;
    }
    *stream = (struct dns_stream){
        .jail = jail,
        .client = {.fd = -1, .ready = on_client},
        .deadline = {.fire = on_deadline},
    };
    LIST_PREPEND(jail->dns_streams, stream);
    jail->dns_stream_count++;
    if (loop_watch(&jail->loop, &stream->client, client_fd, EPOLLIN) < 0) {
        socket_reset(client_fd);
        stream_free(stream);
        return;
    }
    arm(stream, DNS_STREAM_MAX_MS);
}

void dns_stream_release(struct broker_jail *jail)
{
    while (jail->dns_streams != NULL)
        stream_free(jail->dns_streams);
}
