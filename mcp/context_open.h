/*
 * The beginning and the end of what all requests share.
 *
 * Side: parent.
 */
#ifndef MCP_CONTEXT_OPEN_H
#define MCP_CONTEXT_OPEN_H

#include "mcp/tools/context.h"

/*
 * Opens the loop and what a mistake in the settings would show in; nothing is started before the first
 * run. To be closed in either case. `settings` is kept. 0, or a negative errno with its fault.
 */
int context_open(struct context *context, const struct settings *settings, struct fault *fault);

/* Kills what runs. Nothing more is answered but subscriptions. */
void context_stop(struct context *context);
void context_close(struct context *context);

#endif
