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

/* Nobody waits for it any more: kills it, and lets go of what the observer lent. */
void run_abandon(struct run *run);

/* How much of the caller's it holds while it waits: bytes. */
size_t run_held_bytes(const struct run *run);

/* Unwatches, kills, reaps, frees. */
void run_free(struct run *run);

/* As engine_check_limits(). */
void run_check_limits(struct run *run);

#endif
