/*
 * What a running jail has on disk, where the file system of its upper layers does not bound it.
 *
 * Counts the files of a directory, and those that the jail's processes have removed but still hold
 * open. A file that is only mapped, or in transit in a socket, is not found. To be called by a process
 * that may read everything of the jail: disk_watch.h.
 *
 * Side: parent.  Source: proc_pid_fd(5), statfs(2).
 */
#ifndef SANDBOX_LIMITS_DISK_USAGE_H
#define SANDBOX_LIMITS_DISK_USAGE_H

#include "sandbox/limits/proc_usage.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct disk_usage {
    uint64_t bytes; /* allocated; a file with several names counts once */
    uint64_t files; /* of any type */
};

/*
 * Adds what is below the directory. Stops early once one of the sums exceeds that of `most`. 0;
 * -ELOOP: it has more than UPPER_DEPTH_MAX levels; another negative errno: it cannot be read. What
 * vanishes meanwhile is no error.
 */
int disk_usage_add_tree(int directory_fd, const struct disk_usage *most, struct disk_usage *usage);

/*
 * Adds regular files that have no name any more but are open in a process of the jail: those of overlays; or, below a
 * guard, those on this `device`. 0 or a negative errno.
 */
int disk_usage_add_removed(const struct proc_usage *jail, dev_t device,
                           const struct disk_usage *most, struct disk_usage *usage);

/* Whether one of the sums exceeds the other. */
bool disk_usage_exceeds(const struct disk_usage *usage, const struct disk_usage *most);

#endif
