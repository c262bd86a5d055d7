/*
 * The processes of a jail, one after another: all of its /proc; or, where it has no pid namespace, all below one process
 * in the host's.
 *
 * Processes that begin or end meanwhile may be missed. Side: parent.  Source: proc_pid_task_children(5).
 */
#ifndef SANDBOX_BASE_PROCESS_WALK_H
#define SANDBOX_BASE_PROCESS_WALK_H

#include <dirent.h>
#include <stddef.h>
#include <sys/types.h>

#define PROCESS_WALK_MAX 65536 /* more than any run may have */

struct process_walk {
    int proc_fd; /* borrowed */
    DIR *all;    /* owned; NULL: a tree */
    pid_t *waiting; /* owned: found, and not returned yet */
    size_t count, capacity;
    char name[16];
};

/* `root`: 0 for all of this /proc. Without memory the walk is empty. */
struct process_walk process_walk_open(int proc_fd, pid_t root);

/* The number of the next process, as a name below proc_fd, valid until the next call; NULL: no more. `root` is first. */
const char *process_walk_next(struct process_walk *walk);

void process_walk_release(struct process_walk *walk);

#endif
