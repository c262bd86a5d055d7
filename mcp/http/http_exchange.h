/*
 * One HTTP request and its response: an object of JSON, or a stream of events.
 *
 * The endpoint gets the whole request and answers at once or later. It is told when nobody waits any more,
 * and never after its last word. Side: parent.  Source: RFC 9110; "Server-sent events", HTML standard.
 */
#ifndef MCP_HTTP_HTTP_EXCHANGE_H
#define MCP_HTTP_HTTP_EXCHANGE_H

#include "mcp/http/http_connection.h"
#include "sandbox/base/buffer.h"
#include "sandbox/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct http_exchange;

struct http_endpoint {
    const char *path;    /* "/mcp" */
    const char *methods; /* "POST, DELETE"; POST has a body of JSON */
    /* The request is there, its body for the call; `data` is its own to set. */
    void (*begin)(struct http_exchange *exchange, void *owner);
    /* Once, after begin(): the response is complete, or the client has gone. Frees exchange->data. */
    void (*end)(struct http_exchange *exchange, void *owner);
    void *owner;
};

enum http_state {
    HTTP_READING, /* the request is not complete */
    HTTP_WAITING, /* the endpoint has yet to answer */
    HTTP_ANSWERED, /* `answer` is the response */
    HTTP_STREAMING, /* events go to `answer` */
    HTTP_GONE, /* there is nobody to answer */
};

struct http_field;

/* Memory of all exchanges. */
struct http_memory {
    size_t requests; /* bodies, and what endpoints hold of them: HTTP_REQUESTS_MAX */
    size_t answers; /* that clients have not taken: HTTP_ANSWERS_MAX */
    size_t freed; /* bytes of both since the heap was trimmed */
};

struct http_exchange {
    struct loop *loop; /* borrowed */
    struct loop_timer *turn; /* borrowed: libmicrohttpd goes on when it fires */
    struct http_memory *memory; /* borrowed */
    struct MHD_Connection *connection; /* borrowed */
    const struct http_endpoint *endpoint; /* borrowed; NULL: the request was refused */
    struct http_exchange *previous, *next; /* of all requests */
    void *data; /* the endpoint's */
    unsigned owner; /* number of the client's token: struct rpc */
    bool has_body; /* POST */
    bool is_last_one; /* of its connection */
    struct http_field *fields; /* owned: those that are not as they came */
    struct buffer body;
    size_t body_counted, held_counted, answer_counted; /* bytes of it in the sums of `memory` */
    bool is_too_large, is_server_full;
    enum http_state state;
    bool is_suspended;
    bool has_begun; /* begin() was called and end() was not */
    bool is_last; /* no further event comes */
    bool is_cut; /* events are missing: it ends as an error */
    unsigned status;
    const char *type; /* of the answer; static text; NULL: it has no content */
    const char *header_name; /* one more, static text; or NULL */
    char header_value[64];
    struct buffer answer;
    size_t taken; /* of the stream in it: bytes that libmicrohttpd has */
};

/* A field of the request without the blanks around it, or NULL; borrowed for the exchange. Untrusted. */
const char *http_exchange_field(struct http_exchange *exchange, const char *name);

/* Answers; takes the bytes over. `type` NULL: no content. */
void http_exchange_answer(struct http_exchange *exchange, unsigned status, const char *type,
                          struct buffer *content);

/* Answers with {"error": "..."}. */
void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a field to the response, before it. `name` is static text. */
void http_exchange_set_field(struct http_exchange *exchange, const char *name, const char *value);

/*
 * The endpoint holds so many bytes for the request, until it says otherwise or the exchange ends: they count as its
 * body did.
 */
void http_exchange_hold(struct http_exchange *exchange, size_t bytes);

/* Sends an event, and begins the stream with the first. Not after http_exchange_answer(). */
void http_exchange_send(struct http_exchange *exchange, const char *data, size_t length);

/* Ends the stream, or an answer without events. */
void http_exchange_end_stream(struct http_exchange *exchange);

/* Bytes of the stream that the client has not taken. */
size_t http_exchange_unsent(const struct http_exchange *exchange);

/*
 * The rest is for the files that deliver requests. Queues the response, or waits for it; whether the
 * connection may go on.
 */
bool http_exchange_respond(struct http_exchange *exchange);

/* Makes room for a part of the body. Whether there is any. */
bool http_exchange_count_body(struct http_exchange *exchange, size_t length);
void http_exchange_forget_body(struct http_exchange *exchange);

/* There is nobody to answer: tells the endpoint. */
void http_exchange_abandon(struct http_exchange *exchange);

void http_exchange_free(struct http_exchange *exchange);

#endif
