/*
 * Mounts of the new root, before pivot_root. All return 0 or a descriptor, or a negative errno.
 *
 * Side: child.  Source: fsopen(2), open_tree(2), move_mount(2), mount_setattr(2).
 */
#ifndef SANDBOX_JAIL_CHILD_MOUNTS_H
#define SANDBOX_JAIL_CHILD_MOUNTS_H

#include "sandbox/jail/child/steps.h"

#include <stdint.h>

/* Where the new root is mounted until pivot_root. /proc is known to exist on the host. */
#define ROOT_PLACE "/proc"

/* A detached copy of the mount at a path, with AT_RECURSIVE or AT_EMPTY_PATH in `flags`. */
int mount_copy(int directory_fd, const char *path, unsigned flags);

/*
 * Adds attributes to a mount and, with AT_RECURSIVE, to all below it. Also makes the mount private:
 * on a host with shared mounts, as under systemd, a copy made by the parent is shared, and
 * pivot_root(2) refuses shared mounts.
 */
int mount_restrict(int fd, uint64_t attributes, unsigned flags);

/* Attaches a detached mount to a path below a directory. */
int mount_attach(int fd, int directory_fd, const char *path);

/* The same at a path in the new root. */
int mount_attach_inside(const struct jail *jail, int fd, const char *path);

/* Makes an empty directory or file for a mount in the new root, with its parents, if there is none. */
int mount_make_place(const struct jail *jail, const char *path, bool is_directory);

/* Sets an option of a file system that fsopen(2) has begun. At most 255 bytes. */
int filesystem_set(int context, const char *key, const char *value);

/* Makes the file system, as a detached mount with these attributes. */
int filesystem_mount(int context, unsigned attributes);

#endif
