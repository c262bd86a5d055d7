/*
 * Taking over a cgroup directory: moving processes out of it as the kernel requires, enabling its
 * controllers, creating a locked directory in it for this server, removing those of dead servers.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), "No Internal Process
 * Constraint" and "Delegation"; flock(2).
 */
#ifndef SANDBOX_LIMITS_CGROUP_SUBTREE_H
#define SANDBOX_LIMITS_CGROUP_SUBTREE_H

#include "sandbox/base/fault.h"
#include "sandbox/limits/cgroup_file.h"

struct cgroup_subtree {
    int parent_fd;        /* the directory taken over */
    int fd;               /* this server's own directory in it, locked; -1: none */
    char name[64];        /* of it */
    unsigned controllers; /* of enum cgroup_controller, that the children of fd have */
};

#define CGROUP_SUBTREE_NONE ((struct cgroup_subtree){.parent_fd = -1, .fd = -1})

/* What is required of the directory. */
enum cgroup_exclusivity {
    CGROUP_EXCLUSIVE, /* all controllers, and no other process in it */
    /*
     * Any controller. In a container without systemd, a few other processes in it are moved to the
     * leaf too, and stay there.
     */
    CGROUP_SHARED,
};

/*
 * 0; a negative errno with a fault that says why not, and everything as it was, except for
 * processes already moved.
 */
int cgroup_subtree_take(const struct cgroup_location *place, enum cgroup_exclusivity exclusivity,
                        struct cgroup_subtree *ret_subtree, struct fault *fault);

/* Unlocks and removes this server's directory. Its runs must have ended. */
void cgroup_subtree_release(struct cgroup_subtree *subtree);

#endif
