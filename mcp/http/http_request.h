/*
 * Requests as libmicrohttpd delivers them: checks their heads, keeps their bodies, hands them to endpoints.
 *
 * Side: parent.
 */
#ifndef MCP_HTTP_HTTP_REQUEST_H
#define MCP_HTTP_HTTP_REQUEST_H

#include "mcp/http/http_exchange.h"
#include "mcp/http/http_guard.h"

#include <microhttpd.h>

/* What all requests share. */
struct http_requests {
    struct loop *loop;                     /* borrowed */
    const struct http_guard *guard;        /* borrowed */
    const struct http_endpoint *endpoints; /* borrowed */
    size_t endpoint_count;
    struct loop_timer turn;          /* libmicrohttpd wants to go on then */
    struct http_exchange *exchanges; /* owned by libmicrohttpd's requests */
    struct http_memory memory;       /* of all of them */
    bool is_stopping;                /* no more requests are taken */
};

/* For MHD_OPTION_URI_LOG_CALLBACK, the only place that shows what the client sent; http_request_read() gets its answer. */
void *http_request_see_target(void *data, const char *target, struct MHD_Connection *connection);

/* An MHD_AccessHandlerCallback; `data` is the struct http_requests. */
enum MHD_Result http_request_read(void *data, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context);

/* An MHD_RequestCompletedCallback. */
void http_request_completed(void *data, struct MHD_Connection *connection, void **context,
                            enum MHD_RequestTerminationCode code);

#endif
