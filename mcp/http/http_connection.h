/*
 * Connections and the time that each has for what it must do: to send a request, to take an answer. Where
 * there are too many, the one that has taken longest is closed, so that idle and slow ones displace no others.
 *
 * Side: parent.
 */
#ifndef MCP_HTTP_HTTP_CONNECTION_H
#define MCP_HTTP_HTTP_CONNECTION_H

#include "sandbox/base/loop.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_connection;
struct http_exchange;

/* Those that have a time, the earliest first. */
struct http_connections {
    struct loop *loop; /* borrowed */
    struct http_connection *first, *last;
    struct loop_timer sweep; /* the first one's time is over */
    size_t count;            /* with those that have none */
    size_t maximum;
};

struct http_connection {
    struct http_connection *previous, *next;
    struct http_connections *all; /* borrowed */
    int fd;                     /* borrowed: libmicrohttpd's */
    int64_t deadline;
    bool is_timed; /* in the list */
    struct loop_watch end;
    struct loop_timer edge; /* armed when it has left */
    bool has_left; /* the client sends nothing more, and so waits for nothing, either */
    /* Called once when it leaves, while it is set. */
    void (*left)(struct http_connection *connection);
    void *waiting; /* for left() */
    struct http_exchange *answered; /* borrowed: its client has yet to take the answer; or NULL */
};

/* That of a request; NULL only if there was no memory. */
struct http_connection *http_connection_of(struct MHD_Connection *connection);

/* For MHD_OPTION_NOTIFY_CONNECTION; `data` is the struct http_connections. */
void http_connection_changed(void *data, struct MHD_Connection *connection, void **context,
                             enum MHD_ConnectionNotificationCode code);

/* HTTP_STEP_MAX_MS from now on, in place of an earlier time. */
void http_connection_time(struct http_connection *connection);
void http_connection_untime(struct http_connection *connection);

/* Its time is over. */
void http_connection_shut(struct http_connection *connection);

/* For the member `sweep`. */
void http_connections_sweep(struct loop_timer *timer);

#endif
