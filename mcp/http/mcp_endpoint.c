#include "mcp/http/mcp_endpoint.h"

#include "interpreter/base/bounds.h"
#include "mcp/extension/functions.h"
#include "mcp/http/mcp_fields.h"
#include "mcp/lifecycle.h"
#include "mcp/methods.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"

#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"
#define STREAM_TYPE "text/event-stream"
#define SESSION_FIELD "Mcp-Session-Id"

/* A POST: one client for as long as it is answered. */
struct mcp_post {
    struct mcp_post *previous, *next; /* of the endpoint */
    struct mcp_endpoint *endpoint;
    struct http_exchange *exchange;
    struct mcp_session *session; /* borrowed; NULL: it names none */
    struct client client;
    struct rpc_observer observer;
    struct buffer message; /* the answer */
    bool is_receiving;
    bool takes_stream; /* the client does */
};

static unsigned status_of(const struct mcp_post *post)
{
    int error = post->client.rpc.error;
    if (error == RPC_PARSE_ERROR || error == RPC_INVALID_REQUEST)
        return MHD_HTTP_BAD_REQUEST;
    if (error == 0 || error == RPC_INTERNAL_ERROR || error == RPC_REFUSED || post->session != NULL)
        return MHD_HTTP_OK;
    return error == RPC_METHOD_NOT_FOUND ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST;
}

/* Every request in it is answered, or needs no answer any more. */
static void finish(struct mcp_post *post)
{
    struct http_exchange *exchange = post->exchange;
    functions_forget(post->endpoint->context, &post->client);
    bool is_streaming = exchange->state == HTTP_STREAMING;
    if (is_streaming && post->message.length > 0)
        http_exchange_send(exchange, post->message.data, post->message.length);
    if (is_streaming || (post->message.length == 0 && post->takes_stream))
        http_exchange_end_stream(exchange);
    else if (post->message.length == 0)
        http_exchange_answer(exchange, MHD_HTTP_NO_CONTENT, NULL, &post->message);
    else
        http_exchange_answer(exchange, status_of(post), JSON_TYPE, &post->message);
}

static void settled(void *data)
{
    struct mcp_post *post = data;
    if (!post->is_receiving)
        finish(post);
}

static void keep_answer(void *data, struct buffer *line)
{
    struct mcp_post *post = data;
    buffer_move(&post->message, line);
}

static void send_event(void *data, struct buffer *line)
{
    struct mcp_post *post = data;
    if (post->takes_stream)
        http_exchange_send(post->exchange, line->data, line->length);
}

static size_t count_unsent(const struct client *client)
{
    return http_exchange_unsent(container_of(client, struct mcp_post, client)->exchange);
}

static void handle_request(void *data, const struct rpc_message *message, struct rpc_answer *answer)
{
    struct mcp_post *post = data;
    const char *wrong =
        lifecycle_is_stateless(message) ? mcp_fields_find_wrong(post->exchange, message) : NULL;
    if (wrong != NULL)
        rpc_answer_error(answer, RPC_HEADER_MISMATCH,
                         "the field %s of the request must say the same as its message", wrong);
    else
        methods_answer(post->endpoint->context, message, answer);
}

static void handle_notification(void *data, const struct rpc_message *message)
{
    struct mcp_post *post = data;
    methods_notice(post->endpoint->context, &post->client, message);
}

/* To a call in the response to another request of the owner's. */
static void handle_answer(void *data, const struct json_value *id, const struct json_value *result,
                          const struct json_value *error)
{
    struct mcp_post *post = data;
    functions_take_answer(post->endpoint->context, post->client.rpc.owner, id, result, error);
}

static struct mcp_post *new_post(struct mcp_endpoint *endpoint, struct http_exchange *exchange,
                                 struct mcp_session *session)
{
    struct mcp_post *post = calloc(1, sizeof(*post));
    if (post == NULL)
        return NULL;
    const char *accepted = http_exchange_field(exchange, "Accept");
    *post = (struct mcp_post){
        .endpoint = endpoint,
        .exchange = exchange,
        .session = session,
        .takes_stream = accepted != NULL && strcasestr(accepted, STREAM_TYPE) != NULL,
        .observer = {.request = handle_request,
                     .notification = handle_notification,
                     .answered = handle_answer,
                     .send = keep_answer,
                     .notify = send_event,
                     .settled = settled,
                     .data = post},
    };
    if (session != NULL)
        post->client = session->agreed;
    else
        post->client.rpc.peer = ++endpoint->last_peer;
    post->client.rpc.owner = exchange->owner;
    post->client.rpc.observer = &post->observer;
    post->client.rpc.batches_held = &endpoint->batches_held;
    post->client.unsent = count_unsent;
    post->client.is_deaf = !post->takes_stream;
    LIST_PREPEND(endpoint->posts, post);
    exchange->data = post;
    return post;
}

/* What the message has changed in what is agreed on. Whether that could be kept. */
static bool keep_agreement(struct mcp_post *post)
{
    struct http_exchange *exchange = post->exchange;
    struct mcp_session *session = post->session;
    const struct client *client = &post->client;
    if (session != NULL) {
        session->agreed.version = client->version;
        session->agreed.is_initialized = client->is_initialized;
        session->agreed.rpc.batches = client->rpc.batches;
        session->agreed.rpc.null_ids = client->rpc.null_ids;
        return true;
    }
    if (client->version == VERSION_NONE)
        return true;
    session = mcp_sessions_add(&post->endpoint->sessions, client);
    if (session == NULL) {
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
                             "there are %d sessions already: end one", HTTP_SESSIONS_MAX);
        return false;
    }
    http_exchange_set_field(exchange, SESSION_FIELD, session->id);
    return true;
}

static void receive(struct mcp_post *post)
{
    struct buffer *body = &post->exchange->body;
    if (post->session != NULL)
        post->session->requests++;
    post->is_receiving = true;
    rpc_receive(&post->client.rpc, body->data, body->length);
    post->is_receiving = false;
    if (!keep_agreement(post) || post->client.rpc.open > 0)
        return;
    if (post->message.length > 0)
        finish(post);
    else
        http_exchange_answer(post->exchange, MHD_HTTP_ACCEPTED, NULL, &post->message);
}

/* 0: go on. */
static unsigned find_session(struct mcp_endpoint *endpoint, struct http_exchange *exchange,
                             struct mcp_session **ret_session)
{
    const char *id = http_exchange_field(exchange, SESSION_FIELD);
    *ret_session = id != NULL ? mcp_sessions_find(&endpoint->sessions, exchange->owner, id) : NULL;
    if (id == NULL || *ret_session != NULL)
        return 0;
    http_exchange_refuse(exchange, MHD_HTTP_NOT_FOUND,
                         "there is no such session, or it was left alone for %d minutes: begin a "
                         "new one with initialize",
                         HTTP_SESSION_IDLE_MS / 60000);
    return MHD_HTTP_NOT_FOUND;
}

static bool is_known_version(const char *name)
{
    struct json_value value = {.type = JSON_STRING, .text = name, .length = strlen(name)};
    return version_find(&value) != VERSION_NONE;
}

static void delete_session(struct mcp_endpoint *endpoint, struct http_exchange *exchange,
                           struct mcp_session *session)
{
    struct buffer nothing = BUFFER(0);
    if (session == NULL) {
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST,
                             "name the session to end: " SESSION_FIELD ": ID");
        return;
    }
    for (struct mcp_post *post = endpoint->posts; post != NULL; post = post->next) {
        if (post->session != session)
            continue;
        post->session = NULL;
        open_requests_cancel_all(&endpoint->context->requests, &post->client.rpc);
    }
    mcp_sessions_remove(&endpoint->sessions, session);
    http_exchange_answer(exchange, MHD_HTTP_NO_CONTENT, NULL, &nothing);
}

void mcp_endpoint_begin(struct http_exchange *exchange, void *owner)
{
    struct mcp_endpoint *endpoint = owner;
    struct mcp_session *session = NULL;
    const char *version = http_exchange_field(exchange, "Mcp-Protocol-Version");
    if (find_session(endpoint, exchange, &session) != 0)
        return;
    if (exchange->has_body && exchange->body.length == 0) {
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "the request has no message");
    } else if (!exchange->has_body) {
        delete_session(endpoint, exchange, session);
    } else if (session != NULL && version != NULL && !is_known_version(version)) {
        http_exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST,
                             "the version %.40s of MCP is not known here", version);
    } else {
        struct mcp_post *post = new_post(endpoint, exchange, session);
        if (post != NULL)
            receive(post);
        else
            http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory: try again");
    }
}

void mcp_endpoint_end(struct http_exchange *exchange, void *owner)
{
    struct mcp_endpoint *endpoint = owner;
    struct mcp_post *post = exchange->data;
    if (post == NULL)
        return;
    exchange->data = NULL;
    post->is_receiving = true; /* nothing is left to finish */
    open_requests_cancel_all(&endpoint->context->requests, &post->client.rpc);
    functions_forget(endpoint->context, &post->client);
    if (post->session != NULL)
        post->session->requests--;
    LIST_REMOVE(endpoint->posts, post);
    buffer_release(&post->message);
    free(post);
}

void mcp_endpoint_release(struct mcp_endpoint *endpoint)
{
    mcp_sessions_release(&endpoint->sessions);
}
