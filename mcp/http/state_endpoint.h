/*
 * What monitoring asks for by GET: /health and /v1/ping, whether the server serves; /metrics, the numbers of
 * --metrics-file at the moment.
 *
 * Side: parent.  Source: OpenMetrics 1.0; SandboxFusion, ping.
 */
#ifndef MCP_HTTP_STATE_ENDPOINT_H
#define MCP_HTTP_STATE_ENDPOINT_H

#include "mcp/http/http_exchange.h"

/* Members of a struct http_endpoint whose owner is the struct context. */
void state_endpoint_answer_health(struct http_exchange *exchange, void *owner);
void state_endpoint_answer_ping(struct http_exchange *exchange, void *owner);
void state_endpoint_answer_metrics(struct http_exchange *exchange, void *owner);
void state_endpoint_end(struct http_exchange *exchange, void *owner);

#endif
