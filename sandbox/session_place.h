/*
 * What a session has while anything in it runs: a place among the runs of the engine, a stage, and time.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_PLACE_H
#define SANDBOX_SESSION_PLACE_H

#include "sandbox/session_state.h"

/* Whether it has cells or commands that have not ended, and for which it needs a place: connections last without one. */
bool session_has_work(const struct session *session);

/* Asks for a place if it has work, and none may go on without one. */
void session_want_place(struct session *session);
void session_leave_place(struct session *session);

/* Limits of time and processor time for one thing more that runs. */
void session_extend(struct session *session, int64_t wall_ms);

/* A stage, and how long it may take: milliseconds; 0: any time. */
void session_enter(struct session *session, enum session_stage stage, int64_t milliseconds);

#endif
