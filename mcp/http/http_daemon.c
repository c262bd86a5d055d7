#include "mcp/http/http_daemon.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/owned.h"
#include "sandbox/inherited.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#define TURNS_MAX 8 /* of libmicrohttpd before others have theirs */
#define NEXT_TURN (NANOSECONDS_PER_MILLISECOND / 5)
#define CONNECTIONS_BEYOND 64 /* that are there while others are closed for them */
#define DESCRIPTORS_SHARE 2 /* of the descriptors, one half is for connections */

static void take_turns(struct http_daemon *daemon)
{
    struct http_requests *requests = &daemon->requests;
    for (int turn = 1;; turn++) {
        MHD_UNSIGNED_LONG_LONG wait_ms = 0;
        MHD_run(daemon->daemon);
        if (MHD_get_timeout(daemon->daemon, &wait_ms) != MHD_YES) {
            loop_disarm(requests->loop, &requests->turn);
            return;
        }
        if (wait_ms > 0 || turn == TURNS_MAX) {
            int64_t wait = wait_ms > 0 ? (int64_t)wait_ms * NANOSECONDS_PER_MILLISECOND : NEXT_TURN;
            loop_arm(requests->loop, &requests->turn, clock_now() + wait);
            return;
        }
    }
}

static void is_ready(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    take_turns(container_of(watch, struct http_daemon, watch));
}

static void is_due(struct loop_timer *timer)
{
    take_turns(container_of(timer, struct http_daemon, requests.turn));
}

/* A run has descriptors, too. */
static size_t connections_that_fit(void)
{
    struct rlimit limit;
    inherited_raise_descriptors();
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return HTTP_CONNECTIONS_MAX;
    rlim_t share = limit.rlim_cur / DESCRIPTORS_SHARE;
    return share < HTTP_CONNECTIONS_MAX ? (size_t)share : HTTP_CONNECTIONS_MAX;
}

static struct MHD_Daemon *start(struct http_daemon *daemon, int listen_fd)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, http_request_read,
        &daemon->requests, MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(daemon->connections.maximum + CONNECTIONS_BEYOND),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, &daemon->requests,
        MHD_OPTION_URI_LOG_CALLBACK, http_request_see_target, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        http_connection_changed, &daemon->connections, MHD_OPTION_END);
}

int http_daemon_open(struct http_daemon *daemon, struct loop *loop, int *listen_fd,
                     struct fault *fault)
{
    OWNED_FD int fd = fd_take(listen_fd);
    daemon->requests.loop = daemon->connections.loop = loop;
    daemon->watch = (struct loop_watch){.fd = -1, .ready = is_ready};
    daemon->requests.turn.fire = is_due;
    daemon->connections.sweep.fire = http_connections_sweep;
    daemon->connections.maximum = connections_that_fit();
    errno = 0;
    daemon->daemon = start(daemon, fd);
    if (daemon->daemon == NULL)
        return fault_set(fault, errno != 0 ? errno : EIO, "starting libmicrohttpd: %m");
    fd_take(&fd); /* libmicrohttpd's */
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int r = info != NULL ? loop_watch(loop, &daemon->watch, info->epoll_fd, EPOLLIN) : -ENOTSUP;
    return r < 0 ? fault_set(fault, -r, "waiting for connections: %m") : 0;
}

void http_daemon_stop(struct http_daemon *daemon)
{
    if (daemon->requests.is_stopping)
        return;
    daemon->requests.is_stopping = true;
    OWNED_FD int fd = MHD_quiesce_daemon(daemon->daemon);
}

bool http_daemon_is_drained(const struct http_daemon *daemon)
{
    return daemon->requests.exchanges == NULL;
}

void http_daemon_close(struct http_daemon *daemon)
{
    if (daemon->daemon == NULL)
        return;
    /* libmicrohttpd may not be stopped while a connection is suspended. */
    for (struct http_exchange *exchange = daemon->requests.exchanges; exchange != NULL;
         exchange = exchange->next)
        http_exchange_abandon(exchange);
    loop_unwatch(daemon->requests.loop, &daemon->watch);
    MHD_run(daemon->daemon);
    MHD_stop_daemon(daemon->daemon);
    daemon->daemon = NULL;
    loop_disarm(daemon->requests.loop, &daemon->requests.turn);
    loop_disarm(daemon->connections.loop, &daemon->connections.sweep);
}
