/*
 * Commands of a session: programs that run beside its cells, up to COMMANDS_MAX at once, each with its own standard
 * streams, process group, directory, variables and time limit. session_exec() starts one: sandbox/session.h.
 *
 * A command ends with the process that was started, whatever that leaves running; what its pipes hold then is still its
 * output, and they are closed. One that is past its time or its output gets SIGINT, and what is left of its group
 * INTERRUPT_MAX_MS later SIGKILL; the outcome is the limit, however it ended. Limits of memory, processes and disk are
 * the session's.
 *
 * With a port it is a connection to a server in the session, of which there may be STREAMS_MAX: what is written to its stdin
 * is sent to a TCP port of the jail's loopback addresses, what is received comes as its stdout. It exits with 0 when the
 * server has closed it, and with a positive errno if it could not connect.
 *
 * Side: parent.
 */
#ifndef SANDBOX_SESSION_COMMAND_H
#define SANDBOX_SESSION_COMMAND_H

#include "sandbox/session_spec.h"

#include <stddef.h>

void command_go_on(struct session_command *command);

/* The last closes it, once all has been written. 0; -EPIPE: its stdin is closed; -EAGAIN: COMMAND_STDIN_MAX bytes are waiting to be read; -ENOMEM. */
int command_write_stdin(struct session_command *command, const char *bytes, size_t length,
                        bool is_last);

/* To its process group. 0; -ESRCH: it does not run, or not yet; another negative errno. */
int command_signal(struct session_command *command, int signal_number);

/* From now on, it may run so much longer. */
void command_limit(struct session_command *command, int64_t wall_ms);

/* Ends it as a limit would, as OUTCOME_CANCELLED: done() gets what there is. */
void command_stop(struct session_command *command);

/* The same, but its observer is not called any more; the handle is invalid. */
void command_cancel(struct session_command *command);

#endif
