/*
 * One run, from start to end; sandbox/engine.h is the public interface.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "sandbox/run_state.h"

/* Starts a new run. 0, or a negative errno with its fault. */
int run_start(struct run *run, struct fault *fault);

/* Kills all processes by every available means; the loop reports the end. */
void run_kill(struct run *run);

/*
 * Ends the program with this outcome, by way of init or the cgroup; or as a failure of ours, with
 * attempt.fault. Only the first call of each counts.
 */
void run_stop(struct run *run, enum run_outcome outcome);
void run_fail(struct run *run, int status);

/* As engine_signal(). */
int run_signal(struct run *run, int signal_number);

/* Takes in what init has reported by now, before what its loop sees. */
void run_take_reports(struct run *run);

/* Reads what is in the pipes of its output, at most as much as they hold. */
void run_drain(struct run *run);

/* Nobody waits for it any more: kills it, and lets go of what the observer lent. */
void run_abandon(struct run *run);

/* How much of the caller's it holds while it waits: bytes. */
size_t run_held_bytes(const struct run *run);

/* Unwatches, kills, reaps, frees. */
void run_free(struct run *run);

/* As engine_check_limits(). */
void run_check_limits(struct run *run);

#endif
