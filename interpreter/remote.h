/*
 * Runs of snippets by workers on other machines, with the observers of runs here.
 *
 * Side: parent.
 */
#ifndef INTERPRETER_REMOTE_H
#define INTERPRETER_REMOTE_H

#include "interpreter/metrics/metrics.h"
#include "interpreter/snippet.h"
#include "interpreter/workers/fleet_link.h"

#define REMOTE_RUNS_MAX 256 /* on the way to workers, or there */

/* It stays where it is from the first run on. */
struct remote {
    struct loop *loop;               /* borrowed */
    const struct settings *settings; /* borrowed */
    /* The rest is remote.c's; all zero: no run has been started. */
    struct fleet_link link; /* opened by the first run, and anew when its program has ended */
    bool is_open;
    struct remote_run *first; /* owned: those that go on */
    size_t count;
};

/*
 * Sends the snippet. Its stdin is bytes. As launcher_start(): 0, and done() follows, with -ECONNRESET and a fault
 * of the id "lost" where nobody knows whether it ran, and with -EAGAIN and "refused" where it did not.
 */
int remote_start(struct remote *remote, const struct snippet *snippet,
                 const struct run_observer *observer, struct remote_run **ret_run,
                 struct fault *fault);

/* Nobody wants its result any more. */
void remote_cancel(struct remote_run *run);

/* Whether no worker has it yet. */
bool remote_is_queued(const struct remote_run *run);

void remote_look(const struct remote *remote, struct metrics_now *ret_now);

/* Drops every run without a word to its observer; workers kill them. */
void remote_release(struct remote *remote);

#endif
