/*
 * The signals that tell a program to end, as events of its loop.
 *
 * Side: parent.  Source: signalfd(2).
 */
#ifndef MCP_INTERRUPTS_H
#define MCP_INTERRUPTS_H

#include "sandbox/base/loop.h"

#include <signal.h>

struct interrupts {
    struct loop *loop; /* borrowed */
    struct loop_watch watch;
    sigset_t blocked;
    void (*arrived)(struct interrupts *interrupts, int signal_number);
};

/* One that has not been opened yet, and may be closed. */
#define INTERRUPTS(callback) ((struct interrupts){.watch = {.fd = -1}, .arrived = (callback)})

/*
 * Blocks SIGTERM, SIGINT and SIGHUP and calls `arrived` from the loop when one comes. SIGPIPE is
 * ignored: a reader that is gone is an error of write(2). 0 or a negative errno.
 */
int interrupts_open(struct interrupts *interrupts, struct loop *loop);

/* Watches them no more; they stay blocked, so that one which comes now does not hinder the end. */
void interrupts_close(struct interrupts *interrupts);

/* Takes a signal that waits, at once, and calls `arrived` for it; nothing when none does. */
void interrupts_take(struct interrupts *interrupts);

/* Ends this process as the signal would have ended it. Returns only if it could not. */
void interrupts_die_of(const struct interrupts *interrupts, int signal_number);

#endif
