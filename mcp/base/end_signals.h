/*
 * The signals that tell a program to end, as events of its loop.
 *
 * Side: parent.  Source: signalfd(2).
 */
#ifndef MCP_BASE_END_SIGNALS_H
#define MCP_BASE_END_SIGNALS_H

#include "sandbox/base/loop.h"

#include <signal.h>

struct end_signals {
    struct loop *loop; /* borrowed */
    struct loop_watch watch;
    sigset_t blocked;
    void (*arrived)(struct end_signals *end_signals, int signal_number);
};

/* One that has not been opened yet, and may be closed. */
#define INTERRUPTS(callback) ((struct end_signals){.watch = {.fd = -1}, .arrived = (callback)})

/*
 * Blocks SIGTERM, SIGINT and SIGHUP and calls `arrived` from the loop when one comes. SIGPIPE is
 * ignored: a reader that is gone is an error of write(2). 0 or a negative errno.
 */
int end_signals_open(struct end_signals *end_signals, struct loop *loop);

/* Watches them no more; they stay blocked, so that one which comes now does not hinder the end. */
void end_signals_close(struct end_signals *end_signals);

/* Takes a signal that waits, at once, and calls `arrived` for it; nothing when none does. */
void end_signals_take(struct end_signals *end_signals);

/* Ends this process as the signal would have ended it. Returns only if it could not. */
void end_signals_die_of(const struct end_signals *end_signals, int signal_number);

#endif
