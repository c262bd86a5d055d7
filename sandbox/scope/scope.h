/*
 * A cgroup that may be divided, asked for from systemd: a transient scope with Delegate=yes.
 *
 * An ordinary user cannot move a process out of the cgroup of its login, because what lies above
 * belongs to root. The user's service manager can have it moved, and hands the new cgroup over.
 *
 * Side: parent, in a program of its own (main.c).  Source: org.freedesktop.systemd1(5),
 * systemd.scope(5), https://systemd.io/CGROUP_DELEGATION.
 */
#ifndef SANDBOX_SCOPE_SCOPE_H
#define SANDBOX_SCOPE_SCOPE_H

#include "sandbox/base/fault.h"

#include <sys/types.h>

/* More than all of scope_start() takes, in seconds. */
#define SCOPE_SECONDS_MAX 6

/*
 * Moves process `pid` into the new scope `unit`: of the system's manager when we are root, else of
 * the user's. 0: the process is there. A negative errno: it is not, and the fault says what each way
 * came to and what would mend it. Blocks, for less than SCOPE_SECONDS_MAX seconds.
 */
int scope_start(pid_t pid, const char *unit, struct fault *fault);

#endif
