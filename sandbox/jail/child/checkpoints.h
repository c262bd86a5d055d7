/*
 * Checkpoints of a session's live interpreters: copies of them, made between two cells and asleep since, which are children
 * of init. When an interpreter ends, its newest copy takes its place, as it was then.
 *
 * Their numbers come from the interpreter, whose cells may lie: init takes a process that is its own child and nothing else
 * of the session. A copy goes on at SIGURG, if kill(2) tells it that init has sent it.
 *
 * Side: child.  Source: kill(2), sigwaitinfo(2); images/runners/python/checkpoints.py.
 */
#ifndef SANDBOX_JAIL_CHILD_CHECKPOINTS_H
#define SANDBOX_JAIL_CHILD_CHECKPOINTS_H

#include "sandbox/jail/child/steps.h"

/* Whether the lane has any. */
bool checkpoints_are_there(const struct jail_lane *lane);

/* WORD_CHECKPOINT without one: no more than so many are kept, the oldest end. */
void checkpoints_keep(struct jail_lane *lane, size_t number);

/* WORD_CHECKPOINT of what is no command: one more. One of an interpreter that has ended since is killed. */
void checkpoints_take(struct jail *jail, const struct parent_message *message);

/* Those beyond the number that the last one came with. It takes the kernel as long as a small call. */
void checkpoints_end_oldest(struct jail *jail);

/* Of those of a lane, all that were made after that cell. */
void checkpoints_drop_later(struct jail *jail, const struct parent_message *message);

/* A child of init has ended: it may have been one. */
void checkpoints_note_end(struct jail *jail, pid_t pid);

/*
 * The interpreter of a lane has ended with that status, and its process group has been killed. Whether a copy has taken its
 * place, as REPORT_REVIVED tells.
 */
bool checkpoints_revive(struct jail *jail, int lane, int status);

#endif
