/*
 * Steps of a session that session_checkpoint.c and session_beside.c take, too: session.c has them, and says how they follow each other.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_STEPS_H
#define SANDBOX_SESSION_STEPS_H

#include "sandbox/session_state.h"

/* The session is of no more use, since something failed; `error` is a positive errno. */
void session_fail(struct session *session, const char *what, int error);

/* Says a word to init. False: that has failed, and the session with it. */
bool session_tell(struct session *session, enum parent_word word);

/* Nothing more is to run, or nothing that needs a place. */
void session_rest(struct session *session);

/* The program of the present cell is ready for it. */
void session_hand_over(struct session *session);

/* The code of the cell has ended. */
void session_stop_clock(struct cell_progress *progress);

/* Has all processes stopped, so that its files can be collected. */
void session_pause_cell(struct session *session);

/* The present cell is answered, as done() of its observer has it, and the next may begin. */
void session_end_cell(struct session *session, int status, struct run_result *result,
                      const struct fault *fault);

#endif
