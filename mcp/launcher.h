/*
 * From a language and some code to a run: finds the image, makes the engine when it is first
 * needed, and submits.
 *
 * Side: parent.
 */
#ifndef MCP_LAUNCHER_H
#define MCP_LAUNCHER_H

#include "images/catalog.h"
#include "mcp/settings.h"
#include "sandbox/run.h"

#include <stddef.h>

struct launcher {
    struct loop *loop;               /* borrowed */
    const struct settings *settings; /* borrowed */
    struct engine *engine;           /* owned; NULL before the first run */
};

/* Cheap, without side effects: nothing is looked for before the first run. */
struct launcher launcher_of(struct loop *loop, const struct settings *settings);

/* Kills every run without a word to its observer. */
void launcher_release(struct launcher *launcher);

/* Code and its language; borrowed for a call. */
struct snippet {
    const struct language *language;
    const char *code;
    size_t length;
};

/*
 * Starts a run of the snippet, or queues it. As run_submit();
 * the fault is filled for each failure and gives the remedy: -ENOENT the image is not there,
 * -EAGAIN too many wait already.
 */
int launcher_start(struct launcher *launcher, const struct snippet *snippet,
                   const struct run_observer *observer, struct run **ret_run, struct fault *fault);

#endif
