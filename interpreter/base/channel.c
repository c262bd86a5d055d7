#include "interpreter/base/channel.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE (64 * KIBIBYTE)

size_t channel_unsent(const struct channel *channel)
{
    return channel->outgoing.length - channel->written;
}

static int watch_side(struct channel *channel, struct channel_side *side, uint32_t events)
{
    return loop_watch(channel->loop, &side->watch, side->ready_fd >= 0 ? side->ready_fd : side->fd,
                      events);
}

/*
 * epoll refuses regular files and /dev/null, which are always ready: an eventfd stands in for them.
 */
static int open_side(struct channel *channel, struct channel_side *side, int fd, uint32_t events)
{
    side->fd = fd;
    int r = watch_side(channel, side, events);
    if (r != -EPERM)
        return r;
    side->ready_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (side->ready_fd < 0)
        return -errno;
    return watch_side(channel, side, events);
}

static void close_side(struct channel *channel, struct channel_side *side)
{
    loop_unwatch(channel->loop, &side->watch);
    fd_close(&side->ready_fd);
}

void channel_stop_reading(struct channel *channel)
{
    channel->reading = false;
    loop_unwatch(channel->loop, &channel->input.watch);
    buffer_release(&channel->incoming);
}

static void give_up_output(struct channel *channel, enum channel_end end, int error)
{
    if (!channel->writing)
        return;
    channel->writing = false;
    channel->output_error = error;
    loop_unwatch(channel->loop, &channel->output.watch);
    buffer_release(&channel->outgoing);
    channel->written = 0;
    channel->observer->ended(channel->observer->data, end);
}

/*
 * Delivers complete lines, unless held, or paused because the client does not read its answers. A
 * handler may stop reading, or hold.
 */
static void deliver_lines(struct channel *channel, bool also_paused)
{
    size_t start = 0;
    bool is_all = false;
    channel->delivering = true;
    while (channel->reading && !channel->held && (also_paused || !channel->paused)) {
        const char *data = channel->incoming.data;
        const char *newline =
            memchr(data + channel->scanned, '\n', channel->incoming.length - channel->scanned);
        is_all = newline == NULL;
        if (is_all)
            break;
        size_t end = (size_t)(newline - data);
        channel->scanned = end + 1;
        if (!channel->skipping)
            channel->observer->line(channel->observer->data, data + start, end - start);
        channel->skipping = false;
        start = end + 1;
    }
    channel->delivering = false;
    if (!channel->reading)
        return;
    buffer_consume(&channel->incoming, start);
    channel->scanned = is_all ? channel->incoming.length : 0;
}

static void bound_line(struct channel *channel)
{
    bool too_long = channel->incoming.length > LINE_IN_MAX;
    if (too_long && !channel->skipping) {
        channel->skipping = true;
        channel->observer->oversized(channel->observer->data);
    }
    /* Keep nothing of a skipped line, and no large block between lines. */
    if (channel->skipping || channel->incoming.length == 0)
        buffer_release(&channel->incoming);
    channel->scanned = channel->incoming.length;
}

/* At the end of the input: delivers what is left of it, now or when no longer held. */
static void end_input(struct channel *channel)
{
    channel->input_ended = true;
    loop_unwatch(channel->loop, &channel->input.watch);
    if (channel->incoming.length > 0)
        deliver_lines(channel, true);
    if (channel->held)
        return;
    if (channel->reading && channel->incoming.length > 0 && !channel->skipping)
        channel->observer->line(channel->observer->data, channel->incoming.data,
                                channel->incoming.length);
    if (!channel->reading)
        return;
    channel_stop_reading(channel);
    channel->observer->ended(channel->observer->data, CHANNEL_INPUT_ENDED);
}

static void take_lines(struct channel *channel)
{
    if (channel->incoming.length > 0)
        deliver_lines(channel, false);
    if (channel->reading && !channel->paused && !channel->held)
        bound_line(channel);
}

static void input_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct channel *channel = container_of(watch, struct channel, input.watch);
    struct buffer *incoming = &channel->incoming;
    ssize_t count = -1;
    errno = ENOMEM;
    if (buffer_reserve(incoming, READ_SIZE) == 0)
        count = read(channel->input.fd, incoming->data + incoming->length, READ_SIZE);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        channel->input_error = count < 0 ? errno : 0;
        end_input(channel);
        return;
    }
    incoming->length += (size_t)count;
    take_lines(channel);
}

/* What fits for certain: poll(2) guarantees room for PIPE_BUF bytes in a pipe; one that is empty takes all that it may hold. */
static size_t room_of(int fd)
{
    int unread;
    bool is_empty = ioctl(fd, FIONREAD, &unread) == 0 && unread == 0;
    int capacity = is_empty ? fcntl(fd, F_GETPIPE_SZ) : -1;
    return capacity > PIPE_BUF ? (size_t)capacity : PIPE_BUF;
}

static ssize_t write_some(struct channel *channel, const char *data, size_t length)
{
    if (!channel->output_no_socket) {
        ssize_t count = send(channel->output.fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0 || errno != ENOTSOCK)
            return count;
        channel->output_no_socket = true;
    }
    bool is_file = channel->output.ready_fd >= 0;
    size_t room = is_file || length <= PIPE_BUF ? length : room_of(channel->output.fd);
    return write(channel->output.fd, data, length < room ? length : room);
}

static void forget_written(struct channel *channel)
{
    struct buffer *outgoing = &channel->outgoing;
    if (channel_unsent(channel) == 0) {
        buffer_release(outgoing);
        channel->written = 0;
    } else if (channel->written > outgoing->length / 2) {
        buffer_consume(outgoing, channel->written);
        channel->written = 0;
    }
}

/* Watches the descriptors for the pending work. */
static void wait_again(struct channel *channel)
{
    if (channel->reading && !channel->held && !channel->input_ended)
        watch_side(channel, &channel->input, channel->paused ? 0 : EPOLLIN);
    if (channel->writing)
        watch_side(channel, &channel->output, channel_unsent(channel) > 0 ? EPOLLOUT : 0);
}

/* Pauses while the client does not read its answers. */
static void pause_if_full(struct channel *channel)
{
    bool is_full = channel_unsent(channel) > (channel->paused ? OUTPUT_RESUME : OUTPUT_PAUSE);
    if (is_full == channel->paused || channel->never_pauses)
        return;
    channel->paused = is_full;
    channel->observer->paused(channel->observer->data, is_full);
    if (!is_full)
        take_lines(channel);
}

static void output_ready(struct loop_watch *watch, uint32_t events)
{
    struct channel *channel = container_of(watch, struct channel, output.watch);
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        give_up_output(channel, CHANNEL_OUTPUT_GONE, EPIPE);
        return;
    }
    ssize_t count =
        write_some(channel, channel->outgoing.data + channel->written, channel_unsent(channel));
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        give_up_output(channel, CHANNEL_OUTPUT_GONE, errno);
        return;
    }
    if (count <= 0)
        return;
    channel->written += (size_t)count;
    channel->taken += (uint64_t)count;
    forget_written(channel);
    pause_if_full(channel);
    wait_again(channel);
    if (channel_unsent(channel) == 0)
        channel->observer->drained(channel->observer->data);
}

int channel_open(struct channel *channel, struct loop *loop, int input_fd, int output_fd,
                 const struct channel_observer *observer)
{
    *channel = (struct channel){
        .loop = loop,
        .observer = observer,
        .input = {.fd = -1, .ready_fd = -1, .watch = {.fd = -1, .ready = input_ready}},
        .output = {.fd = -1, .ready_fd = -1, .watch = {.fd = -1, .ready = output_ready}},
        .incoming = BUFFER(LINE_IN_MAX + 2 * READ_SIZE),
        .outgoing = BUFFER(OUTPUT_MAX),
        .reading = true,
        .writing = true,
    };
    int r = open_side(channel, &channel->input, input_fd, EPOLLIN);
    if (r == 0)
        r = open_side(channel, &channel->output, output_fd, 0);
    if (r < 0)
        channel_close(channel);
    return r;
}

void channel_close(struct channel *channel)
{
    channel->reading = false;
    channel->writing = false;
    close_side(channel, &channel->input);
    close_side(channel, &channel->output);
    buffer_release(&channel->incoming);
    buffer_release(&channel->outgoing);
}

void channel_set_output_max(struct channel *channel, size_t bytes)
{
    channel->outgoing.maximum = bytes;
}

void channel_read_on(struct channel *channel)
{
    channel->never_pauses = true;
}

void channel_send(struct channel *channel, const char *line, size_t length)
{
    if (!channel->writing)
        return;
    struct buffer *outgoing = &channel->outgoing;
    if (buffer_reserve(outgoing, length + 1) < 0) {
        give_up_output(channel, CHANNEL_OUTPUT_FULL, ENOBUFS);
        return;
    }
    buffer_append(outgoing, line, length);
    buffer_append(outgoing, "\n", 1);
    pause_if_full(channel);
    wait_again(channel);
}

void channel_send_whole(struct channel *channel, struct buffer *line)
{
    bool is_taken = channel->writing && channel_unsent(channel) == 0 &&
                    line->length < channel->outgoing.maximum && buffer_append(line, "\n", 1) == 0;
    if (!is_taken) {
        channel_send(channel, line->data, line->length);
        return;
    }
    buffer_move(&channel->outgoing, line);
    channel->written = 0;
    pause_if_full(channel);
    wait_again(channel);
}

void channel_hold(struct channel *channel, bool hold)
{
    if (channel->held == hold)
        return;
    channel->held = hold;
    if (hold) {
        loop_unwatch(channel->loop, &channel->input.watch);
    } else if (channel->delivering) {
        wait_again(channel); /* the next line follows from there */
    } else if (channel->input_ended && channel->reading) {
        end_input(channel);
    } else {
        take_lines(channel);
        wait_again(channel);
    }
}

bool channel_is_drained(const struct channel *channel)
{
    return !channel->writing || channel_unsent(channel) == 0;
}
