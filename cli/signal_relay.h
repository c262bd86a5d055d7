/*
 * Ctrl-C and SIGTERM of `run`, for the program in the sandbox.
 *
 * They are passed on, and the program does with them what it likes. After SIGTERM, or the second of any, it has
 * SIGNAL_GRACE_MS: then it is stopped, and its result is what there is. A further signal, SIGHUP, or one that no program
 * can get ends `run` at once.
 *
 * Side: parent.
 */
#ifndef CLI_SIGNAL_RELAY_H
#define CLI_SIGNAL_RELAY_H

#include "interpreter/base/end_signals.h"
#include "interpreter/launcher.h"

#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_GRACE_MS 2000

struct signal_relay {
    struct loop *loop;            /* borrowed */
    const struct launched *run; /* borrowed: the run, once there is one, and until it has ended */
    struct end_signals end_signals;
    struct loop_timer grace; /* armed: the program has been told for the last time */
    int passed; /* the last signal that was passed on, or 0 */
    int64_t passed_at; /* clock_now(), if the loop was blocked then; else 0 */
    int fatal; /* the one that ends this process, or 0: the loop has been stopped, and nothing is to be written */
};

/* Not open yet; may be closed. */
#define SIGNAL_RELAY_NONE ((struct signal_relay){.end_signals = {.watch = {.fd = -1}}})

/* `relay` stays where it is until it is closed. 0 or a negative errno. */
int signal_relay_open(struct signal_relay *relay, struct loop *loop, const struct launched *run);
void signal_relay_close(struct signal_relay *relay);

/* This process ends as by the signal, as soon as it can. */
void signal_relay_give_up(struct signal_relay *relay, int signal_number);

/*
 * For a caller that blocks the loop since `blocked_since`, because nobody reads: takes a signal that is there, and gives
 * up if one was passed on, and then nothing could be written for SIGNAL_GRACE_MS.
 */
void signal_relay_check(struct signal_relay *relay, int64_t blocked_since);

/* The run has ended with that result: nothing is left to pass on. */
void signal_relay_end(struct signal_relay *relay);

/* The signal that ended the program because it was passed on, or 0. */
int signal_relay_cause(const struct signal_relay *relay, const struct run_result *result);

#endif
