/*
 * The HTTP server of libmicrohttpd in our loop: no thread, its epoll descriptor is one of our watches.
 *
 * Side: parent.  Source: libmicrohttpd 0.9.75, "External event loop"; epoll(7).
 */
#ifndef MCP_HTTP_HTTP_DAEMON_H
#define MCP_HTTP_HTTP_DAEMON_H

#include "mcp/http/http_connection.h"
#include "mcp/http/http_request.h"
#include "sandbox/base/fault.h"

#include <stdbool.h>

struct MHD_Daemon;

struct http_daemon {
    struct MHD_Daemon *daemon; /* owned */
    struct loop_watch watch;
    struct http_requests requests; /* its guard and endpoints are the owner's to set */
    struct http_connections connections;
};

/* Serves at the descriptor, which it takes over in any case. 0, or a negative errno with its fault. */
int http_daemon_open(struct http_daemon *daemon, struct loop *loop, int *listen_fd,
                     struct fault *fault);

/* Accepts no more connections and no more requests; those that wait are answered. */
void http_daemon_stop(struct http_daemon *daemon);

/* Whether every response has been written. */
bool http_daemon_is_drained(const struct http_daemon *daemon);

/* Closes all connections; endpoints are told. Also where it was never opened. */
void http_daemon_close(struct http_daemon *daemon);

#endif
