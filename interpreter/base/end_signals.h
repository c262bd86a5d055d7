/*
 * Termination signals as events of the loop.
 *
 * Side: parent.  Source: signalfd(2).
 */
#ifndef INTERPRETER_BASE_END_SIGNALS_H
#define INTERPRETER_BASE_END_SIGNALS_H

#include "sandbox/base/loop.h"

#include <signal.h>

struct end_signals {
    struct loop *loop; /* borrowed */
    struct loop_watch watch;
    sigset_t blocked;
    void (*arrived)(struct end_signals *end_signals, int signal_number);
};

/* Not open yet; may be closed. */
#define INTERRUPTS(callback) ((struct end_signals){.watch = {.fd = -1}, .arrived = (callback)})

/*
 * Blocks SIGTERM, SIGINT and SIGHUP and calls `arrived` from the loop when one comes. SIGPIPE is
 * ignored, so that write(2) fails instead. 0 or a negative errno.
 */
int end_signals_open(struct end_signals *end_signals, struct loop *loop);

/* Stops watching. The signals stay blocked, so that none interrupts the shutdown. */
void end_signals_close(struct end_signals *end_signals);

/* Takes a pending signal, if any, and calls `arrived` for it. */
void end_signals_take(struct end_signals *end_signals);

/* Ends this process as the signal would have ended it. Returns only if it could not. */
void end_signals_die_of(const struct end_signals *end_signals, int signal_number);

#endif
