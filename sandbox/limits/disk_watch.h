/*
 * Watches how much a run has on disk, from a process of its own: counting may take long, and needs
 * the rights of the jail's user namespace, because a snippet can close directories to its own user.
 *
 * The process looks at the free space of the file system every few milliseconds, and counts
 * (disk_usage.h) when so much of it has gone that the run may be past its limit, and in any case
 * every second. It also reports a run as past its limit that leaves hardly any space.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_DISK_WATCH_H
#define SANDBOX_LIMITS_DISK_WATCH_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/run_limits.h"

#include <sys/types.h>

enum disk_finding {
    DISK_EXCEEDED,
    DISK_UNREADABLE, /* the run can no longer be watched */
};

struct disk_watch {
    int directory_fd; /* borrowed; -1: nothing to watch */
    struct loop *loop; /* NULL: not started */
    pid_t pid;
    int answer_fd; /* owned */
    struct loop_watch answer;
    void (*found)(struct disk_watch *watch, enum disk_finding finding);
};

#define DISK_WATCH_NONE                                                                            \
    ((struct disk_watch){.directory_fd = -1, .answer_fd = -1, .answer = {.fd = -1}})

/*
 * Watches directory_fd and the processes of the jail until disk_watch_stop(). The loop calls `found`
 * once at most. 0 or a negative errno.
 */
int disk_watch_start(struct disk_watch *watch, struct loop *loop, pid_t init,
                     const struct run_limits *limits);

/* Ends the process. Fine if it was not started. */
void disk_watch_stop(struct disk_watch *watch);

#endif
