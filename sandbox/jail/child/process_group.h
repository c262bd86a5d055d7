/*
 * The process group of a session's program: what its cells have started, unless it has left for a group of its own.
 *
 * Processes have no list here: tier P shows none, and a list could be out of date. Their numbers grow, so all of
 * a time are found between two numbers; a number that is not of this group costs one system call.
 *
 * Side: child.  Source: setpgid(2), pidfd_open(2), credentials(7), proc_loadavg(5).
 */
#ifndef SANDBOX_JAIL_CHILD_PROCESS_GROUP_H
#define SANDBOX_JAIL_CHILD_PROCESS_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The number of the newest process that there is or was. Where /proc does not tell, by making another one, which counts
 * for the limit of processes; 0: none can be made now.
 */
pid_t process_group_newest(void);

/*
 * Sends a signal to the members of the group, but for its leader, with larger numbers than `after`; 0: to
 * none, as in kill(2). Whether any of them has not ended.
 */
bool process_group_signal(pid_t leader, pid_t after, int signal);

#endif
