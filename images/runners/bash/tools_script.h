/*
 * Who else of a script calls functions, and whether all of it waits. Who is there is said by record locks on the pipe of
 * calls, which end with their process:
 *
 *   NUMBERS + n       the call of this number waits for its answer. A packet for a number without a lock is of nobody: one
 *                     process at a time, with the lock DROPS, takes such packets away
 *   PLACES + 0..7     one of the calls that may be open at once
 *   WAITERS + pid     this process does nothing until an answer comes
 *   COMERS + pid      or until there is a place
 *
 * No C library.  Side: child.  Source: fcntl(2), proc(5).
 */
#ifndef IMAGES_RUNNERS_BASH_TOOLS_SCRIPT_H
#define IMAGES_RUNNERS_BASH_TOOLS_SCRIPT_H

#include "sandbox/limits/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* calls.bash has them, too. */
#define RESULTS_FD 198
#define CALLS_FD 199

#define NUMBERS INT64_C(0)
#define PLACES (INT64_C(1) << 32)
#define DROPS (PLACES + CALLS_AT_ONCE)
#define WAITERS (INT64_C(1) << 33)
#define COMERS (INT64_C(1) << 34)

/* False: another process has it. */
bool take_lock(int64_t offset);
void leave_lock(int64_t offset);

/* By another process. */
bool is_locked(int64_t offset);

/* How many calls are open, if the whole script waits for them; 0: it does not. */
uint32_t count_waiting(void);

#endif
