#include "mcp/http/http_request.h"

#include "interpreter/base/bounds.h"
#include "mcp/http/http_head.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JSON_TYPE "application/json"

static const struct http_endpoint *find_endpoint(const struct http_requests *requests,
                                                 const char *path)
{
    for (size_t i = 0; i < requests->endpoint_count; i++)
        if (strcmp(requests->endpoints[i].path, path) == 0)
            return &requests->endpoints[i];
    return NULL;
}

/* Whether "POST, DELETE" has the method. */
static bool has_method(const char *methods, const char *method)
{
    size_t length = strlen(method);
    for (const char *at = methods; *at != '\0'; at += strspn(at, ", ")) {
        size_t next = strcspn(at, ", ");
        if (next == length && memcmp(at, method, length) == 0)
            return true;
        at += next;
    }
    return false;
}

/* "application/json; charset=utf-8". */
static bool is_json(const char *type)
{
    size_t length = type != NULL ? strcspn(type, "; \t") : 0;
    return length == strlen(JSON_TYPE) && strncasecmp(type, JSON_TYPE, length) == 0;
}

/* Of a request with a body. Whether it may go on. */
static bool check_body(struct http_exchange *exchange)
{
    const char *said = http_exchange_field(exchange, "Content-Length");
    if (!is_json(http_exchange_field(exchange, "Content-Type")) ||
        http_exchange_field(exchange, "Content-Encoding") != NULL) {
        http_exchange_refuse(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                             "the request must have Content-Type: " JSON_TYPE
                             " and no Content-Encoding");
        return false;
    }
    if (said != NULL && strtoull(said, NULL, 10) > LINE_IN_MAX) {
        exchange->is_too_large = true;
        return false;
    }
    return true;
}

/* Before anything of the body has been read. Whether it may go on. */
static bool check_head(const struct http_requests *requests, struct http_exchange *exchange,
                       const struct http_head *head)
{
    const struct http_credentials credentials = {
        .host = http_exchange_field(exchange, "Host"),
        .origin = http_exchange_field(exchange, "Origin"),
        .authorization = http_exchange_field(exchange, "Authorization"),
    };
    const char *why = http_head_find_wrong(head);
    if (why != NULL) {
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "%s", why);
        return false;
    }
    unsigned status = http_guard_check(requests->guard, &credentials, &exchange->owner, &why);
    if (status == MHD_HTTP_UNAUTHORIZED)
        http_exchange_set_field(exchange, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (status != 0)
        http_exchange_refuse(exchange, status, "%s", why);
    else if (requests->is_stopping)
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is ending");
    return status == 0 && !requests->is_stopping;
}

static void refuse_too_large(struct http_exchange *exchange)
{
    http_exchange_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE,
                         "the request is longer than %llu MiB, the maximum",
                         (unsigned long long)(LINE_IN_MAX / MEBIBYTE));
}

static const struct http_endpoint *choose(const struct http_requests *requests,
                                          struct http_exchange *exchange, const char *path,
                                          const char *method)
{
    const struct http_endpoint *endpoint = find_endpoint(requests, path);
    exchange->has_body = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    if (endpoint == NULL) {
        http_exchange_refuse(
            exchange, MHD_HTTP_NOT_FOUND,
            "there is nothing at this path: use /mcp, /run_code, /health, /v1/ping or /metrics");
    } else if (!has_method(endpoint->methods, method)) {
        http_exchange_set_field(exchange, MHD_HTTP_HEADER_ALLOW, endpoint->methods);
        http_exchange_refuse(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "the methods of %s are: %s",
                             endpoint->path, endpoint->methods);
    } else if (!exchange->has_body || check_body(exchange)) {
        return endpoint;
    } else if (exchange->is_too_large) {
        refuse_too_large(exchange);
    }
    return NULL;
}

static void client_left(struct http_connection *connection)
{
    http_exchange_abandon(connection->waiting);
}

/* Stands for the exchange, which is not there yet: the target is not plain. */
static char not_plain;

void *http_request_see_target(void *data, const char *target, struct MHD_Connection *connection)
{
    (void)data;
    (void)connection;
    return http_head_is_plain(target) ? NULL : &not_plain;
}

static enum MHD_Result begin_request(struct http_requests *requests, const struct http_head *head,
                                     void **context)
{
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL)
        return MHD_NO;
    *exchange = (struct http_exchange){
        .loop = requests->loop,
        .turn = &requests->turn,
        .memory = &requests->memory,
        .connection = head->connection,
        .body = BUFFER(LINE_IN_MAX),
    };
    *context = exchange;
    LIST_PREPEND(requests->exchanges, exchange);
    if (check_head(requests, exchange, head))
        exchange->endpoint = choose(requests, exchange, head->url, head->method);
    /* Framing inside of the body is not ours to check: nothing follows it. */
    exchange->is_last_one = http_exchange_field(exchange, "Transfer-Encoding") != NULL;
    return exchange->endpoint != NULL || http_exchange_respond(exchange) ? MHD_YES : MHD_NO;
}

/* What does not fit is read and forgotten, so that the client hears of it. */
static void take_body(struct http_exchange *exchange, const char *bytes, size_t length)
{
    if (exchange->is_too_large || exchange->is_server_full)
        return;
    exchange->is_too_large = exchange->body.length + length > LINE_IN_MAX;
    exchange->is_server_full =
        !exchange->is_too_large && (!http_exchange_count_body(exchange, length) ||
                                    buffer_append(&exchange->body, bytes, length) < 0);
    if (exchange->is_too_large || exchange->is_server_full)
        http_exchange_forget_body(exchange);
}

static void begin_answer(struct http_exchange *exchange)
{
    struct http_connection *connection = http_connection_of(exchange->connection);
    exchange->state = HTTP_WAITING;
    if (exchange->is_too_large) {
        refuse_too_large(exchange);
    } else if (MHD_get_connection_values(exchange->connection, MHD_FOOTER_KIND, NULL, NULL) > 0) {
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "fields after the body are not taken");
    } else if (exchange->is_server_full || connection == NULL) {
        http_exchange_set_field(exchange, MHD_HTTP_HEADER_RETRY_AFTER, "1");
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
                             "the server has no memory for this request now: try again");
    } else if (connection->has_left) {
        http_exchange_abandon(exchange);
    } else {
        http_connection_untime(connection);
        connection->left = client_left;
        connection->waiting = exchange;
        exchange->has_begun = true;
        exchange->endpoint->begin(exchange, exchange->endpoint->owner);
    }
    http_exchange_forget_body(exchange);
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd says which arguments there are */
enum MHD_Result http_request_read(void *data, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    struct http_requests *requests = data;
    struct http_exchange *exchange = *context != &not_plain ? *context : NULL;
    if (exchange == NULL)
        return begin_request(requests,
                             &(struct http_head){.connection = connection,
                                                 .method = method,
                                                 .url = url,
                                                 .version = version,
                                                 .is_plain = *context == NULL},
                             context);
    if (*upload_size > 0) {
        take_body(exchange, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (exchange->state == HTTP_READING)
        begin_answer(exchange);
    return http_exchange_respond(exchange) ? MHD_YES : MHD_NO;
}

void http_request_completed(void *data, struct MHD_Connection *handle, void **context,
                            enum MHD_RequestTerminationCode code)
{
    (void)code;
    struct http_requests *requests = data;
    struct http_exchange *exchange = *context;
    struct http_connection *connection = http_connection_of(handle);
    if (exchange == NULL || *context == &not_plain)
        return;
    *context = NULL;
    exchange->is_suspended = false; /* it is over */
    http_exchange_abandon(exchange);
    LIST_REMOVE(requests->exchanges, exchange);
    http_exchange_free(exchange);
    if (connection != NULL)
        http_connection_time(connection); /* for the next request */
}
