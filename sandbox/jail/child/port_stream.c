#include "sandbox/jail/child/port_stream.h"

#include "sandbox/jail/child/report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE_SIZE (JAIL_SCRATCH_SIZE / 2)

struct port_stream {
    struct jail *jail;
    uint16_t port;
    const int *streams;
};

/* One way of the two: what has been read and is to be written. */
struct flow {
    int from, to;
    bool is_socket; /* `to` is */
    bool has_ended; /* `from` has, or nobody takes it */
    int error; /* a negative errno, by which `from` has ended */
    bool is_done; /* all has been written, and `to` knows of the end */
    size_t begin, end;
    char *bytes; /* PIECE_SIZE */
};

static int connect_to(const struct sockaddr *address, socklen_t length)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = connect(fd, address, length) < 0 ? -errno : 0;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* A descriptor that does not block, or a negative errno. */
static int connect_to_port(uint16_t port)
{
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int r = connect_to((const struct sockaddr *)&four, sizeof(four));
    int fd = r >= 0 ? r : connect_to((const struct sockaddr *)&six, sizeof(six));
    if (fd < 0)
        return r;
    return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : fd;
}

static bool is_for_later(ssize_t r)
{
    return r < 0 && (errno == EAGAIN || errno == EINTR);
}

static void end_flow(struct flow *flow)
{
    if (flow->is_socket)
        shutdown(flow->to, SHUT_WR);
    else
        close(flow->to);
    flow->is_done = true;
}

static void fill(struct flow *flow)
{
    ssize_t r = read(flow->from, flow->bytes, PIECE_SIZE);
    if (is_for_later(r))
        return;
    flow->has_ended = r <= 0;
    flow->error = r < 0 ? -errno : 0;
    flow->begin = 0;
    flow->end = r > 0 ? (size_t)r : 0;
}

static void empty(struct flow *flow)
{
    const char *bytes = flow->bytes + flow->begin;
    size_t length = flow->end - flow->begin;
    ssize_t r = flow->is_socket ? send(flow->to, bytes, length, MSG_NOSIGNAL)
                                : write(flow->to, bytes, length);
    if (is_for_later(r))
        return;
    flow->begin = r < 0 ? flow->end : flow->begin + (size_t)r;
    flow->has_ended |= r < 0;
}

static bool is_full(const struct flow *flow)
{
    return flow->begin < flow->end;
}

static void turn(struct flow *flow, const struct pollfd *from, const struct pollfd *to)
{
    if (is_full(flow) && to->revents != 0)
        empty(flow);
    else if (!is_full(flow) && !flow->has_ended && from->revents != 0)
        fill(flow);
    if (!is_full(flow) && flow->has_ended && !flow->is_done)
        end_flow(flow);
}

/* For poll(2): -1: nothing is awaited. */
static struct pollfd wait_from(const struct flow *flow)
{
    return (struct pollfd){is_full(flow) || flow->has_ended ? -1 : flow->from, POLLIN, 0};
}

static struct pollfd wait_to(const struct flow *flow)
{
    return (struct pollfd){is_full(flow) ? flow->to : -1, POLLOUT, 0};
}

/* 0, or the negative errno by which the connection has ended. */
static int pass_on(int fd)
{
    struct flow out = {.from = STDIN_FILENO, .to = fd, .is_socket = true, .bytes = jail_scratch};
    struct flow in = {.from = fd, .to = STDOUT_FILENO, .bytes = jail_scratch + PIECE_SIZE};
    while (!in.is_done) {
        struct pollfd waits[] = {wait_from(&out), wait_to(&out), wait_from(&in), wait_to(&in)};
        if (poll(waits, sizeof(waits) / sizeof(waits[0]), -1) < 0)
            continue;
        turn(&out, &waits[0], &waits[1]);
        turn(&in, &waits[2], &waits[3]);
    }
    return in.error;
}

static int become_stream(const struct port_stream *stream)
{
    int r = init_prepare_program(stream->jail, NULL, stream->streams, STDERR_FILENO + 1);
    if (r < 0)
        return r;
    if (syscall(SYS_close_range, STDERR_FILENO + 1U, UINT_MAX, 0U) < 0)
        return -errno;
    int fd = connect_to_port(stream->port);
    if (fd < 0)
        return fd;
    if (fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return pass_on(fd);
}

STACK_OF_ITS_OWN static int stream_main(void *data)
{
    _exit(-become_stream(data) & 0xff);
}

int port_stream_start(struct jail *jail, uint16_t port, const int *streams)
{
    struct port_stream stream = {.jail = jail, .port = port, .streams = streams};
    return init_clone(stream_main, &stream, CLONE_OF_MEMORY);
}
