/*
 * The checkpoints of a session: after each cell of a language that can be copied, the program leaves a copy of itself, which
 * init keeps. When the program ends, by whatever its cell did, the newest copy goes on in its place: the cell is
 * lost, and not the session.
 *
 * What the program tells of its copies is untrusted: it names one of its own processes at most.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_CHECKPOINT_H
#define SANDBOX_SESSION_CHECKPOINT_H

#include "sandbox/session_state.h"

/* FRAME_CHECKPOINT has come. */
void session_checkpoint_note(struct session *session, struct session_lane *lane,
                             const struct frame *frame);

/*
 * DONE of that cell, or READY of a copy made after it: what was noted is handed over to init. 0 or a negative errno.
 */
int session_checkpoint_take(struct session_lane *lane, uint32_t cell);

/*
 * Before a cell that is to begin as after another one, cell.back_to: has init bring that copy back. Without it the cell ends,
 * with a fault that names those there are.
 */
void session_checkpoint_begin_back(struct session *session);

/* READY of a copy: it has taken the place of the program of its lane, whose present cell may wait for it. */
void session_checkpoint_on_ready(struct session *session, struct session_lane *lane,
                                 const struct frame *ready);

/* REPORT_REVIVED: the interpreter of a lane has ended, with its present cell if it had one, and a copy goes on. */
void session_checkpoint_on_revived(struct session *session, const struct child_report *report);

/* For limiter_let_others_live(): the oldest copies are ended. */
bool session_checkpoint_on_near_memory(struct limiter *limiter);

/*
 * For run.exceeded. Where memory is short, the oldest copies are ended first, and the cell when only one is left. What is on
 * the disk remains, so a limit of that ends the session.
 */
bool session_checkpoint_on_exceeded(struct run *run, enum run_outcome outcome);

/*
 * Has the program of the present cell killed, which is lost for that outcome. False: there is nothing that could go on in its
 * place, or it has been tried.
 */
bool session_checkpoint_give_up_cell(struct session *session, enum run_outcome outcome);

/* Whether that is what the program of a lane had sent before it ended, and a copy took its place. */
bool session_checkpoint_is_of_lost(const struct session *session, const struct session_lane *lane,
                                   const struct frame *frame);

/* For the result of the present cell, which is of that lane. */
struct run_checkpoint session_checkpoint_tell(struct session_lane *lane);

#endif
