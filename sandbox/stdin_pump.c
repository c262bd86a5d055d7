#include "sandbox/stdin_pump.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"

#include <poll.h>
#include <stddef.h>
#include <sys/uio.h>

void stdin_pump_close(struct stdin_pump *pump)
{
    if (pump->loop == NULL)
        return;
    loop_unwatch(pump->loop, &pump->source);
    loop_unwatch(pump->loop, &pump->sink);
    fd_close(&pump->sink_fd);
    memory_release(&pump->buffer);
    *pump = STDIN_PUMP_NONE;
}

static bool is_readable(int fd)
{
    struct pollfd event = {.fd = fd, .events = POLLIN};
    return poll(&event, 1, 0) > 0;
}

/*
 * As read(2), but -EAGAIN instead of waiting, whatever its flags say: they are shared with the program
 * that gave us the descriptor, and so are its bytes, which another reader may have taken.
 */
static ssize_t read_now(const struct stdin_pump *pump)
{
    struct iovec room = {pump->buffer, STDIN_BUFFER_SIZE};
    ssize_t length = pump->is_file ? readv(pump->source_fd, &room, 1)
                                   : preadv2(pump->source_fd, &room, 1, -1, RWF_NOWAIT);
    /* A terminal, or a kernel that cannot tell. */
    if (length < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
        if (!is_readable(pump->source_fd))
            return -EAGAIN;
        length = readv(pump->source_fd, &room, 1);
    }
    return length < 0 ? -errno : length;
}

/* Waits for what has to come next; the source only while there is room for more. */
static int wait_for_more(struct stdin_pump *pump)
{
    bool has_bytes = pump->length > 0;
    /* Without events: that the program has closed its end is told all the same. */
    int r = loop_watch(pump->loop, &pump->sink, pump->sink_fd,
                       has_bytes || pump->is_file ? EPOLLOUT : 0);
    if (r < 0 || has_bytes || pump->is_file)
        return r;
    /* Once: a source that has ended would go on saying so while the pipe is full. */
    return loop_watch(pump->loop, &pump->source, pump->source_fd, EPOLLIN | EPOLLONESHOT);
}

/* Writes what there is and goes on waiting, or closes at the end. */
static int push(struct stdin_pump *pump)
{
    while (pump->length > 0) {
        ssize_t written = write(pump->sink_fd, pump->bytes, pump->length);
        if (written < 0 && errno == EAGAIN)
            break;
        if (written < 0 && errno != EINTR) {
            int r = errno == EPIPE ? 0 : -errno; /* the program reads no more */
            stdin_pump_close(pump);
            return r;
        }
        pump->bytes += written > 0 ? written : 0;
        pump->length -= written > 0 ? (size_t)written : 0;
    }
    if (pump->length == 0 && pump->source_fd < 0) {
        stdin_pump_close(pump);
        return 0;
    }
    return wait_for_more(pump);
}

/* Reads a piece and pushes it on; a source that fails has ended. */
static int pull(struct stdin_pump *pump)
{
    ssize_t length = read_now(pump);
    if (length == -EAGAIN || length == -EINTR)
        return wait_for_more(pump);
    if (length <= 0) {
        stdin_pump_close(pump);
        return 0;
    }
    pump->bytes = pump->buffer;
    pump->length = (size_t)length;
    return push(pump);
}

/* Both watches exist by now: to change one takes no memory. What fails now is the end of stdin. */
static void on_sink(struct loop_watch *watch, uint32_t events)
{
    struct stdin_pump *pump = container_of(watch, struct stdin_pump, sink);
    if ((events & EPOLLERR) != 0)
        stdin_pump_close(pump);
    else if (pump->length > 0)
        push(pump);
    else
        pull(pump);
}

static void on_source(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    pull(container_of(watch, struct stdin_pump, source));
}

static int open_source(struct stdin_pump *pump, int fd)
{
    pump->source_fd = fd;
    pump->buffer = malloc(STDIN_BUFFER_SIZE);
    if (pump->buffer == NULL)
        return -ENOMEM;
    int r = loop_watch(pump->loop, &pump->source, fd, EPOLLIN | EPOLLONESHOT);
    pump->is_file = r == -EPERM; /* epoll_ctl(2) */
    return pump->is_file ? 0 : r;
}

int stdin_pump_open(struct stdin_pump *pump, struct loop *loop, const struct run_stdin *source,
                    int sink_fd)
{
    *pump = STDIN_PUMP_NONE;
    pump->loop = loop;
    pump->sink_fd = sink_fd;
    pump->sink.ready = on_sink;
    pump->source.ready = on_source;
    int r = 0;
    if (source->kind == STDIN_DESCRIPTOR) {
        r = open_source(pump, source->fd);
    } else {
        pump->bytes = source->bytes;
        pump->length = source->length;
    }
    if (r == 0)
        r = push(pump);
    if (r < 0)
        stdin_pump_close(pump);
    return r;
}
