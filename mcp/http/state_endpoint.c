#include "mcp/http/state_endpoint.h"

#include "mcp/tools/context.h"
#include "sandbox/base/owned.h"

#include <microhttpd.h>

#define ANSWER_MAX (64 * KIBIBYTE)
#define JSON_TYPE "application/json"
#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

static void answer_text(struct http_exchange *exchange, const char *text)
{
    struct buffer content = BUFFER(ANSWER_MAX);
    if (buffer_append_text(&content, text) == 0)
        http_exchange_answer(exchange, MHD_HTTP_OK, JSON_TYPE, &content);
    else
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory: try again");
    buffer_release(&content);
}

void state_endpoint_answer_health(struct http_exchange *exchange, void *owner)
{
    (void)owner;
    answer_text(exchange, "{\"status\":\"ok\"}");
}

void state_endpoint_answer_ping(struct http_exchange *exchange, void *owner)
{
    (void)owner;
    answer_text(exchange, "\"pong\"");
}

void state_endpoint_answer_metrics(struct http_exchange *exchange, void *owner)
{
    struct context *context = owner;
    const struct metrics_file *file = &context->metrics;
    OWNED(buffer_release) struct buffer content = BUFFER(ANSWER_MAX);
    struct metrics_now now = {0};
    file->look(file->data, &now);
    if (metrics_write(&file->metrics, &now, &content) == 0)
        http_exchange_answer(exchange, MHD_HTTP_OK, METRICS_TYPE, &content);
    else
        http_exchange_refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory: try again");
}

void state_endpoint_end(struct http_exchange *exchange, void *owner)
{
    (void)exchange;
    (void)owner;
}
