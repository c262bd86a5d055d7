/*
 * Calls out of a session: its snippets call functions of whoever opened it, by name, with JSON.
 *
 * Each lane that can call has a channel of its own: call_channel.h. That of a live interpreter gets its program and the list of
 * functions first; programs that are started anew for each cell share one, and ask for the list. A call belongs to the present
 * cell, whose lane alone may begin any, and ends with it. While the program says that it only waits for answers, the clock of
 * the cell stands still, and so does all that runs for it: its cgroup is frozen, or init stops its processes. Where
 * something else of the session may run (a command, run_spec.keeps_running), only the clock stands still.
 *
 * Without a cgroup the kernel may continue processes that want it to: processor time that is used meanwhile counts as time.
 *
 * Names and JSON come from the snippet: untrusted. Side: parent.
 */
#ifndef SANDBOX_SESSION_CALLS_H
#define SANDBOX_SESSION_CALLS_H

#include "sandbox/calls_spec.h"

#include <stdbool.h>

struct session;
struct session_channels;
struct session_spec;

/* Without spec->calls its cells call nothing. False: no memory. */
bool session_calls_open(struct session *session, const struct session_spec *spec);
void session_calls_free(struct session_calls *calls);

/* NULL `calls`: the session has no functions, and all of these do nothing. */

/* The cells of a further lane call, too; `program`: session_spec.calls_program. `calls` is not NULL. False: no memory. */
bool session_calls_add_lane(struct session_calls *calls, unsigned lane, const char *program,
                            size_t length);
bool session_calls_have_lane(const struct session_calls *calls, unsigned lane);

/* The program of the lane has started: begins to read. */
void session_calls_begin(struct session_calls *calls, unsigned lane,
                         const struct session_channels *channels);
/* The session has ended: as session_calls_end_cell(), then as session_calls_stop(). */
void session_calls_end(struct session_calls *calls);
/* No more is read, and no observer is told any more. */
void session_calls_stop(struct session_calls *calls);

/* Those of the present cell; NULL: it may call none. Borrowed until its end. */
const struct call_functions *session_calls_functions(const struct session_calls *calls);

/* A cell begins; its code has ended, however it did, and calls that have no answer are cancelled. */
void session_calls_begin_cell(struct session_calls *calls);
void session_calls_end_cell(struct session_calls *calls);

/* The same, when nothing of the session runs any more: what has been written until now is none of the next cell's, either. */
void session_calls_settle_cell(struct session_calls *calls);

/* The cell is told to stop, or something of it is to run that does not wait for answers: its clock goes on. */
void session_calls_wake(struct session_calls *calls);

/*
 * A command is to run beside the cell: nothing is held still any more, and the clock of a cell that waits stands still all the
 * same. A command has ended: if it was the last, the cell that still waits is held again.
 */
void session_calls_let_go(struct session_calls *calls);
void session_calls_hold_again(struct session_calls *calls);

/* What became of the calls of the present cell: owned by the caller. NULL without functions. */
struct run_calls *session_calls_take_record(struct session_calls *calls);

#endif
