/*
 * notifications/progress: what a client that gave a token is told while its call waits and runs, so
 * that it goes on waiting. The time that went by, and the lines that were printed since.
 *
 * Nothing is told of a call that ends within a second, nor while the client has yet to read much of
 * what was sent before: so it costs little memory however slow the client is.
 *
 * Side: parent.  Source: MCP 2026-07-28, "Progress".
 */
#ifndef MCP_TOOLS_CALL_PROGRESS_H
#define MCP_TOOLS_CALL_PROGRESS_H

#include "mcp/base/client.h"
#include "mcp/base/reply.h"
#include "sandbox/base/loop.h"

/* Empty is {0}, and may be closed. It must stay where it is while it is open. */
struct call_progress {
    struct loop *loop;     /* borrowed */
    struct client *client; /* borrowed */
    enum version version;
    const char *(*why_waiting)(const void *data); /* why the call has not begun; NULL: it has */
    const void *data;
    struct buffer token;          /* as JSON text */
    struct buffer lines;          /* printed, and not told yet; the end of it if that is much */
    struct loop_timer timer;      /* armed while it is open */
    int64_t began;                /* clock_now() */
    int64_t due;                  /* nothing is told before */
};

/*
 * Nothing happens where `token` is NULL or cannot be a token. The owner sets is_waiting before the loop
 * goes on.
 */
void call_progress_open(struct call_progress *progress, struct loop *loop,
                        const struct reply *reply, const struct json_value *token);

/* The run printed something. */
void call_progress_add(struct call_progress *progress, const char *bytes, size_t length);

/* Before the answer is given: nothing more is told. */
void call_progress_close(struct call_progress *progress);

#endif
