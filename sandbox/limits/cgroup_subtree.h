/*
 * Taking a cgroup directory over: moving out of the kernel's way, enabling controllers, making a
 * locked directory in it for this server, sweeping those of dead servers.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), "No Internal Process
 * Constraint" and "Delegation"; flock(2).
 */
#ifndef SANDBOX_LIMITS_CGROUP_SUBTREE_H
#define SANDBOX_LIMITS_CGROUP_SUBTREE_H

#include "sandbox/base/fault.h"
#include "sandbox/limits/cgroup_file.h"

struct cgroup_subtree {
    int parent_fd;        /* the directory that was taken over */
    int fd;               /* this server's own in it, locked; -1: none */
    char name[64];        /* of it */
    unsigned controllers; /* of enum cgroup_controller, that the children of fd have */
};

#define CGROUP_SUBTREE_NONE ((struct cgroup_subtree){.parent_fd = -1, .fd = -1})

/* How much is asked of the directory. */
enum cgroup_exclusivity {
    CGROUP_EXCLUSIVE, /* every controller of the hierarchy, and no process but this one in it */
    /*
     * What can be had. In a container without systemd, a few other processes that are in it are moved
     * into the leaf too, and stay there.
     */
    CGROUP_SHARED,
};

/*
 * 0; a negative errno with a fault that says why it cannot be had, and everything as it was, apart
 * from processes that were moved.
 */
int cgroup_subtree_take(const struct cgroup_location *place, enum cgroup_exclusivity exclusivity,
                        struct cgroup_subtree *ret_subtree, struct fault *fault);

/* Removes this server's directory and unlocks it. Its runs must have ended. */
void cgroup_subtree_release(struct cgroup_subtree *subtree);

#endif
