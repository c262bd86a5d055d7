#include "sandbox/call_channel.h"

#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define CATCH_UP_READS 3 /* of CALL_READ_MAX, which is the room of a pipe */

/* What the program is still to be told. */
struct call_answer {
    struct call_answer *previous, *next;
    struct call_header header;
    struct buffer json; /* owned */
    size_t sent;
};

struct call_channel {
    struct loop *loop;
    struct call_channel_observer observer;
    int calls_fd, results_fd; /* borrowed; -1: not begun, or over */
    struct loop_watch requests, results;
    struct call_reader reader;
    struct {
        struct call_answer *first, *last; /* owned */
    } answers;
    size_t answer_count;
};

static void on_requests(struct loop_watch *watch, uint32_t events);
static void on_room(struct loop_watch *watch, uint32_t events);

struct call_channel *call_channel_new(struct loop *loop,
                                      const struct call_channel_observer *observer)
{
    struct call_channel *channel = calloc(1, sizeof(*channel));
    if (channel == NULL)
        return NULL;
    channel->loop = loop;
    channel->observer = *observer;
    channel->calls_fd = channel->results_fd = -1;
    channel->requests = (struct loop_watch){.fd = -1, .ready = on_requests};
    channel->results = (struct loop_watch){.fd = -1, .ready = on_room};
    return channel;
}

static void answer_free(struct call_channel *channel, struct call_answer *answer)
{
    QUEUE_REMOVE(&channel->answers, answer);
    channel->answer_count--;
    buffer_release(&answer->json);
    free(answer);
}

void call_channel_stop(struct call_channel *channel)
{
    loop_unwatch(channel->loop, &channel->requests);
    loop_unwatch(channel->loop, &channel->results);
    channel->calls_fd = channel->results_fd = -1;
    channel->observer = (struct call_channel_observer){0};
}

void call_channel_free(struct call_channel *channel)
{
    if (channel == NULL)
        return;
    call_channel_stop(channel);
    while (channel->answers.first != NULL)
        answer_free(channel, channel->answers.first);
    free(channel);
}

bool call_channel_add(struct call_channel *channel, const struct call_header *header,
                      struct buffer *json)
{
    struct call_answer *answer = calloc(1, sizeof(*answer));
    if (answer == NULL)
        return false;
    *answer = (struct call_answer){.header = *header, .json = *json};
    *json = (struct buffer){0};
    QUEUE_APPEND(&channel->answers, answer);
    channel->answer_count++;
    return true;
}

bool call_channel_add_text(struct call_channel *channel, enum call_kind kind, const char *text,
                           size_t length)
{
    OWNED(buffer_release) struct buffer copy = BUFFER(length);
    return buffer_append(&copy, text, length) == 0 &&
           call_channel_add(channel, &(struct call_header){.kind = kind}, &copy);
}

bool call_channel_has_unsent(const struct call_channel *channel)
{
    return channel->answers.first != NULL;
}

/* Whether there is room for all of it: else it waits. */
static bool send_piece(struct call_channel *channel, struct call_answer *answer)
{
    size_t length = answer->json.length - answer->sent;
    bool is_last = length <= CALL_PACKET_MAX - sizeof(struct call_header);
    if (!is_last)
        length = CALL_PACKET_MAX - sizeof(struct call_header);
    struct call_header header = answer->header;
    header.bytes = (uint32_t)length;
    header.flags |= is_last ? CALL_LAST : 0;
    const struct iovec parts[] = {{&header, sizeof(header)},
                                  {answer->json.data + answer->sent, length}};
    const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = 2};
    if (sendmsg(channel->results_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM)
            return false;
        answer_free(channel, answer); /* nobody reads any more */
        return true;
    }
    answer->sent += length;
    if (is_last)
        answer_free(channel, answer);
    return true;
}

static void send_answers(struct call_channel *channel)
{
    if (channel->results_fd < 0)
        return;
    bool has_room = true;
    while (has_room && channel->answers.first != NULL)
        has_room = send_piece(channel, channel->answers.first);
    if (!has_room)
        loop_watch(channel->loop, &channel->results, channel->results_fd, EPOLLOUT);
}

static bool may_read(const struct call_channel *channel)
{
    return channel->calls_fd >= 0 && channel->answer_count < CALL_ANSWERS_WAITING;
}

static void watch_requests(struct call_channel *channel)
{
    bool is_wanted = may_read(channel);
    if (is_wanted && channel->requests.fd < 0)
        loop_watch(channel->loop, &channel->requests, channel->calls_fd, EPOLLIN);
    else if (!is_wanted && channel->requests.fd >= 0)
        loop_unwatch(channel->loop, &channel->requests);
}

static void fail(struct call_channel *channel)
{
    const struct call_channel_observer observer = channel->observer;
    call_channel_stop(channel);
    if (observer.broken != NULL)
        observer.broken(observer.data);
}

/* What has been read is taken first. */
static void read_more(struct call_channel *channel)
{
    int r = 0;
    bool has_filled = false;
    while (r == 0 && may_read(channel)) {
        struct call_piece piece;
        r = call_reader_next(&channel->reader, &piece);
        if (r == 0) {
            r = channel->observer.came(channel->observer.data, channel, &piece);
        } else if (r == -EAGAIN && !has_filled) {
            r = call_reader_fill(&channel->reader, channel->calls_fd);
            has_filled = true; /* the loop has others to serve */
        }
    }
    if (r == -EPROTO) {
        fail(channel);
        return;
    }
    if (r < 0 && r != -EAGAIN)
        channel->calls_fd = -1; /* nobody is left to call */
    watch_requests(channel);
}

/* What would be read only when there is room for answers. */
static void drop_rest(struct call_channel *channel)
{
    int r = 0;
    for (int filled = 0; r == 0 && channel->calls_fd >= 0; filled++) {
        struct call_piece piece;
        while (r == 0)
            r = call_reader_next(&channel->reader, &piece);
        if (r == -EAGAIN && filled < CATCH_UP_READS)
            r = call_reader_fill(&channel->reader, channel->calls_fd);
    }
    if (r == -EPROTO)
        fail(channel);
}

void call_channel_catch_up(struct call_channel *channel)
{
    for (int filled = 0; filled < CATCH_UP_READS && may_read(channel); filled++)
        read_more(channel);
    if (!may_read(channel))
        drop_rest(channel);
}

static void on_requests(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    read_more(container_of(watch, struct call_channel, requests));
}

static void on_room(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct call_channel *channel = container_of(watch, struct call_channel, results);
    send_answers(channel);
    if (channel->answers.first == NULL)
        loop_unwatch(channel->loop, &channel->results);
    read_more(channel);
}

bool call_channel_begin(struct call_channel *channel, int calls_fd, int results_fd)
{
    channel->calls_fd = calls_fd;
    channel->results_fd = results_fd;
    send_answers(channel);
    watch_requests(channel);
    return channel->requests.fd >= 0;
}

void call_channel_go_on(struct call_channel *channel)
{
    send_answers(channel);
    watch_requests(channel);
}

void call_channel_go_on_later(struct call_channel *channel)
{
    if (channel->results_fd >= 0)
        loop_watch(channel->loop, &channel->results, channel->results_fd, EPOLLOUT);
    watch_requests(channel);
}
