/*
 * What the end of a run's processes means: the outcome, and what they used.
 *
 * Side: parent.
 */
#ifndef SANDBOX_RUN_END_H
#define SANDBOX_RUN_END_H

#include "sandbox/run_state.h"

/*
 * Completes attempt->result, all but output and files; or sets attempt->status and its fault, if the
 * sandbox ended before its program began. Every process but init must be dead.
 */
void run_end_complete(struct run *run);

#endif
