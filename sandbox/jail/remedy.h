/*
 * Remedies for kernel errors that several modules encounter: clauses that follow the name of the
 * failed operation.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_REMEDY_H
#define SANDBOX_JAIL_REMEDY_H

/*
 * EPERM and EACCES of clone(2) and unshare(2), and of operations that need the capabilities of a
 * new user namespace.
 */
#define USERNS_HELP                                                                                \
    "this machine does not let ordinary users set up namespaces. An administrator can allow it, "  \
    "with `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu 24.04 and later, "     \
    "with `sysctl kernel.unprivileged_userns_clone=1` where there is that; inside a container, "   \
    "start it with a seccomp profile that allows them; after chroot(2) nobody may"

/* EINVAL of pivot_root(2). */
#define PIVOT_HELP                                                                                 \
    "this machine still has its initial RAM disk as its root, which cannot be left that way: "     \
    "boot it into another, see switch_root(8)"

/* EAGAIN of fork(2) and similar calls. */
#define PROCESSES_HELP "the limit of processes is reached; see `ulimit -u`"

/* For an errno of clone3(2) with namespaces; NULL: none is known. */
const char *remedy_for_clone(int error);

#endif
