#include "mcp/http/http_connection.h"

#include "interpreter/base/bounds.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#define EDGE_AFTER (20 * NANOSECONDS_PER_MILLISECOND)

struct http_connection *http_connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static void arm_sweep(struct http_connections *all)
{
    if (all->first != NULL)
        loop_arm(all->loop, &all->sweep, all->first->deadline);
    else
        loop_disarm(all->loop, &all->sweep);
}

void http_connection_untime(struct http_connection *connection)
{
    struct http_connections *all = connection->all;
    if (!connection->is_timed)
        return;
    connection->is_timed = false;
    QUEUE_REMOVE(all, connection);
    arm_sweep(all);
}

/* All times are as long, so the last one to begin is the last one to end. */
void http_connection_time(struct http_connection *connection)
{
    struct http_connections *all = connection->all;
    http_connection_untime(connection);
    connection->deadline = clock_now() + HTTP_STEP_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    connection->is_timed = true;
    QUEUE_APPEND(all, connection);
    if (connection->previous == NULL)
        arm_sweep(all);
}

/* libmicrohttpd sees the end of the connection, and closes it. */
void http_connection_shut(struct http_connection *connection)
{
    http_connection_untime(connection);
    shutdown(connection->fd, SHUT_RDWR);
}

void http_connections_sweep(struct loop_timer *timer)
{
    struct http_connections *all = container_of(timer, struct http_connections, sweep);
    int64_t now = clock_now();
    while (all->first != NULL && all->first->deadline <= now)
        http_connection_shut(all->first);
    arm_sweep(all);
}

/*
 * libmicrohttpd overlooks an end that comes along with data, since its epoll is edge-triggered: SHUT_RD makes
 * another edge, soon enough after it has read the data.
 */
static void make_edge(struct loop_timer *timer)
{
    shutdown(container_of(timer, struct http_connection, edge)->fd, SHUT_RD);
}

/* Half of a connection counts as none. */
static void end_of_input(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct http_connection *connection = container_of(watch, struct http_connection, end);
    loop_unwatch(connection->all->loop, watch);
    connection->has_left = true;
    loop_arm(connection->all->loop, &connection->edge, clock_now() + EDGE_AFTER);
    if (connection->left != NULL)
        connection->left(connection);
}

static void begin(struct http_connections *all, struct MHD_Connection *handle, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_connection *connection = info != NULL ? malloc(sizeof(*connection)) : NULL;
    *context = connection;
    all->count++;
    if (connection == NULL)
        return;
    *connection = (struct http_connection){
        .all = all,
        .fd = info->connect_fd,
        .end = {.fd = -1, .ready = end_of_input},
        .edge = {.fire = make_edge},
    };
    loop_watch(all->loop, &connection->end, connection->fd, EPOLLRDHUP);
    http_connection_time(connection);
    if (all->count > all->maximum)
        http_connection_shut(all->first);
}

void http_connection_changed(void *data, struct MHD_Connection *handle, void **context,
                             enum MHD_ConnectionNotificationCode code)
{
    struct http_connections *all = data;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        begin(all, handle, context);
        return;
    }
    all->count--;
    struct http_connection *connection = *context;
    if (connection != NULL) {
        http_connection_untime(connection);
        loop_unwatch(all->loop, &connection->end);
        loop_disarm(all->loop, &connection->edge);
    }
    free(connection);
    *context = NULL;
}
