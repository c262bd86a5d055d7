/*
 * Sessions: a sandbox that takes pieces of code, called cells, one after another.
 *
 * A session is a run (sandbox/run.c) without an end of its own: the same jail, limits and accounting, for
 * all its life. What it keeps depends on enum session_kind. Between cells all its processes are stopped, and its
 * cgroup, if it has one, is frozen. A running cell takes the place of a run: engine_options.parallel.
 *
 * A cell past its time or its output is interrupted first, and what it has started in its process group
 * with it. If it ends then, however it does, the session goes on, and the outcome is still the limit; otherwise, after
 * INTERRUPT_MAX_MS, the session is ended. All other limits end the session. A program can
 * claim the end of its cell too early or too late, and deceives only itself.
 *
 * Commands run beside cells and between them. While one does, nothing is frozen, and the session keeps its place; at the
 * end of a cell all processes stop until its files are collected, and those that the cell left go on with the commands.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_H
#define SANDBOX_SESSION_H

#include "sandbox/limits/limits.h"
#include "sandbox/session_command.h"
#include "sandbox/session_spec.h"

#include <stdbool.h>

/*
 * Queues a cell behind those that the session already has. done() of the observer gets the result of this cell:
 * result->session says whether the session goes on. Negative status: it did not run; -ESRCH: the
 * session ended before its turn. 0; -E2BIG; -EAGAIN if too many wait; another negative errno.
 */
int session_submit(struct session *session, const struct cell_spec *spec,
                   const struct run_observer *observer, struct cell **ret_cell,
                   struct fault *fault);

/*
 * Starts a command, as soon as the session has a place. 0; -EAGAIN: COMMANDS_MAX run, fault id "limit"; -E2BIG; -EINVAL;
 * another negative errno.
 */
int session_exec(struct session *session, const struct command_spec *spec,
                 const struct command_observer *observer, struct session_command **ret_command,
                 struct fault *fault);

/*
 * After a result with `folders`: they have been read. Until then, or until its end, the session begins no further cell or
 * command, and lets none go on, so that nothing of it changes them.
 */
void session_folders_read(struct session *session);

/* The cells after which there are checkpoints of a lane, ascending; 0: none, or it has not begun. How many. */
size_t session_checkpoints(const struct session *session, unsigned lane,
                           uint32_t ret_cells[SESSION_CHECKPOINTS_MAX]);

/* Takes the cell back, or interrupts it. Its observer is not called any more; the handle is invalid. */
void cell_cancel(struct cell *cell);

/* Interrupts the cell if it runs, as Ctrl-C would: done() follows, with OUTCOME_CANCELLED. */
void cell_interrupt(struct cell *cell);

/* Whether the cell has not begun. */
bool cell_is_queued(const struct cell *cell);

/*
 * Tells what is in copies of folders since the session's start, and nothing else: a cell without code, in its turn. done()
 * as for session_submit(), with OUTCOME_EXITED.
 */
int session_look(struct session *session, const struct run_observer *observer,
                 struct cell **ret_cell, struct fault *fault);

/* Ends the session as if by itself, with OUTCOME_CANCELLED: all observers are told, from the loop or at once. */
void session_stop(struct session *session);

/* Ends the session; no observer is called any more, nor those of its commands. The handles become invalid. */
void session_end(struct session *session);

#endif
