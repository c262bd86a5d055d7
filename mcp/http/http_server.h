/*
 * The server of --http: many clients, one engine. Serves /mcp and /run_code until a signal ends it.
 *
 * Side: parent.
 */
#ifndef MCP_HTTP_HTTP_SERVER_H
#define MCP_HTTP_HTTP_SERVER_H

#include "interpreter/settings/settings.h"

/*
 * Serves until SIGTERM, SIGINT or SIGHUP; then kills every run and gives clients a moment to read what
 * they get. 0, or a negative errno with its fault: it could not start, or its loop failed.
 */
int http_server_run(const struct settings *settings, struct fault *fault);

#endif
