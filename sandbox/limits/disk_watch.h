/*
 * Watches how much a run has on disk, from a process of its own: counting may take long, and needs
 * the rights of the jail's user namespace, because a snippet can close directories to its own user.
 *
 * The process looks at the free space of the file system every few milliseconds, and counts
 * (disk_usage.h) when so much of it has gone that the run may be past its limit, and in any case
 * every second. It also reports a run as past its limit that leaves hardly any space, there or on the
 * file system of a folder of the host that it may change.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_DISK_WATCH_H
#define SANDBOX_LIMITS_DISK_WATCH_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/run_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum disk_finding {
    DISK_EXCEEDED,
    DISK_UNREADABLE, /* the run can no longer be watched */
};

#define DISK_DIRECTORIES_MAX 4

struct disk_watch {
    int directory_fds[DISK_DIRECTORIES_MAX]; /* borrowed; on one file system */
    size_t count; /* of them */
    int space_fds[FOLDERS_MAX]; /* borrowed: directories in which only the free space matters */
    size_t space_count; /* both 0: nothing to watch */
    bool has_guard; /* the jail has no namespaces: proc_usage_open() */
    uid_t uid; /* then, for root: of the jail's processes */
    struct loop *loop; /* NULL: not started */
    pid_t pid;
    int answer_fd; /* owned */
    struct loop_watch answer;
    void (*found)(struct disk_watch *watch, enum disk_finding finding);
};

#define DISK_WATCH_NONE ((struct disk_watch){.answer_fd = -1, .answer = {.fd = -1}})

/*
 * Watches the directories and the processes of the jail until disk_watch_stop(). The loop calls `found`
 * once at most. 0 or a negative errno.
 */
int disk_watch_start(struct disk_watch *watch, struct loop *loop, pid_t init,
                     const struct run_limits *limits);

/* Ends the process. Fine if it was not started. */
void disk_watch_stop(struct disk_watch *watch);

#endif
