/*
 * What init does for a session, at the parent's words. A session has lanes, one for each language: a live
 * interpreter, or a program anew for each cell. The first lane is the program of the plan. Most words name one.
 *
 *   WORD_CODE       writes the parcel, reports WRITTEN, and starts the program if the first lane is one of
 *                   programs anew. A parcel that cannot be written does not end the session. With descriptors, of a
 *                   text (further_program.h), stdin, and of a live interpreter its further ones: starts the program of a
 *                   further lane, and WRITTEN tells whether it could
 *   WORD_INTERRUPT  SIGINT to the process group of the program, as from a terminal
 *   WORD_INTERRUPT_CHILDREN
 *                   the same to all others of the group: the program is told by a frame
 *   WORD_INSIST     kills what the cell has started in that group; SIGURG, which nobody minds, to the program,
 *                   since SIGINT is lost on one that waits in system(3). Programs anew: kills all processes,
 *                   or if commands or live interpreters run, the group alone
 *   WORD_PAUSE      stops all processes, reports PAUSED. After an interrupt: what the cell has started in
 *                   the group gets GROUP_END_MS to end, and is killed
 *   WORD_RESUME     lets them continue
 *   WORD_HOLD       stops all processes while a cell waits for answers, and reports nothing
 *   WORD_COMMAND... commands.h
 *   WORD_CHECKPOINT checkpoints.h
 *   WORD_GO_BACK    forgets the checkpoints after one, and then as
 *   WORD_END_PROGRAM
 *                   kills the process group of a live interpreter, whose copy may take its place
 *   WORD_STOP       as in every jail
 *
 * A program anew that ends is the end of all other processes, or beside commands and live interpreters, of its
 * group alone. A live interpreter that ends without a checkpoint is the end of the session.
 *
 * Side: child.  Source: kill(2), signal(7).
 */
#ifndef SANDBOX_JAIL_CHILD_JAIL_SESSION_H
#define SANDBOX_JAIL_CHILD_JAIL_SESSION_H

#include "sandbox/jail/child/steps.h"

/*
 * Of WORD_CODE: text, stdin; of a program anew FRESH_RESULTS_FD and FRESH_CALLS_FD, if it calls; of a live interpreter
 * SESSION_CHANNEL_FD, SESSION_CELLS_FD, SESSION_ANSWERS_FD; and the others.
 */
#define LANE_FDS_FRESH 2
#define LANE_FDS_FRESH_CALLING 4
#define LANE_FDS_LIVE 5
#define LANE_FDS_CALLING 7

/* Reads one word and obeys. True: the session has to end. */
bool session_take_word(struct jail *jail);

/* The program of a lane has ended with that status. Whether the session goes on, waiting for its next cell. */
bool session_outlives(struct jail *jail, int lane, int status);

#endif
