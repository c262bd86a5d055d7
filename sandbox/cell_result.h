/*
 * The result of one cell of a session: how it ended, what it printed, used and left.
 *
 * Side: parent.
 */
#ifndef SANDBOX_CELL_RESULT_H
#define SANDBOX_CELL_RESULT_H

#include "sandbox/session_state.h"

/* Empties the captures, for the next cell. */
void cell_result_open(struct session *session);

/* Of the present cell, when nothing of the session runs. `result` is empty. Takes the captures. */
void cell_result_make(struct session *session, struct run_result *result);

/* Makes the result of a whole run, which has ended, that of the present cell. Takes the captures. */
void cell_result_lose(struct session *session, struct run_result *result);

/* To its observer; of a cell that was cancelled, only what it left in folders is told, elsewhere. */
void cell_result_tell(const struct session *session, const struct run_observer *observer,
                      int status, struct run_result *result, const struct fault *fault);

#endif
