/*
 * What init does for a session, at the parent's words:
 *
 *   WORD_CODE       writes the parcel, reports WRITTEN, and starts the program if the session is one of
 *                   programs anew. A parcel that cannot be written does not end the session.
 *   WORD_INTERRUPT  SIGINT to the process group of the program, as from a terminal
 *   WORD_INTERRUPT_CHILDREN
 *                   the same to all others of the group: the program is told by a frame
 *   WORD_INSIST     kills what the cell has started in that group; SIGURG, which nobody minds, to the program,
 *                   since SIGINT is lost on one that waits in system(3). Programs anew: kills all processes
 *   WORD_PAUSE      stops all processes, reports PAUSED. After an interrupt: what the cell has started in
 *                   the group gets GROUP_END_MS to end, and is killed
 *   WORD_RESUME     lets them continue
 *   WORD_STOP       as in every jail
 *
 * Side: child.  Source: kill(2), signal(7).
 */
#ifndef SANDBOX_JAIL_CHILD_JAIL_SESSION_H
#define SANDBOX_JAIL_CHILD_JAIL_SESSION_H

#include "sandbox/jail/child/steps.h"

/* Reads one word and obeys. True: the session has to end. */
bool session_take_word(struct jail *jail);

/* The program has ended with that status. Whether the session goes on, waiting for its next cell. */
bool session_outlives(struct jail *jail, int status);

#endif
