/*
 * Commands of a session: programs that init starts at the parent's word, several at once, beside the cells.
 *
 *   WORD_COMMAND         starts one: with the word come COMMAND_FDS descriptors, of its text (further_program.h), stdin, stdout and
 *                        stderr. COMMAND_STARTED tells how that went, COMMAND_ENDED its end
 *   WORD_FILE            the same for a request on files: file_request.h. It has no group of its own at first
 *   WORD_STREAM          the same for a connection to a port, which has no text: port_stream.h
 *   WORD_COMMAND_SIGNAL  a signal to its process group, as long as it has not ended
 *   WORD_COMMAND_END     the same; when it ends now, what is left of its group is killed
 *
 * A process of the session can stop one that is about to start, and init with it, which waits: then the parent ends the
 * session.
 *
 * Side: child.  Source: unix(7) SCM_RIGHTS.
 */
#ifndef SANDBOX_JAIL_CHILD_COMMANDS_H
#define SANDBOX_JAIL_CHILD_COMMANDS_H

#include "sandbox/jail/child/steps.h"

#define COMMAND_FDS 4

/* The descriptors are still the caller's. False: the parent is gone. */
bool commands_start(struct jail *jail, const struct parent_message *message, const int *fds,
                    size_t fd_count);

void commands_signal(struct jail *jail, const struct parent_message *message);

/* Whether any has not ended, or what they left is to go on; or a live interpreter has not. */
bool commands_run(const struct jail *jail);
bool commands_or_live_run(const struct jail *jail);

/*
 * Which child to reap next, for wait4(2): -1: any; 0: none has ended. If its group has to end
 * with it, that is dead then: of a command that was to end; beside commands and live interpreters, of a program anew; of a
 * live interpreter that has checkpoints.
 */
pid_t commands_next_dead(const struct jail *jail);

/* Reports the end of the command that this was, if it was one. */
void commands_note_end(struct jail *jail, pid_t pid, int status, const struct rusage *usage);

/* Whether it is the process of one. */
bool commands_have(const struct jail *jail, pid_t pid);

#endif
