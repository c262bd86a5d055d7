/*
 * Requests a delegated cgroup from systemd: a transient scope with Delegate=yes.
 *
 * An ordinary user cannot move a process out of the cgroup of its login, because the cgroups above
 * belong to root. The user's service manager can, and delegates the new cgroup.
 *
 * Side: parent, in a program of its own (main.c).  Source: org.freedesktop.systemd1(5),
 * systemd.scope(5), https://systemd.io/CGROUP_DELEGATION.
 */
#ifndef SANDBOX_SCOPE_SCOPE_H
#define SANDBOX_SCOPE_SCOPE_H

#include "sandbox/base/fault.h"

#include <sys/types.h>

/* Upper bound on the duration of scope_start(), in seconds. */
#define SCOPE_SECONDS_MAX 6

/*
 * Moves process `pid` into the new scope `unit`, of the system's manager if we are root, else of
 * the user's. 0: the process is in the scope. A negative errno: it is not, and the fault has the
 * result of each way and the remedy. Blocks for less than SCOPE_SECONDS_MAX seconds.
 */
int scope_start(pid_t pid, const char *unit, struct fault *fault);

#endif
